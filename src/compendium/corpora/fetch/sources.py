"""Where do the corpora come from that no registry carries? A folder of the user's, or their public address.

The folder is named by ATTREVAL_CORPORA and laid out as data/sources.toml lists it: `esnli/esnli_dev.csv`, ...
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attreval.core.tables import write_whole
from compendium import project
from compendium.corpora.fetch import FetchError, room_for
from compendium.corpora.fetch.archives import extract
from compendium.corpora.fetch.download import clear_leftovers, sha256_of
from compendium.corpora.tasks import TASKS, Task

VARIABLE = "ATTREVAL_CORPORA"


@dataclass(frozen=True)
class Address:
    """A public address of one file, or of an archive of a whole corpus folder. sha256: "" where not known."""

    path: str
    address: str
    sha256: str = ""
    archive: bool = False


@dataclass(frozen=True)
class Corpus:
    """A corpus folder: title, layout of its files, how to get them by hand, and known addresses.

    used: sha256 by path of the files that the committed results were made from.
    """

    name: str
    title: str
    layout: tuple[str, ...]
    by_hand: str
    addresses: tuple[Address, ...]
    used: dict[str, str]


def corpora() -> dict[str, Corpus]:
    """Every corpus of data/sources.toml by the name of its folder."""
    path = project.home() / "data" / "sources.toml"
    found = {}
    for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
        addresses = tuple(Address(**address) for address in entry.get("addresses", ()))
        found[name] = Corpus(
            name, entry["title"], tuple(entry["layout"]), entry["by_hand"], addresses, entry.get("used", {})
        )
    return found


def given_folder() -> Path | None:
    """The folder that ATTREVAL_CORPORA names; FetchError where it names none that exists."""
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    if not Path(given).is_dir():
        raise FetchError(
            f"{VARIABLE} is {given!r}, which is no folder; set it to one that holds the corpora, or unset it"
        )
    return Path(given).resolve()


def own_folder() -> Path:
    """Where corpora from their public addresses are kept."""
    return project.raw() / "corpora"


def _missing(corpus: Corpus, path: str) -> FetchError:
    """The error for a file that is in no folder and has no address that answered."""
    given = os.environ.get(VARIABLE)
    where = f"it is not in {given}, which {VARIABLE} names" if given else f"{VARIABLE} is not set"
    return FetchError(
        f"the corpus {corpus.title} lacks {path}: {where}. Set {VARIABLE} to a folder that holds "
        f"{', '.join(corpus.layout)}. {corpus.by_hand}"
    )


def find_sources(task: Task, say: Callable[[str], None]) -> dict[str, Path]:
    """The path of every file that a task needs, fetched where it has an address, and of optional ones."""
    found_here = {path: found for path in task.files if (found := _find_file(path, say))}
    return found_here | task.own_files | {path: found for path in task.optional if (found := _find_optional(path, say))}


def other_than_used(digests: dict[str, str]) -> list[str]:
    """Which files, by path, are not those that the committed results were made from; none that is unknown."""
    used = {path: known for corpus in corpora().values() for path, known in corpus.used.items()}
    return [path for path, found in digests.items() if used.get(path, found) != found]


def at_hand(task: Task) -> bool:
    """Whether every file that a task needs from outside the registry lies here, without asking any address."""
    roots = [root for root in (given_folder(), own_folder()) if root]
    here = all(any((root / path).exists() for root in roots) for path in task.files)
    return here and all(at_hand(TASKS[name]) for name in task.tables)


def _find_file(path: str, say: Callable[[str], None]) -> Path:
    """One needed file or folder: in the given folder, downloaded before, or now; FetchError otherwise."""
    for root in (given_folder(), own_folder()):
        if root and (root / path).exists():
            return root / path
    corpus = corpora()[path.split("/")[0]]
    address = _address_of(corpus, path)
    if address is None:
        raise _missing(corpus, path)
    say(f"fetch {address.address.rsplit('/', 1)[-1]} of {corpus.title}")
    _bring(address, corpus)
    if not (own_folder() / path).exists():
        raise FetchError(f"{address.address} was fetched, but holds no {path}. {_missing(corpus, path)}")
    return own_folder() / path


def _find_optional(path: str, say: Callable[[str], None]) -> Path | None:
    """One optional file; it is downloaded only for a user whose folder does not hold this corpus at all."""
    given, name = given_folder(), path.split("/")[0]
    if given and (given / name).is_dir():
        return given / path if (given / path).exists() else None
    if (own_folder() / path).exists():
        return own_folder() / path
    known = _address_of(corpora()[name], path)
    return _find_file(path, say) if known and not known.archive else None


def _address_of(corpus: Corpus, path: str) -> Address | None:
    """The address that gives a file: its own, or that of the archive of its corpus."""
    return next((a for a in corpus.addresses if a.path == path or (a.archive and path.startswith(f"{a.path}/"))), None)


def _bring(address: Address, corpus: Corpus) -> None:
    """Download one address below `own_folder()`, checked where its hash is known, whole or not at all."""
    target = own_folder() / address.path
    with room_for(address.path, own_folder()):
        own_folder().mkdir(parents=True, exist_ok=True)
        clear_leftovers(own_folder())
        download_to = target.with_name(f"{target.name}.archive") if address.archive else target
        with write_whole(download_to) as part:
            _read_address(address, corpus, part)
        if address.archive:
            opened = own_folder() / f".{address.path}.{os.getpid()}.part"
            try:
                extract(download_to, (f"{address.path}/*",), opened)
                os.replace(opened / address.path, target)
            finally:
                shutil.rmtree(opened, ignore_errors=True)
                download_to.unlink(missing_ok=True)


def _read_address(address: Address, corpus: Corpus, part: Path) -> None:
    """Read an address into a file; FetchError where it does not answer or gives other bytes."""
    try:
        with urllib.request.urlopen(address.address, timeout=60) as answer, part.open("wb") as sink:
            shutil.copyfileobj(answer, sink, 1 << 20)
            expected = answer.headers.get("Content-Length")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise FetchError(f"{address.address} does not answer ({error}). {_missing(corpus, address.path)}") from error
    if expected and part.stat().st_size != int(expected):
        raise FetchError(
            f"{address.address} was cut at {part.stat().st_size} of {expected} bytes. Nothing kept; try again"
        )
    if address.sha256 and (got := sha256_of(part)) != address.sha256:
        raise FetchError(
            f"{address.address} gave bytes with sha256 {got}, but data/sources.toml wants {address.sha256}: "
            f"the file has changed there. Nothing was kept. {_missing(corpus, address.path)}"
        )


def digest(path: Path) -> str:
    """The SHA-256 of a file, or of the names and hashes of all files of a folder."""
    if path.is_file():
        return sha256_of(path)
    lines = [
        f"{sha256_of(file)}  {file.relative_to(path).as_posix()}" for file in sorted(path.rglob("*")) if file.is_file()
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
