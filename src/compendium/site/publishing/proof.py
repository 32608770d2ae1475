"""The proof: no file of a committed folder quotes a corpus, or says whose machine it was made on."""

from __future__ import annotations

import csv
import getpass
import platform
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import nbformat
import pyarrow.parquet as pq

from compendium import corpora, project
from compendium.config import Profile
from compendium.corpora.fetch.fetching import with_tables
from compendium.site.publishing.notebooks import written_in
from compendium.site.publishing.pictures import written_on
from compendium.site.publishing.quotes import find_quotes

ROOTS = "home|root|Users|tmp|var|mnt|media|opt|usr|srv|scratch|private|work|workspace"
START = r"(?<![\w.:/<\\-])"  # of an absolute path, not of an address or a tag
PATH = rf"{START}/(?:{ROOTS})/[\w.@-]+|\b[A-Z]:\\\\?Users\b"
IMAGE = re.compile(r'"image/png": "[^"]*"|base64,[^"]*"')


def written(path: Path) -> Iterator[tuple[str, str]]:
    """What a file says, by place. A table is read by column and by row; a PNG says nothing that could be read."""
    if path.suffix == ".ipynb":
        yield from written_in(nbformat.read(path, as_version=4), path.stem)
    elif path.suffix == ".csv":
        yield from written_in_table(path)
    elif path.suffix == ".svg":
        yield path.name, written_on(path.read_text(encoding="utf-8"))
    elif path.suffix != ".png":
        yield path.name, path.read_text(encoding="utf-8")


def written_in_table(path: Path) -> Iterator[tuple[str, str]]:
    """Each column of a CSV table, and all of it row by row. Of equal cells below each other one: `lime` in each of
    eight rows is no quote of a text that says so eight times."""
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    yield f"{path.name}, by row", " ".join(" ".join(row) for row in rows)
    for header, *cells in zip(*rows, strict=True):
        yield f"{path.name}, column {header}", " ".join(cell for cell, _ in groupby(cells))


def corpus_texts(profile: Profile) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(id, segments) of every text of a profile's task tables, and of the tables that these are made from.

    FileNotFoundError: a table is not there, so that nothing can be proved.
    """
    tasks = list(dict.fromkeys(task.name for task in with_tables(tuple(profile.read_tasks()))))
    if absent := [task for task in tasks if not corpora.table_path(task).exists()]:
        raise FileNotFoundError(
            f"the tables of {', '.join(absent)} are not there, and without them nobody can tell whether their "
            f"texts are quoted: `attreval fetch --profile {profile.name}` makes them"
        )
    for task in tasks:
        for batch in pq.ParquetFile(corpora.table_path(task)).iter_batches(columns=["id", "segments"]):
            for name, segments in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield name, tuple(segments)


def printed_by_papers(profile: Profile) -> list[str]:
    """The texts that may be quoted: the examples of a profile, which the papers print."""
    wanted = {name for task in profile.tasks.values() for name in task.examples}
    return [part for name, parts in corpus_texts(profile) if name in wanted for part in parts] if wanted else []


def check_folder(folder: Path, texts: Iterable[tuple[str, tuple[str, ...]]], exempt: Iterable[str]) -> None:
    """Raise ValueError that names file and place where a file below the folder quotes a text or names the machine."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if told := machine_facts(files):
        raise ValueError("not to be committed, since it names a machine:\n  " + "\n  ".join(told))
    if mute := [path.name for path in files if path.suffix == ".png" and not path.with_suffix(".svg").exists()]:
        raise ValueError(f"not to be committed, since no SVG tells what is written on {', '.join(mute)}")
    pieces = {f"{path.parent.name}/{place}": text for path in files for place, text in written(path)}
    if quoted := find_quotes(pieces, texts, exempt):
        lines = [f"{place} quotes {', '.join(names[:3])}" for place, names in quoted.items()]
        raise ValueError("not to be committed, since it quotes a corpus:\n  " + "\n  ".join(lines))


def machine_facts(files: Iterable[Path]) -> list[str]:
    """Files that hold a path of a machine, or the name of its user or host, and which."""
    own = [rf"{START}{re.escape(str(path))}\b" for path in (project.home(), Path.home()) if len(path.parts) > 1]
    own += [rf"\b{re.escape(getpass.getuser())}@"]
    own += [rf"\b{re.escape(platform.node())}\b"] if len(platform.node()) > 5 and platform.node() != "localhost" else []
    names = re.compile("|".join([*own, PATH]))
    found = []
    for path in files:
        if path.suffix != ".png":
            text = IMAGE.sub("", path.read_text(encoding="utf-8"))
            found += [f"{path.name}: {one[0]}" for one in [names.search(text)] if one]
    return found
