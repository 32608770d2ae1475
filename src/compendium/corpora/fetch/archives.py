"""Opens archives as data: only the members that are needed, never outside their folder, whole or not at all."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from compendium.corpora.fetch import FetchError, room_for
from compendium.corpora.fetch.packages import Package
from compendium.project import replace_folder

MARK = ".opened.json"
BROKEN = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


def is_open(package: Package) -> bool:
    """Whether the needed members of the locked archive are there in full size."""
    return is_opened(package.folder, _origin(package))


def open_package(package: Package) -> None:
    """Extract the needed members of a checked archive to `package.folder`; FetchError if it is broken."""
    open_archive(package.archive, package.members, package.folder, _origin(package))


def _origin(package: Package) -> dict[str, Any]:
    """What the opened members of a package were made from."""
    return {"sha256": package.sha256, "members": list(package.members)}


def is_opened(folder: Path, origin: dict[str, Any]) -> bool:
    """Whether a folder holds, in full size, the files that were extracted from this origin."""
    if not (folder / MARK).exists():
        return False
    recorded = json.loads((folder / MARK).read_text(encoding="utf-8"))
    files = [(folder / name, size) for name, size in recorded.pop("files").items()]
    return recorded == origin and all(path.is_file() and path.stat().st_size == size for path, size in files)


def open_archive(archive: Path, members: tuple[str, ...], folder: Path, origin: dict[str, Any]) -> None:
    """Extract members to `folder`, which appears whole or not at all, and record their sizes and origin."""
    with room_for(f"the contents of {archive.name}", folder.parent), replace_folder(folder) as part:
        mark = {**origin, "files": extract(archive, members, part)}
        (part / MARK).write_text(json.dumps(mark, indent=1, sort_keys=True), encoding="utf-8")


def extract(archive: Path, patterns: tuple[str, ...], folder: Path) -> dict[str, int]:
    """Extract members that match a pattern; returns {name: size}. FetchError: broken (then removed), no match."""
    try:
        opener = _extract_tar if tarfile.is_tarfile(archive) else _extract_zip
        files = dict(opener(archive, patterns, folder))
    except BROKEN as error:
        archive.unlink(missing_ok=True)
        raise FetchError(
            f"{archive.name} cannot be opened ({type(error).__name__}: {error}): it is cut short or not "
            "the archive that it should be. Nothing of it was kept; fetch again"
        ) from error
    unmet = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in files)]
    if unmet:
        raise FetchError(f"{archive.name} holds no member that fits {unmet[0]!r}; data/registry.lock is wrong about it")
    return dict(sorted(files.items()))


def _extract_tar(archive: Path, patterns: tuple[str, ...], folder: Path) -> Iterator[tuple[str, int]]:
    """Extract regular files of a tar archive; the `data` filter refuses paths and links that lead outside."""
    with tarfile.open(archive) as opened:
        for member in opened:
            if member.isfile() and _fits(member.name, patterns):
                opened.extract(member, folder, filter="data")
                yield member.name, member.size


def _extract_zip(archive: Path, patterns: tuple[str, ...], folder: Path) -> Iterator[tuple[str, int]]:
    """Extract files of a zip archive, each checked against its own checksum while it is read."""
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if not member.is_dir() and _fits(member.filename, patterns):
                target = folder / member.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                with opened.open(member) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                yield member.filename, member.file_size


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a member is wanted; ValueError if its path leads outside the folder."""
    if not any(fnmatchcase(name, pattern) for pattern in patterns):
        return False
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise ValueError(f"member {name!r} leads outside its archive")
    return True
