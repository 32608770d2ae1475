"""Which pieces of an explanation come first, and which units do its first pieces hold? (Sun et al. 2024, section 2.1)

A piece is a unit, a pair of units across the two parts of an input, or a pair of spans. Explanations of any type are
compared at equal numbers of units: as many as the first k pairs of spans hold (eq. 5-7).
Letters used for shapes: n units, F pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attreval.core.records import Attribution
from attreval.core.units import Units, unit_scores

Piece = tuple[tuple[int, ...], tuple[int, ...]]  # units in the first part, units in the second


@dataclass(frozen=True)
class Ranking:
    """pieces and (F,) scores, highest first. worth: (n,) sum of the scores of the pieces that hold a unit.

    tie: (n,) random order of units, which decides where nothing else does.
    """

    pieces: tuple[Piece, ...]
    scores: np.ndarray
    worth: np.ndarray
    tie: np.ndarray

    def __len__(self) -> int:
        return len(self.pieces)

    def units(self, k: int) -> set[int]:
        """The units in the first k pieces (eq. 1)."""
        return {u for piece in self.pieces[:k] for part in piece for u in part}


def rank_pieces(attribution: Attribution, units: Units, rng: np.random.Generator) -> Ranking:
    """An attribution's pieces by falling score, equal scores in random order.

    Scores of word pieces are summed to those of their units. ValueError for an input that is not in two parts.
    """
    sides = np.unique(units.side)
    if len(sides) > 2:
        raise ValueError(f"explanations of pairs need an input of two parts; this one has {len(sides)}")
    at = units.of_position()
    if attribution.level == "token":
        held = [(u,) for u in range(len(units))]
        scores = unit_scores(attribution.features, attribution.scores, units)
    else:
        held = [tuple(sorted({at[p] for p in feature})) for feature in attribution.features]
        scores = attribution.scores
    return rank(held, scores, units, rng)


def rank(held: Sequence[tuple[int, ...]], scores: np.ndarray, units: Units, rng: np.random.Generator) -> Ranking:
    """The ranking of pieces, given as the units that each holds."""
    scores = np.asarray(scores, dtype=float)
    order = np.lexsort((rng.permutation(len(scores)), -scores))
    first = units.side.min(initial=0)
    parts = [
        (tuple(u for u in piece if units.side[u] == first), tuple(u for u in piece if units.side[u] != first))
        for piece in held
    ]
    worth = np.zeros(len(units))
    for piece, score in zip(held, scores, strict=True):
        worth[list(piece)] += score
    return Ranking(tuple(parts[i] for i in order), scores[order], worth, rng.permutation(len(units)))


def spend(ranking: Ranking, size: int, fill: Ranking | None = None) -> list[Piece]:
    """The first pieces that hold `size` units between them: exactly so many (eq. 6-7).

    Where the last piece holds too many new ones, those of it that are worth least are left out of it. Where the pieces
    run out, units follow in the order of `fill`, a ranking of units. ValueError where there are fewer units than asked.
    """
    chosen, out = set(), []
    for piece in (*ranking.pieces, *(fill.pieces if fill else ())):
        if len(chosen) == size:
            break
        fresh = sorted({u for part in piece for u in part} - chosen, key=lambda u: (-ranking.worth[u], ranking.tie[u]))
        left_out = set(fresh[size - len(chosen) :])
        out.append(tuple(tuple(u for u in part if u not in left_out) for part in piece))
        chosen |= set(fresh) - left_out
    if len(chosen) < size:
        raise ValueError(f"the pieces of an explanation hold {len(chosen)} units; {size} were asked for")
    return out


def reach(ranking: Ranking, size: int) -> int:
    """How many of the first pieces, each whole, it takes to hold `size` units; all where they never do."""
    return next((k for k in range(len(ranking)) if len(ranking.units(k)) >= size), len(ranking))


def held_by(pieces: Sequence[Piece]) -> set[int]:
    """The units that pieces hold."""
    return {u for piece in pieces for part in piece for u in part}


def thresholds(spans: Ranking, asked: Sequence[int], most: int) -> list[int]:
    """The numbers of first pieces to look at: those asked for, else 1, 2, ... to `most`, as far as there are pieces."""
    return [k for k in (asked or range(1, most + 1)) if k <= len(spans)]
