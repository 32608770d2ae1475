"""Dynamic k: as many tokens as a profile of scores has local maxima (Kamp et al. 2023, section 4).

The rule: a token is a peak where its score exceeds both neighbours' and the mean.
Their released code differs at the mean, at both ends and on plateaus, so each of these is a
setting; ways to choose k that come from elsewhere stand beside it. Special tokens are left out, so
the two texts of a pair follow each other. Letters used for shapes: n tokens, p peaks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Literal

import numpy as np

from attreval.core.units import find_runs
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText, finite


@dataclass(frozen=True)
class PeakRule:
    """What counts as a local maximum.

    above_mean: it must exceed the mean; else reaching it is enough. ends: a token at either end is
    a peak where it exceeds its one neighbour (`one`), that and the token at the other end
    (`around`), or `never`. plateaus: of equal neighbouring scores between lower ones the middle,
    left of two, is a peak; else none is. plateau_ends: the same for a plateau that reaches an end.
    """

    above_mean: bool = False
    ends: Literal["one", "around", "never"] = "one"
    plateaus: bool = True
    plateau_ends: bool = False


NO_PEAK = np.zeros(0, dtype=int)
PROMINENCE = 0.25  # of the range of scores
DISTANCE = 3  # tokens
WIDTHS = np.array([1, 2, 3])  # of wavelets, in tokens
PAPER = PeakRule(above_mean=True, ends="never", plateaus=False)
RELEASED = PeakRule()
PEAK_RULES = {
    "released": RELEASED,
    "paper": PAPER,
    "around": PeakRule(ends="around"),
    "plateau_ends": PeakRule(plateau_ends=True),
}


def local_maxima(scores: np.ndarray, rule: PeakRule = RELEASED) -> np.ndarray:
    """(p,) positions of the peaks of (n,) scores, in order (Kamp et al. 2023, section 4; their code
    by default).

    Fewer than two tokens have no peak, and neither has a constant profile. ValueError for scores
    that are not finite.
    """
    scores = finite(scores)
    n = len(scores)
    if n < 2:
        return NO_PEAK
    mean = scores.mean()
    peaks = []
    for a, end in find_runs(scores.tolist()):
        value = scores[a]
        first = a == 0
        last = end == n
        at_end = first or last
        high = value > mean if rule.above_mean else value >= mean
        left = first or scores[a - 1] < value
        right = last or scores[end] < value
        if not (high and left and right) or (first and last):
            continue
        if end - a > 1:
            allowed = rule.plateau_ends if at_end else rule.plateaus
        else:
            other = scores[-1] if first else scores[0]
            allowed = not at_end or rule.ends == "one" or (rule.ends == "around" and other < value)
        if allowed:
            peaks.append((a + end - 1) // 2)
    return np.array(peaks, dtype=int)


def select(positions: np.ndarray, n: int) -> np.ndarray:
    """(n,) bool, True at the positions."""
    chosen = np.zeros(n, dtype=bool)
    chosen[positions] = True
    return chosen


def prominent_peaks(scores: np.ndarray) -> np.ndarray:
    """(p,) peaks at or above the mean that rise from their surroundings by PROMINENCE."""
    scores = finite(scores)
    return _scipy_peaks(scores, prominence=PROMINENCE * np.ptp(scores)) if len(scores) else NO_PEAK


def distant_peaks(scores: np.ndarray) -> np.ndarray:
    """(p,) peaks at or above the mean, of several closer than DISTANCE only the highest."""
    return _scipy_peaks(finite(scores), distance=DISTANCE)


def _scipy_peaks(scores: np.ndarray, **conditions: Any) -> np.ndarray:
    """(p,) peaks by scipy.signal.find_peaks, a token at either end beside its one neighbour."""
    from scipy.signal import find_peaks

    if not len(scores) or np.ptp(scores) == 0:
        return NO_PEAK
    floor = scores.min() - np.ptp(scores)  # a step down at both ends makes peaks there possible
    padded = np.concatenate([[floor], scores, [floor]])
    found, _ = find_peaks(padded, height=scores.mean(), **conditions)
    return found - 1


def wavelet_peaks(scores: np.ndarray) -> np.ndarray:
    """(p,) peaks at or above the mean that a wavelet of several WIDTHS finds (scipy.signal)."""
    from scipy.signal import find_peaks_cwt

    scores = finite(scores)
    if len(scores) < 2 or np.ptp(scores) == 0:
        return NO_PEAK
    found = np.asarray(find_peaks_cwt(scores - scores.min(), WIDTHS), dtype=int)
    return found[scores[found] >= scores.mean()]


def above_mean(scores: np.ndarray) -> np.ndarray:
    """(p,) every token whose score exceeds the mean: the rule without its neighbours."""
    scores = finite(scores)
    return np.flatnonzero(scores > scores.mean()) if len(scores) else NO_PEAK


def above_deviation(scores: np.ndarray) -> np.ndarray:
    """(p,) every token whose score exceeds the mean by one standard deviation."""
    scores = finite(scores)
    return np.flatnonzero(scores > scores.mean() + scores.std()) if len(scores) else NO_PEAK


def largest_gap(scores: np.ndarray) -> np.ndarray:
    """(p,) the tokens above the largest gap between neighbours in rank, the lower one of equals."""
    scores = finite(scores)
    if len(scores) < 2 or np.ptp(scores) == 0:
        return NO_PEAK
    ranked = np.sort(scores)
    gaps = np.diff(ranked)
    return np.flatnonzero(scores >= ranked[gaps.argmax() + 1])


def quarter(scores: np.ndarray) -> np.ndarray:
    """(p,) the highest quarter of the tokens, rounded up, as in Krishna et al. (2022).

    Ties go to the front.
    """
    scores = finite(scores)
    order = np.argsort(-scores, kind="stable")
    return np.sort(order[: ceil(len(scores) / 4)])


# ways to choose tokens, and so k, from a profile alone
CHOICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "released": local_maxima,
    "paper": lambda scores: local_maxima(scores, PAPER),
    "prominence": prominent_peaks,
    "distance": distant_peaks,
    "wavelet": wavelet_peaks,
    "above_mean": above_mean,
    "above_deviation": above_deviation,
    "largest_gap": largest_gap,
    "quarter": quarter,
}


def peaks_of(text: ScoredText, voter: str) -> np.ndarray:
    """(n,) bool, the tokens that a voter's dynamic k selects, or those that it selects itself."""
    if voter in text.selected:
        return text.selected[voter]
    key = ("peaks", voter)
    if key not in text.found:
        scores = text.scores[voter]
        peaks = local_maxima(scores, PEAK_RULES[text.settings.peaks])
        text.found[key] = select(peaks, len(scores))
    return text.found[key]


@metric(
    "Dynamic k",
    judge="agreement",
    source="Kamp et al. 2023, section 4",
    needs=("scores",),
    range=(0.0, inf),
    higher_is_better=None,
    order=25,
)
def dynamic_k(text: ScoredText, method: str) -> int:
    """How many tokens a profile of scores puts forward by itself: its local maxima."""
    return peaks_of(text, method).sum()
