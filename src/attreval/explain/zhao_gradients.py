"""What do the gradient methods of Zhao & Aletras (2023) say, by the paper and by its released code?

They differ from their namesakes in a sign, a baseline or the place where a path is walked; the released code differs
again. Each variant has a name, so that nothing depends on a setting that a table does not show.
Letters used for shapes: L tokens, n content tokens, D embedding width, m path nodes.
"""

from __future__ import annotations

import numpy as np

from attreval.explain.integrated_gradients import gauss_legendre
from attreval.explain.method import Scores
from attreval.models.questions import DEEPLIFT, PathAnswer, PathGradient

RELEASED_NODES = (*(i / 10 for i in range(10)), 1.0)  # ten points from 0 on, and the text itself


def shared_gradient(tokens, answer: PathAnswer) -> np.ndarray:
    """(L, D) gradients summed over all places of the same token: those of the embedding matrix, looked up by id."""
    same = tokens.ids[:, None] == tokens.ids
    return same.astype(float) @ answer.gradient


def gradient_x_input_absolute(tokens, target, budget, rng):
    """(n,) magnitudes of the dot products of embedding and gradient (Zhao & Aletras 2023, section 4.3)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores(np.abs((answer.gradient * answer.difference).sum(axis=1))[tokens.content])


def gradient_x_input_shared(tokens, target, budget, rng):
    """(n,) the same, with one gradient for all places of a token, as the released code takes it."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return Scores(np.abs((shared_gradient(tokens, answer) * answer.difference).sum(axis=1))[tokens.content])


def integrated_gradients_zero(tokens, target, budget, rng):
    """(n,) integrated gradients from zero word embeddings (Zhao & Aletras 2023, section 4.3).

    Positions, types and special tokens stay. The gap is the sum of the scores minus s(text) - s(baseline).
    """
    base = np.where(tokens.special, tokens.ids, -1)
    steps = budget.path_steps
    while True:
        nodes, weights = gauss_legendre(steps)
        # the ends of the path have no weight: they are asked for their values
        ends = PathGradient(tokens.ids, tokens.segments, target, (*nodes, 0.0, 1.0), (*weights, 0.0, 0.0), base)
        answer = yield ends
        scores = (answer.gradient * answer.difference).sum(axis=1)
        owed = float(answer.values[-1] - answer.values[-2])
        gap = float(scores.sum()) - owed
        if abs(gap) <= budget.gap_tolerance * max(1.0, abs(owed)) or 2 * steps > budget.path_steps_most:
            return Scores(scores[tokens.content], gap=gap)
        steps *= 2


def integrated_gradients_released(tokens, target, budget, rng):
    """(n,) integrated gradients as the released code of Zhao & Aletras (2023) computes them.

    Eleven points scale all that enters the encoder; the gradient at the word embeddings is shared by a token's places.
    """
    nodes, share = RELEASED_NODES, 1 / len(RELEASED_NODES)
    answer = yield PathGradient(tokens.ids, tokens.segments, target, nodes, (share,) * len(nodes), where="entry")
    return Scores((shared_gradient(tokens, answer) * answer.difference).sum(axis=1)[tokens.content])


def deeplift_released(tokens, target, budget, rng):
    """(n,) captum's DeepLIFT of word embeddings that enter the encoder without positions, types and normalisation."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target, rule=DEEPLIFT, where="bare")
    return Scores(answer.gradient.sum(axis=1)[tokens.content])
