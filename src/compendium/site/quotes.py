"""The check that no committed file quotes a corpus, or says whose machine it was made on.

Only letters count, in lower case, so that it makes no difference how a text was cut up: into cells,
coloured boxes, parts of words or rows with numbers between them. A quote is WINDOW letters in a
row, about eight words, that begin where a word of the corpus does; a shorter text is found as a
whole, if it has SHORTEST letters and FEWEST words.
"""

import csv
import getpass
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from itertools import groupby, zip_longest
from pathlib import Path

import nbformat
import pandas as pd
import pyarrow.parquet as pq

from compendium import corpora, project
from compendium.config import Profile
from compendium.corpora.fetch.fetching import with_tables
from compendium.corpora.tasks import is_ours
from compendium.corpora.written import printed_examples, split_marks

WINDOW = 32  # letters of a quote
SHORTEST = 16  # letters of a text that is found as a whole
FEWEST = 4  # words of it
WORD = re.compile(r"[^\W\d_]+")
ROOTS = "home|root|Users|tmp|var|mnt|media|opt|usr|srv|scratch|private|work|workspace"
START = r"(?<![\w.:/<\\-])"  # of an absolute path, not of an address or a tag
PATH = rf"{START}/(?:{ROOTS})/[\w.@-]+|\b[A-Z]:\\\\?Users\b"
BINARY = (".png", ".parquet")
IMAGE = re.compile(r'"image/png": "[^"]*"|base64,[^"]*"')
TAG = re.compile(r"<[^>]*>")
TABLE_ROW = re.compile(r"<tr\b.*?</tr>", re.S)
TABLE_CELL = re.compile(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", re.S)
Text = tuple[str, tuple[str, ...]]  # id, segments


def letters(text: str) -> str:
    """The letters of a text, in lower case, without anything between them."""
    return "".join(WORD.findall(text.casefold()))


def find_quotes(
    pieces: Mapping[str, Iterable[str]], texts: Iterable[Text], exempt: Iterable[str] = ()
) -> dict[str, list[str]]:
    """For each piece that quotes a text, the ids of the texts in which its quotes were found first.

    Args:
        pieces: by name, the ways in which a piece of writing can be read.
        texts: those of the corpora.
        exempt: texts whose words may be quoted, whichever other text has them.
    """
    streams = {name: [letters(text) for text in readings] for name, readings in pieces.items()}
    together = [stream for readings in streams.values() for stream in readings]
    windows = _pieces_of(together, WINDOW)
    begins = _pieces_of(together, SHORTEST)
    allowed = [letters(text) for text in exempt]
    quotes: dict[str, str] = {}  # quoted letters -> the first text that has them
    for name, segments in texts:
        for segment in segments:
            for quote in _quotable(segment, windows, begins):
                if not any(quote in text for text in allowed):
                    quotes.setdefault(quote, name)
    found = {}
    for piece, readings in streams.items():
        names = [name for quote, name in quotes.items() if any(quote in one for one in readings)]
        if names:
            found[piece] = list(dict.fromkeys(names))
    return found


def _pieces_of(streams: Iterable[str], size: int) -> set[str]:
    """Every run of so many letters in any of these."""
    return {stream[at : at + size] for stream in streams for at in range(len(stream) - size + 1)}


def _quotable(segment: str, windows: set[str], begins: set[str]) -> Iterator[str]:
    """The known windows of a segment, or all of a short segment whose beginning is known."""
    words = WORD.findall(segment.casefold())
    stream = "".join(words)
    if len(stream) < WINDOW:
        if len(words) >= FEWEST and stream[:SHORTEST] in begins:
            yield stream
        return
    at = 0
    for word in words:
        if stream[at : at + WINDOW] in windows:
            yield stream[at : at + WINDOW]
        at += len(word)


def corpus_texts(profile: Profile) -> Iterator[Text]:
    """Every text of a profile's task tables, and of the tables that these are made from.

    But for those that were written for this study.

    FileNotFoundError: a table is not there, so that nothing can be proved.
    """
    needed = with_tables(tuple(profile.read_tasks()))
    tasks = list(dict.fromkeys(task.name for task in needed if not is_ours(task)))
    if absent := [task for task in tasks if not corpora.table_path(task).exists()]:
        raise FileNotFoundError(
            f"the tables of {', '.join(absent)} are not there, and without them nobody can tell "
            f"whether their texts are quoted: `attreval fetch --profile {profile.name}` makes them"
        )
    for task in tasks:
        table = pq.ParquetFile(corpora.table_path(task))
        for batch in table.iter_batches(columns=["id", "segments"]):
            for row in batch.to_pylist():
                yield row["id"], tuple(row["segments"])


def printed_by_papers(profile: Profile) -> list[str]:
    """The texts that may be quoted: the examples of a profile, and what it has of printed texts."""
    names = [name for task in profile.tasks.values() for name in task.printed]
    printed = [split_marks(part)[0] for name in names for part in printed_examples()[name]["texts"]]
    wanted = {name for task in profile.tasks.values() for name in task.examples}
    texts = corpus_texts(profile) if wanted else ()
    return printed + [part for name, parts in texts if name in wanted for part in parts]


def written(path: Path) -> dict[str, list[str]]:
    """What a file says, by place, each in the ways in which it can be read; nothing of a PNG."""
    if path.suffix == ".png":
        return {}
    if path.suffix == ".parquet":
        return {path.name: list(_read_columns(path))}
    if path.suffix == ".ipynb":
        notebook = nbformat.read(path, as_version=4)
        outputs = outputs_of(notebook, path.stem)
        return {place: list(_read_output(output)) for place, output in outputs}
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return {path.name: list(_read_rows(list(csv.reader(text.splitlines()))))}
    return {path.name: [unescape(TAG.sub(" ", text)) if path.suffix == ".svg" else text]}


def _read_columns(path: Path) -> Iterator[str]:
    """Each column of a Parquet table but numbers, its lists taken apart; see `_read_rows`."""
    for _, column in pd.read_parquet(path).select_dtypes(exclude="number").items():
        cells = map(str, column.explode().explode())
        yield " ".join(cell for cell, _ in groupby(cells))


def outputs_of(
    notebook: nbformat.NotebookNode, name: str
) -> Iterator[tuple[str, nbformat.NotebookNode]]:
    """The outputs of a notebook with their places: `name, cell 4, output 1`."""
    for at, cell in enumerate(notebook.cells, 1):
        for number, output in enumerate(cell.get("outputs", ()), 1):
            yield f"{name}, cell {at}, output {number}", output


def _read_output(output: nbformat.NotebookNode) -> Iterator[str]:
    """An output but pictures: as a reader sees it, as its source has it, and tables by column."""
    if output.output_type == "stream":
        held = [output.text]
    elif output.output_type == "error":
        held = [output.ename, output.evalue, "\n".join(output.traceback)]
    else:
        held = [one for kind, one in output.data.items() if not kind.startswith("image/")]
    for one in held:
        text = one if isinstance(one, str) else "".join(map(str, one))
        yield unescape(TAG.sub(" ", text))
        yield text  # attributes stand in the source alone
        rows = map(TABLE_CELL.findall, TABLE_ROW.findall(text))
        yield from _read_rows([[TAG.sub(" ", cell) for cell in row] for row in rows])


def _read_rows(rows: list[list[str]]) -> Iterator[str]:
    """A table row by row, and each of its columns: a text may run down one.

    Of equal cells below each other one: `lime` in each of eight rows is no quote of a text that
    says so eight times.
    """
    yield " ".join(" ".join(row) for row in rows)
    for column in zip_longest(*rows, fillvalue=""):
        yield " ".join(cell for cell, _ in groupby(column))


def refuse_quotes(folder: Path, texts: Iterable[Text], exempt: Iterable[str]) -> None:
    """Raise ValueError where a file below the folder quotes a text or names the machine."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if told := machine_facts(files):
        raise ValueError("not to be committed, since it names a machine:\n  " + "\n  ".join(told))
    pieces = {
        f"{path.parent.name}/{place}": text
        for path in files
        for place, text in written(path).items()
    }
    if quoted := find_quotes(pieces, texts, exempt):
        lines = [f"{place} quotes {', '.join(names[:3])}" for place, names in quoted.items()]
        raise ValueError("not to be committed, since it quotes a corpus:\n  " + "\n  ".join(lines))


def machine_facts(files: Iterable[Path]) -> list[str]:
    """Files that hold a path of a machine, or the name of its user or host, and which."""
    homes = [path for path in (project.home(), Path.home()) if len(path.parts) > 1]
    own = [rf"{START}{re.escape(str(path))}\b" for path in homes]
    own.append(rf"\b{re.escape(getpass.getuser())}@")
    host = platform.node()
    if len(host) > 5 and host != "localhost":
        own.append(rf"\b{re.escape(host)}\b")
    names = re.compile("|".join([*own, PATH]))
    told = []
    for path in files:
        text = "" if path.suffix in BINARY else IMAGE.sub("", path.read_text("utf-8"))
        if found := names.search(text):
            told.append(f"{path.name}: {found[0]}")
    return told
