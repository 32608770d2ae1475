"""Integrated gradients (Sundararajan et al. 2017): gradients on a path from a baseline.

The path starts from padding tokens (or what `path_baseline` says, or a token that is none where
padding is a zero vector), with and without the input factor (Kamp et al. 2023), or from zero
embeddings, by the paper of Zhao & Aletras (2023) and by its released code. The number of nodes
starts at `path_steps` and is doubled up to `path_steps_most` until the scores sum to s(text) -
s(baseline) within the tolerance.
Letters used for shapes: L tokens, n content tokens, D embedding width, m path nodes.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.gradients import shared_dot
from attreval.methods.method import Budget, Rng, join_notes, method, on_content
from attreval.models.questions import MEAN, ZERO, Conversation, Evaluate, PathGradient

_integrated = partial(
    method,
    kind="gradient",
    evaluations="path_steps to path_steps_most, + 2",
    cost=lambda length, content, budget, layers=1: budget.path_steps_most + 2,
    limits=("path_steps", "path_steps_most"),
)
_STARTS = {  # of paths that do not start from padding, where the method's name does not say it
    "mask": "the mask token, or what methods erase to where there is none",
    "unknown": "the unknown token",
    "mean": "the mean of all embeddings",
}


@cache
def gauss_legendre(steps: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """m nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    nodes = (nodes + 1) / 2
    return tuple(nodes), tuple(weights / 2)


def _refine(budget: Budget, ask: Callable[[int], Conversation], note: str) -> Conversation:
    """Ask with more and more nodes until an answer's sum is what it owes.

    Args:
        budget: Gives the numbers of nodes and the tolerance.
        ask: From the number of nodes to an answer, its sum and the sum owed.
        note: On the scores.

    Returns:
        The answer, and facts of Scores: the gap and the note, which says so where they have not
            met.
    """
    steps = budget.path_steps
    while True:
        answer, total, owed = yield from ask(steps)
        gap = float(total) - owed
        if abs(gap) <= budget.gap_tolerance * max(1.0, abs(owed)):
            return answer, {"gap": gap, "note": note}
        if 2 * steps > budget.path_steps_most:
            missed = f"the path misses {abs(gap):.2g} of the {abs(owed):.2g} that it must add up to"
            missed = f"not converged with {steps} nodes: {missed}"
            return answer, {"gap": gap, "note": join_notes(missed, note)}
        steps *= 2


def _fill_of(tokens: Tokens, baseline: str) -> int:
    """The id, or ZERO or MEAN, that content tokens have at the start of a path.

    Raises:
        ValueError: The vocabulary has no such token.
    """
    ids = {
        "pad": tokens.pad_id,
        "mask": tokens.mask_id,
        "unknown": tokens.unknown_id,
        "zero": ZERO,
        "mean": MEAN,
    }
    fill = ids["pad" if baseline == "auto" else baseline]
    if fill is None:
        there = [name for name, known in ids.items() if known is not None]
        raise ValueError(
            "path_baseline 'unknown' asks for the unknown token, and the model's vocabulary has "
            f"none; it can be: {', '.join(there)}"
        )
    return fill


def _along_path(tokens: Tokens, target: int, budget: Budget, baseline: str) -> Conversation:
    """The path from the text with every content token replaced, and facts of Scores.

    Methods on the same path ask alike, so the second one finds every answer in the ledger.
    """
    fill = _fill_of(tokens, baseline)
    base = np.where(tokens.special, tokens.ids, fill)
    started = f"starts from {_STARTS[baseline]}" if baseline in _STARTS else ""
    if fill >= 0:
        logits = yield Evaluate(np.stack([tokens.ids, base]), tokens.segments)
        owed = float((logits[0] - logits[1])[target])

    def ask(steps: int) -> Conversation:
        nodes, weights = gauss_legendre(steps)
        if fill < 0:  # the start is no text: the path's ends are asked for, without weight
            nodes += (0.0, 1.0)
            weights += (0.0, 0.0)
        answer = yield PathGradient(tokens.ids, tokens.segments, target, nodes, weights, base)
        if fill >= 0:
            return answer, (answer.gradient * answer.difference).sum(), owed
        start, end = answer.values[-2:]
        return answer, answer.dot().sum(), float(end - start)

    return (yield from _refine(budget, ask, started))


@_integrated(
    "Integrated Gradients",
    source="Sundararajan et al. 2017, eq. 1",
    order=5,
    in_papers={"kamp2023": (6, "IntegratedGradientXInput"), "sun2024": (9, "gradients token")},
)
def integrated_gradients(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) integrated gradients (Sundararajan et al. 2017, eq. 1).

    The gap is their sum minus s(text) - s(baseline).
    """
    answer, facts = yield from _along_path(tokens, target, budget, budget.path_baseline)
    # special tokens are their own baseline, so all relevance lies on content tokens
    return on_content(tokens, answer.dot(), **facts)


@_integrated(
    "Integrated Gradients (plain)",
    source="Kamp et al. 2023, IntGrad",
    order=6,
    in_papers={"kamp2023": (5, "IntegratedGradient")},
)
def integrated_gradients_plain(
    tokens: Tokens, target: int, budget: Budget, rng: Rng
) -> Conversation:
    """(n,) sums over dimensions of the averaged path gradient (Kamp et al. 2023, IntGrad)."""
    answer, facts = yield from _along_path(tokens, target, budget, budget.path_baseline)
    return on_content(tokens, answer.gradient.sum(axis=1), note=facts["note"])


@_integrated(
    "Integrated Gradients (from zero)",
    source="Zhao & Aletras 2023, section 4.3",
    order=38,
    in_papers={"zhao2023": (4, "IG")},
)
def integrated_gradients_zero(
    tokens: Tokens, target: int, budget: Budget, rng: Rng
) -> Conversation:
    """(n,) integrated gradients from zero word embeddings (Zhao & Aletras 2023, section 4.3).

    Positions, types and special tokens stay. The gap is the sum of the scores minus s(text) -
    s(baseline).
    """
    answer, facts = yield from _along_path(tokens, target, budget, "zero")
    return on_content(tokens, answer.dot(), **facts)


@method(
    "Integrated Gradients (released)",
    source="Zhao & Aletras 2023, released code",
    kind="gradient",
    evaluations="11",
    order=39,
)
def integrated_gradients_released(
    tokens: Tokens, target: int, budget: Budget, rng: Rng
) -> Conversation:
    """(n,) integrated gradients as the released code of Zhao & Aletras (2023) computes them.

    Eleven points scale all that enters the encoder; the gradient at the word embeddings is shared
    by a token's places.
    """
    nodes = tuple(i / 10 for i in range(11))  # the last is the text itself
    weights = (1 / len(nodes),) * len(nodes)
    answer = yield PathGradient(tokens.ids, tokens.segments, target, nodes, weights, where="entry")
    return on_content(tokens, shared_dot(tokens, answer))
