"""A text classification task: where it comes from, which module builds its table, and what code decides over it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.imports import closure, code_digest


@dataclass(frozen=True)
class Task:
    """One text classification task.

    labels: names in index order. module: of compendium.corpora, with the builder `build_<name>`, which yields Rows.
    packages: what the registry carries. files: what must lie in the corpora folder; optional: what is used where it
    lies there. tables: tasks whose tables it is made from. trained_on: the task whose model reads these instances,
    where they train none. evidence_from: tasks whose instances are some of these with what people marked, where their
    files are at hand, the preferred one first. mark_rules: where the rows of marks are not people but rules by which a
    person's list of words meets those of a text, what these are called.
    """

    name: str
    title: str
    labels: tuple[str, ...]
    module: str
    licence: str
    source: str
    segments: tuple[str, ...] = ("text",)
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    trained_on: str = ""
    evidence_from: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train", "dev", "test")
    mark_rules: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The title up to its question."""
        return self.title.partition(":")[0]

    @property
    def table_name(self) -> str:
        """What the file of its table is called, without its ending."""
        return self.name

    @property
    def own_files(self) -> dict[str, Path]:
        """The files of the user's that it is made from, by name, wherever they lie; see corpora.own_tasks."""
        return {}

    @property
    def origin(self) -> tuple[str, ...]:
        """The names of its packages, files and of the tasks that it is made from."""
        return self.packages + self.files + self.tables

    def build(self, sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
        """Read the sources (by package name or file) into rows; what is left out is counted."""
        module = importlib.import_module(f"compendium.corpora.{self.module}")
        return getattr(module, f"build_{self.name}")(sources, counts)

    def code(self) -> list[Path]:
        """The files that decide what its table holds: its builder, and what makes a table of rows.

        Not how its sources came here (their hashes are looked at), nor the entries of other tasks.
        """
        sources = [f"import compendium.corpora.{self.module}, compendium.corpora.table"]
        return closure(sources, leave_out=("compendium.config", "compendium.corpora.fetch", "compendium.corpora.tasks"))

    def code_hash(self) -> str:
        """What changes when the code of one of these files does; comments and docstrings do not count."""
        return code_digest(self.code())
