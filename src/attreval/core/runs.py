"""Maximal runs of neighbours that belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def find_runs(values: Sequence, joined: Callable[[Any, Any], bool] = eq) -> list[tuple[int, int]]:
    """(start, end) of each maximal run, end exclusive: neighbours for which `joined` holds, equal ones by default."""
    starts = [i for i in range(len(values)) if i == 0 or not joined(values[i - 1], values[i])]
    return list(zip(starts, [*starts[1:], len(values)], strict=True)) if starts else []


def consecutive_runs(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Rising numbers cut where one does not follow the other directly."""
    return [numbers[start:end] for start, end in find_runs(numbers, lambda a, b: b == a + 1)]


def true_runs(flags: Sequence[bool] | np.ndarray) -> list[tuple[int, int]]:
    """(start, end) of each maximal run of True, end exclusive."""
    flags = [bool(flag) for flag in flags]
    return [(start, end) for start, end in find_runs(flags) if flags[start]]
