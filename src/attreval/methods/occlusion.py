"""Occlusion (Zeiler & Fergus 2014) and omission (Kadar et al. 2017): the class score when words are taken away.

Omission shortens the text, occlusion masks in place. Every window of `size` content tokens next to each other is erased
in turn; a token's score is the mean effect of the windows that hold it, counted as `size` windows also at the borders
(Poerner et al. 2018, section 3.5).
Letters used for shapes: L tokens, n content tokens, w windows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Converse, Method, Rng, Scores, method
from attreval.models.questions import Conversation, Evaluate, Windows

SIZES = (1, 3, 7)  # of Poerner et al., in the order of their table


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


def _windowed(word: str, short: str, row: int, single: str, size: int, order: int) -> Callable[[Converse], Method]:
    """The decorator of a method that erases windows of so many tokens.

    short, row: its name in Poerner et al. and its row, for windows of one token. single: the source of these.
    """
    return method(
        f"{word} ({size})",
        name=f"{word.lower()}_{size}",
        source=single if size == 1 else "Poerner et al. 2018, 3.5",
        kind="perturbation",
        evaluations="n + 1" if size == 1 else f"n - {size - 2}",
        order=order,
        in_papers={"poerner2018": (row + SIZES.index(size), f"{short}_{size}")},
    )


def occlusion(size: int, order: int = 0) -> Method:
    """Occlusion of windows of `size` tokens: erased tokens become the mask token."""

    @_windowed("Occlusion", "occ", 12, "Zeiler & Fergus 2014", size, order)
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        content = tokens.content
        cut = windows(len(content), size)
        ids = np.repeat(tokens.ids[None], len(cut) + 1, axis=0)
        for row, window in zip(ids[1:], cut, strict=True):
            row[content[window]] = tokens.mask_id
        hint = Windows(tokens.ids, size, blank=True)
        logits = (yield Evaluate(ids, tokens.segments, windows=hint))[:, target]
        return Scores(_share_effects(logits[0] - logits[1:], cut, len(content), size))

    return converse


def omission(size: int, order: int = 0) -> Method:
    """Omission of windows of `size` tokens: erased tokens are deleted, the text gets shorter."""

    @_windowed("Omission", "omit", 9, "Kadar et al. 2017", size, order)
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        content = tokens.content
        cut = windows(len(content), size)
        full = (yield Evaluate(tokens.ids[None], tokens.segments))[0, target]
        kept = np.stack([np.delete(np.arange(len(tokens)), content[window]) for window in cut])
        hint = Windows(tokens.ids, size, blank=False)
        logits = (yield Evaluate(tokens.ids[kept], tokens.segments[kept], windows=hint))[:, target]
        return Scores(_share_effects(full - logits, cut, len(content), size))

    return converse


ERASURES = (
    occlusion(1, order=7),
    omission(1, order=8),
    occlusion(3, order=18),
    occlusion(7, order=19),
    omission(3, order=20),
    omission(7, order=21),
)
