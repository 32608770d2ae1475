"""Attention rollout (Abnar & Zuidema 2020) and value zeroing (Mohebbi et al. 2023): mixing of tokens, layer by layer.

Each layer has a matrix that says how much of token j is in state i; the product over layers says so for the state that
the class is read off, the first token's. For encoders only; no class is asked for.
Letters used for shapes: L tokens, n content tokens, S layers, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, method, on_content
from attreval.models.questions import AttentionPath, Conversation, ValueZeroing


def roll_out(layers: Sequence[np.ndarray]) -> np.ndarray:
    """(L,) how much of each token is in the first token's last state, of (S, L, L) mixings of non-negative numbers.

    Rows are brought to the sum 1; a row of zeros stays so.
    """
    first = np.eye(len(layers[0]))[0]
    for mixing in layers[::-1]:
        total = mixing.sum(axis=1, keepdims=True)
        first = first @ np.divide(mixing, total, out=np.zeros_like(mixing), where=total > 0)
    return first


@method(
    "Attention rollout",
    source="Abnar & Zuidema 2020",
    kind="attention",
    evaluations="1",
    order=34,
    signed=False,
    families=("transformer",),
)
def attention_rollout(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) products of attention over layers, mean over heads, half of each being what goes past it."""
    answer = yield AttentionPath(tokens.ids, tokens.segments, target, nodes=(), weights=(), summary=True)
    passed = np.eye(len(tokens))
    return on_content(tokens, roll_out([weights + passed for weights in answer.attention.mean(axis=1)]))


@method(
    "Value zeroing",
    source="Mohebbi et al. 2023",
    kind="attention",
    evaluations="L",
    order=35,
    signed=False,
    families=("transformer",),
)
def value_zeroing(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) how much states change in each layer when a token's value is zero, multiplied over layers."""
    distances = yield ValueZeroing(tokens.ids, tokens.segments)
    return on_content(tokens, roll_out(distances))
