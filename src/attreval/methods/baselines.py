"""Baselines that know nothing of the model: random scores, and the last token.

Every other method has to beat them.
"""

from functools import partial

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.models.questions import Conversation

_baseline = partial(method, kind="baseline", evaluations="0")


@_baseline("Random", source="Zhao & Aletras 2023, section 4.2", order=1, stochastic=True)
def random(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) independent N(0, 1) scores (Zhao & Aletras 2023, section 4.2)."""
    return Scores(rng.standard_normal(len(tokens.content)))
    yield  # a conversation without questions is still a generator


@_baseline("Last token", source="Poerner et al. 2018, section 4.4", order=41, name="last")
def last_token(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) 1 for the last token, 0 for the others: the word before the verb."""
    return Scores(np.eye(len(tokens.content))[-1])
    yield  # a conversation without questions is still a generator
