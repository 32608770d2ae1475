"""A folder that is replaced as a whole: a kill leaves the old or the new one."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder beside `folder`; it takes its place if the block ends well, else it goes."""
    clear_leftovers(folder)
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        yield part
        if not folder.exists():
            os.rename(part, folder)
        elif not exchange(part, folder):
            # Where the system cannot exchange two names, the old folder is moved aside first.
            old = folder.with_name(f"{folder.name}.{os.getpid()}.old.part")
            os.rename(folder, old)
            os.rename(part, folder)
            shutil.rmtree(old)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step (Linux's renameat2); False where that does not exist."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    return bool(call) and call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes left beside `folder`; give back the old one where only that is left."""
    for path in sorted(folder.parent.glob(f"{folder.name}.*.part")):
        owner = path.name.removeprefix(f"{folder.name}.").partition(".")[0]
        if owner.isdigit() and int(owner) != os.getpid() and _alive(int(owner)):
            continue
        if path.name.endswith(".old.part") and not folder.exists():
            os.rename(path, folder)
        else:
            shutil.rmtree(path)


def _alive(process: int) -> bool:
    """Whether a process of that number runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
