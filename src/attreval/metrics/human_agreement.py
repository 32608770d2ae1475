"""Agreement of methods with people, whose marks `marks` reads (Kamp et al. 2023, section 3).

Letters used for shapes: n content tokens.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from attreval.metrics.agreement import agreement_at_k, agreement_of, tie_breaker, top_k, union_sizes
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, peaks_of, select
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText

_people = partial(
    metric, judge="agreement", needs=("scores", "marks"), higher_is_better=True, joint=True, planted=False
)


def agreement_with_share(scores: np.ndarray, share: np.ndarray, k: int) -> float:
    """Expected agreement@k of a method with people whose relevance is the share of them (Kamp et al. 2023, section 3).

    The paper's words; its released code makes people a voter with a top k of its own, which agreement_at_k does.
    Relevance is the mean of the method's vote and the share. NaN where there is no token.
    """
    scores, share = np.asarray(scores, dtype=float), np.asarray(share, dtype=float)
    if scores.shape != share.shape:
        raise ValueError(f"method and people score the same tokens; got {scores.shape} and {share.shape}")
    if not len(scores):
        return float("nan")
    sure, tied, left = top_k(scores, k)
    covered = sure | (share > 0)
    total = (min(k, len(scores)) + share.sum()) / 2
    sizes = union_sizes([(tied, left)] if left else [], covered)
    return float(sum(p * total / (size + covered.sum()) for size, p in sizes.items()))


def selection_with_share(selection: np.ndarray, share: np.ndarray) -> float:
    """The same for a selection of any size, (n,) bool; NaN where neither side puts forward a token."""
    mean = (np.asarray(selection, dtype=float) + np.asarray(share, dtype=float)) / 2
    return float(mean.sum() / (mean > 0).sum()) if (mean > 0).any() else float("nan")


@_people("People (fixed k)", source="Kamp et al. 2023, section 3", order=23, also=("plausibility", "human_agreement"))
def people(text: ScoredText, method: str) -> float:
    """How far a method selects the k tokens that most people mark."""
    if text.settings.people == "share":
        return agreement_with_share(text.scores[method], text.share, text.settings.k)
    return agreement_at_k([text.scores[method], text.share], text.settings.k, tie_breaker(text, method, "people"))


@_people("People (dynamic k)", source="Kamp et al. 2023, section 4", order=24)
def people_dynamic(text: ScoredText, method: str) -> float:
    """How far a method's local maxima are those of the share of people who mark a token."""
    if text.settings.people == "share":
        return selection_with_share(peaks_of(text, method), text.share)
    marked = select(local_maxima(text.share, PEAK_RULES[text.settings.peaks]), len(text.share))
    return agreement_of([peaks_of(text, method), marked])
