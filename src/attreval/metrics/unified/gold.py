"""Human annotation as units and as interactions: highlights of words, or relations between spans.

Relations of SpanEx come at two levels: `low` ones are pairs of words, `high` ones pairs of spans. Where there are only
highlights (e-SNLI), a person's highlighted words of the two parts are paired with each other, and so are the runs
that they form (Sun et al. 2024, section 2.3 and appendix B; the pairing of highlights is ours).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attreval.core.records import Instance, Tokens
from attreval.core.units import Units, consecutive_runs
from attreval.metrics.unified.ranking import Feature

ANNOTATORS = ("union", "majority", "each")
GOLD_LEVELS = {"token": "low", "pair": "low", "span": "high", "combined": "high"}


@dataclass(frozen=True)
class Gold:
    """units: level (low, high) -> units that people marked. interactions: level -> those that they gave."""

    units: dict[str, set[int]]
    interactions: dict[str, tuple[Feature, ...]]


def read_gold(instance: Instance, tokens: Tokens, units: Units, annotators: str = "union") -> list[Gold]:
    """What people marked, as one answer (`union`, `majority`: more than half of them), or `each` person's.

    Empty where nobody marked anything; ValueError for another way to merge.
    """
    if annotators not in ANNOTATORS:
        raise ValueError(f"annotators are merged by {', '.join(ANNOTATORS)}; got {annotators!r}")
    of_word: dict[int, list[int]] = {}
    for u, group in enumerate(units.groups):
        of_word.setdefault(int(tokens.word[group[0]]), []).append(u)
    people = _read_relations(instance, units, of_word) or _read_highlights(instance, units, of_word)
    if annotators == "each" or len(people) < 2:
        return people
    needed = 1 if annotators == "union" else len(people) // 2 + 1
    return [
        Gold(
            {level: set(_marked_by_at_least([g.units[level] for g in people], needed)) for level in ("low", "high")},
            {level: _marked_by_at_least([g.interactions[level] for g in people], needed) for level in ("low", "high")},
        )
    ]


def _marked_by_at_least(answers: list[Iterable], needed: int) -> tuple:
    """What at least `needed` answers hold, in order of first mention."""
    every = list(dict.fromkeys(one for answer in answers for one in answer))
    return tuple(one for one in every if sum(one in answer for answer in answers) >= needed)


def _feature_of(units: Units, chosen: Iterable[int]) -> Feature:
    """Units as a feature: those of the first part, those of the second."""
    first, chosen = units.side.min(), sorted(chosen)
    return tuple(u for u in chosen if units.side[u] == first), tuple(u for u in chosen if units.side[u] != first)


def _read_relations(instance: Instance, units: Units, of_word: dict[int, list[int]]) -> list[Gold]:
    """The relations of each annotator. A `Dangler`, a span without counterpart, gives units but no interaction."""
    found: dict[str, list] = {}
    for *ends, name in instance.evidence.interactions:
        level, _, label = name.partition(" ")
        label, _, annotator = label.rpartition(" ")
        sides = [[u for w in range(a, b) for u in of_word.get(w, ())] for a, b in (ends[:2], ends[2:])]
        found.setdefault(annotator, []).append((level, label, sides))
    people = []
    for relations in found.values():
        held: dict[str, set[int]] = {"low": set(), "high": set()}
        given: dict[str, list[Feature]] = {"low": [], "high": []}
        for level, label, sides in relations:
            if label.startswith("Dangler"):
                held[level].update(_dangling(label, sides, units))
            elif all(sides):
                held[level].update(*sides)
                given[level].append(_feature_of(units, sides[0] + sides[1]))
        people.append(Gold(held, {level: tuple(dict.fromkeys(all_of)) for level, all_of in given.items()}))
    return people


def _dangling(label: str, sides: list[list[int]], units: Units) -> list[int]:
    """The units of the side that a dangling span stands on: the one named, else the one that is not a whole part."""
    if "PREMISE" in label.upper() or "HYPOTHESIS" in label.upper():
        return sides["HYPOTHESIS" in label.upper()]
    whole = [len(side) == (units.side == part).sum() for side, part in zip(sides, np.unique(units.side), strict=True)]
    return [u for side, every in zip(sides, whole, strict=True) if not every for u in side]


def _read_highlights(instance: Instance, units: Units, of_word: dict[int, list[int]]) -> list[Gold]:
    """The highlights of each annotator, the words of one part paired with those of the other."""
    people = []
    for row in instance.evidence.marks:
        marked = sorted(u for w in np.flatnonzero(row > 0).tolist() for u in of_word.get(w, ()))
        first, second = _feature_of(units, marked)
        pairs = tuple(((a,), (b,)) for a in first for b in second)
        spans = tuple((tuple(a), tuple(b)) for a in consecutive_runs(first) for b in consecutive_runs(second))
        people.append(Gold({"low": set(marked), "high": set(marked)}, {"low": pairs, "high": spans}))
    return people
