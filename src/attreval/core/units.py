"""What are the smallest things that an explanation scores, and which neighbours belong together?

A unit is one word with all its pieces, one word piece, or, in long texts, one sentence or one
paragraph; special tokens are in none. Sun et al. (2024) explain pairs of units across the two parts
of an input; in an input of one part every pair is across.
Letters used for shapes: L tokens, n units.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import eq
from typing import Any

import numpy as np
import regex

from attreval.core.records import Tokens

# ends in final marks and what closes behind them, before a space where the script has one there
SENTENCE = regex.compile(
    r"(?V1s)\S.*?(?:(?:[.!?\u2026]+(?=[\"'\p{Pe}\p{Pf}]*\s)|[\p{STerm}--[.!?]]\p{STerm}*)"
    r"[\"'\p{Pe}\p{Pf}]*|(?=\s*\n\s*\n)|$)"
)
STRETCHES = {
    "sentence": SENTENCE,
    "paragraph": regex.compile(r"(?s)\S.*?(?=\s*\n\s*\n|\s*$)"),  # a blank line ends it
}
UNITS = ("word", "subword", *STRETCHES)


@dataclass(frozen=True)
class Units:
    """The units of a text.

    Attributes:
        groups: The token positions of each, in order.
        side: (n,) the part of the input of each.
    """

    groups: tuple[tuple[int, ...], ...]
    side: np.ndarray

    def __len__(self) -> int:
        return len(self.groups)

    def of_position(self) -> dict[int, int]:
        """Token position -> unit."""
        return {position: u for u, group in enumerate(self.groups) for position in group}

    def pairs(self) -> np.ndarray:
        """(P, 2) units a < b in different parts, or any two where there is but one part."""
        pairs = np.column_stack(np.triu_indices(len(self), k=1))
        if len(np.unique(self.side)) == 1:
            return pairs
        a, b = self.side[pairs].T
        return pairs[a != b]

    def covered(self, chosen: Iterable[int]) -> np.ndarray:
        """Token positions of the chosen units, rising."""
        positions = [position for unit in chosen for position in self.groups[unit]]
        return np.array(sorted(positions), dtype=np.int64)


def find_units(tokens: Tokens, unit: str) -> Units:
    """The units of a text. A token that belongs to no word is a unit of its own.

    Sentences are found by their final marks alone, part by part: an abbreviation's full stop ends
    one, too. Blank lines end paragraphs.

    Args:
        tokens: The text.
        unit: One of UNITS.

    Raises:
        ValueError: It is another unit.
    """
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is not known; there are: {', '.join(UNITS)}")
    if unit in STRETCHES:
        groups = _find_stretches(tokens, STRETCHES[unit])
    else:
        # the content tokens, one in a group, or those of a word together where words are whole
        named: dict[tuple, list[int]] = {}
        for position in tokens.content.tolist():
            word = int(tokens.word[position])
            whole = unit == "word" and word >= 0
            named.setdefault(("word", word) if whole else ("token", position), []).append(position)
        groups = list(named.values())
    sides = np.array([tokens.offsets[group[0], 0] for group in groups], dtype=np.int64)
    return Units(tuple(map(tuple, groups)), sides)


def _find_stretches(tokens: Tokens, pattern: Any) -> list[list[int]]:
    """The content tokens in each stretch of a text that a pattern finds."""
    parts = dict(enumerate(tokens.written)) or _guess_parts(tokens)
    starts = {side: [one.start() for one in pattern.finditer(parts[side])] for side in parts}

    def find(position: int) -> tuple[int, int]:
        side, start, end = tokens.offsets[position].tolist()
        return side, max(1, bisect(starts[side], max(start, end - 1)))

    return [list(group) for _, group in groupby(tokens.content.tolist(), find)]


def _guess_parts(tokens: Tokens) -> dict[int, str]:
    """The text of each part, as far as its tokens tell."""
    parts: dict[int, str] = {}
    for position in tokens.content.tolist():
        side, start, end = tokens.offsets[position].tolist()
        before = parts.get(side, "")[:start].ljust(start)
        parts[side] = before + tokens.texts[position][: end - start].ljust(end - start)
    return parts


def mean_matrix(matrix: np.ndarray, units: Units, by: str) -> np.ndarray:
    """(n, n) over all pairs of pieces of two units.

    Args:
        matrix: (L, L).
        units: The n units.
        by: `mean` or `max`.
    """
    if by == "max":
        groups = [list(group) for group in units.groups]
        rows = np.stack([matrix[group].max(axis=0) for group in groups])
        return np.stack([rows[:, group].max(axis=1) for group in groups], axis=1)
    share = np.zeros((len(units), len(matrix)))
    for u, group in enumerate(units.groups):
        share[u, list(group)] = 1 / len(group)
    return share @ matrix @ share.T


def all_coalitions(n: int) -> np.ndarray:
    """(2^n, n) bool: row r holds the units whose bits are set in r."""
    bits = np.arange(2**n)[:, None] >> np.arange(n)
    return bits & 1 == 1


def mask_units(tokens: Tokens, units: Units, kept: np.ndarray) -> np.ndarray:
    """(N, L) ids with the mask token in place of every unit that is not kept.

    Args:
        tokens: The text.
        units: Its n units.
        kept: (N, n) bool.
    """
    stays = np.ones((len(kept), len(tokens)), dtype=bool)
    for u, group in enumerate(units.groups):
        stays[:, list(group)] = kept[:, u, None]
    return np.where(stays, tokens.ids, tokens.mask_id)


def unit_scores(features: Iterable[Sequence[int]], values: np.ndarray, units: Units) -> np.ndarray:
    """(n,) scores of units: sums over their features; 0 where there is none.

    Args:
        features: Token positions, each within one unit.
        values: One score per feature.
        units: The n units.
    """
    at = units.of_position()
    out = np.zeros(len(units))
    for feature, value in zip(features, values, strict=True):
        out[at[feature[0]]] += value
    return out


def find_runs(values: Sequence, joined: Callable[[Any, Any], bool] = eq) -> list[tuple[int, int]]:
    """(start, end) of each maximal run, end exclusive.

    Args:
        values: In a row.
        joined: Whether two neighbours are of one run; equal ones by default.
    """
    starts = [i for i in range(len(values)) if i == 0 or not joined(values[i - 1], values[i])]
    return list(pairwise([*starts, len(values)]))


def consecutive_runs(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Rising numbers cut where one does not follow the other directly."""
    return [numbers[start:end] for start, end in find_runs(numbers, lambda a, b: b == a + 1)]


def true_runs(flags: Sequence[bool] | np.ndarray) -> list[tuple[int, int]]:
    """(start, end) of each maximal run of True, end exclusive."""
    flags = [bool(flag) for flag in flags]
    return [(start, end) for start, end in find_runs(flags) if flags[start]]
