"""Staleness: what the workflow looks at to see that a step must run again.

Code counts by what it does: of the modules that a notebook imports, and of those that they import in turn, comments and
docstrings are left out. Some modules are not looked at: the schema of profiles, whose values are settings of the steps
(workflow.steps), and what brings corpora here, since a step looks at a stamp beside each table, which changes when, and
only when, the table does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import nbformat

from attreval.core.tables import write_json
from compendium import corpora, project
from compendium.corpora.fetch.packages import package
from compendium.corpora.own_tasks import digest_once
from compendium.imports import closure, code_digest

SCHEMA = ("compendium.config",)
BRINGS_DATA = ("compendium.corpora.fetch", "compendium.corpora.own_tasks", "compendium.corpora.tasks")
MODEL_FILES = (".json", ".safetensors", ".bin", ".txt", ".model", ".jinja")


def code_of(notebook: Path) -> str:
    """The code of a notebook, cell after cell."""
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def notebook_modules(notebook: str, not_run: Sequence[str] = ()) -> list[Path]:
    """The files of the two packages that a notebook runs. not_run: modules that it imports and never runs."""
    source = code_of(project.home() / "notebooks" / f"{notebook}.ipynb")
    return closure([source], leave_out=(*SCHEMA, *BRINGS_DATA, *not_run))


def notebook_digest(notebook: str, not_run: Sequence[str] = ()) -> str:
    """What changes when the code of the packages that a notebook runs does something else."""
    return code_digest(notebook_modules(notebook, not_run))


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
