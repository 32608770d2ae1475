"""Scores against tokens that people marked: agreement@k, F1, AUPRC, spans, mass and ranks.

Agreement@k is that of Kamp et al. (2023), F1, AUPRC and spans are those of DeYoung et al. (2020),
mass and ranks those of Arras et al. (2022).
All scores being equal, each gives what random ones get on average: in closed form, or, where the
order of tied tokens matters in other ways, as the mean over DRAWS of their orders. They ask the
model nothing. Letters used for shapes: n content tokens, g marked ones.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from attreval.core.units import true_runs
from attreval.metrics.agreement import (
    agreement_at_k,
    agreement_of,
    inverse_size,
    relevance_at_k,
    tie_breaker,
    top_k,
)
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, peaks_of, select
from attreval.metrics.erasure import rank_tokens
from attreval.metrics.metric import metric
from attreval.metrics.phrases import phrase_f1
from attreval.metrics.scored_text import ScoredText, to_scale

_people = partial(
    metric,
    judge="agreement",
    needs=("scores", "marks"),
    higher_is_better=True,
    joint=True,
    planted=False,
)


def agreement_with_share(scores: np.ndarray, share: np.ndarray, k: int) -> float:
    """Expected agreement@k of a method with people's share (Kamp et al. 2023, section 3).

    The paper's words; its released code makes people a voter with a top k of its own, which
    agreement_at_k does. Relevance is the mean of the method's vote and the share.

    Args:
        scores: (n,) of the method.
        share: (n,) of people who mark each token.
        k: tokens that the method selects.

    Returns:
        NaN where there is no token.
    """
    scores = np.asarray(scores, dtype=float)
    share = np.asarray(share, dtype=float)
    if scores.shape != share.shape:
        raise ValueError(
            f"method and people score the same tokens; got {scores.shape} and {share.shape}"
        )
    if not len(scores):
        return np.nan
    sure, tied, left = top_k(scores, k)
    covered = sure | (share > 0)
    total = (min(k, len(scores)) + share.sum()) / 2
    return float(total * inverse_size([(tied, left)] if left else [], covered))


def selection_with_share(selection: np.ndarray, share: np.ndarray) -> float:
    """The same for a selection of any size, (n,) bool; NaN where neither side puts any forward."""
    mean = (np.asarray(selection, dtype=float) + share) / 2
    anybody = (mean > 0).sum()
    return float(mean.sum() / anybody) if anybody else np.nan


@_people(
    "People (fixed k)",
    source="Kamp et al. 2023, section 3",
    order=23,
    also=("plausibility", "human_agreement"),
)
def people(text: ScoredText, method: str) -> float:
    """How far a method selects the k tokens that most people mark."""
    if text.settings.people == "share":
        return agreement_with_share(text.scores[method], text.share, text.settings.k)
    rng = tie_breaker(text, method, "people")
    return agreement_at_k([text.scores[method], text.share], text.settings.k, rng)


@_people("People (dynamic k)", source="Kamp et al. 2023, section 4", order=24)
def people_dynamic(text: ScoredText, method: str) -> float:
    """How far a method's local maxima are those of the share of people who mark a token."""
    if text.settings.people == "share":
        return selection_with_share(peaks_of(text, method), text.share)
    marked = select(local_maxima(text.share, PEAK_RULES[text.settings.peaks]), len(text.share))
    return agreement_of([peaks_of(text, method), marked])


DRAWS = 16  # orders of tied tokens
OVERLAP = 0.5  # of two spans over what either holds, from which on one finds the other
_marked = partial(
    metric, needs=("scores", "marks"), higher_is_better=True, by_name=True, planted=False
)
_eraser = partial(_marked, judge="agreement")
_mass = partial(_marked, judge="pointing")


def over_orders(text: ScoredText, method: str, measure: Callable[[np.ndarray], float]) -> float:
    """The mean of a measure over (n,) orders of tokens by falling score, which differ in ties."""
    scores = text.scores[method]
    rng = text.ties_of(method)
    draws = 1 if len(np.unique(scores)) == len(scores) else DRAWS
    return float(np.mean([measure(rank_tokens(scores, rng)) for _ in range(draws)]))


@_eraser("Token F1", source="DeYoung et al. 2020, section 4.1", order=28)
def token_f1(text: ScoredText, method: str) -> float:
    """F1 of the k highest-scored tokens against those that people mark; ties by expectation.

    The paper takes k from the mean length of people's rationales in a data set; here it is the one
    of all voters.
    """
    evidence = text.evidence
    k = min(text.settings.k, len(evidence))
    chances = relevance_at_k([text.scores[method]], k)
    return 2 * chances[evidence].sum() / (k + evidence.sum())


@_eraser("AUPRC", source="DeYoung et al. 2020, section 4.1", order=29)
def auprc(text: ScoredText, method: str) -> float:
    """Area under the curve of precision over recall, tokens being marked or not and scores the
    threshold.
    """
    evidence = text.evidence

    def area(order: np.ndarray) -> float:  # as scikit-learn has it, at a fiftieth of the time
        hits = np.cumsum(evidence[order])
        precision = hits / np.arange(1, len(hits) + 1)
        recall = hits / hits[-1]
        return float(np.trapezoid([1.0, *precision], [0.0, *recall]))

    return over_orders(text, method, area)


@_eraser("IOU F1", source="DeYoung et al. 2020, section 4.1", order=30)
def iou_f1(text: ScoredText, method: str) -> float:
    """F1 of runs of the k highest-scored tokens; one is right that shares half of what it and a
    marked run hold.
    """
    evidence = text.evidence
    k = min(text.settings.k, len(evidence))
    given = true_runs(evidence)

    def measure(order: np.ndarray) -> float:
        found = true_runs(select(order[:k], len(evidence)))
        return phrase_f1(found, given, OVERLAP)

    return over_orders(text, method, measure)


@_mass(
    "Relevance mass",
    source="Arras et al. 2022, section 3.2",
    order=16,
    also=("relevance_mass_accuracy",),
)
def relevance_mass(text: ScoredText, method: str) -> float:
    """The share of positive scores that lies on evidence; where none is positive, the share of
    tokens that do.
    """
    positive = to_scale(np.maximum(text.scores[method], 0))
    positive = positive if positive.any() else np.ones(len(positive))
    return positive[text.evidence].sum() / positive.sum()


@_mass(
    "Relevance ranks",
    source="Arras et al. 2022, section 3.2",
    order=17,
    also=("relevance_rank_accuracy",),
)
def relevance_rank(text: ScoredText, method: str) -> float:
    """The share of evidence among as many highest-scored tokens as are evidence; ties by
    expectation.
    """
    evidence = text.evidence
    chances = relevance_at_k([text.scores[method]], int(evidence.sum()))
    return chances[evidence].sum() / evidence.sum()
