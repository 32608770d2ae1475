"""Ranked features of an explanation, and the units that the first of them hold (Sun et al. 2024, section 2.1).

A feature is a unit, a pair of units across the two parts of an input, or a pair of spans. Explanations of any type are
compared at equal numbers of units: as many as the first k pairs of spans hold (eq. 5-7).
Letters used for shapes: n units, F features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attreval.core.records import Attribution
from attreval.core.units import Units, unit_scores

Feature = tuple[tuple[int, ...], tuple[int, ...]]  # units in the first part, units in the second


@dataclass(frozen=True)
class Ranking:
    """Features and their (F,) scores, highest first.

    unit_weights: (n,) sum of the scores of the features that hold a unit. tie: (n,) random order of units, which
    decides where nothing else does.
    """

    features: tuple[Feature, ...]
    scores: np.ndarray
    unit_weights: np.ndarray
    tie: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def units(self, k: int) -> set[int]:
        """The units in the first k features (eq. 1)."""
        return units_in(self.features[:k])


def rank_features(attribution: Attribution, units: Units, rng: np.random.Generator) -> Ranking:
    """An attribution's features by falling score, equal scores in random order.

    Scores of word pieces are summed to those of their units. ValueError for an input that is not in two parts.
    """
    sides = np.unique(units.side)
    if len(sides) > 2:
        raise ValueError(f"explanations of pairs need an input of two parts; this one has {len(sides)}")
    at = units.of_position()
    if attribution.level == "token":
        held: list[tuple[int, ...]] = [(u,) for u in range(len(units))]
        scores = unit_scores(attribution.features, attribution.scores, units)
    else:
        held = [tuple(sorted({at[p] for p in feature})) for feature in attribution.features]
        scores = attribution.scores
    return make_ranking(held, scores, units, rng)


def make_ranking(
    held: Sequence[tuple[int, ...]], scores: np.ndarray, units: Units, rng: np.random.Generator
) -> Ranking:
    """The ranking of features, given as the units that each holds."""
    scores = np.asarray(scores, dtype=float)
    order = np.lexsort((rng.permutation(len(scores)), -scores))
    first = units.side.min(initial=0)
    parts = [
        (tuple(u for u in feature if units.side[u] == first), tuple(u for u in feature if units.side[u] != first))
        for feature in held
    ]
    unit_weights = np.zeros(len(units))
    for feature, score in zip(held, scores, strict=True):
        unit_weights[list(feature)] += score
    return Ranking(tuple(parts[i] for i in order), scores[order], unit_weights, rng.permutation(len(units)))


def take_units(ranking: Ranking, size: int, fill: Ranking | None = None) -> list[Feature]:
    """The first features that hold `size` units between them: exactly so many (eq. 6-7).

    Where the last feature holds too many new ones, those of them that weigh least are left out of it. Where features
    run out, units follow in the order of `fill`, a ranking of units. ValueError where there are fewer units than asked.
    """
    chosen: set[int] = set()
    out = []
    for feature in (*ranking.features, *(fill.features if fill else ())):
        if len(chosen) == size:
            break
        fresh = sorted(units_in([feature]) - chosen, key=lambda u: (-ranking.unit_weights[u], ranking.tie[u]))
        left_out = set(fresh[size - len(chosen) :])
        first, second = (tuple(u for u in part if u not in left_out) for part in feature)
        out.append((first, second))
        chosen |= set(fresh) - left_out
    if len(chosen) < size:
        raise ValueError(f"the features of an explanation hold {len(chosen)} units; {size} were asked for")
    return out


def features_needed(ranking: Ranking, size: int) -> int:
    """How many of the first features, each whole, it takes to hold `size` units; all where they never do."""
    return next((k for k in range(len(ranking)) if len(ranking.units(k)) >= size), len(ranking))


def units_in(features: Sequence[Feature]) -> set[int]:
    """The units that features hold."""
    return {u for feature in features for part in feature for u in part}


def piece_counts(spans: Ranking, asked: Sequence[int], most: int) -> list[int]:
    """The numbers of first features to look at: those asked for, else 1, 2, ... to `most`, as far as there are any."""
    return [k for k in (asked or range(1, most + 1)) if k <= len(spans)]
