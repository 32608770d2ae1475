"""Scores against marked tokens: F1, AUPRC and spans (DeYoung et al. 2020), mass and ranks (Arras et al. 2022).

They ask the model nothing. All scores being equal, each gives what random ones get on average: in closed form, or,
where the order of tied tokens matters in other ways, as the mean over DRAWS of their orders.
Letters used for shapes: n content tokens, g marked ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attreval.core.seeds import generator
from attreval.core.units import true_runs
from attreval.metrics.agreement import relevance_at_k
from attreval.metrics.erasure import finite, rank_tokens
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText

DRAWS = 16  # orders of tied tokens
OVERLAP = 0.5  # of two spans over what either holds, from which on one finds the other
_marked = partial(metric, needs=("scores", "marks"), higher_is_better=True, by_name=True, planted=False)
_eraser = partial(_marked, judge="agreement")
_mass = partial(_marked, judge="pointing")


def over_orders(text: ScoredText, method: str, measure: Callable[[np.ndarray], float]) -> float:
    """The mean of what a measure gives for (n,) orders of tokens by falling score, one where no two are equal."""
    scores = finite(text.scores[method])
    rng = generator("ties", *text.names_of(method))
    draws = 1 if len(np.unique(scores)) == len(scores) else DRAWS
    return float(np.mean([measure(rank_tokens(scores, rng)) for _ in range(draws)]))


@_eraser("Token F1", source="DeYoung et al. 2020, section 4.1", order=28)
def token_f1(text: ScoredText, method: str) -> float:
    """F1 of the k highest-scored tokens against those that people mark; ties by expectation.

    The paper takes k from the mean length of people's rationales in a data set; here it is the one of all voters.
    """
    evidence = text.evidence
    k = min(text.settings.k, len(evidence))
    return 2 * relevance_at_k([text.scores[method]], k)[evidence].sum() / (k + evidence.sum())


@_eraser("AUPRC", source="DeYoung et al. 2020, section 4.1", order=29)
def auprc(text: ScoredText, method: str) -> float:
    """Area under the curve of precision over recall, tokens being marked or not and scores the threshold."""
    evidence = text.evidence

    def area(order: np.ndarray) -> float:  # as scikit-learn has it, at a fiftieth of the time
        hits = np.cumsum(evidence[order])
        precision, recall = hits / np.arange(1, len(hits) + 1), hits / hits[-1]
        return float(np.trapezoid([1.0, *precision], [0.0, *recall]))

    return over_orders(text, method, area)


@_eraser("IOU F1", source="DeYoung et al. 2020, section 4.1", order=30)
def iou_f1(text: ScoredText, method: str) -> float:
    """F1 of runs of the k highest-scored tokens; one is right that shares half of what it and a marked run hold."""
    evidence = text.evidence
    k = min(text.settings.k, len(evidence))
    return over_orders(text, method, lambda order: spans_f1(np.isin(np.arange(len(evidence)), order[:k]), evidence))


def spans_f1(chosen: np.ndarray, evidence: np.ndarray) -> float:
    """F1 of the runs in (n,) bool tokens against those in others; a run finds the one that it overlaps enough."""
    found, given = list(true_runs(chosen)), list(true_runs(evidence))

    def fits(a: tuple[int, int], b: tuple[int, int]) -> bool:
        shared = min(a[1], b[1]) - max(a[0], b[0])
        return shared > 0 and shared / (max(a[1], b[1]) - min(a[0], b[0])) >= OVERLAP

    precision = np.mean([any(fits(a, b) for b in given) for a in found])
    recall = np.mean([any(fits(a, b) for a in found) for b in given])
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


@_mass("Relevance mass", source="Arras et al. 2022, section 3.2", order=16, also=("relevance_mass_accuracy",))
def relevance_mass(text: ScoredText, method: str) -> float:
    """The share of positive scores that lies on evidence; where none is positive, the share of tokens that do."""
    positive = np.maximum(finite(text.scores[method]), 0)
    positive = positive / positive.max() if positive.any() else np.ones(len(positive))
    return positive[text.evidence].sum() / positive.sum()


@_mass("Relevance ranks", source="Arras et al. 2022, section 3.2", order=17, also=("relevance_rank_accuracy",))
def relevance_rank(text: ScoredText, method: str) -> float:
    """The share of evidence among as many highest-scored tokens as are evidence; ties by expectation."""
    evidence = text.evidence
    return relevance_at_k([text.scores[method]], int(evidence.sum()))[evidence].sum() / evidence.sum()
