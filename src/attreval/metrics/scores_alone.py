"""Metrics that ask the model nothing: scores beside those of other methods and texts, and forms.

- The vote: each other method gives every token its rank, and the mean of these is the vote (Borda's
  count; Krishna et al. 2022 compare pairs).
- Sparseness: the Gini index of the sizes of scores (Chalasani et al. 2020).
- Stability: what becomes of scores when the text changes a little, and when the model's weights
  change altogether. `neighbours`, scores of slightly disturbed texts, and `randomised`, scores of
  the same text where weights were drawn anew layer by layer, from the last one down, are made by
  whoever asks; where nobody did, there is no value.
- Lexical and position bias (Kamp et al. 2025): does a method prefer words, or places, whatever the
  text? From the ranks that it gives in all other texts follows what to expect of a word, and of a
  place; the bias is how far the ranks in this text are foretold by that. The paper measures both by
  how a method's choices are spread over words and places of a data set; a value of each text, which
  has an interval, is ours.
Letters used for shapes: n content tokens, k neighbours, l layers, b places.
"""

from collections.abc import Sequence
from functools import partial
from math import inf

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.erasure import rank_shares
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import RANDOM, ScoredText, finite
from attreval.metrics.walk import correlate

PLACES = 10  # equal parts of a text, from its beginning to its end

_alone = partial(metric, judge="", by_name=True, planted=False)
_bias = partial(
    _alone,
    source="after Kamp et al. 2025",
    needs=("scores", "texts"),
    range=(-1.0, 1.0),
    higher_is_better=False,
)


@_alone(
    "Vote of methods",
    judge="agreement",
    source="after Krishna et al. 2022, section 3",
    needs=("scores", "rivals"),
    range=(-1.0, 1.0),
    higher_is_better=True,
    order=101,
)
def vote(text: ScoredText, method: str) -> float:
    """The rank correlation of a method's scores with the mean ranks that the others give, random
    ones not among them.

    0 where all its scores are equal; NaN where the others, together, put no token before another.
    """
    others = [
        rankdata(scores) for name, scores in text.scores.items() if name not in (method, RANDOM)
    ]
    if not others:
        return np.nan
    return correlate(text.scores[method], np.mean(others, axis=0), ranks=True)


@_alone(
    "Sparseness (Gini)",
    source="Chalasani et al. 2020, section 4",
    needs=("scores",),
    higher_is_better=True,
    order=102,
    blind="it looks at the sizes of scores alone",
)
def sparseness(text: ScoredText, method: str) -> float:
    """How unequal the sizes of scores are: 0 where all are equal, (n - 1) / n where one token has
    all.

    All scores being 0 they are equal. Random scores are never so equal as constant ones: it judges
    form, not truth.
    """
    sizes = np.sort(np.abs(text.scores[method]))
    n = len(sizes)
    total = sizes.sum()
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float(weights @ (sizes / total) / n) if total > 0 else 0.0


@_alone(
    "Max-sensitivity",
    source="Yeh et al. 2019, definition 3.1",
    needs=("scores", "neighbours"),
    range=(0.0, inf),
    higher_is_better=False,
    order=99,
    blind="scores that never change are the most stable, whatever they say",
)
def max_sensitivity(text: ScoredText, method: str) -> float:
    """How far scores move at most when the text is disturbed a little, as a share of their own
    length.

    The paper has the distance alone; it is divided by the norm of the scores, as in captum, so that
    their unit does not matter, and by 1 where all are 0.
    """
    others = text.neighbours.get(method, ())
    if not len(others):
        return np.nan
    scores = text.scores[method]
    moves = np.linalg.norm(np.asarray(others) - scores, axis=1)
    return float(moves.max() / (np.linalg.norm(scores) or 1.0))


@_alone(
    "Parameter randomisation",
    source="Adebayo et al. 2018, section 3; as in Hedström et al. 2023",
    needs=("scores", "randomised"),
    higher_is_better=True,
    order=100,
    also=("mprt", "model_parameter_randomisation"),
    turned="lower similarity: 1 - mean size of the rank correlation",
    blind="scores that are drawn anew each time depend on no weight, and change with it as if they "
    "did",
)
def parameter_randomisation(text: ScoredText, method: str) -> float:
    """How far scores change with the model's weights: 1 less the mean size of their rank
    correlations.

    With scores of models whose layers were drawn anew from the last one down; the mean is over
    these models, as in Quantus. Scores in the same order, ties among them, have a correlation of 1,
    and constants none with others.
    """
    others = text.randomised.get(method, ())
    if not len(others) or len(text.scores[method]) < 2:
        return np.nan
    return float(1 - np.mean([abs(order_likeness(text.scores[method], one)) for one in others]))


def order_likeness(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation of two (n,) scores; 1 where ranks are the same, constants too.

    0 where one alone is constant.
    """
    ranks = np.stack([rankdata(finite(a)), rankdata(finite(b))])
    if np.array_equal(*ranks):
        return 1.0
    if np.ptp(ranks, axis=1).min() == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def kinds_of(text: ScoredText, of_words: bool) -> np.ndarray:
    """(n,) what each content token is: its id, or the part of the text that it stands in."""
    content = text.tokens.content
    if of_words:
        return text.tokens.ids[content]
    return np.arange(len(content)) * PLACES // max(1, len(content))


def foretell(text: ScoredText, method: str, of_words: bool) -> np.ndarray:
    """(n,) mean ranks of each token's kind in all other texts; of a kind that is in none, 1/2."""
    asked = [one for one in text.texts if method in one.scores]
    key = ("habits", method, of_words)
    shared = text.texts[0].found if text.texts else {}
    if key not in shared:
        shared[key] = _sum_ranks(asked, method, of_words)  # once for all texts
    own = _sum_ranks([one for one in asked if one is text], method, of_words)
    out = []
    for kind in kinds_of(text, of_words).tolist():
        total, count = shared[key].get(kind, np.zeros(2)) - own.get(kind, np.zeros(2))
        out.append(total / count if count > 0.5 else 0.5)
    return np.array(out).round(9)  # what is equal but for rounding is a tie


def _sum_ranks(texts: Sequence[ScoredText], method: str, of_words: bool) -> dict[int, np.ndarray]:
    """By kind, the sum of ranks in texts, and how many there are."""
    sums: dict[int, np.ndarray] = {}
    for text in texts:
        kinds = kinds_of(text, of_words).tolist()
        for kind, rank in zip(kinds, rank_shares(text.scores[method]), strict=True):
            sums[kind] = sums.get(kind, np.zeros(2)) + np.array([rank, 1.0])
    return sums


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
    """How far the ranks of places in all other texts, each in ten parts, foretell those in this one
    (rank correlation).

    0 where all scores are equal; NaN where the other texts have nothing to tell.
    """
    return correlate(text.scores[method], foretell(text, method, of_words=False), ranks=True)
