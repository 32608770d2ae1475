"""e-SNLI: which words did each of three people highlight as the reason for the label?

Dev and test hold the highlights. Their pairs are SNLI's, whose model reads them. Labels are in the order of Kamp et al.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence
from attreval.texts.rows import Counts, Row
from compendium.corpora.tasks import TASKS

PUNCTUATION = re.compile(r"[^\w\s]+")


def build_esnli(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of dev and test with (3, W) marks; one with a misfit highlight is dropped."""
    for split in ("dev", "test"):
        for pair in read_csv(sources[f"esnli/esnli_{split}.csv"]):
            yield from annotated_row(pair, split, counts)


def _make_row(pair_id: str, split: str, segments: tuple[str, str], label: str, evidence=None) -> Row:
    """One pair as a row."""
    return Row(f"esnli/{split}/{pair_id}", split, segments, TASKS["esnli"].labels.index(label), evidence)


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """The lines of one of the e-SNLI files by column name."""
    with path.open(encoding="utf-8", newline="") as handle:
        yield from csv.DictReader(handle)


def annotated_row(pair: dict[str, str], split: str, counts: Counts) -> Iterator[Row]:
    """The row of one annotated pair, or none where a highlight does not fit its sentence."""
    segments = (pair["Sentence1"], pair["Sentence2"])
    counts.noted["sentences with a literal asterisk"] += sum("*" in text for text in segments)
    people = []
    for person in "123":
        marked = [pair[f"Sentence{part}_marked_{person}"] or "" for part in "12"]
        inside = [locate_highlights(text, with_stars) for text, with_stars in zip(segments, marked, strict=True)]
        if any(flags is None for flags in inside):
            counts.dropped[f"a highlight does not fit its sentence ({split})"] += 1
            return
        people.append(inside)
    yield _make_row(pair["pairID"], split, segments, pair["gold_label"], partial(_mark_words, people))


def locate_highlights(text: str, marked: str) -> np.ndarray | None:
    """(characters,) True inside a highlight, or None where `marked` without its asterisks is another text.

    An asterisk toggles inside and outside, as in the code of Kamp et al. 2023, except where the sentence
    itself has one at that place. White space may differ: marked sentences often begin with a space.
    """
    flags = np.zeros(len(text), dtype=bool)
    at, inside, spaced = 0, False, False
    for char in marked:
        if char.isspace():
            spaced = True
            continue
        ahead = at
        while ahead < len(text) and text[ahead].isspace():
            ahead += 1
        if text[ahead : ahead + 1] == char and (char != "*" or spaced or ahead == at):
            flags[ahead] = inside
            at, spaced = ahead + 1, False
        elif char == "*":
            inside = not inside
        else:
            return None
    return flags if not text[at:].strip() else None


def _mark_words(people: list[list[np.ndarray]], segments: tuple[str, ...], words: np.ndarray) -> Evidence:
    """(people, W) marks: 1 where a highlight covers any character of a word that is not punctuation only."""
    spoken = [PUNCTUATION.fullmatch(segments[s][a:b]) is None for s, a, b in words]
    marks = [
        [float(is_word and inside[s][a:b].any()) for is_word, (s, a, b) in zip(spoken, words, strict=True)]
        for inside in people
    ]
    return Evidence(marks=np.array(marks))
