"""VADER's movie review sentences: about 20 people rated each sentence, ten rated each word of a lexicon."""

from __future__ import annotations

import ast
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_share, same_text

TOP = Path("vaderSentiment-3.3.2")
RATINGS = TOP / "additional_resources" / "hutto_ICWSM_2014.tar.gz"
LEXICON = TOP / "vaderSentiment" / "vader_lexicon.txt"
SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}
RATERS = 10
NEAR_ZERO = 0.5


def build_vader_movies(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Sentences labelled by the sign of their mean rating, near zero dropped; (10, W) marks: word ratings."""
    folder = sources["vadersentiment"]
    lexicon = _read_lexicon(folder / LEXICON)

    def rate_words(segments, words):
        nothing = np.zeros(RATERS)
        columns = [lexicon.get(segments[s][a:b].lower(), nothing) for s, a, b in words]
        return Evidence(marks=np.array(columns).T.reshape(RATERS, len(words)))

    for number, mean, text in _read_sentences(folder / RATINGS):
        if abs(mean) < NEAR_ZERO:
            counts.dropped[f"mean rating below {NEAR_ZERO} in size"] += 1
            continue
        split = by_share(same_text(text).lower(), SHARES, "vader_movies")
        yield Row(f"vader_movies/{split}/{number}", split, (text,), int(mean > 0), rate_words)


def _read_sentences(path: Path) -> Iterator[tuple[str, float, str]]:
    """(number, mean of the raw ratings, text) of every movie review sentence."""
    with tarfile.open(path) as archive:
        texts = dict(_read_columns(archive, "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt", (0, 2)))
        ratings = _read_columns(archive, "hutto_ICWSM_2014/movieReviewSnippets_anonDataRatings.txt", (0, 3))
        for number, rated in ratings:
            yield number, float(np.mean(ast.literal_eval(rated))), texts[number]


def _read_columns(archive: tarfile.TarFile, name: str, columns: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Two columns of a tab-separated member."""
    text = archive.extractfile(name).read()
    for line in io.StringIO(_decode(text), newline="\n"):
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) > max(columns):
            yield cells[columns[0]].strip(), cells[columns[1]]


def _decode(content: bytes) -> str:
    """UTF-8, or Windows-1252 where it is not."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _read_lexicon(path: Path) -> dict[str, np.ndarray]:
    """{lower-case word: its ten raw ratings from -4 to 4}; its lines are word, mean, sd, ratings."""
    lexicon = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) == 4:
            lexicon[cells[0].lower()] = np.array(ast.literal_eval(cells[3]), dtype=float)
    return lexicon
