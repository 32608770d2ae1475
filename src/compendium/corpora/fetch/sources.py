"""Corpora that no registry carries: from a folder of the user's, or their public address.

The folder is named by ATTREVAL_CORPORA and laid out as data/sources.toml lists it:
`esnli/esnli_dev.csv`, ...
"""

import hashlib
import os
import shutil
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

from pydantic import Field

from attreval.core.section import Section
from attreval.core.tables import write_whole
from compendium import project
from compendium.corpora.fetch import FetchError, Say, enough_disk
from compendium.corpora.fetch.packages import extract, sha256_of
from compendium.corpora.tasks import TASKS, Task
from compendium.project import replace_folder

VARIABLE = "ATTREVAL_CORPORA"


class Address(Section):
    """A public address of one file, or of an archive of a corpus. sha256: "" where not known."""

    path: str
    address: str
    sha256: str = ""
    archive: bool = False


class Corpus(Section):
    """A corpus folder: title, layout of its files, how to get them by hand, and known addresses.

    used: sha256 by path of the files that the committed results were made from.
    """

    title: str
    layout: tuple[str, ...]
    by_hand: str
    addresses: tuple[Address, ...] = ()
    used: dict[str, str] = Field({})


def corpora() -> dict[str, Corpus]:
    """Every corpus of data/sources.toml by the name of its folder."""
    found = tomllib.loads((project.home() / "data" / "sources.toml").read_text(encoding="utf-8"))
    return {name: Corpus.model_validate(entry) for name, entry in found.items()}


def given_folder() -> Path | None:
    """The folder that ATTREVAL_CORPORA names; FetchError where it names none that exists."""
    given = os.environ.get(VARIABLE)
    if given and not Path(given).is_dir():
        raise FetchError(
            f"{VARIABLE} is {given!r}, which is no folder; set it to one that holds the corpora, "
            "or unset it"
        )
    return Path(given).resolve() if given else None


def own_folder() -> Path:
    return project.raw() / "corpora"


def _find_here(path: str) -> Path | None:
    """A file or folder in the given folder, or downloaded before."""
    roots = [root for root in (given_folder(), own_folder()) if root]
    return next((root / path for root in roots if (root / path).exists()), None)


def has_files(task: Task) -> bool:
    """Whether every file from outside the registry that a task needs lies here."""
    return all(map(_find_here, task.files)) and all(has_files(TASKS[name]) for name in task.tables)


def other_than_used(digests: dict[str, str]) -> list[str]:
    """The files, by path, that are not those that the committed results were made from."""
    used = {path: known for corpus in corpora().values() for path, known in corpus.used.items()}
    return [path for path, found in digests.items() if used.get(path, found) != found]


def find_sources(task: Task, say: Say) -> dict[str, Path]:
    """The paths of the files that a task needs, fetched if need be, and of optional ones."""
    needed = {path: _find_file(path, say) for path in task.files}
    optional = {path: found for path in task.optional if (found := _find_optional(path, say))}
    return needed | task.own_files | optional


def _find_file(path: str, say: Say) -> Path:
    """One needed file or folder: in the given folder, downloaded before, or now."""
    if found := _find_here(path):
        return found
    corpus = corpora()[path.split("/")[0]]
    address = _address_of(corpus, path)
    if address is None:
        raise _missing(corpus, path)
    say(f"fetch {address.address.rsplit('/', 1)[-1]} of {corpus.title}")
    _bring(address, corpus)
    if not (own_folder() / path).exists():
        raise FetchError(
            f"{address.address} was fetched, but holds no {path}. {_missing(corpus, path)}"
        )
    return own_folder() / path


def _find_optional(path: str, say: Say) -> Path | None:
    """One optional file; it is downloaded only if the user's folder lacks the whole corpus."""
    given = given_folder()
    name = path.split("/")[0]
    if given and (given / name).is_dir():
        return given / path if (given / path).exists() else None
    known = _address_of(corpora()[name], path)
    return _find_file(path, say) if known and not known.archive else _find_here(path)


def _address_of(corpus: Corpus, path: str) -> Address | None:
    """The address that gives a file: its own, or that of the archive of its corpus."""
    return next(
        (
            a
            for a in corpus.addresses
            if a.path == path or (a.archive and path.startswith(f"{a.path}/"))
        ),
        None,
    )


def _missing(corpus: Corpus, path: str) -> FetchError:
    """The error for a file that is in no folder and has no address that answered."""
    given = os.environ.get(VARIABLE)
    where = f"it is not in {given}, which {VARIABLE} names" if given else f"{VARIABLE} is not set"
    return FetchError(
        f"the corpus {corpus.title} lacks {path}: {where}. Set {VARIABLE} to a folder that holds "
        f"{', '.join(corpus.layout)}. {corpus.by_hand}"
    )


def _bring(address: Address, corpus: Corpus) -> None:
    """Download one address below `own_folder()`, checked if its hash is known, or not at all."""
    target = own_folder() / address.path
    with enough_disk(address.path, own_folder()):
        if not address.archive:
            with write_whole(target) as part:
                _read_address(address, corpus, part)
            return
        with replace_folder(target) as folder:
            archive = folder / "archive"
            _read_address(address, corpus, archive)
            extract(archive, (f"{address.path}/*",), folder)
            archive.unlink()
            for path in (folder / address.path).iterdir():
                path.rename(folder / path.name)
            (folder / address.path).rmdir()


def _read_address(address: Address, corpus: Corpus, part: Path) -> None:
    """Read an address into a file; FetchError where it does not answer or gives other bytes."""
    try:
        with urllib.request.urlopen(address.address, timeout=60) as answer, part.open("wb") as sink:
            shutil.copyfileobj(answer, sink, 1 << 20)
            expected = answer.headers.get("Content-Length")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise FetchError(
            f"{address.address} does not answer ({error}). {_missing(corpus, address.path)}"
        ) from error
    if expected and part.stat().st_size != int(expected):
        raise FetchError(
            f"{address.address} was cut at {part.stat().st_size} of {expected} bytes. Nothing "
            "kept; try again"
        )
    if address.sha256 and (got := sha256_of(part)) != address.sha256:
        raise FetchError(
            f"{address.address} gave bytes with sha256 {got}, but data/sources.toml wants "
            f"{address.sha256}: "
            f"the file has changed there. Nothing was kept. {_missing(corpus, address.path)}"
        )


def digest(path: Path) -> str:
    """The SHA-256 of a file, or of the names and hashes of all files of a folder."""
    if path.is_file():
        return sha256_of(path)
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    lines = [f"{sha256_of(file)}  {file.relative_to(path).as_posix()}" for file in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
