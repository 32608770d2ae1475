"""Scores beside what each token alone takes from the class's probability when it is erased, and whether that adds up.

Erasing each token costs n evaluations a text, once for all methods.
Letters used for shapes: n tokens that may be erased, s steps.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import FLAT, ask_walk, correlate, erasable_scores, layout_of, left_once, named
from attreval.models.questions import Conversation


def ask_singles(text: ScoredText) -> Conversation:
    """The conversation that erases each token alone: returns Left, of n texts."""
    return left_once(text, "single tokens", np.eye(int(layout_of(text).erasable.sum()), dtype=bool))


@named(
    "Faithfulness estimate",
    source="Alvarez-Melis & Jaakkola 2018, section 4.2",
    range=(-1.0, 1.0),
    higher_is_better=True,
    order=92,
)
def faithfulness_estimate(text: ScoredText, method: str) -> Conversation:
    """How far scores follow what each token alone takes from the class's probability (Pearson's correlation).

    NaN where all tokens take the same.
    """
    return correlate(erasable_scores(text, method), (yield from ask_singles(text)).drops)


@named(
    "Monotonicity (ranks)",
    source="Nguyen & Martínez 2020, section 3.2",
    range=(-1.0, 1.0),
    higher_is_better=True,
    order=93,
    blind="it looks at sizes alone: scores of the opposite sign fare as well",
)
def monotonicity_ranks(text: ScoredText, method: str) -> Conversation:
    """How far the sizes of scores rank tokens as the squared changes of the probability do when each is erased alone.

    The paper's expectation over other values of a feature is taken at one, the erased token; squares rank as sizes do.
    """
    left = yield from ask_singles(text)
    return correlate(np.abs(erasable_scores(text, method)), np.abs(left.drops), ranks=True)


@named(
    "Monotonicity",
    source="Arya et al. 2019; Luss et al. 2019",
    higher_is_better=True,
    order=94,
    blind="tokens against the class, which come back first, let the probability fall under the true explanation",
)
def monotonicity(text: ScoredText, method: str) -> Conversation:
    """At which share of steps the probability does not fall while tokens come back, the lowest-scored first.

    The papers ask whether it never falls; the share tells more of one text. It is read off the walk of `curves`.
    """
    walk = yield from ask_walk(text, method, deleting=True)
    return np.mean(walk.p[:-1] - walk.p[1:] >= -FLAT)
