"""Does the prediction follow the attributed importance? Hard erasure: comprehensiveness and sufficiency.

A rationale is the ceil(ratio * n) highest-scored of the n content tokens. Comprehensiveness erases it, sufficiency
erases everything else; special tokens stay. Erased ids become the padding id, in place and still attended
(Zhao & Aletras 2023, section 3 and its released code; DeYoung et al. 2020 for the two measures).
Letters used for shapes: L tokens, n content tokens, r ratios, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from attreval.models.questions import Evaluate
from attreval.records import Tokens

BASELINE_MARGIN = 1e-4  # what the released code takes off the zero-baseline sufficiency
LEAST_ROOM = 1e-8  # below it the erased text is as sure as the whole one, and nothing can be told


@dataclass(frozen=True)
class Erasure:
    """(r,) measures at each ratio, and the probability of the explained class on the whole and on the erased text.

    comprehensiveness and sufficiency are differences of probabilities; the normalised forms lie in [0, 1], where
    1 is most faithful for both.
    """

    ratios: tuple[float, ...]
    comprehensiveness: np.ndarray
    sufficiency: np.ndarray
    normalised_comprehensiveness: np.ndarray
    normalised_sufficiency: np.ndarray
    full: float
    erased: float


def rank(scores: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
    """(n,) indices by falling score; ties in random order, or lowest index first where rng is None."""
    scores = np.asarray(scores, dtype=float)
    if not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite; got {scores[~np.isfinite(scores)][0]}")
    tie = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    return np.lexsort((tie, -scores))


def rationale_sizes(n: int, ratios: Sequence[float]) -> list[int]:
    """How many of n tokens each ratio selects: rounded up, at least one."""
    # rounding guards against 0.1 * 30 = 3.0000000000000004, whose ceiling is 4
    return [max(1, ceil(round(ratio * n, 9))) for ratio in ratios]


def erase(tokens: Tokens, scores: np.ndarray, ratios: Sequence[float], rng: np.random.Generator | None = None):
    """The conversation that erases rationales of one attribution: yields questions, returns a function of the target.

    scores: (n,) over content tokens. Returns an Erasure for the predicted class. Raises ValueError for other shapes.
    """
    content = tokens.content
    if len(scores) != len(content):
        raise ValueError(f"got {len(scores)} scores for {len(content)} content tokens; special tokens take none")
    order = rank(scores, rng)
    without, only = [], []
    for size in rationale_sizes(len(content), ratios):
        chosen, rest = content[order[:size]], content[order[size:]]
        without.append(replaced(tokens, chosen))
        only.append(replaced(tokens, rest))
    rows = np.stack([tokens.ids, replaced(tokens, content), *without, *only])
    logits = yield Evaluate(rows, tokens.segments)
    probabilities = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    p = probabilities[:, logits[0].argmax()]
    return measure(p[0], p[1], p[2 : 2 + len(ratios)], p[2 + len(ratios) :], tuple(ratios))


def replaced(tokens: Tokens, positions: np.ndarray) -> np.ndarray:
    """(L,) ids with the padding id at the given positions."""
    ids = tokens.ids.copy()
    ids[positions] = tokens.pad_id
    return ids


def measure(full: float, erased: float, without: np.ndarray, only: np.ndarray, ratios: tuple[float, ...]) -> Erasure:
    """Erasure measures from probabilities of the explained class (Zhao & Aletras 2023, eq. 1-4).

    full: whole text. erased: no content token. without, only: (r,) rationale erased, only rationale left.
    """
    drop_without = np.maximum(0, full - without)
    sufficient = 1 - np.maximum(0, full - only)
    floor = 1 - max(0.0, full - erased)
    lowered = floor - BASELINE_MARGIN
    room = 1 - floor
    comprehensive = np.clip(drop_without / room, 0, 1) if room >= LEAST_ROOM else np.zeros(len(ratios))
    return Erasure(
        ratios=ratios,
        comprehensiveness=full - without,
        sufficiency=full - only,
        normalised_comprehensiveness=comprehensive,
        normalised_sufficiency=np.clip((sufficient - lowered) / (1 - lowered), 0, 1),
        full=float(full),
        erased=float(erased),
    )
