"""Lexical and position bias: does a method prefer words, or places, whatever the text? (Kamp et al. 2025)

From the ranks that a method gives in all other texts follows what to expect of a word, and of a place; the bias is how
far the ranks in this text are foretold by that. The paper measures both by how a method's choices are spread over words
and places of a data set; a value of each text, which has an interval, is ours. They ask the model nothing.
Letters used for shapes: n content tokens, b places.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.erasure import finite
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import correlate

PLACES = 10  # equal parts of a text, from its beginning to its end
_bias = partial(
    metric,
    judge="",
    source="after Kamp et al. 2025",
    needs=("scores", "texts"),
    range=(-1.0, 1.0),
    higher_is_better=False,
    by_name=True,
    planted=False,
)


def rank_shares(scores: np.ndarray) -> np.ndarray:
    """(n,) ranks from 0, the lowest score, to 1, equal scores sharing their mean; 1/2 for one token."""
    scores = finite(scores)
    return (rankdata(scores) - 1) / (len(scores) - 1) if len(scores) > 1 else np.full(len(scores), 0.5)


def kinds_of(text: ScoredText, of_words: bool) -> np.ndarray:
    """(n,) what each content token is: its id, or the part of the text that it stands in."""
    content = text.tokens.content
    return text.tokens.ids[content] if of_words else np.arange(len(content)) * PLACES // max(1, len(content))


def foretell(text: ScoredText, method: str, of_words: bool) -> np.ndarray:
    """(n,) mean ranks of each token's kind in all other texts; of a kind that is in none, 1/2."""
    key = ("habits", method, of_words)
    asked = [one for one in text.texts if method in one.scores]
    shared = text.texts[0].found if text.texts else {}
    if key not in shared:  # summed once for all texts
        sums: dict[int, np.ndarray] = {}
        for one in asked:
            _add(sums, one, method, of_words)
        shared[key] = sums
    own: dict[int, np.ndarray] = {}
    if any(one is text for one in asked):
        _add(own, text, method, of_words)
    out = []
    for kind in kinds_of(text, of_words).tolist():
        total, count = shared[key].get(kind, np.zeros(2)) - own.get(kind, np.zeros(2))
        out.append(total / count if count > 0.5 else 0.5)
    return np.array(out).round(9)  # what is equal but for rounding is a tie


def _add(sums: dict[int, np.ndarray], text: ScoredText, method: str, of_words: bool) -> None:
    """Add a text's ranks, and how many there are, to the sums of their kinds."""
    for kind, rank in zip(kinds_of(text, of_words).tolist(), rank_shares(text.scores[method]), strict=True):
        sums[kind] = sums.get(kind, np.zeros(2)) + np.array([rank, 1.0])


@_bias(
    "Lexical bias",
    order=105,
    blind="a model that goes by words alone is rightly explained by the same words in every text",
)
def lexical_bias(text: ScoredText, method: str) -> float:
    """How far the ranks of words in all other texts foretell those in this one (rank correlation).

    0 where all scores are equal; NaN where the other texts have nothing to tell of its words.
    """
    return correlate(text.scores[method], foretell(text, method, of_words=True), ranks=True)


@_bias("Position bias", order=106)
def position_bias(text: ScoredText, method: str) -> float:
    """How far the ranks of places in all other texts, each in ten parts, foretell those in this one (rank correlation).

    0 where all scores are equal; NaN where the other texts have nothing to tell.
    """
    return correlate(text.scores[method], foretell(text, method, of_words=False), ranks=True)
