"""Vocabulary of a word-level model, and the vectors from which its words start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from attreval.core.records import Instance

PAD, UNKNOWN = 0, 1  # the reserved indices


def count_words(instances: Iterable[Instance], size: int) -> tuple[str, ...]:
    """The most frequent words, ties in alphabetical order; `size` counts the two reserved indices too."""
    counts = Counter(word for instance in instances for word in instance.word_texts())
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(ranked[: max(0, size - 2)])


def start_embeddings(
    words: Sequence[str], size: int, rng: np.random.Generator, known: tuple[Sequence[str], np.ndarray] | None = None
) -> np.ndarray:
    """(2 + words, size) float32: rows of known vectors where the word has one, else uniform in (-.05, .05).

    known: (N) words and their (N, size) vectors. A word they lack takes the vector of its lower-case form, because
    the vectors that the package registry carries know no capitals. Row 0, padding, is zero.
    """
    table = rng.uniform(-0.05, 0.05, (len(words) + 2, size)).astype(np.float32)
    table[PAD] = 0
    if known is None:
        return table
    names, vectors = known
    if vectors.shape[1] != size:
        raise ValueError(f"the word vectors have {vectors.shape[1]} dimensions, the model {size}; give embedding_size")
    place = {word: i for i, word in enumerate(names)}
    for row, word in enumerate(words, start=2):
        at = place.get(word, place.get(word.lower()))
        if at is not None:
            table[row] = vectors[at]
    return table


def read_glove(matrix: Path, index: Path) -> tuple[list[str], np.ndarray]:
    """Words and their (N, D) vectors from the files of corpora.glove; the vectors stay on disk until they are used."""
    words = pq.read_table(index).column("index").to_pylist()
    return words, np.load(matrix, mmap_mode="r")
