"""A folder that is replaced as a whole: a kill leaves the old or the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder beside `folder`; it takes its place if the block ends well, else it goes."""
    clear_leftovers(folder)
    part, old = (folder.with_name(f"{folder.name}.{os.getpid()}.{kind}") for kind in ("part", "old.part"))
    part.mkdir(parents=True)
    try:
        yield part
        if folder.exists():
            os.rename(folder, old)  # a kill between the two renames: the next call brings the old folder back
        os.rename(part, folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes left beside `folder`; bring the old one back where only that is left."""
    for path in sorted(folder.parent.glob(f"{folder.name}.*.part")):
        owner = path.name.removeprefix(f"{folder.name}.").partition(".")[0]
        if owner.isdigit() and int(owner) != os.getpid() and psutil.pid_exists(int(owner)):
            continue
        if path.name.endswith(".old.part") and not folder.exists():
            os.rename(path, folder)
        else:
            shutil.rmtree(path)
