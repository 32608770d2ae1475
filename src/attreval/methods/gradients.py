"""Gradients and Gradient x Input (Simonyan et al. 2014; Shrikumar et al. 2017).

Gradients of the target's logit or probability with respect to word embeddings, with every norm,
average and sign; position and type embeddings are added inside the model. The variants of Zhao &
Aletras (2023) differ in a sign, or in whose gradient a token gets.
Letters used for shapes: L tokens, n content tokens, D embedding width.
"""

from functools import partial

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Method, Rng, method, on_content
from attreval.models.questions import Conversation, PathAnswer, PathGradient

_gradient = partial(method, kind="gradient", evaluations="1")


@_gradient(
    "Gradient (L1)",
    source="Simonyan et al. 2014; Kamp et al. 2023",
    order=2,
    signed=False,
    in_papers={"kamp2023": (3, "VanillaGradient")},
)
def gradient_l1(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) L1 norms of the gradient (Kamp et al. 2023, Vanilla Gradient)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return on_content(tokens, np.abs(answer.gradient).sum(axis=1))


@_gradient(
    "Gradient (L2)",
    source="Simonyan et al. 2014; Poerner et al. 2018",
    order=3,
    signed=False,
    in_papers={"poerner2018": (1, "grad_1s_L2")},
)
def gradient_l2(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) L2 norms of the gradient (Poerner et al. 2018, grad_1s^L2)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return on_content(tokens, np.linalg.norm(answer.gradient, axis=1))


@_gradient(
    "Gradient x Input",
    source="Shrikumar et al. 2017",
    order=4,
    in_papers={"poerner2018": (5, "grad_1s_dot"), "kamp2023": (4, "GradientXInput")},
)
def gradient_x_input(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) dot products of embedding and gradient (Poerner et al. 2018, grad_1s^dot)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return on_content(tokens, answer.dot())


def averaged_gradient(path: bool, of: str, measure: str, order: int) -> Method:
    """One of the eight gradients of Poerner et al. (2018, section 3.1).

    Args:
        path: Average the gradient from zero embeddings to the text (`riemann_steps` points, right
            sums) rather than take it at the text.
        of: Differentiate the `logit` or the `probability`.
        measure: Its `l2` norm, or its `dot` product with the embedding.
        order: Its place among all methods.
    """
    norm = measure.replace("l2", "L2")
    row = 1 + 4 * (measure == "dot") + 2 * path + (of == "probability")
    theirs = f"grad_{'int_' if path else '1'}{of[0].replace('l', 's')}_{norm}"

    @_gradient(
        f"{'Integrated gradient' if path else 'Gradient'} of {of} ({norm})",
        name=f"gradient_{'integrated' if path else 'simple'}_{of}_{measure}",
        source="Poerner et al. 2018, section 3.1",
        evaluations="riemann_steps" if path else "1",
        cost=lambda length, content, budget, layers=1: budget.riemann_steps if path else 1,
        order=order,
        signed=measure == "dot",
        limits=("riemann_steps",) if path else (),
        in_papers={"poerner2018": (row, theirs)},
    )
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        """(n,) norms or dot products of gradients, at the text or averaged along a path."""
        steps = budget.riemann_steps if path else 1
        nodes = tuple((i + 1) / steps for i in range(steps))
        weights = (1 / steps,) * steps
        answer = yield PathGradient(tokens.ids, tokens.segments, target, nodes, weights, of=of)
        scores = np.linalg.norm(answer.gradient, axis=1) if measure == "l2" else answer.dot()
        return on_content(tokens, scores)

    return converse


AVERAGED = (  # the other two of the eight are gradient_l2 and gradient_x_input
    averaged_gradient(False, "probability", "l2", 12),
    averaged_gradient(False, "probability", "dot", 13),
    averaged_gradient(True, "logit", "l2", 14),
    averaged_gradient(True, "logit", "dot", 15),
    averaged_gradient(True, "probability", "l2", 16),
    averaged_gradient(True, "probability", "dot", 17),
)


@_gradient(
    "Gradient x Input (absolute)",
    source="Zhao & Aletras 2023, section 4.3",
    order=36,
    signed=False,
    in_papers={"zhao2023": (3, "InputXGrad")},
)
def gradient_x_input_absolute(
    tokens: Tokens, target: int, budget: Budget, rng: Rng
) -> Conversation:
    """(n,) magnitudes of dot products of embedding and gradient (Zhao & Aletras 2023, 4.3)."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return on_content(tokens, np.abs(answer.dot()))


@_gradient(
    "Gradient x Input (released)",
    source="Zhao & Aletras 2023, released code",
    order=37,
    signed=False,
)
def gradient_x_input_shared(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) the same, with one gradient for all places of a token, as the released code takes it."""
    answer = yield PathGradient(tokens.ids, tokens.segments, target)
    return on_content(tokens, np.abs(shared_dot(tokens, answer)))


def shared_dot(tokens: Tokens, answer: PathAnswer) -> np.ndarray:
    """(L,) dot products of embeddings with the gradient of the embedding matrix.

    That gradient is summed over all places of the same token.
    """
    same = tokens.ids[:, None] == tokens.ids
    gradient = same.astype(float) @ answer.gradient
    return (gradient * answer.difference).sum(axis=1)
