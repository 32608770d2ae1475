"""Texts with some of their tokens erased, and the walk along all tokens by falling score.

What the tokens of highest score do when they go, one after the other, and when they alone stay, is
asked once: each of the metrics costs n evaluations a method, 50 at most, and nothing where another
has asked. Areas under the curves of a class's probability: Petsiuk et al. (2018) take them by the
trapezoid rule; Samek et al. (2017) average the fall over all steps, the whole text's 0 among them.
Both are for pixels; an erased token becomes what the protocol says. How many tokens decide: flips
of the predicted class, and the fewest tokens that keep its probability. Letters used for shapes: L
tokens, n tokens that may be erased, m sets of them, s steps.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.erasure import ask_erased, faithfulness, fit_scores, rank_tokens
from attreval.metrics.protocol import Layout, find_layout
from attreval.metrics.scored_text import ScoredText, finite, to_scale
from attreval.models.outputs import CLASSES, PROBABILITIES
from attreval.models.questions import Conversation

FLAT = 1e-7  # effects that differ by less are all alike, but for rounding
STEPS = 50  # of a walk, at most: of a longer text several tokens are taken at a time
named = partial(faithfulness, by_name=True, planted=False)  # asked for where it is named alone


@dataclass(frozen=True)
class Left:
    """What the model says of m erased texts.

    full: probability of the class that it predicts on the whole text. p: (m,) the same on each
    erased text. stays: (m,) bool, whether it still predicts that class.
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
    """(n,) scores of the tokens that may be erased."""
    layout = layout_of(text)
    return fit_scores(text.tokens, layout, text.scores[method])[layout.erasable[layout.scored]]


def erasing_order(text: ScoredText, method: str) -> np.ndarray:
    """(n,) places among the tokens that may be erased, by falling score; ties at random."""
    return rank_tokens(erasable_scores(text, method), text.ties_of(method))


def ask_left(text: ScoredText, gone: np.ndarray) -> Conversation:
    """The conversation that erases (m, n) sets of the tokens that may be erased: returns Left."""
    protocol = text.settings.protocol
    of_all = np.zeros((len(gone), len(text.tokens)), dtype=bool)
    of_all[:, layout_of(text).erasable] = gone
    logits = yield from ask_erased(text.tokens, of_all, protocol.erased)
    predicted = logits.argmax(axis=1)
    p = protocol.follow(logits)
    return Left(float(p[0]), p[1:], predicted[1:] == predicted[0])


def left_once(text: ScoredText, key: Hashable, gone: np.ndarray) -> Conversation:
    """`ask_left`, asked once a text under a key."""
    return text.once(("left", key), ask_left(text, gone))


def ask_walk(text: ScoredText, method: str, deleting: bool) -> Conversation:
    """The conversation that walks along a method's order: returns a Walk.

    Args:
        text: the text.
        method: whose order.
        deleting: the tokens that are taken go, from the whole text to one with none; else they
            alone stay.
    """
    order = erasing_order(text, method)
    n = len(order)
    sizes = np.unique(np.linspace(0, n, min(n, STEPS) + 1).round().astype(int))
    taken = np.argsort(order)[None] < sizes[:, None]  # (s + 1, n)
    found = yield from left_once(text, ("walk", method, deleting), taken if deleting else ~taken)
    return Walk(found.full, found.p, found.stays, sizes / n)


def correlate(scores: np.ndarray, effects: np.ndarray, ranks: bool = False) -> float:
    """Correlation of (n,) scores with (n,) effects, Pearson's or of their ranks (Spearman's).

    0 where all scores are equal, as those without meaning get on average. NaN where all effects
    are, or for one token.
    """
    scores = finite(scores)
    effects = np.asarray(effects, dtype=float)
    if len(scores) < 2 or np.ptp(effects) < FLAT:
        return np.nan
    if ranks:
        scores = rankdata(scores)
        effects = rankdata(effects)
    scores = to_scale(scores)
    if np.ptp(scores) < 1e-12:
        return 0.0
    return float(np.clip(np.corrcoef(scores, effects)[0, 1], -1, 1))


@named("Deletion (area)", source="Petsiuk et al. 2018, section 3", higher_is_better=False, order=84)
def deletion(text: ScoredText, method: str) -> Conversation:
    """The class's mean probability while tokens are erased one by one, the highest-scored first."""
    walk = yield from ask_walk(text, method, deleting=True)
    return np.trapezoid(walk.p, walk.shares)


@named("Insertion (area)", source="Petsiuk et al. 2018, section 3", higher_is_better=True, order=85)
def insertion(text: ScoredText, method: str) -> Conversation:
    """The class's mean probability while tokens come back into an empty text one by one, the
    highest-scored first.
    """
    walk = yield from ask_walk(text, method, deleting=False)
    return np.trapezoid(walk.p, walk.shares)


@named(
    "AOPC", source="Samek et al. 2017, eq. 12", range=(-1.0, 1.0), higher_is_better=True, order=86
)
def aopc(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls on average while tokens are erased one by one, the
    highest-scored first.
    """
    walk = yield from ask_walk(text, method, deleting=True)
    return walk.drops.mean()


NEAR = 0.1  # how far below the whole text's a probability counts as kept


@named(
    "Decision flip (share of tokens)",
    source="Serrano & Smith 2019, section 5; as in Chrysostomou & Aletras 2021; Nguyen 2018",
    higher_is_better=False,
    outputs=CLASSES,
    order=87,
    also=("dffot", "switching_point"),
)
def flip_share(text: ScoredText, method: str) -> Conversation:
    """The share of tokens erased, the highest-scored first, when the predicted class flips; 1 where
    it never does.
    """
    walk = yield from ask_walk(text, method, deleting=True)
    return walk.shares[np.argmin(walk.stays)] if not walk.stays.all() else 1.0


@named(
    "Decision flip (first token)",
    source="Chrysostomou & Aletras 2021, section 5",
    higher_is_better=True,
    outputs=CLASSES,
    order=88,
    also=("dfmit", "flip_rate"),
)
def flip_first(text: ScoredText, method: str) -> Conversation:
    """1 where erasing the highest-scored token flips the predicted class, else 0; its mean is a
    flip rate.

    Of a text that is walked in fewer steps than it has tokens, those of the first step go together.
    """
    walk = yield from ask_walk(text, method, deleting=True)
    return not walk.stays[1]


@named(
    "Effective complexity",
    source="after Nguyen & Martínez 2020, section 3.3",
    higher_is_better=False,
    outputs=PROBABILITIES,
    order=89,
)
def effective_complexity(text: ScoredText, method: str) -> Conversation:
    """The least share of tokens, the highest-scored first, that alone keep the class's probability
    within a tenth.

    The paper has an expected loss in place of the probability, and a bound of one's choice.
    """
    walk = yield from ask_walk(text, method, deleting=False)
    return walk.shares[np.argmax(walk.drops <= NEAR)]  # all tokens always do
