"""Occlusion (Zeiler & Fergus 2014) and omission (Kadar et al. 2017): scores without some words.

Omission shortens the text, occlusion masks in place. Windows of `size` content tokens next to each
other are erased in turn; a token's score is the mean effect of the windows that hold it (Poerner et
al. 2018, section 3.5). Which windows there are at the borders of a text is a rule of WindowRule.
Letters used for shapes: n content tokens, w windows.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Method, Rng, Scores, WindowRule, method
from attreval.models.questions import Conversation, Evaluate, Windows

SIZES = (1, 3, 7)  # of Poerner et al., in the order of their table
# ids and segments without some positions
Erase = Callable[[Tokens, np.ndarray], tuple[np.ndarray, np.ndarray]]


def windows(n: int, size: int, rule: WindowRule) -> list[np.ndarray]:
    """The windows of `size` neighbouring content tokens, those that borders cut short first.

    Args:
        n: Number of content tokens.
        size: Tokens in a window.
        rule: See Budget.windows.
    """
    first = 1 - size if rule == "cut" else 0
    # one window of all tokens where there are fewer
    end = n if rule.startswith("cut") else max(1, n - size + 1)
    every = [np.arange(max(0, at), min(n, at + size)) for at in range(first, end)]
    return sorted(every, key=len)


def _occlude(tokens: Tokens, window: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of a window become the mask token."""
    ids = tokens.ids.copy()
    ids[window] = tokens.mask_id
    return ids, tokens.segments


def _omit(tokens: Tokens, window: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of a window are deleted, and the text gets shorter."""
    return np.delete(tokens.ids, window), np.delete(tokens.segments, window)


def _windowed(
    word: str, short: str, row: int, single: str, erase: Erase, size: int, order: int = 0
) -> Method:
    """The method that erases windows of `size` tokens.

    Args:
        word: Its name.
        short: Its name in Poerner et al. (2018).
        row: Its row there, for windows of one token.
        single: The source of windows of one token.
        erase: How a window is erased.
        size: Tokens in a window.
        order: Its place among all methods.
    """

    @method(
        f"{word} ({size})",
        name=f"{word.lower()}_{size}",
        source=single if size == 1 else "Poerner et al. 2018, 3.5",
        kind="perturbation",
        of="logit",
        evaluations=f"n + {size}",
        cost=lambda length, content, budget, layers=1: content + size,
        order=order,
        in_papers={"poerner2018": (row + SIZES.index(size), f"{short}_{size}")},
    )
    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        """(n,) how far the class score falls without the windows that hold a token."""
        content = tokens.content
        erased = windows(len(content), size, budget.windows)
        rows = [(tokens.ids, tokens.segments)]
        rows += [erase(tokens, content[window]) for window in erased]
        ids, segments = map(list, zip(*rows, strict=True))
        hint = Windows(tokens.ids, size, blank=erase is _occlude)
        answer = yield Evaluate(ids, segments, windows=hint)
        logits = answer[:, target]
        effects = logits[0] - logits[1:]
        scores = np.zeros(len(content))
        held = np.zeros(len(content))
        for window, effect in zip(erased, effects, strict=True):
            scores[window] += effect / size
            held[window] += 1 / size
        return Scores(scores / held if budget.windows == "mean" else scores)

    return converse


# of windows of `size` tokens, which become the mask token, or are deleted
occlusion = partial(_windowed, "Occlusion", "occ", 12, "Zeiler & Fergus 2014", _occlude)
omission = partial(_windowed, "Omission", "omit", 9, "Kadar et al. 2017", _omit)
ERASURES = (
    occlusion(1, order=7),
    omission(1, order=8),
    occlusion(3, order=18),
    occlusion(7, order=19),
    omission(3, order=20),
    omission(7, order=21),
)
