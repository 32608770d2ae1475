"""What becomes of scores when the text changes a little, and when the model's weights change altogether.

Both need scores of the same method beside the ones that are judged: `neighbours`, of slightly disturbed texts, and
`randomised`, of the same text where weights were drawn anew layer by layer, from the last one down. Whoever asks makes
them; where nobody did, there is no value. No evaluation of their own.
Letters used for shapes: n content tokens, k neighbours, l layers.
"""

from __future__ import annotations

from functools import partial
from math import inf

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.erasure import finite
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText

_stable = partial(metric, judge="", by_name=True, planted=False)


@_stable(
    "Max-sensitivity",
    source="Yeh et al. 2019, definition 3.1",
    needs=("scores", "neighbours"),
    range=(0.0, inf),
    higher_is_better=False,
    order=99,
    blind="scores that never change are the most stable, whatever they say",
)
def max_sensitivity(text: ScoredText, method: str) -> float:
    """How far scores move at most when the text is disturbed a little, as a share of their own length.

    The paper has the distance alone; it is divided by the norm of the scores, as in captum, so that their unit does not
    matter, and by 1 where all are 0.
    """
    others = text.neighbours.get(method, ())
    if not len(others):
        return float("nan")
    scores = finite(text.scores[method])
    return float(np.linalg.norm(np.asarray(others) - scores, axis=1).max() / (np.linalg.norm(scores) or 1.0))


@_stable(
    "Parameter randomisation",
    source="Adebayo et al. 2018, section 3; as in Hedström et al. 2023",
    needs=("scores", "randomised"),
    higher_is_better=True,
    order=100,
    also=("mprt", "model_parameter_randomisation"),
    turned="lower similarity: 1 - mean size of the rank correlation",
    blind="scores that are drawn anew each time depend on no weight, and change with it as if they did",
)
def parameter_randomisation(text: ScoredText, method: str) -> float:
    """How far scores change with the model's weights: 1 less the mean size of their rank correlations.

    With scores of models whose layers were drawn anew from the last one down; the mean is over these models, as in
    Quantus. Scores in the same order, ties among them, have a correlation of 1, and constants none with others.
    """
    others = text.randomised.get(method, ())
    if not len(others) or len(text.scores[method]) < 2:
        return float("nan")
    return float(1 - np.mean([abs(order_likeness(text.scores[method], one)) for one in others]))


def order_likeness(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation of two (n,) scores; 1 where their ranks are the same, 0 where one alone is constant."""
    ranks = rankdata(finite(a)), rankdata(finite(b))
    if np.array_equal(*ranks):
        return 1.0
    if min(np.ptp(ranks[0]), np.ptp(ranks[1])) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])
