"""Baselines: random scores, and the last token. They know nothing of the model; every other method has to beat them."""

from __future__ import annotations

import numpy as np

from attreval.methods.method import Scores


def random(tokens, target, budget, rng):
    """(n,) independent N(0, 1) scores (Zhao & Aletras 2023, section 4.2)."""
    return Scores(rng.standard_normal(len(tokens.content)))
    yield  # a conversation without questions is still a generator


def last_token(tokens, target, budget, rng):
    """(n,) 1 for the last token, 0 for the others: the word before the verb (Poerner et al. 2018, section 4.4)."""
    return Scores(np.eye(len(tokens.content))[-1])
    yield  # a conversation without questions is still a generator
