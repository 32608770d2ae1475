"""The proof: no file of a committed folder quotes a corpus, or says whose machine it was made on."""

from __future__ import annotations

import csv
import getpass
import platform
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import groupby, zip_longest
from pathlib import Path

import nbformat

from compendium import project
from compendium.site.publishing.quotes import find_quotes

ROOTS = "home|root|Users|tmp|var|mnt|media|opt|usr|srv|scratch|private|work|workspace"
START = r"(?<![\w.:/<\\-])"  # of an absolute path, not of an address or a tag
PATH = rf"{START}/(?:{ROOTS})/[\w.@-]+|\b[A-Z]:\\\\?Users\b"
IMAGE = re.compile(r'"image/png": "[^"]*"|base64,[^"]*"')
TAG = re.compile(r"<[^>]*>")
TABLE_ROW, TABLE_CELL = re.compile(r"<tr\b.*?</tr>", re.S), re.compile(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", re.S)


def written(path: Path) -> dict[str, list[str]]:
    """What a file says, by place, each in the ways in which it can be read; a PNG says nothing that could be read."""
    if path.suffix == ".png":
        return {}
    if path.suffix == ".ipynb":
        notebook = nbformat.read(path, as_version=4)
        return {place: list(_read_output(output)) for place, output in outputs_of(notebook, path.stem)}
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return {path.name: list(_read_rows(list(csv.reader(text.splitlines()))))}
    return {path.name: [unescape(TAG.sub(" ", text)) if path.suffix == ".svg" else text]}


def outputs_of(notebook, name: str) -> Iterator[tuple[str, dict]]:
    """The outputs of a notebook with their places: `name, cell 4, output 1`."""
    for at, cell in enumerate(notebook.cells, 1):
        for number, output in enumerate(cell.get("outputs", ()), 1):
            yield f"{name}, cell {at}, output {number}", output


def _read_output(output) -> Iterator[str]:
    """All that an output says but pictures: as a reader sees it, as its source has it, and tables by column."""
    if output.output_type == "stream":
        held = [output.text]
    elif output.output_type == "error":
        held = [output.ename, output.evalue, "\n".join(output.traceback)]
    else:
        held = [one for kind, one in output.data.items() if not kind.startswith("image/")]
    for text in (one if isinstance(one, str) else "".join(map(str, one)) for one in held):
        yield from (unescape(TAG.sub(" ", text)), text)  # attributes stand in the source alone
        yield from _read_rows([[TAG.sub(" ", c) for c in TABLE_CELL.findall(row)] for row in TABLE_ROW.findall(text)])


def _read_rows(rows: list[list[str]]) -> Iterator[str]:
    """A table row by row, and each of its columns: a text may run down one.

    Of equal cells below each other one: `lime` in each of eight rows is no quote of a text that says so eight times.
    """
    yield " ".join(" ".join(row) for row in rows)
    for column in zip_longest(*rows, fillvalue=""):
        yield " ".join(cell for cell, _ in groupby(column))


def check_folder(folder: Path, texts: Iterable[tuple[str, tuple[str, ...]]], exempt: Iterable[str]) -> None:
    """Raise ValueError that names file and place where a file below the folder quotes a text or names the machine."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if told := machine_facts(files):
        raise ValueError("not to be committed, since it names a machine:\n  " + "\n  ".join(told))
    if mute := [path.name for path in files if path.suffix == ".png" and not path.with_suffix(".svg").exists()]:
        raise ValueError(f"not to be committed, since no SVG tells what is written on {', '.join(mute)}")
    pieces = {f"{path.parent.name}/{place}": text for path in files for place, text in written(path).items()}
    if quoted := find_quotes(pieces, texts, exempt):
        lines = [f"{place} quotes {', '.join(names[:3])}" for place, names in quoted.items()]
        raise ValueError("not to be committed, since it quotes a corpus:\n  " + "\n  ".join(lines))


def machine_facts(files: Iterable[Path]) -> list[str]:
    """Files that hold a path of a machine, or the name of its user or host, and which."""
    own = [rf"{START}{re.escape(str(path))}\b" for path in (project.home(), Path.home()) if len(path.parts) > 1]
    own += [rf"\b{re.escape(getpass.getuser())}@"]
    own += [rf"\b{re.escape(platform.node())}\b"] if len(platform.node()) > 5 and platform.node() != "localhost" else []
    names = re.compile("|".join([*own, PATH]))
    told = ((path, names.search(IMAGE.sub("", path.read_text("utf-8")))) for path in files if path.suffix != ".png")
    return [f"{path.name}: {found[0]}" for path, found in told if found]
