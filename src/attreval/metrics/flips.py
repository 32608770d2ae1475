"""How many tokens decide: flips of the predicted class, and the fewest tokens that keep its probability.

Read off the walk of `curves`, which they share: each costs n evaluations a method, 50 at most, and nothing where
another has asked. Letters used for shapes: s steps.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import ask_walk, named
from attreval.models.questions import Conversation

NEAR = 0.1  # how far below the whole text's a probability counts as kept


@named(
    "Decision flip (share of tokens)",
    source="Serrano & Smith 2019, section 5; as in Chrysostomou & Aletras 2021; Nguyen 2018",
    higher_is_better=False,
    order=87,
    also=("dffot", "switching_point"),
)
def flip_share(text: ScoredText, method: str) -> Conversation:
    """The share of tokens erased, the highest-scored first, when the predicted class flips; 1 where it never does."""
    walk = yield from ask_walk(text, method, deleting=True)
    return walk.shares[np.argmin(walk.stays)] if not walk.stays.all() else 1.0


@named(
    "Decision flip (first token)",
    source="Chrysostomou & Aletras 2021, section 5",
    higher_is_better=True,
    order=88,
    also=("dfmit", "flip_rate"),
)
def flip_first(text: ScoredText, method: str) -> Conversation:
    """1 where erasing the highest-scored token flips the predicted class, else 0; its mean is a flip rate.

    Of a text that is walked in fewer steps than it has tokens, those of the first step go together.
    """
    return not (yield from ask_walk(text, method, deleting=True)).stays[1]


@named("Effective complexity", source="after Nguyen & Martínez 2020, section 3.3", higher_is_better=False, order=89)
def effective_complexity(text: ScoredText, method: str) -> Conversation:
    """The least share of tokens, the highest-scored first, that alone keep the class's probability within a tenth.

    The paper has an expected loss in place of the probability, and a bound of one's choice.
    """
    walk = yield from ask_walk(text, method, deleting=False)
    return walk.shares[np.argmax(walk.drops <= NEAR)]  # all tokens always do
