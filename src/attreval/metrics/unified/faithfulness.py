"""Unified comprehensiveness and sufficiency (Sun et al. 2024, section 2.2), at equal numbers of units.

1 where the predicted class changes when the units of an explanation go, or when only they stay, else 0; averaged over
numbers of features and then over instances. Units that go become the mask token.
Letters used for shapes: m sets of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attreval.core.records import Tokens
from attreval.core.units import Units, mask_units
from attreval.metrics.unified.ranking import Ranking, take_units, units_in
from attreval.models.questions import Evaluate, softmax


@dataclass(frozen=True)
class Changes:
    """(m,) each. without: the sets of units masked; only: all but them masked. flips are 0 or 1, drops differences of
    the probability of the class predicted on the whole text."""

    flips_without: np.ndarray
    flips_only: np.ndarray
    drops_without: np.ndarray
    drops_only: np.ndarray


def match_budget(rankings: dict[str, Ranking], k: int) -> dict[str, set[int]]:
    """Of each type of explanation its first units, as many as the first k pairs of spans hold (eq. 5-7)."""
    size = len(rankings["span"].units(k))
    fill = rankings.get("token")
    return {kind: units_in(take_units(ranking, size, fill)) for kind, ranking in rankings.items()}


def random_units(n: int, size: int, draws: int, rng: np.random.Generator) -> list[set[int]]:
    """Random sets of `size` of n units."""
    return [set(rng.permutation(n)[:size].tolist()) for _ in range(draws)]


def ask_changes(tokens: Tokens, units: Units, sets: Sequence[set[int]]):
    """The conversation that masks sets of units, and all but them: returns Changes."""
    chosen = np.zeros((len(sets), len(units)), dtype=bool)
    for row, inside in zip(chosen, sets, strict=True):
        row[list(inside)] = True
    rows = mask_units(tokens, units, np.concatenate([~chosen, chosen]))
    logits = yield Evaluate(np.concatenate([tokens.ids[None], rows]), tokens.segments)
    whole = int(logits[0].argmax())
    p = softmax(logits)[:, whole]
    flips = (logits[1:].argmax(axis=1) != whole).astype(float)
    m = len(sets)
    return Changes(flips[:m], flips[m:], p[0] - p[1 : m + 1], p[0] - p[m + 1 :])
