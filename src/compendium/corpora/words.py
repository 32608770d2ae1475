"""Where does each word of a text begin and end? spaCy's rule-based English tokenizer decides.

White space is no word, so every word holds at least one visible or control character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np

from attreval.texts.words import writable


@cache
def tokenizer():
    """spaCy's English rules, without any trained component."""
    import spacy

    return spacy.blank("en").tokenizer


def find_words(texts: Iterable[str]) -> Iterator[np.ndarray]:
    """Yield, for each text, its (W, 2) start and end characters (end exclusive), in order, none empty."""
    from spacy.attrs import IDX, IS_SPACE, LENGTH

    safe = (writable(text) for text in texts)
    for document in tokenizer().pipe(safe, batch_size=1000):
        table = document.to_array([IDX, LENGTH, IS_SPACE]).astype(np.int64).reshape(-1, 3)
        table = table[table[:, 2] == 0]
        yield np.column_stack([table[:, 0], table[:, 0] + table[:, 1]])


def words_of(segments: Sequence[str]) -> np.ndarray:
    """(W, 3) segment, start, end of the words of one or two texts."""
    return join_segments(list(find_words(segments)))


def join_segments(parts: Sequence[np.ndarray]) -> np.ndarray:
    """(W, 3) from one (W, 2) table a segment."""
    tables = [np.column_stack([np.full(len(part), index), part]) for index, part in enumerate(parts)]
    return np.concatenate(tables).astype(np.int64)
