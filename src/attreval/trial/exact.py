"""What is exact: Shapley values by all 2^n coalitions, and what a model says when each word, or each set, is erased."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import factorial
from typing import Any

import numpy as np

from attreval.core.records import Tokens
from attreval.models.questions import softmax
from attreval.models.scorer import Scorer
from attreval.trial.world import WorldText

MOVES, STAYS = 0.25, 0.1  # a change of probability that is one, and one that is none


@lru_cache(maxsize=32)
def coalitions(n: int) -> np.ndarray:
    """(2^n, n) bool, all subsets of n players, the empty one first."""
    return np.array(list(product((False, True), repeat=n)), dtype=bool).reshape(-1, n)


def shapley(values: np.ndarray) -> np.ndarray:
    """(n,) Shapley values of the (2^n,) values of `coalitions(n)` (Shapley 1953)."""
    n = len(values).bit_length() - 1
    held, out = coalitions(n), np.zeros(n)
    weight = np.array([factorial(k) * factorial(n - k - 1) / factorial(n) for k in range(n)])
    for player in range(n):
        without = np.flatnonzero(~held[:, player])
        gains = values[without + (1 << (n - 1 - player))] - values[without]
        out[player] = weight[held[without].sum(axis=1)] @ gains
    return out


def ask_coalitions(scorer: Scorer, tokens: Tokens, players: np.ndarray, target: int) -> np.ndarray:
    """(2^n,) logits of a class where only some of the players, places of tokens, are left; all other tokens stay."""
    held = coalitions(len(players))
    rows = np.tile(tokens.ids, (len(held), 1))
    rows[:, players] = np.where(held, rows[:, players], tokens.mask_id)
    return scorer.logits([(row, tokens.segments) for row in rows])[:, target]


def erase_each(model: Any, tokens: Tokens) -> np.ndarray:
    """(1 + n, K) probabilities of the text, and of the text without each content token."""
    rows = np.tile(tokens.ids, (1 + len(tokens.content), 1))
    rows[range(1, len(rows)), tokens.content] = tokens.mask_id
    return softmax(Scorer(model, precision="float64").logits([(row, tokens.segments) for row in rows]))


def decides_alone(model: Any, text: WorldText) -> bool:
    """Whether a model predicts the class, and of all content tokens the one true token alone moves it when erased."""
    p = erase_each(model, text.tokens)
    place, drops = text.truth.argmax(), p[0, text.target] - p[1:, text.target]
    others = np.delete(np.abs(drops), place).max(initial=0.0)
    return bool(p[0].argmax() == text.target and drops[place] >= MOVES and others <= STAYS)
