"""Quotes: whether a piece of writing holds words of a corpus, and of which text.

Only letters count, in lower case, so that it makes no difference how a text was cut up: into cells, coloured boxes,
parts of words or rows with numbers between them. A quote is WINDOW letters in a row, about eight words, that begin
where a word of the corpus does; a shorter text is found as a whole, if it has SHORTEST letters and FEWEST words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import pyarrow.parquet as pq

from compendium import corpora
from compendium.config import Profile
from compendium.corpora.fetch.fetching import with_tables

WINDOW, SHORTEST, FEWEST = 32, 16, 4
WORD = re.compile(r"[^\W\d_]+")


def letters(text: str) -> str:
    """The letters of a text, in lower case, without anything between them."""
    return "".join(WORD.findall(text.casefold()))


def find_quotes(
    pieces: Mapping[str, Iterable[str]], texts: Iterable[tuple[str, tuple[str, ...]]], exempt: Iterable[str] = ()
) -> dict[str, list[str]]:
    """For each piece that quotes a text, the ids of the texts in which its quotes were found first.

    Args:
        pieces: by name, the ways in which a piece of writing can be read.
        texts: (id, segments) of each text of the corpora.
        exempt: texts whose words may be quoted, whichever other text has them.
    """
    streams = {name: [letters(text) for text in readings] for name, readings in pieces.items()}
    together = [stream for readings in streams.values() for stream in readings]
    windows = {stream[at : at + WINDOW] for stream in together for at in range(len(stream) - WINDOW + 1)}
    begins = {stream[at : at + SHORTEST] for stream in together for at in range(len(stream) - SHORTEST + 1)}
    allowed = [letters(text) for text in exempt]
    quotes: dict[str, str] = {}  # quoted letters -> the first text that has them
    for name, segments in texts:
        for quote in (quote for segment in segments for quote in _quotable(segment, windows, begins)):
            if quote not in quotes and not any(quote in text for text in allowed):
                quotes[quote] = name
    found = {
        piece: list(dict.fromkeys(name for quote, name in quotes.items() if any(quote in one for one in readings)))
        for piece, readings in streams.items()
    }
    return {piece: names for piece, names in found.items() if names}


def _quotable(segment: str, windows: set[str], begins: set[str]) -> Iterator[str]:
    """What of a segment may be quoted: windows that are known, or all of a short one whose beginning is."""
    words = WORD.findall(segment.casefold())
    stream, at = "".join(words), 0
    if len(stream) < WINDOW:
        if len(words) >= FEWEST and stream[:SHORTEST] in begins:
            yield stream
        return
    for word in words:
        if stream[at : at + WINDOW] in windows:
            yield stream[at : at + WINDOW]
        at += len(word)


def corpus_texts(profile: Profile) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(id, segments) of every text of a profile's task tables, and of the tables that these are made from.

    FileNotFoundError: a table is not there, so that nothing can be proved.
    """
    tasks = list(dict.fromkeys(task.name for task in with_tables(tuple(profile.read_tasks()))))
    if absent := [task for task in tasks if not corpora.table_path(task).exists()]:
        raise FileNotFoundError(
            f"the tables of {', '.join(absent)} are not there, and without them nobody can tell whether their "
            f"texts are quoted: `attreval fetch --profile {profile.name}` makes them"
        )
    for task in tasks:
        for batch in pq.ParquetFile(corpora.table_path(task)).iter_batches(columns=["id", "segments"]):
            for name, segments in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield name, tuple(segments)


def printed_by_papers(profile: Profile) -> list[str]:
    """The texts that may be quoted: the examples of a profile, which the papers print."""
    wanted = {name for task in profile.tasks.values() for name in task.examples}
    return [part for name, parts in corpus_texts(profile) if name in wanted for part in parts] if wanted else []
