"""Occlusion (Zeiler & Fergus 2014) and omission (Kadar et al. 2017): the class score when words are taken away.

Omission shortens the text, occlusion masks in place. Every window of `size` content tokens next to each other is erased
in turn; a token's score is the mean effect of the windows that hold it, counted as `size` windows also at the borders
(Poerner et al. 2018, section 3.5).
Letters used for shapes: L tokens, n content tokens, w windows.
"""

from __future__ import annotations

import numpy as np

from attreval.methods.method import Scores
from attreval.models.questions import Evaluate, Windows


def windows(n: int, size: int) -> list[np.ndarray]:
    """The windows of `size` neighbouring content tokens; one window of all tokens where there are fewer."""
    size = min(size, n)
    return [np.arange(start, start + size) for start in range(n - size + 1)]


def _share_effects(effects: np.ndarray, cut: list[np.ndarray], n: int, size: int) -> np.ndarray:
    """(n,) token scores from (w,) window effects."""
    scores = np.zeros(n)
    for window, effect in zip(cut, effects, strict=True):
        scores[window] += effect / size
    return scores


def occlusion(size: int):
    """The conversation of occlusion over windows of `size` tokens: erased tokens become the mask token."""

    def converse(tokens, target, budget, rng):
        content = tokens.content
        cut = windows(len(content), size)
        ids = np.repeat(tokens.ids[None], len(cut) + 1, axis=0)
        for row, window in zip(ids[1:], cut, strict=True):
            row[content[window]] = tokens.mask_id
        hint = Windows(tokens.ids, size, blank=True)
        logits = (yield Evaluate(ids, tokens.segments, windows=hint))[:, target]
        return Scores(_share_effects(logits[0] - logits[1:], cut, len(content), size))

    return converse


def omission(size: int):
    """The conversation of omission over windows of `size` tokens: erased tokens are deleted, the text gets shorter."""

    def converse(tokens, target, budget, rng):
        content = tokens.content
        cut = windows(len(content), size)
        full = (yield Evaluate(tokens.ids[None], tokens.segments))[0, target]
        kept = np.stack([np.delete(np.arange(len(tokens)), content[window]) for window in cut])
        hint = Windows(tokens.ids, size, blank=False)
        logits = (yield Evaluate(tokens.ids[kept], tokens.segments[kept], windows=hint))[:, target]
        return Scores(_share_effects(full - logits, cut, len(content), size))

    return converse
