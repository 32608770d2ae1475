"""Gradients and Gradient x Input (Simonyan et al. 2014; Shrikumar et al. 2017), with every norm, average and sign.

Gradients of the target's logit or probability with respect to word embeddings; position and type embeddings are added
inside the model. The variants of Zhao & Aletras (2023) differ in a sign, or in whose gradient a token gets.
Letters used for shapes: L tokens, n content tokens, D embedding width.
"""

from __future__ import annotations

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Scores
from attreval.models.questions import PathAnswer, PathGradient


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
    return Scores(answer.dot()[tokens.content])


def averaged_gradient(path: bool, of: str, measure: str):
    """The conversation of one of the eight gradients of Poerner et al. (2018, section 3.1).

    path: average the gradient from zero embeddings to the text (`riemann_steps` points, right sums) rather than take it
    at the text. of: `logit` or `probability`. measure: its `l2` norm, or its `dot` product with the embedding.
    """

    def converse(tokens, target, budget, rng):
        steps = budget.riemann_steps if path else 1
        nodes, weights = tuple((i + 1) / steps for i in range(steps)), (1 / steps,) * steps
        answer = yield PathGradient(tokens.ids, tokens.segments, target, nodes, weights, of=of)
        scores = np.linalg.norm(answer.gradient, axis=1) if measure == "l2" else answer.dot()
        return Scores(scores[tokens.content])

    return converse


def gradient_x_input_absolute(tokens, target, budget, rng):
    """(n,) magnitudes of the dot products of embedding and gradient (Zhao & Aletras 2023, section 4.3)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores(np.abs(answer.dot())[tokens.content])


def gradient_x_input_shared(tokens, target, budget, rng):
    """(n,) the same, with one gradient for all places of a token, as the released code takes it."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores(np.abs(shared_dot(tokens, answer))[tokens.content])


def shared_dot(tokens: Tokens, answer: PathAnswer) -> np.ndarray:
    """(L,) dot products of embedding and gradient of the embedding matrix: summed over all places of the same token."""
    same = tokens.ids[:, None] == tokens.ids
    return ((same.astype(float) @ answer.gradient) * answer.difference).sum(axis=1)
