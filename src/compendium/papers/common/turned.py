"""What becomes of a contradicted claim when one thing is changed (turned) and everything else stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from compendium.config import BootstrapSpec
from compendium.papers.common.claims import Claim, say
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.verdicts import CONTRADICTED, LEAST_TEXTS, Expectation, Finding

COLUMNS = ["claim", "paper", "statement", "what", "how", "value", "low", "high", "claimed", "texts", "holds"]
INSIDE, OPEN, OUTSIDE, FEW = "holds", "open", "does not hold", "too few texts"
LEAST_NULLS = 19  # what a profile may ask for at least; a turned number is not compared with chance


@dataclass(frozen=True)
class Turn:
    """One thing turned: which, and to what. finding: the conclusion's number then, None where nothing tests it.
    expect: the range that it must lie in, where another number is asked than the conclusion's own."""

    what: Literal["model", "corpus", "method", "metric", "protocol", "size"]
    how: str
    finding: Finding | None
    expect: Expectation | None = None


TITLES = {"task": task_title, "model": model_title}


def each_alone(rows: pd.DataFrame, columns: Mapping[str, str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """What is turned, to what in words, and the rows with that one value of one column, where it has several.

    columns: what is turned by which column, as `Turn.what`.
    """
    for column, what in columns.items():
        names = list(dict.fromkeys(rows[column].dropna()))
        for name in names if len(names) > 1 else ():
            yield what, TITLES.get(column, str)(name), rows[rows[column] == name]


def turned_table(
    claims: Iterable[Claim], judged: pd.DataFrame, turn: Callable[[Claim], Iterable[Turn]], confidence: float
) -> pd.DataFrame:
    """One row a contradicted conclusion and thing turned: its number, interval, and whether it holds then.

    judged: of `claims.score`. turn: what can be turned of a conclusion.
    """
    contradicted, rows = judged[judged.verdict == CONTRADICTED].set_index("claim")[["value", "low", "high"]], []
    for claim in claims:
        for one in turn(claim) if claim.id in contradicted.index else ():
            if one.finding is None or np.isnan(one.finding.value):
                continue
            expect = one.expect or claim.expect
            low, high = one.finding.interval(confidence)
            if np.allclose((one.finding.value, low, high), contradicted.loc[claim.id].astype(float)):
                continue  # it has no part in this conclusion
            row = {"claim": claim.id, "paper": claim.paper, "statement": claim.statement, "what": one.what}
            row |= {"how": one.how, "value": one.finding.value, "low": low, "high": high, "claimed": say(expect)}
            rows.append(row | {"texts": one.finding.texts, "holds": decide(expect, low, high, one.finding.texts)})
    return pd.DataFrame(rows, columns=COLUMNS)


def decide(expect: Expectation, low: float, high: float, texts: int) -> str:
    """Whether a conclusion holds by an interval alone: inside the claimed range, outside of it, or neither."""
    if texts < LEAST_TEXTS:
        return FEW
    start, end = expect.ends
    if expect.holds(np.array([low, high])).all():
        return INSIDE
    return OUTSIDE if high < start or low > end else OPEN


def quick_draws(settings: BootstrapSpec) -> BootstrapSpec:
    """As many draws, with as few null worlds as there may be."""
    return settings.changed(nulls=LEAST_NULLS)


def say_turned(rows: Iterable[dict]) -> str:
    """What turning one thing at a time did, in words; empty where nothing was turned.

    rows: of a conclusion, as of `turned_table`.
    """
    rows = list(rows)
    if not rows:
        return ""
    kinds = {kind: [row for row in rows if row["holds"] == kind] for kind in (INSIDE, OPEN, FEW, OUTSIDE)}
    said = [f"it holds with {_list(kinds[INSIDE])}" if kinds[INSIDE] else "it holds with none"]
    said += [f"is open with {_list(kinds[OPEN])}"] if kinds[OPEN] else []
    said += [f"is undecided with {_list(kinds[FEW])}, for lack of texts"] if kinds[FEW] else []
    if kinds[OUTSIDE]:
        named = _list(kinds[OUTSIDE]) if len(kinds[OUTSIDE]) <= 3 else f"the other {len(kinds[OUTSIDE])}"
        said.append(f"does not hold with {named}")
    return f"With one thing changed at a time ({len(rows)} changes), {'; '.join(said)}."


def _list(rows: list[dict]) -> str:
    """What was turned to, with the number that came of it."""
    return ", ".join(
        f"{row['what']} {row['how']} ({row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}])" for row in rows
    )
