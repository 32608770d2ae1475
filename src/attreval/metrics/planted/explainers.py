"""Explainers of planted models that are right, wrong or misleading by construction.

Letters used for shapes: n content tokens, P pairs of tokens across the two parts.
"""

from __future__ import annotations

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.planted.worlds import Planted

EXPLAINERS = {
    "oracle": "the true importances",
    "random": "random scores",
    "constant": "all alike",
    "reversed": "the true importances with the opposite sign",
    "adversarial": "the right token first, the rest from worst to best",
    "leaking": "names the class by the place of its one mark: the first token, or the last",
}
DRAWN = ("random", "constant", "adversarial", "reversed", "leaking")  # their scores, or the ties in them, are drawn


def truth_of(text: Planted, level: str) -> np.ndarray:
    """The true importances of tokens or pairs. ValueError where pairs do nothing."""
    if level == "token":
        return text.truth
    if text.pair_truth is None:
        raise ValueError(
            f"in the world {text.world!r} no two tokens do anything together; level pair needs interaction"
        )
    return text.pair_truth


def explain_as(explainer: str, text: Planted, level: str = "token", draw: int = 0) -> np.ndarray:
    """(n,) scores of tokens, or (P,) of pairs, by one of EXPLAINERS. ValueError for another name."""
    truth, rng = truth_of(text, level), generator("explainer", explainer, text.id, level, draw)
    if explainer == "oracle":
        return truth.astype(float)
    if explainer == "random":
        return rng.standard_normal(len(truth))
    if explainer == "constant":
        return np.ones(len(truth))
    if explainer == "reversed":
        return -truth.astype(float)
    if explainer == "adversarial":
        order = np.lexsort((rng.random(len(truth)), -truth))  # by falling truth, ties in random order
        scores = np.empty(len(truth))
        scores[order] = np.linspace(0.0, 0.9, len(truth))  # the worst is second, the second best is last
        scores[order[0]] = 1.0
        return scores
    if explainer == "leaking":
        scores = np.zeros(len(truth))
        scores[0 if text.target == 1 else -1] = 1.0
        return scores
    raise ValueError(f"unknown explainer {explainer!r}; there are: {', '.join(EXPLAINERS)}")
