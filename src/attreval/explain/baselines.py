"""What do scores look like that know nothing? Every other method has to beat them."""

from __future__ import annotations

from attreval.explain.method import Scores


def random(tokens, target, budget, rng):
    """(n,) independent N(0, 1) scores (Zhao & Aletras 2023, section 4.2)."""
    return Scores(rng.standard_normal(len(tokens.content)))
    yield  # a conversation without questions is still a generator
