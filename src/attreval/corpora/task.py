"""What a task is, and what its builder yields: rows, and counts of what it leaves out."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One instance before its words are found. evidence: makes Evidence from segments and (W, 3) words.

    words: (W, 3) segment, start, end, where the corpus says what its words are; None has them found.
    """

    id: str
    split: str
    segments: tuple[str, ...]
    label: int
    evidence: Callable[[tuple[str, ...], np.ndarray], Any] | None = None
    words: np.ndarray | None = None


@dataclass(frozen=True)
class Counts:
    """What a builder leaves out (dropped) and what else a reader should know (noted): counts by reason."""

    dropped: Counter = field(default_factory=Counter)
    noted: Counter = field(default_factory=Counter)


@dataclass(frozen=True)
class Task:
    """One text classification task.

    labels: names in index order. packages: what the registry carries. files: what must lie in the corpora
    folder; optional: what is used where it lies there. tables: tasks whose tables it is made from. trained_on: the
    task whose model reads these instances, where they train none. evidence_from: tasks whose instances are some of
    these with what people marked, where their files are at hand, the preferred one first. version: raised when a
    builder's rules change, so that old tables are made again.
    """

    name: str
    title: str
    labels: tuple[str, ...]
    segments: tuple[str, ...]
    module: str
    licence: str
    source: str
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    trained_on: str = ""
    evidence_from: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train", "dev", "test")
    version: int = 1

    @property
    def short(self) -> str:
        """The title up to its question."""
        return self.title.partition(":")[0]

    @property
    def external(self) -> bool:
        """Whether the task needs more than the package registry carries."""
        from attreval.corpora.tasks import TASKS

        return bool(self.files) or any(TASKS[name].external for name in self.tables)

    @property
    def origin(self) -> tuple[str, ...]:
        """The names of its packages, files and of the tasks that it is made from."""
        return self.packages + self.files + self.tables

    def build(self, sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
        """Read the sources (by package name or file) into rows; what is left out is counted."""
        module = importlib.import_module(f"attreval.corpora.{self.module}")
        return getattr(module, f"build_{self.name}")(sources, counts)
