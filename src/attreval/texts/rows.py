"""Rows: what the builder of a task yields, and counts of what it leaves out.

A builder is a function `build_<task>(sources, counts)` in the module of `compendium.corpora` that
the task names: sources are paths by name of package, file or table (as the task lists them); it
yields a Row for each instance and counts in `counts` what it drops. `make_table` then finds words,
orders the rows and writes the table.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Sources = Mapping[str, Path]  # what a task is made from, by name of package, file or table


@dataclass(frozen=True)
class Row:
    """One instance before its words are found.

    Attributes:
        id, split, segments, label: See records.Instance.
        evidence: Makes Evidence from segments and (W, 3) words.
        words: (W, 3) segment, start, end, where the corpus says what its words are; None has them
            found.
    """

    id: str
    split: str
    segments: tuple[str, ...]
    label: int
    evidence: Callable[[tuple[str, ...], np.ndarray], Any] | None = None
    words: np.ndarray | None = None


@dataclass(frozen=True)
class Counts:
    """What a builder leaves out (dropped) and what else a reader should know (noted), by reason."""

    dropped: Counter = field(default_factory=Counter)
    noted: Counter = field(default_factory=Counter)
