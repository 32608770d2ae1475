"""Documents whose evidence is known: shuffled sentences of many texts, a few at a time (Poerner et al. 2018, 4.1).

A classifier that gives such a document a class can only have it from the sentences that come from texts of this class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from attreval.core.seeds import generator

SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'\u2019\u201d)]*(?=\s)|$)", re.DOTALL)  # what ends in a full stop and a space


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, by punctuation alone; white space inside becomes one space."""
    return [" ".join(found.group().split()) for found in SENTENCE.finditer(text)]


def mix_sentences(
    pool: Sequence[tuple[str, int]], sentences_each: int, *names: object
) -> Iterator[list[tuple[str, int]]]:
    """Shuffled sentences with the labels of their texts, so many a document; the last may have fewer.

    names: what the order derives from.
    """
    order = generator(*names).permutation(len(pool))
    for start in range(0, len(pool), sentences_each):
        yield [pool[at] for at in order[start : start + sentences_each]]


def classes_of_words(chosen: Sequence[tuple[str, int]], words: np.ndarray) -> np.ndarray:
    """(W,) the label of the sentence that each word of the joined sentences stands in; words: (W, 3)."""
    starts = np.cumsum([0, *(len(sentence) + 1 for sentence, _ in chosen)])
    labels = np.array([label for _, label in chosen])
    return labels[np.searchsorted(starts, words[:, 1], side="right") - 1]
