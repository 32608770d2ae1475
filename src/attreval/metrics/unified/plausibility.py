"""Unified agreement with human annotation, by average precision (Sun et al. 2024, section 2.3, eq. 8-12).

Every distinct score of a pair of spans is a threshold; the features above it are compared with the units and with the
interactions that people marked. The other types of explanation are cut where they hold as many units.

Relations of SpanEx come at two levels: `low` ones are pairs of words, `high` ones pairs of spans. Where there are only
highlights (e-SNLI), a person's highlighted words of the two parts are paired with each other, and so are the runs
that they form (section 2.3 and appendix B; the pairing of highlights is ours).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from attreval.core.records import Instance, Tokens
from attreval.core.units import Units, consecutive_runs
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.unified.faithfulness import (
    Feature,
    Ranking,
    feature_of,
    features_needed,
    rank_text,
    take_units,
    units_in,
)

ANNOTATORS = ("union", "majority", "each")
GOLD_LEVELS = {"token": "low", "pair": "low", "span": "high", "combined": "high"}
_people = partial(
    metric,
    judge="diagnosis",
    source="Sun et al. 2024, section 2.3, eq. 11",
    higher_is_better=True,
    notebook="07_sun2024",
)
MATCHES: dict[str, Callable[[set[int], set[int]], bool]] = {  # of the units that two features have in one part
    "overlap": lambda a, b: bool(a & b),
    "exact": lambda a, b: a == b,
    "iou50": lambda a, b: 2 * len(a & b) >= len(a | b) > 0,
    "token_pairs": lambda a, b: a == b,
}


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
                given[level].append(feature_of(units, sorted(sides[0] + sides[1])))
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
        first, second = feature_of(units, marked)
        pairs = tuple(((a,), (b,)) for a in first for b in second)
        spans = tuple((tuple(a), tuple(b)) for a in consecutive_runs(first) for b in consecutive_runs(second))
        people.append(Gold({"low": set(marked), "high": set(marked)}, {"low": pairs, "high": spans}))
    return people


def average_precision(steps: Iterable[tuple[float, float]]) -> float:
    """Sum of precision times gain in recall over (precision, recall) steps, recall starting at 0 (eq. 11)."""
    total, before = 0.0, 0.0
    for precision, recall in steps:
        total += precision * (recall - before)
        before = recall
    return total


def threshold_counts(spans: Ranking) -> list[int]:
    """How many pairs of spans score at least as high as each distinct score (eq. 8-9)."""
    return [int((spans.scores >= score).sum()) for score in dict.fromkeys(spans.scores.tolist())]


def units_at(ranking: Ranking, spans: Ranking, fill: Ranking | None = None) -> list[set[int]]:
    """The first units of an explanation at each threshold, exactly as many as the pairs of spans hold there."""
    return [units_in(take_units(ranking, len(spans.units(k)), fill)) for k in threshold_counts(spans)]


def features_at(ranking: Ranking, spans: Ranking) -> list[tuple[Feature, ...]]:
    """The first features of an explanation at each threshold, whole, as many as it takes to hold those units."""
    if ranking is spans:
        return [spans.features[:k] for k in threshold_counts(spans)]
    return [ranking.features[: features_needed(ranking, len(spans.units(k)))] for k in threshold_counts(spans)]


def unit_agreement(found: Sequence[set[int]], gold: set[int]) -> float:
    """Average precision of the units at each threshold; NaN where people marked none."""
    if not gold:
        return float("nan")
    return average_precision((len(held & gold) / len(held), len(held & gold) / len(gold)) for held in found if held)


def matches(rule: str, a: Feature, b: Feature) -> bool:
    """Whether two features match by a rule in both parts; see `interaction_agreement`."""
    return all(MATCHES[rule](set(x), set(y)) for x, y in zip(a, b, strict=True))


def unit_pairs(features: Iterable[Feature]) -> list[Feature]:
    """Every pair of units across the parts of each feature, once."""
    return list(dict.fromkeys(((a,), (b,)) for first, second in features for a in first for b in second))


def interaction_agreement(found: Sequence[Sequence[Feature]], gold: Sequence[Feature], rule: str) -> float:
    """Average precision of features at each threshold; one is right where it matches one of those that people gave.

    rule: `overlap` in both parts, the `exact` same feature, `iou50` (half of the units in both parts), or
    `token_pairs`: features are taken apart into pairs of units, which must be the same. NaN where people gave none.
    """
    if rule not in MATCHES:
        raise ValueError(f"matching rule {rule!r} is not known; there are: {', '.join(MATCHES)}")
    if not gold:
        return float("nan")
    if rule == "token_pairs":
        found, gold = [unit_pairs(features) for features in found], unit_pairs(gold)
    hits = {}
    for feature in dict.fromkeys(feature for features in found for feature in features):
        hits[feature] = np.array([matches(rule, feature, g) for g in gold])
    steps = []
    for features in found:
        if features:
            table = np.stack([hits[feature] for feature in features])
            steps.append((table.any(axis=1).mean(), table.any(axis=0).mean()))
    return float(average_precision(steps))


PEOPLE_UNITS = _people(
    "People (units)",
    name="people_units",
    about="How well the explanation ranks the tokens that people marked: average precision.",
    needs=("scores", "marks"),
    order=64,
    stored="people_units",
    joint=True,
    planted=False,
)(unit_agreement)
PEOPLE_INTERACTIONS = _people(
    "People (interactions)",
    name="people_interactions",
    about="How well the explanation ranks the relations that people gave: average precision.",
    needs=("scores", "relations"),
    order=65,
    stored="people_interactions",
    joint=True,
    planted=False,
)(interaction_agreement)


@_people("Agreement with gold (pairs)", needs=("scores", "relations"), order=71, level="pair")
def pair_interactions(text: ScoredText, method: str) -> float:
    """How well the explanation ranks the pairs of tokens that decide together: average precision."""
    features = rank_text(text, method).features
    return interaction_agreement([features[: k + 1] for k in range(len(features))], text.relations, "exact")
