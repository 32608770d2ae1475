"""Texts with some of their tokens erased, and the walk along all tokens in the order of their scores.

What the tokens of highest score do when they go, one after the other, and when they alone stay: the curves of deletion
and insertion, and all that is read off them, ask the model for the same texts. They are asked once.
Letters used for shapes: L tokens, n tokens that may be erased, m sets of them, s steps.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.erasure import ask_erased, faithfulness, finite, fit_scores, rank_tokens
from attreval.metrics.protocol import Layout, find_layout
from attreval.metrics.scored_text import ScoredText
from attreval.models.questions import Conversation, softmax

FLAT = 1e-7  # effects that differ by less are all alike, but for rounding
STEPS = 50  # of a walk, at most: of a longer text several tokens are taken at a time
named = partial(faithfulness, by_name=True, planted=False)  # asked for where it is named alone


@dataclass(frozen=True)
class Left:
    """What the model says of m erased texts.

    full: probability of the class that it predicts on the whole text. p: (m,) the same on each erased text. stays:
    (m,) bool, whether it still predicts that class.
    """

    full: float
    p: np.ndarray
    stays: np.ndarray

    @property
    def drops(self) -> np.ndarray:
        """(m,) how far the probability falls."""
        return self.full - self.p


@dataclass(frozen=True)
class Walk(Left):
    """`Left` at each step; shares: (s + 1,) of tokens taken until then, from 0 to 1."""

    shares: np.ndarray


def layout_of(text: ScoredText) -> Layout:
    """Which tokens of a text may be erased, as its settings say."""
    return find_layout(text.tokens, text.settings.protocol, text.settings.query)


def erasable_scores(text: ScoredText, method: str) -> np.ndarray:
    """(n,) scores of the tokens that may be erased. ValueError where one is no finite number."""
    layout = layout_of(text)
    return finite(fit_scores(text.tokens, layout, text.scores[method])[layout.erasable[layout.scored]])


def order_of(text: ScoredText, method: str, draw: int = 0) -> np.ndarray:
    """(n,) places among the tokens that may be erased, by falling score; ties in an order that is drawn."""
    names = text.names_of(method)
    return rank_tokens(erasable_scores(text, method), generator("ties", *names, *[draw] * bool(draw)))


def ask_left(text: ScoredText, gone: np.ndarray) -> Conversation:
    """The conversation that erases (m, n) sets of the tokens that may be erased: returns Left."""
    protocol, full = text.settings.protocol, np.zeros((len(gone), len(text.tokens)), dtype=bool)
    full[:, layout_of(text).erasable] = gone
    logits = yield from ask_erased(text.tokens, full, protocol.erased)
    k = int(logits[0].argmax())
    p = softmax(protocol.sharpness * logits)[:, k]
    return Left(float(p[0]), p[1:], logits[1:].argmax(axis=1) == k)


def left_once(text: ScoredText, key: Hashable, gone: np.ndarray) -> Conversation:
    """`ask_left`, asked once a text under a key."""
    return text.once(("left", key), ask_left(text, gone))


def ask_walk(text: ScoredText, method: str, deleting: bool) -> Conversation:
    """The conversation that walks along a method's order: returns a Walk.

    deleting: the tokens that are taken go, from the whole text to one with none; else they alone stay.
    """
    order = order_of(text, method)
    sizes = np.unique(np.linspace(0, len(order), min(len(order), STEPS) + 1).round().astype(int))
    taken = np.argsort(order)[None] < sizes[:, None]  # (s + 1, n)
    found = yield from left_once(text, ("walk", method, deleting), taken if deleting else ~taken)
    return Walk(found.full, found.p, found.stays, sizes / len(order))


def correlate(scores: np.ndarray, effects: np.ndarray, ranks: bool = False) -> float:
    """Correlation of scores with effects, Pearson's or of their ranks (Spearman's).

    0 where all scores are equal, as those without meaning get on average. NaN where all effects are, or for one token.
    """
    scores, effects = finite(scores), np.asarray(effects, dtype=float)
    if len(scores) < 2 or np.ptp(effects) < FLAT:
        return float("nan")
    if ranks:
        from scipy.stats import rankdata

        scores, effects = rankdata(scores), rankdata(effects)
    scores = scores / max(np.abs(scores).max(), np.finfo(float).tiny)
    if np.ptp(scores) < 1e-12:
        return 0.0
    return float(np.clip(np.corrcoef(scores, effects)[0, 1], -1, 1))
