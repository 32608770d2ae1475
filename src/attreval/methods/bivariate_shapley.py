"""Bivariate Shapley (Masoomi et al. 2023): phi(i|j), the Shapley value of i in a game whose value is zero without j.

It needs no question beyond those of Kernel SHAP. Used as by Sun et al. (2024, appendix D).
Letters used for shapes: N coalitions, n units.
"""

from __future__ import annotations

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.coalitions import ASKS_COALITIONS, ask_coalitions, fit_values
from attreval.methods.method import Budget, Rng, method
from attreval.methods.spans import find_spans, pair_scores
from attreval.models.questions import Conversation


def bivariate_values(
    masks: np.ndarray, weights: np.ndarray, values: np.ndarray, empty: float, full: float
) -> np.ndarray:
    """(n, n) values phi(i|j), row i, column j: the Shapley value of i in the game v(S) if j in S, else 0; diagonal 0.

    The empty coalition's value is taken off first. That moves no phi(i|j), since a unit other than j adds nothing to a
    constant paid where j is; and as every coalition is there with its complement, neither does the additive part of
    the game: it is fitted exactly, so that no control variate is needed for it.
    """
    out = fit_values(masks, weights, (values - empty)[:, None] * masks, np.full(masks.shape[1], full - empty))
    np.fill_diagonal(out, 0.0)
    return out


def _ask_bivariate(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """The units and the (n, n) matrix of phi(i|j)."""
    units, *game = yield from ask_coalitions(tokens, target, budget, rng)
    return units, bivariate_values(*game)


@method(
    "Bivariate Shapley",
    source="Masoomi et al. 2023",
    order=43,
    level="pair",
    in_papers={"sun2024": (2, "shapley pair")},
    **ASKS_COALITIONS,
)
def bivariate_shapley(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs by Bivariate Shapley: the mean of phi(a|b) and phi(b|a) (Masoomi et al. 2023)."""
    return pair_scores(*(yield from _ask_bivariate(tokens, target, budget, rng)))


@method(
    "Bivariate Shapley, spans",
    source="Sun et al. 2024, appendix D",
    order=44,
    level="span",
    in_papers={"sun2024": (3, "shapley span")},
    **ASKS_COALITIONS,
)
def bivariate_shapley_spans(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs of spans by Bivariate Shapley."""
    units, matrix = yield from _ask_bivariate(tokens, target, budget, rng)
    return find_spans(tokens, units, matrix, budget.units, rng)
