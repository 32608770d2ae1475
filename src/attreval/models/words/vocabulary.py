"""Vocabulary of a word-level model, and the vectors from which its words start.

A word is what is read one by one: a word of the text, or a piece of one as a tokenizer cuts it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from attreval.core.records import Instance, as_places
from attreval.models.placing import lock_of

PAD = 0  # the two reserved indices
UNKNOWN = 1
GIVE_SIZE = (
    "give the model `embedding_size` (a transformer `hidden`) as wide as its `embeddings`, or name "
    "other vectors"
)


@dataclass(frozen=True)
class WordVectors:
    """N words and their vectors.

    Attributes:
        words: The words.
        table: (N, D).
        cased: They know capitals, so a word is looked up only as it is.
    """

    words: Sequence[str]
    table: np.ndarray
    cased: bool = False


GiveVectors = Callable[[str, Sequence[str]], WordVectors]  # of a name, for a vocabulary


def cut_text(instance: Instance, tokenizer: Any) -> tuple[np.ndarray, list[str]]:
    """(W, 3) segment, start and end of an instance's words or pieces, and these as strings.

    Args:
        instance: The text.
        tokenizer: A fast one whose pieces are read in place of words; it adds no special ones.
    """
    if tokenizer is None:
        return instance.words, instance.word_texts()
    places = []
    pieces = []
    for at, text in enumerate(instance.segments):
        with lock_of(tokenizer):
            cut = tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
        places += [(at, *span) for span in cut["offset_mapping"]]
        pieces += tokenizer.convert_ids_to_tokens(cut["input_ids"])
    return as_places(places), pieces


def count_words(instances: Iterable[Instance], size: int, tokenizer: Any = None) -> tuple[str, ...]:
    """The most frequent words, ties in alphabetical order.

    Args:
        instances: The texts.
        size: How many, the two reserved indices included.
        tokenizer: See `cut_text`.
    """
    counts = Counter(word for instance in instances for word in cut_text(instance, tokenizer)[1])
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(ranked[: max(0, size - 2)])


def start_embeddings(
    words: Sequence[str], size: int, rng: np.random.Generator, known: WordVectors | None
) -> np.ndarray:
    """(2 + words, size) float32: known vectors where the word has one, else uniform in (-.05, .05).

    A word that vectors without capitals lack takes the vector of its lower-case form. Row 0,
    padding, is zero.

    Args:
        words: The vocabulary.
        size: D.
        rng: Draws.
        known: Vectors.

    Raises:
        ValueError: The vectors have another width.
    """
    table = rng.uniform(-0.05, 0.05, (len(words) + 2, size)).astype(np.float32)
    table[PAD] = 0
    if known is None:
        return table
    if known.table.shape[1] != size:
        raise ValueError(
            f"the word vectors have {known.table.shape[1]} dimensions, the model {size}; "
            f"{GIVE_SIZE}"
        )
    place = {word: i for i, word in enumerate(known.words)}
    for row, word in enumerate(words, start=2):
        at = place.get(word, None if known.cased else place.get(word.lower()))
        if at is not None:
            table[row] = known.table[at]
    return table


def vectors_named(
    embeddings: str | None, give: GiveVectors | None, words: Sequence[str], model: str
) -> WordVectors | None:
    """The vectors that a model's `embeddings` name, for a vocabulary; None where it names none.

    Raises:
        ValueError: There is nothing that gives them.
    """
    if not embeddings:
        return None
    if give is None:
        raise ValueError(
            f"the model {model!r} starts from {embeddings} embeddings, but none were given"
        )
    return give(embeddings, words)


def read_glove(matrix: Path, index: Path) -> WordVectors:
    """Words and vectors from the files of corpora.glove; vectors stay on disk until used."""
    words = pq.read_table(index).column("index").to_pylist()
    return WordVectors(words, np.load(matrix, mmap_mode="r"))


def read_vectors(path: Path, vocabulary: Sequence[str]) -> WordVectors:
    """The vectors of a vocabulary from a text file of a word and its numbers per line.

    A first line that gives two counts is passed over.

    Args:
        path: The file.
        vocabulary: The words wanted.

    Raises:
        ValueError: A line has another width, or is no vector.
    """
    wanted = set(vocabulary)
    words = []
    rows = []
    width = 0
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip().split(" ")
            if number == 1 and len(parts) == 2:
                continue
            width = width or len(parts) - 1
            cut = len(parts) - width
            word = " ".join(parts[:cut])
            if word not in wanted and len(parts) > width:
                continue  # a few words of GloVe hold blanks, so the numbers are the last of a line
            try:
                rows.append(np.array(parts[cut:], dtype=np.float32))
            except ValueError:
                rows.append(np.zeros(0, np.float32))
            words.append(word)
            if len(rows[-1]) != width or not word:
                raise ValueError(
                    f"line {number} of {path.name} is not a word and {width} numbers, as the "
                    f"first is: {line[:60]!r}"
                )
    if not width:
        raise ValueError(
            f"{path.name} holds no word vectors: a word and its numbers on each line are needed"
        )
    return WordVectors(words, np.array(rows, dtype=np.float32).reshape(-1, width), cased=True)
