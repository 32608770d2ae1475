"""Kernel SHAP (Lundberg & Lee 2017): Shapley values of units, fitted to the class probability of coalitions.

What a unit adds to the probability, on average over all orders in which units come.
Letters used for shapes: N coalitions, n units.
"""

from __future__ import annotations

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.coalitions import ASKS_COALITIONS, ask_coalitions, fit_values
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.models.questions import Conversation


def shapley_values(masks: np.ndarray, weights: np.ndarray, values: np.ndarray, empty: float, full: float) -> np.ndarray:
    """(n,) Shapley values of a game: (N,) values of coalitions, `empty` and `full` of the empty and of the full one."""
    return fit_values(masks, weights, (values - empty)[:, None], np.array([full - empty]))[:, 0]


@method(
    "Kernel SHAP",
    source="Lundberg & Lee 2017",
    order=42,
    in_papers={"sun2024": (1, "shapley token")},
    **ASKS_COALITIONS,
)
def kernel_shap(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) Shapley values of the class probability, masked units become the mask token (Lundberg & Lee 2017)."""
    units, *game = yield from ask_coalitions(tokens, target, budget, rng)
    return Scores(shapley_values(*game), features=units.groups)
