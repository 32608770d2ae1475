"""Texts that stand in files of this repository: those written for it, and those that papers print.

A line of such a file is a JSON object: id, label and texts, in which `<u>` and `</u>` stand around
the words that decide. With `tags`, one a word, the text is what stands before a verb, and the
underlined word its subject.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import numpy as np

from attreval.core.records import Evidence, Instance
from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row, Sources
from compendium import project
from compendium.corpora import subject_verb
from compendium.corpora.table import json_lines, with_words
from compendium.corpora.tasks import TASKS, table_path

UNDERLINED = re.compile(r"<u>(.*?)</u>")
VOCABULARY = "agreement_parsed"  # whose frequent words stay words before a verb


def split_marks(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and where the underlined words begin and end in it."""
    plain = ""
    places = []
    at = 0
    for found in UNDERLINED.finditer(text):
        plain += text[at : found.start()]
        places.append((len(plain), len(plain) + len(found[1])))
        plain += found[1]
        at = found.end()
    return plain + text[at:], places


def make_row(name: str, entry: Mapping, labels: Sequence[str], known: set[str] | None) -> Row:
    """A row of test from a line of a file.

    known: the words before a verb that stay words, see subject_verb.make_row. Raises ValueError for
    a label that is none of the labels.
    """
    if entry["label"] not in labels:
        raise ValueError(f"{name}: label {entry['label']!r}; there are: {', '.join(labels)}")
    label = labels.index(entry["label"])
    segments, places = zip(*map(split_marks, entry["texts"]), strict=True)
    if "tags" not in entry:
        return Row(name, "test", segments, label, partial(_mark, places))
    words = tuple(segments[0].split())
    subject = len(segments[0][: places[0][0][0]].split())
    sentence = subject_verb.ParsedSentence(words, tuple(entry["tags"].split()), (), ())
    found = subject_verb.Agreement(subject, len(words), label)
    return subject_verb.make_row(name, sentence, found, known)


def _mark(
    places: Sequence[Sequence[tuple[int, int]]], _segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """Marks of the words that are underlined, as those of one person."""
    marked = [any(a < end and start < b for a, b in places[part]) for part, start, end in words]
    return Evidence(marks=np.array([marked], float))


def _build(task: str, sources: Sources, counts: Counts) -> Iterator[Row]:
    """The rows of a task of our own."""
    known = None
    if VOCABULARY in sources:
        known = subject_verb.vocabulary_of(read_instances(sources[VOCABULARY]))
    for entry in json_lines(sources[TASKS[task].repository]):
        yield make_row(f"{task}/test/{entry['id']}", entry, TASKS[task].labels, known)


build_own_reviews = partial(_build, "own_reviews")
build_own_news = partial(_build, "own_news")
build_own_pairs = partial(_build, "own_pairs")
build_own_agreement = partial(_build, "own_agreement")


@cache
def printed_examples() -> dict[str, dict]:
    """The texts that the papers print, by id; see paper/reported/README.md."""
    file = project.home() / "paper" / "reported" / "printed_examples.jsonl"
    return {entry["id"]: entry for entry in json_lines(file)}


def printed_instances(task: str, names: Sequence[str]) -> list[Instance]:
    """Printed texts as the models that read a task read them; what a paper explains is the label.

    Raises ValueError for a name or label that there is not.
    """
    every = printed_examples()
    if missing := [name for name in names if name not in every]:
        raise ValueError(f"no paper prints {missing[0]!r}; there are: {', '.join(every)}")
    entries = [every[name] for name in names]
    known = None
    if any("tags" in entry for entry in entries):
        table = table_path(TASKS[task].trained_on or task)
        known = subject_verb.vocabulary_of(read_instances(table))
    labels = TASKS[task].labels
    rows = [make_row(entry["id"], entry, labels, known) for entry in entries]
    return list(with_words(task, rows, Counts(), print))
