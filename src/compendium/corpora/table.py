"""The table of a task: what builders of rows share, and how rows become instances with words.

Hashes of names and texts decide over splits, the same everywhere. spaCy's rule-based English
tokenizer decides where a word begins and ends. White space is no word, so every word holds at least
one visible or control character.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attreval import __version__
from attreval.core.records import Evidence, Instance
from attreval.core.seeds import seed_of
from attreval.texts.rows import Counts, Row, Sources
from attreval.texts.words import writable
from compendium.corpora.fetch import Say
from compendium.corpora.tasks import Task, table_path

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer

SPLITS = ("train", "dev", "test")
STEP = 10_000


def json_lines(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a comma-separated file by the column names of its header."""
    with path.open(encoding="utf-8", newline="") as handle:
        yield from csv.DictReader(handle)


def decode(content: bytes) -> str:
    """Text from UTF-8, or from Windows-1252, in which a few old files write pound signs."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def share_of(*names: object) -> float:
    """A number in [0, 1) that follows from names alone."""
    return seed_of("split", *names) / 2**63


def same_text(*segments: str) -> str:
    """The text by which duplicates are recognised: white space runs become one space."""
    return "\x1f".join(" ".join(text.split()) for text in segments)


def by_share(key: str, shares: dict[str, float], salt: str) -> str:
    """The split of a key when the splits take these shares; equal keys share a split."""
    at = share_of(salt, key)
    reached = 0.0
    for name, share in shares.items():
        reached += share
        if at < reached:
            return name
    return name


def by_counts(
    rows: Sequence, counts: dict[str, int], key: Callable, label: Callable, salt: str
) -> list[str]:
    """A split for every row: exact counts, the same for each label, rows with one key never apart.

    Groups of equal keys are taken by their hashes, small splits first; ValueError if they do not
    fit.
    """
    groups: dict[object, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, row in enumerate(rows):
        groups[label(row)][key(row)].append(index)
    out = [""] * len(rows)
    for members in groups.values():
        ordered = sorted(members, key=lambda one: (seed_of("split", salt, one), one))
        left = {
            name: counts[name] // len(groups) for name in sorted(counts, key=counts.__getitem__)
        }
        for one in ordered:
            indices = members[one]
            name = next((name for name, room in left.items() if room >= len(indices)), None)
            if name is None:
                raise ValueError(
                    f"{len(rows)} rows do not fill {counts} with duplicates kept together"
                )
            left[name] -= len(indices)
            for index in indices:
                out[index] = name
    return out


def in_order(rows: Iterable[Row], salt: str) -> list[Row]:
    """Rows by split, then by hashes of their ids, so that the first n are a sample."""

    def place(row: Row) -> tuple[int, str, int, str]:
        rank = SPLITS.index(row.split) if row.split in SPLITS else len(SPLITS)
        return rank, row.split, seed_of(salt, row.id), row.id

    return sorted(rows, key=place)


def make_table(task: Task, sources: Sources, made_from: dict, say: Say) -> Path:
    """Build the table of a task from its sources; the same sources always give the same bytes."""
    from attreval.core.tables import write_instances

    counts = Counts()
    rows = in_order(task.build(sources, counts), task.name)
    instances = list(with_words(task.name, rows, counts, say))
    in_split = Counter(instance.split for instance in instances)
    about = made_from | {
        "title": task.title,
        "segments": list(task.segments),
        "rows": {name: in_split[name] for name in task.splits},
        "dropped": dict(sorted(counts.dropped.items())),
        "noted": dict(sorted(counts.noted.items())),
        "made_with": __version__,
    }
    path = table_path(task.name)
    write_instances(path, instances, about)
    dropped = counts.dropped.total()
    say(f"table {task.name}: {len(instances)} rows, {dropped} dropped, at {path.name}")
    return path


def with_words(task: str, rows: list[Row], counts: Counts, say: Say) -> Iterator[Instance]:
    """The instances of rows; one without any word is dropped and counted."""
    unread = [row for row in rows if row.words is None]
    distinct = list(dict.fromkeys(writable(text) for row in unread for text in row.segments))
    words_in = dict(zip(distinct, word_bounds(distinct), strict=True))
    for number, row in enumerate(rows, 1):
        if number % STEP == 0:
            say(f"table {task}: {number} of {len(rows)}")
        segments = tuple(writable(text) for text in row.segments)
        words = row.words
        if words is None:
            words = join_segments([words_in[text] for text in segments])
        if not len(words):
            counts.dropped[f"no word ({row.split})"] += 1
            continue
        evidence = row.evidence(segments, words) if row.evidence else Evidence()
        yield Instance(row.id, segments, row.label, words, row.split, evidence)


@cache
def tokenizer() -> "Tokenizer":
    """spaCy's English rules, with nothing trained; it remembers what it has split before."""
    import spacy
    from spacy.tokenizer import Tokenizer

    made = spacy.blank("en").tokenizer
    assert isinstance(made, Tokenizer)
    made.max_cache_size = 1_000_000
    return made


def word_bounds(texts: Iterable[str]) -> Iterator[np.ndarray]:
    """For each text the (W, 2) start and end characters of its words, in order, none empty."""
    from spacy.attrs import IDX, IS_SPACE, LENGTH

    safe = (writable(text) for text in texts)
    for document in tokenizer().pipe(safe, batch_size=1000):
        table = document.to_array([IDX, LENGTH, IS_SPACE]).astype(np.int64).reshape(-1, 3)
        table = table[table[:, 2] == 0]
        yield np.column_stack([table[:, 0], table[:, 0] + table[:, 1]])


def words_of_segments(segments: Sequence[str]) -> np.ndarray:
    """(W, 3) segment, start, end of the words of one or two texts."""
    return join_segments(list(word_bounds(segments)))


def join_segments(parts: Sequence[np.ndarray]) -> np.ndarray:
    """(W, 3) from one (W, 2) table a segment."""
    segments = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return np.column_stack([segments, np.concatenate(parts)]).astype(np.int64)
