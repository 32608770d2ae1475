"""Unified agreement with human annotation, by average precision (Sun et al. 2024, section 2.3, eq. 8-12).

Every distinct score of a pair of spans is a threshold; the features above it are compared with the units and with the
interactions that people marked. The other types of explanation are cut where they hold as many units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.unified.faithfulness import rank_text
from attreval.metrics.unified.ranking import Feature, Ranking, features_needed, take_units, units_in

_people = partial(
    metric,
    judge="diagnosis",
    source="Sun et al. 2024, section 2.3, eq. 11",
    higher_is_better=True,
    notebook="07_sun2024",
)


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


def _overlaps(a: Feature, b: Feature) -> bool:
    """Whether two features share a unit in both parts."""
    return all(set(x) & set(y) for x, y in zip(a, b, strict=True))


def _coincide(a: Feature, b: Feature) -> bool:
    """Whether two features are the same."""
    return all(set(x) == set(y) for x, y in zip(a, b, strict=True))


def _share_half(a: Feature, b: Feature) -> bool:
    """Whether two features share at least half of the units that either has, in both parts."""
    return all(2 * len(set(x) & set(y)) >= len(set(x) | set(y)) > 0 for x, y in zip(a, b, strict=True))


MATCHES: dict[str, Callable[[Feature, Feature], bool]] = {
    "overlap": _overlaps,
    "exact": _coincide,
    "iou50": _share_half,
    "token_pairs": _coincide,
}


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
        hits[feature] = np.array([MATCHES[rule](feature, g) for g in gold])
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
