"""Attention, attention scaled by its gradient, attention rollout and value zeroing; for transformers only.

Attention is that of the first token ([CLS], `<s>`) in the last encoder layer, mean over heads (Serrano & Smith 2019;
Jain et al. 2020; Zhao & Aletras 2023). Rollout (Abnar & Zuidema 2020) and value zeroing (Mohebbi et al. 2023) ask no
class: each layer has a matrix that says how much of token j is in state i, and their product says so for the state that
the class is read off, the first token's.
Letters used for shapes: L tokens, n content tokens, S layers, H heads.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, method, on_content
from attreval.models.questions import AttentionPath, Conversation, ValueZeroing

_attention = partial(method, kind="attention", signed=False, families=("transformer",))


def _ask_attention(tokens: Tokens, target: int) -> Conversation:
    """Ask for the (L,) attention of the first token in the last layer and its (L,) gradient, means over heads.

    All three methods ask the same question, so that the ledger answers two of them.
    """
    answer = yield AttentionPath(tokens.ids, tokens.segments, target, layers=(-1,), rows=(0,))
    return answer.attention[0, :, 0].mean(axis=0), answer.gradient[0, :, 0].mean(axis=0)


@_attention(
    "Attention",
    source="Zhao & Aletras 2023, section 4.3",
    evaluations="1",
    order=31,
    in_papers={"zhao2023": (1, "Attention")},
)
def attention(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights (Jain et al. 2020; Zhao & Aletras 2023, section 4.3)."""
    weights, _ = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights)


@_attention(
    "Scaled attention",
    source="Zhao & Aletras 2023, section 4.3",
    evaluations="1",
    order=32,
    signed=True,
    in_papers={"zhao2023": (2, "ScaledAttention")},
)
def scaled_attention(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights times the gradient of the class score (Serrano & Smith 2019; Zhao & Aletras 2023, 4.3)."""
    weights, gradient = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights * gradient)


@_attention("Scaled attention (released)", source="Zhao & Aletras 2023, released code", evaluations="1", order=33)
def scaled_attention_squared(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights times themselves: what the released code of Zhao & Aletras (2023) computes instead."""
    weights, _ = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights * weights)


def roll_out(layers: Sequence[np.ndarray]) -> np.ndarray:
    """(L,) how much of each token is in the first token's last state, of (S, L, L) mixings of non-negative numbers.

    Rows are brought to the sum 1; a row of zeros stays so.
    """
    first = np.eye(len(layers[0]))[0]
    for mixing in layers[::-1]:
        total = mixing.sum(axis=1, keepdims=True)
        first = first @ np.divide(mixing, total, out=np.zeros_like(mixing), where=total > 0)
    return first


@_attention("Attention rollout", source="Abnar & Zuidema 2020", evaluations="1", order=34)
def attention_rollout(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) products of attention over layers, mean over heads, half of each being what goes past it."""
    answer = yield AttentionPath(tokens.ids, tokens.segments, target, nodes=(), weights=(), summary=True)
    passed = np.eye(len(tokens))
    return on_content(tokens, roll_out([weights + passed for weights in answer.attention.mean(axis=1)]))


@_attention("Value zeroing", source="Mohebbi et al. 2023", evaluations="L", order=35)
def value_zeroing(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) how much states change in each layer when a token's value is zero, multiplied over layers."""
    distances = yield ValueZeroing(tokens.ids, tokens.segments)
    return on_content(tokens, roll_out(distances))
