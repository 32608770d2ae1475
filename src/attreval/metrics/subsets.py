"""What random sets of tokens do, and what their scores add up to: faithfulness correlation and infidelity.

All methods are asked about the same DRAWS sets of a text, which cost as many evaluations once.
Letters used for shapes: m sets, n tokens that may be erased.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import correlate, erasable_scores, layout_of, left_once, named
from attreval.models.questions import Conversation

DRAWS = 50
SHARE = 0.2  # of the tokens, in each set of the correlation


def draw_sets(text: ScoredText, share: float | None) -> np.ndarray:
    """(m, n) bool sets of tokens: of a share of them, rounded up, or where it is None of a number drawn for each."""
    n, rng = int(layout_of(text).erasable.sum()), generator("sets", text.instance.id, share, *text.names)
    sizes = rng.integers(1, n + 1, DRAWS) if share is None else np.full(DRAWS, ceil(round(share * n, 9)))
    return rng.random((DRAWS, n)).argsort(axis=1).argsort(axis=1) < sizes[:, None]


def fit_error(sums: np.ndarray, drops: np.ndarray) -> float:
    """Mean squared difference of (m,) drops from sums of scores, these times the best number of 0 or more."""
    largest = np.abs(sums).max()
    sums = sums / largest if largest > 0 else sums
    power = (sums**2).mean()
    factor = max(0.0, (sums * drops).mean() / power) if power > 0 else 0.0
    return float(((factor * sums - drops) ** 2).mean())


@named(
    "Faithfulness correlation",
    source="Bhatt et al. 2020, definition 1",
    range=(-1.0, 1.0),
    higher_is_better=True,
    order=90,
)
def faithfulness_correlation(text: ScoredText, method: str) -> Conversation:
    """How far what random sets of tokens score together follows what their erasure takes from the class's probability.

    Pearson's correlation over sets of a fifth of the tokens; NaN where all sets do the same.
    """
    sets = draw_sets(text, SHARE)
    left = yield from left_once(text, ("sets", SHARE), sets)
    return correlate(sets @ erasable_scores(text, method), left.drops)


@named("Infidelity", source="Yeh et al. 2019, definition 2.1", higher_is_better=False, order=91)
def infidelity(text: ScoredText, method: str) -> Conversation:
    """Mean squared difference of what a random set of tokens scores and what its erasure takes from the probability.

    Scores are brought to the scale of probabilities by the factor that makes the difference least, as in the authors'
    code, but one of 0 or more: with theirs a reversed explanation fares as well as the explanation. All scores being
    equal they still tell how many tokens a set has, which random ones do not: this is no constant of chance.
    """
    sets = draw_sets(text, None)
    left = yield from left_once(text, ("sets", None), sets)
    return fit_error(sets @ erasable_scores(text, method), left.drops)
