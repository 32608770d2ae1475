"""Uniform random masking of texts to learn from (Madsen et al. 2024): what erasure makes of a text is then no news.

Half of each batch is masked: for each of its texts a share is drawn uniformly between 0 and 1, and each content token
becomes the mask token with that probability, so that any number of masked ones is equally likely. Special tokens stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attreval.core.records import Tokens


def mask_share(tokens: Tokens, rng: np.random.Generator) -> Tokens:
    """A text with a uniformly drawn share of its content tokens replaced by the mask token."""
    share = rng.random()
    gone = ~tokens.special & (rng.random(len(tokens)) < share)
    return replace(tokens, ids=np.where(gone, tokens.mask_id, tokens.ids))


def mask_half(batch: Sequence[Tokens], rng: np.random.Generator) -> list[Tokens]:
    """A batch in its order with half of its texts, drawn at random, masked; of an odd number one more or one less."""
    half = (len(batch) + rng.integers(2)) // 2
    chosen = set(rng.permutation(len(batch))[:half].tolist())
    return [mask_share(tokens, rng) if at in chosen else tokens for at, tokens in enumerate(batch)]
