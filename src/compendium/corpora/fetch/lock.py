"""Which packages of the registry carry corpora and weights, and with which bytes? See data/registry.lock."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compendium import project


@dataclass(frozen=True)
class Package:
    """One archive of the registry. size: in bytes; members: glob patterns of what we open inside it."""

    name: str
    version: str
    file: str
    sha256: str
    size: int
    kind: str
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

    def describe(self) -> dict[str, object]:
        """What a reader should know about it: name, version, licence, size in MB, what it is."""
        shown = {"package": self.name, "version": self.version, "licence": self.licence}
        return shown | {"megabytes": round(self.size / 1e6, 1), "what": self.about}

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def _lock_path() -> Path:
    """The lock file of the project."""
    return project.home() / "data" / "registry.lock"


def packages() -> list[Package]:
    """Every locked package; ValueError names the entry that is wrong."""
    path = _lock_path()
    return list(_read(path, path.stat().st_mtime_ns).values())


def package(name: str) -> Package:
    """One locked package; ValueError lists the names there are."""
    known = {item.name: item for item in packages()}
    if name not in known:
        raise ValueError(f"no package {name!r} in {_lock_path().name}; there are: {', '.join(known)}")
    return known[name]


@cache
def _read(path: Path, _changed: int) -> dict[str, Package]:
    found = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["package"]:
        try:
            made = Package(**(entry | {"members": tuple(entry["members"])}))
        except (TypeError, KeyError) as error:
            wanted = ", ".join(Package.__dataclass_fields__)
            raise ValueError(f"{path.name}: entry {entry.get('name')!r} must have {wanted} ({error})") from None
        if made.kind not in ("wheel", "sdist") or len(made.sha256) != 64:
            raise ValueError(f"{path.name}: entry {made.name!r} needs kind wheel or sdist and a sha256 of 64 digits")
        found[made.name] = made
    return found
