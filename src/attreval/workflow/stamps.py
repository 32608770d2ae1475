"""A small file beside each task table that changes when, and only when, the table does: what the workflow watches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from attreval.core import project
from attreval.core.tables import write_json


def stamp_path(task: str) -> Path:
    """Where the stamp of a task lies."""
    return project.processed() / f"{task}.json"


def write_stamps(tasks: Iterable[str]) -> None:
    """Write the stamp of each task's table."""
    for task in tasks:
        with (project.processed() / f"{task}.parquet").open("rb") as handle:
            write_json(stamp_path(task), {"task": task, "sha256": hashlib.file_digest(handle, "sha256").hexdigest()})
