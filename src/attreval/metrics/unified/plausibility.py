"""Do people point at the same units, and at the same interactions? Average precision, at equal numbers of units.

Unified agreement with human annotation (Sun et al. 2024, section 2.3, eq. 8-12): every distinct score of a pair of
spans is a threshold; the pieces above it are compared with what people marked. The other types of explanation are cut
where they hold as many units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from attreval.metrics.unified.ranking import Piece, Ranking, held_by, reach, spend

RULES = ("overlap", "exact", "iou50", "token_pairs")


def average_precision(steps: Iterable[tuple[float, float]]) -> float:
    """Sum of precision times gain in recall over (precision, recall) steps, recall starting at 0 (eq. 11)."""
    total, before = 0.0, 0.0
    for precision, recall in steps:
        total += precision * (recall - before)
        before = recall
    return total


def cuts(spans: Ranking) -> list[int]:
    """How many pairs of spans score at least as high as each distinct score (eq. 8-9)."""
    return [int((spans.scores >= score).sum()) for score in dict.fromkeys(spans.scores.tolist())]


def units_at(ranking: Ranking, spans: Ranking, fill: Ranking | None = None) -> list[set[int]]:
    """The first units of an explanation at each threshold, exactly as many as the pairs of spans hold there."""
    return [held_by(spend(ranking, len(spans.units(k)), fill)) for k in cuts(spans)]


def pieces_at(ranking: Ranking, spans: Ranking) -> list[tuple[Piece, ...]]:
    """The first pieces of an explanation at each threshold, whole, as many as it takes to hold those units."""
    if ranking is spans:
        return [spans.pieces[:k] for k in cuts(spans)]
    return [ranking.pieces[: reach(ranking, len(spans.units(k)))] for k in cuts(spans)]


def unit_agreement(found: Sequence[set[int]], gold: set[int]) -> float:
    """Average precision of the units at each threshold; NaN where people marked none."""
    if not gold:
        return float("nan")
    return average_precision((len(held & gold) / len(held), len(held & gold) / len(gold)) for held in found if held)


def overlaps(a: Piece, b: Piece) -> bool:
    """Whether two pieces share a unit in both parts."""
    return all(set(x) & set(y) for x, y in zip(a, b, strict=True))


def coincide(a: Piece, b: Piece) -> bool:
    """Whether two pieces are the same."""
    return all(set(x) == set(y) for x, y in zip(a, b, strict=True))


def share_half(a: Piece, b: Piece) -> bool:
    """Whether two pieces share at least half of the units that either has, in both parts."""
    return all(2 * len(set(x) & set(y)) >= len(set(x) | set(y)) > 0 for x, y in zip(a, b, strict=True))


MATCHES: dict[str, Callable[[Piece, Piece], bool]] = {
    "overlap": overlaps,
    "exact": coincide,
    "iou50": share_half,
    "token_pairs": coincide,
}


def unit_pairs(pieces: Iterable[Piece]) -> list[Piece]:
    """Every pair of units across the parts of each piece, once."""
    return list(dict.fromkeys(((a,), (b,)) for first, second in pieces for a in first for b in second))


def interaction_agreement(found: Sequence[Sequence[Piece]], gold: Sequence[Piece], rule: str) -> float:
    """Average precision of pieces at each threshold; a piece is right where it matches one of those people gave.

    rule: `overlap` in both parts, the `exact` same piece, `iou50` (half of the units in both parts), or `token_pairs`:
    pieces are taken apart into pairs of units, which must be the same. NaN where people gave none.
    """
    if rule not in MATCHES:
        raise ValueError(f"matching rule {rule!r} is not known; there are: {', '.join(RULES)}")
    if not gold:
        return float("nan")
    if rule == "token_pairs":
        found, gold = [unit_pairs(pieces) for pieces in found], unit_pairs(gold)
    hits = {}
    for piece in dict.fromkeys(piece for pieces in found for piece in pieces):
        hits[piece] = np.array([MATCHES[rule](piece, g) for g in gold])
    steps = []
    for pieces in found:
        if pieces:
            table = np.stack([hits[piece] for piece in pieces])
            steps.append((table.any(axis=1).mean(), table.any(axis=0).mean()))
    return float(average_precision(steps))
