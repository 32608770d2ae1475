"""Attention, and attention scaled by its gradient (Serrano & Smith 2019; Jain et al. 2020; Zhao & Aletras 2023).

The attention of the first token ([CLS], `<s>`) in the last encoder layer, mean over heads; for transformers only.
Letters used for shapes: L tokens, n content tokens, H heads.
"""

from __future__ import annotations

from attreval.methods.method import Scores
from attreval.models.questions import AttentionPath


def _ask_attention(tokens, target):
    """Ask for the (L,) attention of the first token in the last layer and its (L,) gradient, means over heads.

    All three methods ask the same question, so that the ledger answers two of them.
    """
    answer = yield AttentionPath(tokens.ids, tokens.segments, target, layers=(-1,), rows=(0,))
    return answer.attention[0, :, 0].mean(axis=0), answer.gradient[0, :, 0].mean(axis=0)


def attention(tokens, target, budget, rng):
    """(n,) attention weights (Jain et al. 2020; Zhao & Aletras 2023, section 4.3)."""
    weights, _ = yield from _ask_attention(tokens, target)
    return Scores(weights[tokens.content])


def scaled_attention(tokens, target, budget, rng):
    """(n,) attention weights times the gradient of the class score (Serrano & Smith 2019; Zhao & Aletras 2023, 4.3)."""
    weights, gradient = yield from _ask_attention(tokens, target)
    return Scores((weights * gradient)[tokens.content])


def scaled_attention_squared(tokens, target, budget, rng):
    """(n,) attention weights times themselves: what the released code of Zhao & Aletras (2023) computes instead."""
    weights, _ = yield from _ask_attention(tokens, target)
    return Scores((weights * weights)[tokens.content])
