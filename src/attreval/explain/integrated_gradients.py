"""How does the class score change with the word embeddings, here or along a path to a baseline?

Gradients of the target logit with respect to word embeddings; position and type embeddings are added inside the model.
Letters used for shapes: L tokens, n content tokens, D embedding width, m path nodes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from attreval.explain.method import Scores
from attreval.models.questions import Evaluate, PathGradient


@cache
def gauss_legendre(steps: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """m nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return tuple((nodes + 1) / 2), tuple(weights / 2)


def gradient_l1(tokens, target, budget, rng):
    """(n,) L1 norms of the gradient (Kamp et al. 2023, Vanilla Gradient; captum Saliency summed over dimensions)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores(np.abs(answer.gradient).sum(axis=1)[tokens.content])


def gradient_l2(tokens, target, budget, rng):
    """(n,) L2 norms of the gradient (Poerner et al. 2018, grad_1s^L2)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores(np.linalg.norm(answer.gradient, axis=1)[tokens.content])


def gradient_x_input(tokens, target, budget, rng):
    """(n,) dot products of embedding and gradient (Shrikumar et al. 2017; Poerner et al. 2018, grad_1s^dot)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores((answer.gradient * answer.difference).sum(axis=1)[tokens.content])


def poerner(path: bool, of: str, measure: str):
    """The conversation of one of the eight gradients of Poerner et al. (2018, section 3.1).

    path: average the gradient from zero embeddings to the text (`riemann_steps` points, right sums) rather than take it
    at the text. of: `logit` or `probability`. measure: its `l2` norm, or its `dot` product with the embedding.
    """

    def converse(tokens, target, budget, rng):
        steps = budget.riemann_steps if path else 1
        nodes, weights = tuple((i + 1) / steps for i in range(steps)), (1 / steps,) * steps
        answer = yield PathGradient(tokens.ids, tokens.segments, target, nodes, weights, of=of)
        if measure == "l2":
            return Scores(np.linalg.norm(answer.gradient, axis=1)[tokens.content])
        return Scores((answer.gradient * answer.difference).sum(axis=1)[tokens.content])

    return converse


def baseline_ids(tokens) -> np.ndarray:
    """(L,) ids with every content token replaced by the padding token (Kamp et al. 2023; see decisions)."""
    return np.where(tokens.special, tokens.ids, tokens.pad_id)


def walk_path(tokens, target, budget):
    """Ask for the path gradient, with more nodes until the gap is within tolerance; return the answer and the gap.

    Starts at `path_steps` nodes and doubles them up to `path_steps_most`. Both integrated-gradients methods walk alike,
    so the second one finds every answer in the ledger.
    """
    base = baseline_ids(tokens)
    logits = yield Evaluate(np.stack([tokens.ids, base]), tokens.segments)
    owed = float((logits[0] - logits[1])[target])
    steps = budget.path_steps
    while True:
        answer = yield PathGradient(tokens.ids, tokens.segments, target, *gauss_legendre(steps), base)
        gap = float((answer.gradient * answer.difference).sum()) - owed
        if abs(gap) <= budget.gap_tolerance * max(1.0, abs(owed)) or 2 * steps > budget.path_steps_most:
            return answer, gap
        steps *= 2


def integrated_gradients(tokens, target, budget, rng):
    """(n,) integrated gradients (Sundararajan et al. 2017, eq. 1); the gap is their sum minus s(text) - s(baseline)."""
    answer, gap = yield from walk_path(tokens, target, budget)
    # special tokens are their own baseline, so all relevance lies on content tokens
    return Scores((answer.gradient * answer.difference).sum(axis=1)[tokens.content], gap=gap)


def integrated_gradients_plain(tokens, target, budget, rng):
    """(n,) sums over dimensions of the averaged path gradient, without the input factor (Kamp et al. 2023, IntGrad)."""
    answer, _ = yield from walk_path(tokens, target, budget)
    return Scores(answer.gradient.sum(axis=1)[tokens.content])
