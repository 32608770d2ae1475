"""Kernel SHAP (Lundberg & Lee 2017): Shapley values of units, fitted to the class probability of coalitions.

What a unit adds to the probability, on average over all orders in which units come.
Letters used for shapes: N coalitions, n units.
"""

from __future__ import annotations

import numpy as np

from attreval.methods.coalitions import ask_coalitions, fit_values
from attreval.methods.method import Scores


def shapley_values(masks, weights, values: np.ndarray, empty: float, full: float) -> np.ndarray:
    """(n,) Shapley values of a game: (N,) values of coalitions, `empty` and `full` of the empty and of the full one."""
    return fit_values(masks, weights, (values - empty)[:, None], np.array([full - empty]))[:, 0]


def kernel_shap(tokens, target, budget, rng):
    """(n,) Shapley values of the class probability, masked units become the mask token (Lundberg & Lee 2017)."""
    units, *game = yield from ask_coalitions(tokens, target, budget, rng)
    return Scores(shapley_values(*game), features=units.groups)
