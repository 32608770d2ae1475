"""Staleness: the files by which the workflow sees that a step must run again.

A notebook depends on the modules of this package that it imports, and on what those import in turn; not on the schema
of profiles, whose values the workflow looks at themselves (the params of its rules). A table of a task depends on its
builder; what reads the table looks at a stamp beside it, which changes when, and only when, the table does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import nbformat

from attreval.core.tables import write_json
from compendium import corpora, project
from compendium.corpora.fetch.lock import package
from compendium.corpora.own_tasks import digest_once
from compendium.imports import closure

SCHEMA = ("compendium.config",)
MODEL_FILES = (".json", ".safetensors", ".bin", ".txt", ".model", ".jinja")


def code_of(notebook: Path) -> str:
    """The code of a notebook, cell after cell."""
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def notebook_files(notebook: Path) -> list[str]:
    """The notebook and every file of the package that it runs."""
    return [str(notebook), *map(str, closure([code_of(notebook)], leave_out=SCHEMA))]


def stamp_path(task: str) -> Path:
    """Where the stamp of a task's table lies."""
    return corpora.table_path(task).with_suffix(".json")


def weights_stamp(name: str) -> Path:
    """Where the stamp of pretrained weights lies."""
    return project.processed() / f"weights-{name}.json"


def folder_stamp(folder: Path | str) -> Path:
    """The stamp of a model's folder of the user's, written anew where, and only where, a file of the model has changed.

    Of what transformers reads there: weights, configuration and tokenizer, by their hashes.
    """
    folder = Path(folder)
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in MODEL_FILES)
    found = {"folder": str(folder), "sha256": {path.name: digest_once(path) for path in files}}
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    path = project.processed() / f"folder-{place}.json"
    if not path.exists() or json.loads(path.read_text(encoding="utf-8")) != found:
        write_json(path, found)
    return path


def write_stamps(tasks: Iterable[str], weights: Iterable[str] = ()) -> None:
    """Write the stamp of each task's table, and of pretrained weights: the hashes of what they are made of."""
    for task in tasks:
        with corpora.table_path(task).open("rb") as handle:
            write_json(stamp_path(task), {"task": task, "sha256": hashlib.file_digest(handle, "sha256").hexdigest()})
    for name in weights:
        hashes = [package(part).sha256 for part in corpora.WEIGHTS[name].packages]
        write_json(weights_stamp(name), {"weights": name, "sha256": hashes})
