"""A user's own table as a task like any other, known once a profile that names it is loaded.

Its table is named by a hash of what the file holds and of how it is read, so that two files of one
name never meet and a changed file is another table.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from attreval.texts.data import Columns, find_labels, find_values, index_of, read_own_data
from attreval.texts.files import is_parted, must_exist, read_table
from attreval.texts.rows import Counts, Row, Sources
from compendium.corpora.fetch.sources import digest
from compendium.corpora.hybrid import SENTENCES, build_hybrid
from compendium.corpora.tasks import TASKS, Task, hybrid_of


@dataclass(frozen=True)
class OwnTask(Task):
    """A task of a user's file. stamp: the hash that its table is named by."""

    file: Path = Path()
    columns: Columns = field(default_factory=Columns)
    stamp: str = ""

    @property
    def table_name(self) -> str:
        return f"{self.name}-{self.stamp}"

    @property
    def own_files(self) -> dict[str, Path]:
        return {self.file.name: self.file}

    def build(self, sources: Sources, counts: Counts) -> Iterator[Row]:
        """The rows of the file; ids are those of the file behind task and split."""
        if stamp_of(self.file, self.columns, self.labels) != self.stamp:
            raise ValueError(
                f"{self.file} has changed since the profile was read; run the same command again"
            )
        for row in read_own_data(self.file, self.columns, self.labels, counts):
            yield replace(row, id=f"{self.name}/{row.split}/{row.id}")


@dataclass(frozen=True)
class OwnHybrid(Task):
    """The hybrid documents made from the texts of such a task.

    stamp: that of the task. sentences: of a document.
    """

    stamp: str = ""
    sentences: int = SENTENCES

    @property
    def table_name(self) -> str:
        return f"{self.name}-{self.stamp}" + (
            f"-{self.sentences}" if self.sentences != SENTENCES else ""
        )

    def build(self, sources: Sources, counts: Counts) -> Iterator[Row]:
        """Rows of shuffled sentences, see corpora.hybrid."""
        return build_hybrid(self.trained_on, sources, counts, self.sentences)


def register(
    name: str,
    file: Path,
    columns: Columns,
    labels: Sequence[str] = (),
    title: str = "",
    licence: str = "",
    prefer: Sequence[str] = (),
    sentences: int = SENTENCES,
) -> Task:
    """Make a file known as the task `name`, and its hybrid documents as `hybrid_<name>`.

    labels: class names in index order; where empty, `prefer` (a model's names), if every label of
    the file is one of them by name or number, else the file's. A name of one's own that is known is
    replaced. Raises ValueError for the name of a corpus that is shipped, and as read_own_data does
    for labels and columns.
    """
    for taken in (name, f"hybrid_{name}"):
        if taken in TASKS and not isinstance(TASKS[taken], (OwnTask, OwnHybrid)):
            raise ValueError(
                f"corpora: {taken!r} is the name of a corpus that comes with attreval; take "
                f"another than {name!r}"
            )
    found = _labels_of(file, columns, digest_once(file), tuple(labels or prefer))
    names = tuple(labels) or found
    stamp = stamp_of(file, columns, names)
    task = OwnTask(
        name=name,
        title=title or f"{name}: {file.name}",
        labels=names,
        segments=(columns.text, columns.pair) if columns.pair else (columns.text,),
        module="own_tasks",
        licence=licence or "the user's",
        source=file.name,
        splits=("train", "dev", "test") if columns.split or is_parted(file) else ("test",),
        file=file,
        columns=columns,
        stamp=stamp,
    )
    TASKS[name] = task
    TASKS.pop(f"hybrid_{name}", None)
    if not columns.pair:
        made = hybrid_of(task)
        TASKS[made.name] = OwnHybrid(**vars(made), stamp=stamp, sentences=sentences)
    return task


def stamp_of(file: Path, columns: Columns, labels: Sequence[str]) -> str:
    """A hash of what a file or folder holds and of how it is read; not of where it lies."""
    said = json.dumps(
        [digest_once(file), asdict(columns), list(labels), file.suffix], sort_keys=True
    )
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def digest_once(file: Path) -> str:
    """The SHA-256 of a file or folder, computed again only where sizes or times have changed."""
    must_exist(file)
    parts = sorted(path for path in file.rglob("*") if path.is_file()) if file.is_dir() else [file]
    return _digest(
        file, tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in parts)
    )


@cache
def _digest(file: Path, _state: tuple) -> str:
    return digest(file)


@cache
def _labels_of(
    file: Path, columns: Columns, _digest: str, prefer: tuple[str, ...]
) -> tuple[str, ...]:
    """The class names of a file in this state: those preferred, if they hold every label."""
    table = read_table(file, columns.wanted())
    if prefer and all(
        index_of(value, prefer) is not None for value in find_values(table, columns.label)
    ):
        return prefer
    return find_labels(table, columns.label, file.name)
