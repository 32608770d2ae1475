"""Unified complexity: entropy of an explanation's scores (Sun et al. 2024, section 2.5; Bhatt et
al. 2020).

The entropy of the shares that the first k features have of their importance, k the number of pairs
of spans, the same for each type of explanation. Lower is simpler. Letters used for shapes: k
features.
"""

from functools import cache
from math import inf

import numpy as np
from scipy.special import digamma, entr

from attreval.core.seeds import generator
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText, finite

DRAWS = 4000


def entropy(scores: np.ndarray) -> float:
    """Entropy in nats of the shares of the magnitudes of (k,) scores; ln k where all are 0, NaN
    where there is none.

    ValueError for scores that are not finite.
    """
    scores = np.abs(finite(scores))
    if not len(scores):
        return np.nan
    total = scores.sum()
    return float(entr(scores / total).sum()) if total > 0 else float(np.log(len(scores)))


def unified_entropy(scores: np.ndarray, k: int) -> float:
    """Entropy of the k highest of (n,) falling scores; of all where there are fewer (eq. 19-20).
    NaN for k = 0.
    """
    return entropy(scores[:k])


@cache
def random_entropy(k: int, distribution: str) -> float:
    """Expected entropy of k random scores: `uniform` on (0, 1), by many draws, or `exponential`, in
    closed form.

    Shares of exponential scores are uniform on the simplex, where the expectation is psi(k + 1) -
    psi(2).
    """
    if distribution == "exponential":
        return float(digamma(k + 1) - digamma(2))
    if distribution != "uniform":
        raise ValueError(f"random scores are `uniform` or `exponential`; got {distribution!r}")
    drawn = generator("complexity", k).random((DRAWS, k))
    return float(entr(drawn / drawn.sum(axis=1, keepdims=True)).sum(axis=1).mean())


@metric(
    "Simplicity",
    judge="",
    source="Bhatt et al. 2020",
    needs=("scores",),
    higher_is_better=True,
    order=51,
    joint=True,
    turned="lower entropy: 1 - entropy / ln n",
    planted=False,
)
def simplicity(text: ScoredText, method: str) -> float:
    """How few tokens hold a method's scores: 1 for one token, 0 where all count alike.

    1 less the entropy of (n,) scores as a share of the highest, ln n; NaN for one score.
    """
    scores = text.scores[method]
    return 1 - entropy(scores) / np.log(len(scores)) if len(scores) > 1 else np.nan


@metric(
    "Complexity (entropy)",
    judge="diagnosis",
    source="Sun et al. 2024, section 2.5, eq. 19; Bhatt et al. 2020",
    needs=("scores",),
    range=(0.0, inf),
    higher_is_better=False,
    order=67,
    stored="complexity",
    also=("entropy",),
    blind="it looks at the scores alone, and not even at their signs",
)
def complexity(text: ScoredText, method: str) -> float:
    """How evenly importance is spread over the pieces, in nats; lower is simpler."""
    return entropy(text.scores[method])


UNIFIED_SIMPLICITY = metric(
    "Simplicity (unified)",
    name="unified_simplicity",
    judge="diagnosis",
    source="Sun et al. 2024, section 2.5, eq. 19",
    about="How few of its first pieces hold an explanation's importance: 1 for one piece, 0 where "
    "all count alike.",
    needs=("scores",),
    higher_is_better=True,
    order=68,
    stored="unified_simplicity",
    joint=True,
    turned="lower entropy: 1 - entropy / ln k",
    notebook="07_sun2024",
    planted=False,
)(unified_entropy)
