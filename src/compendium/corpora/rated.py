"""Which words of a review sentence speak for its verdict? Ten people rated each.

VADER's sentences are review sentences of Rotten Tomatoes: those that the model was trained or chosen on are left out.
The words were rated one by one, out of context. It is the only human relevance that a package registry carries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np

from attreval.core.records import Evidence, Instance
from attreval.core.tables import read_instances
from attreval.texts.rows import Counts, Row

NO_LETTER = re.compile(r"[\W_]+")
SURE = 15  # letters from which one text inside another is no accident


def build_rated_movies(sources: dict[str, Path], counts: Counts) -> Iterator[Row]:
    """Rows of sentences with (10, W) marks: 1 where a rating of the word has the sign of the sentence's label."""
    known = Known(
        instance.segments[0]
        for split in ("train", "dev")
        for instance in read_instances(sources["rotten_tomatoes"], split)
    )
    for instance in read_instances(sources["vader_movies"]):
        text = unescape(instance.segments[0])
        if known.holds(text):
            counts.dropped["in train or dev of rotten_tomatoes"] += 1
        elif text != instance.segments[0]:
            counts.dropped["holds HTML entities, so its words are not where the ratings are"] += 1
        elif not (marks := _side_with(instance)).any():
            counts.dropped["no word rated like the sentence"] += 1
        else:
            name = f"rated_movies/test/{instance.id.rsplit('/', 1)[1]}"
            yield Row(name, "test", instance.segments, instance.label, keep(marks), instance.words)


def _side_with(instance: Instance) -> np.ndarray:
    """(10, W) 1 where a rating of the word speaks for the label: positive for 1, negative for 0."""
    sign = 1 if instance.label else -1
    return (sign * instance.evidence.marks > 0).astype(float)


def keep(marks: np.ndarray):
    """What gives a row these marks, whatever its words."""
    return lambda _segments, _words: Evidence(marks=marks)


class Known:
    """Texts by their letters and digits alone: the same text is recognised in another spelling, and inside another."""

    def __init__(self, texts):
        self.whole = {plain(text) for text in texts}
        self.joined = "|".join(sorted(self.whole))
        self.by_start: dict[str, list[str]] = {}
        for text in sorted(self.whole):
            if len(text) >= SURE:
                self.by_start.setdefault(text[:SURE], []).append(text)

    def holds(self, text: str) -> bool:
        """Whether the text is one of these, part of one, or has one as a part."""
        letters = plain(text)
        if letters in self.whole or (len(letters) >= SURE and letters in self.joined):
            return True
        starts = range(len(letters) - SURE + 1)
        return any(letters.startswith(t, at) for at in starts for t in self.by_start.get(letters[at : at + SURE], ()))


def plain(text: str) -> str:
    """The letters and digits of a text, lower case."""
    return NO_LETTER.sub("", text.lower())
