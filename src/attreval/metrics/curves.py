"""Deletion and insertion: areas under the curves of a class's probability (Petsiuk et al. 2018; Samek et al. 2017).

Tokens go, or come back into a text without any, in the order of their scores. Petsiuk et al. take the area by the
trapezoid rule; Samek et al. average the fall over all steps, the whole text's 0 among them. Both are for pixels; an
erased token becomes what the protocol says. They cost n evaluations a method each, 50 at most, which they share.
Letters used for shapes: s steps.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import ask_walk, named
from attreval.models.questions import Conversation


@named("Deletion (area)", source="Petsiuk et al. 2018, section 3", higher_is_better=False, order=84)
def deletion(text: ScoredText, method: str) -> Conversation:
    """The class's mean probability while tokens are erased one by one, the highest-scored first."""
    walk = yield from ask_walk(text, method, deleting=True)
    return np.trapezoid(walk.p, walk.shares)


@named("Insertion (area)", source="Petsiuk et al. 2018, section 3", higher_is_better=True, order=85)
def insertion(text: ScoredText, method: str) -> Conversation:
    """The class's mean probability while tokens come back into an empty text one by one, the highest-scored first."""
    walk = yield from ask_walk(text, method, deleting=False)
    return np.trapezoid(walk.p, walk.shares)


@named("AOPC", source="Samek et al. 2017, eq. 12", range=(-1.0, 1.0), higher_is_better=True, order=86)
def aopc(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls on average while tokens are erased one by one, the highest-scored first."""
    return (yield from ask_walk(text, method, deleting=True)).drops.mean()
