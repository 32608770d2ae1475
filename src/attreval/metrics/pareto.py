"""Pareto front of cost and quality, and the overlap of top tokens between two budgets or seeds of one method.

A method is on the front (undominated) where no other is as good for less, or better for as little. A method's budget
is enough where the tokens that it puts first no longer change. Letters used for shapes: m methods, n tokens, d draws.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.agreement import relevance_at_k


def pareto_front(cost: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """(..., m) bool: no other method has at most the cost and at least the quality, and one of both strictly.

    cost: (m,); quality: (..., m), higher is better. Methods whose cost or quality is NaN are never on it, and
    dominate nobody. Raises ValueError for different numbers of methods.
    """
    cost, quality = np.asarray(cost, dtype=float), np.asarray(quality, dtype=float)
    if cost.shape != quality.shape[-1:]:
        raise ValueError(f"one cost a method is needed; got {cost.shape} costs for {quality.shape[-1:]} methods")
    known = ~np.isnan(quality) & ~np.isnan(cost)
    as_cheap, cheaper = cost[:, None] <= cost, cost[:, None] < cost  # [i, j]: i against j
    with np.errstate(invalid="ignore"):
        as_good = quality[..., :, None] >= quality[..., None, :]
        better = quality[..., :, None] > quality[..., None, :]
    beats = as_cheap & as_good & (cheaper | better) & known[..., :, None]
    return known & ~beats.any(axis=-2)


def overlap_at_k(a: np.ndarray, b: np.ndarray, k: int) -> float:
    """Expected share of the k highest of one explanation that are among the k highest of the other, from 0 to 1.

    Ties are broken at random, apart for each. NaN where there is no token.
    """
    if len(a) != len(b):
        raise ValueError(f"two explanations of the same tokens are compared; got {len(a)} and {len(b)} scores")
    if not len(a):
        return float("nan")
    return float(relevance_at_k([a], k) @ relevance_at_k([b], k) / min(k, len(a)))
