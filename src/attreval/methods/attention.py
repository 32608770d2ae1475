"""Attention, and attention scaled by its gradient (Serrano & Smith 2019; Jain et al. 2020; Zhao & Aletras 2023).

The attention of the first token ([CLS], `<s>`) in the last encoder layer, mean over heads; for transformers only.
Letters used for shapes: L tokens, n content tokens, H heads.
"""

from __future__ import annotations

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, method, on_content
from attreval.models.questions import AttentionPath, Conversation


def _ask_attention(tokens: Tokens, target: int) -> Conversation:
    """Ask for the (L,) attention of the first token in the last layer and its (L,) gradient, means over heads.

    All three methods ask the same question, so that the ledger answers two of them.
    """
    answer = yield AttentionPath(tokens.ids, tokens.segments, target, layers=(-1,), rows=(0,))
    return answer.attention[0, :, 0].mean(axis=0), answer.gradient[0, :, 0].mean(axis=0)


@method(
    "Attention",
    source="Zhao & Aletras 2023, section 4.3",
    kind="attention",
    evaluations="1",
    order=31,
    signed=False,
    families=("transformer",),
    in_papers={"zhao2023": (1, "Attention")},
)
def attention(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights (Jain et al. 2020; Zhao & Aletras 2023, section 4.3)."""
    weights, _ = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights)


@method(
    "Scaled attention",
    source="Zhao & Aletras 2023, section 4.3",
    kind="attention",
    evaluations="1",
    order=32,
    families=("transformer",),
    in_papers={"zhao2023": (2, "ScaledAttention")},
)
def scaled_attention(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights times the gradient of the class score (Serrano & Smith 2019; Zhao & Aletras 2023, 4.3)."""
    weights, gradient = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights * gradient)


@method(
    "Scaled attention (released)",
    source="Zhao & Aletras 2023, released code",
    kind="attention",
    evaluations="1",
    order=33,
    signed=False,
    families=("transformer",),
)
def scaled_attention_squared(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) attention weights times themselves: what the released code of Zhao & Aletras (2023) computes instead."""
    weights, _ = yield from _ask_attention(tokens, target)
    return on_content(tokens, weights * weights)
