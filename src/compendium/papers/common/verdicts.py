"""Verdicts: what may be concluded from a number, its interval, and what chance gives.

A claim says in which range its number must lie, and its null: what a world without the effect
gives. Two nulls are made: random scores of the same lengths, ties and signs, and methods whose
names are exchanged at random in each text. Whatever random scores could satisfy is asked of them,
too. A claim that there is nothing to see ("no better", "no worse") fails in a world where there is
something: the edge of its range is its null, and what random scores give only stands beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Self, get_args

import numpy as np
from pydantic import Field, model_validator
from scipy.stats import false_discovery_control

from attreval.core.bootstrap import (
    LEAST_TEXTS as LEAST_TEXTS,  # of a task; fewer decide_verdict nothing
)
from attreval.core.bootstrap import mean_of_known, percentile_interval
from attreval.core.section import Section


class Verdict(StrEnum):
    """What is concluded of a claim, the best first."""

    REPRODUCED = "reproduced"
    CHANCE = "holds by chance too"
    RULE = "depends on the rule"
    DIRECTION = "direction only"
    INCONCLUSIVE = "inconclusive"
    CONTRADICTED = "contradicted"
    UNTESTABLE = "not testable here"


NullWorld = Literal[
    "random scores", "exchanged names", "a worse one", "one that fails", "the other side"
]
NULLS: tuple[NullWorld, ...] = get_args(NullWorld)
OPPOSITE = ("a worse one", "the other side")  # of claims that there is nothing to see
NULL_LEVEL = 0.05  # the share of null worlds that may support a claim as much as we found
NO_WORLDS = np.zeros(0)


def made_nulls(null: str) -> tuple[str, ...]:
    """The columns of what the made worlds give that a claim is compared with.

    null: one of NULLS.
    """
    if null in OPPOSITE:
        return ()
    return ("null_scores", "null_names") if null == "exchanged names" else ("null_scores",)


class Expectation(Section):
    """The range of a claim: above a number, below one, or within `within` of one."""

    above: float | None = None
    below: float | None = None
    near: float | None = None
    within: float = Field(0.0, ge=0)

    @model_validator(mode="after")
    def one_of_three(self) -> Self:
        given = [name for name in ("above", "below", "near") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an expectation is one of above, below, near; got {given or 'none'}")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """The lower and upper end of the claimed range."""
        if self.near is not None:
            return self.near - self.within, self.near + self.within
        low = -np.inf if self.above is None else self.above
        high = np.inf if self.below is None else self.below
        return low, high

    def holds(self, values: float | np.ndarray) -> np.ndarray:
        """Whether values lie in the range; its ends belong to it only around a number."""
        low, high = self.ends
        values = np.asarray(values, dtype=float)
        if self.near is not None:
            slack = 1e-12 * max(1.0, abs(self.near))  # .9 + .1 is not 1
            return (values >= low - slack) & (values <= high + slack)
        return (values > low) & (values < high)

    def as_much(self, value: float, worlds: np.ndarray) -> np.ndarray:
        """Whether each of `worlds` supports the claim as much as `value` does.

        A range around a number is supported by whatever lies in it.
        """
        if self.near is not None:
            return self.holds(worlds)
        return worlds >= value - 1e-12 if self.above is not None else worlds <= value + 1e-12


@dataclass(frozen=True)
class Finding:
    """Our number for a claim.

    drawn: (b,) bootstrap draws. by_scores, by_names: (j,) values in null worlds. texts: of the
    smallest task. corpus, model, metric: whether they are the paper's. reason: why it is not
    tested.
    """

    value: float
    drawn: np.ndarray
    by_scores: np.ndarray = field(default_factory=NO_WORLDS.copy)
    by_names: np.ndarray = field(default_factory=NO_WORLDS.copy)
    texts: int = 0
    models: int = 0
    seeds: int = 1
    basis: str = ""
    corpus: str = ""
    model: str = ""
    metric: str = "as published"
    reason: str = ""

    def interval(self, confidence: float) -> tuple[float, float]:
        """The percentile interval of the draws."""
        low, high = percentile_interval(self.drawn, confidence)
        return float(low), float(high)

    def p(self, expect: Expectation) -> float:
        """Two-sided bootstrap p that the number lies on the other side of the range's edge."""
        known = self.drawn[~np.isnan(self.drawn)]
        inside = expect.holds(known).sum()
        fewer = min(inside, len(known) - inside)
        return min(1.0, 2 * (fewer + 1) / (len(known) + 1))

    def null_p(self, expect: Expectation, null: str) -> float:
        """The share of null worlds that support the claim as much as we found; NaN without any.

        The larger one, where worlds are made in two ways.
        """
        made = {"null_scores": self.by_scores, "null_names": self.by_names}
        shares = [np.nan]
        for name in made_nulls(null):
            worlds = made[name][~np.isnan(made[name])]
            supporting = expect.as_much(self.value, worlds).sum()
            if len(worlds):
                shares.append((supporting + 1) / (len(worlds) + 1))
        return np.fmax.reduce(shares)

    def measures(self, expect: Expectation, null: str, confidence: float) -> dict[str, Any]:
        """What a verdict rests on beside q: value, interval, what the nulls give, and null_p."""
        low, high = self.interval(confidence)
        return {
            "value": self.value,
            "low": low,
            "high": high,
            "reason": self.reason,
            "rule": "",
            "null_scores": mean_of_known(self.by_scores),
            "null_names": mean_of_known(self.by_names),
            "null_p": self.null_p(expect, null),
        }


def untested(reason: str) -> Finding:
    """A claim that nothing here tests, and why."""
    return Finding(np.nan, np.full(1, np.nan), reason=reason)


def adjust(p: np.ndarray) -> np.ndarray:
    """(c,) p-values at the false discovery rate of Benjamini & Hochberg (1995).

    NaN stays NaN and does not count.
    """
    p = np.asarray(p, dtype=float)
    out = np.full(len(p), np.nan)
    known = ~np.isnan(p)
    if known.any():
        out[known] = false_discovery_control(p[known])
    return out


def discovery_rate(confidence: float) -> float:
    """The highest adjusted p-value at which something is told, rounding allowed for."""
    return 1 - confidence + 1e-12


def decide_verdict(
    expect: Expectation, null: str, row: Mapping[str, Any], confidence: float
) -> Verdict:
    """The verdict on a claim.

    reproduced: the whole interval lies in the claimed range, q is small, and at most 5 % of the
    null's worlds support the claim as much. holds by chance too: the interval lies there, but more
    of them do. depends on the rule: it would be one of these or contradicted, but an open rule
    (`claims.Turn`) moves the number by more than its interval, to where it no longer is. direction
    only: of a direction, the value lies where it should, and the whole interval beyond what the
    null gives, but it reaches over the edge of the range. contradicted: the whole interval lies
    outside the range, and q is small. inconclusive: none of these.

    Args:
        expect: The claimed range.
        null: One of NULLS.
        row: `Finding.measures`, q (p adjusted for the claims tested beside it), and the open rule
            that turns it, if any.
        confidence: Of the interval.
    """
    value = row["value"]
    low = row["low"]
    high = row["high"]
    reason, rule = (isinstance(row[name], str) and row[name] for name in ("reason", "rule"))
    if reason or np.isnan(value):
        return Verdict.UNTESTABLE
    sure = row["q"] <= discovery_rate(confidence)
    passes_null = not row["null_p"] > NULL_LEVEL
    start, end = expect.ends
    outside = high <= start or low >= end if expect.near is None else high < start or low > end
    inside = expect.holds(low) and expect.holds(high)
    if sure and (inside or outside) and rule:
        return Verdict.RULE
    if inside and not passes_null:
        return Verdict.CHANCE
    if inside and sure:
        return Verdict.REPRODUCED
    if outside and sure:
        return Verdict.CONTRADICTED
    chances = [row[name] for name in made_nulls(null)]
    # the whole interval lies on the claim's side of what chance gives, over the edge of the range
    beyond_chance = expect.near is None and all(
        chance < min(low, start) or chance > max(high, end) for chance in chances
    )
    if chances and not inside and passes_null and beyond_chance and expect.holds(value):
        return Verdict.DIRECTION
    return Verdict.INCONCLUSIVE
