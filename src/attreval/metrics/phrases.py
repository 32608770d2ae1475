"""Phrases that a profile of scores puts forward, not only tokens, and their F1 (after Kamp et al. 2023, section 6).

The paper leaves spans to future work and sketches one way in its Figure 5: each token goes to the nearest peak. Here,
besides, a phrase is a run of neighbouring tokens that stay above the mean around a peak; peaks
with nothing below the mean between them make one phrase. Letters used for shapes: n tokens, p peaks, s phrases.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.core.units import true_runs
from attreval.metrics.dynamic_k import RELEASED, PeakRule, check_scores, local_maxima
from attreval.metrics.metric import metric
from attreval.metrics.pairwise_difference import to_shares
from attreval.metrics.scored_text import ScoredText

Phrase = tuple[int, int]  # first token, and the one behind the last


def nearest_peaks(scores: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """(n,) which peak each token belongs to: that of the least difference in score plus distance in tokens.

    Scores count as shares of the sum of their sizes, as those of Kamp et al. (2023, Fig. 5) do. The first of several
    as near; -1 where there is no peak.
    """
    scores = to_shares(check_scores(scores))
    if not len(peaks):
        return np.full(len(scores), -1)
    places = np.arange(len(scores))
    return (np.abs(scores[:, None] - scores[peaks]) + np.abs(places[:, None] - peaks)).argmin(axis=1)


def find_phrases(scores: np.ndarray, rule: PeakRule = RELEASED, most: int | None = None) -> list[Phrase]:
    """The s phrases of a profile, in order: runs of tokens above the mean that hold a peak.

    most: a longer run is cut to so many tokens around its highest. A profile without a peak has no phrase.
    """
    scores = check_scores(scores)
    peaks = set(local_maxima(scores, rule).tolist())
    if not peaks:
        return []
    high = scores >= scores.mean()
    out = []
    for start, end in true_runs(high):
        if peaks.intersection(range(start, end)):
            out.append((start, end) if most is None else _shorten(scores, start, end, most))
    return out


def _shorten(scores: np.ndarray, start: int, end: int, most: int) -> Phrase:
    """At most so many neighbouring tokens of a run, those with the highest sum; the first of several as high."""
    if end - start <= most:
        return start, end
    sums = [scores[a : a + most].sum() for a in range(start, end - most + 1)]
    best = start + int(np.argmax(sums))
    return best, best + most


def phrase_tokens(phrases: Sequence[Phrase], n: int) -> np.ndarray:
    """(n,) bool, True inside any phrase."""
    chosen = np.zeros(n, dtype=bool)
    for start, end in phrases:
        chosen[start:end] = True
    return chosen


def phrase_f1(found: Sequence[Phrase], given: Sequence[Phrase]) -> float:
    """F1 of phrases: one is right when it overlaps a given one, and a given one is covered when it is overlapped.

    NaN where neither side has a phrase, 0 where only one has.
    """
    if not found and not given:
        return float("nan")
    if not found or not given:
        return 0.0
    hits = [any(a < d and c < b for c, d in given) for a, b in found]
    covered = [any(a < d and c < b for a, b in found) for c, d in given]
    precision, recall = np.mean(hits), np.mean(covered)
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


@metric(
    "Phrases (F1)",
    name="phrase_f1",
    judge="agreement",
    source="after Kamp et al. 2023, section 6",
    needs=("scores", "marks"),
    higher_is_better=True,
    order=26,
    planted=False,
)
def phrases(text: ScoredText, method: str) -> float:
    """How far the phrases of a profile overlap those that people mark."""
    return phrase_f1(find_phrases(text.scores[method]), list(true_runs(text.share >= 0.5)))
