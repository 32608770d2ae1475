"""Words and sentences of a text, and documents of known evidence, mixed from sentences.

Words are runs of letters and digits, and single other visible characters. Chinese and Japanese are
written without spaces: there each character is a word. White space is not a word, so every word
holds at least one visible or control character. The study's corpora use spaCy's English rules
instead (`compendium.corpora.table`), as the papers' tables rest on them.

Mixed documents are shuffled sentences, a few at a time (Poerner et al. 2018, 4.1): a classifier
that gives one a class can only have it from the sentences that come from texts of this class.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from attreval.core.seeds import generator

SURROGATE = re.compile("[\ud800-\udfff]")
# Chinese and Japanese
ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{ALONE}]|[^\W{ALONE}]+(?:['\u2019.\-][^\W{ALONE}]+)*|[^\w\s]")
# what ends in a full stop and a space
SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'\u2019\u201d)]*(?=\s)|$)", re.DOTALL)


def writable(text: str) -> str:
    """The text with lone surrogates replaced, which UTF-8 cannot hold; offsets stay."""
    return text if text.isascii() else SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def words_of(segments: Sequence[str]) -> np.ndarray:
    """(W, 3) segment, start, end (exclusive) of the words of one or two texts, in order."""
    found = [(at, *word.span()) for at, text in enumerate(segments) for word in WORD.finditer(text)]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, by punctuation alone; white space inside becomes one space."""
    return [" ".join(found.group().split()) for found in SENTENCE.finditer(text)]


def mix_sentences(
    pool: Sequence[tuple[str, int]], sentences_each: int, *names: object
) -> Iterator[list[tuple[str, int]]]:
    """Shuffled sentences with the labels of their texts; the last document may have fewer.

    Args:
        pool: Sentences and labels.
        sentences_each: How many a document.
        names: What the order derives from.
    """
    order = generator(*names).permutation(len(pool))
    for start in range(0, len(pool), sentences_each):
        yield [pool[at] for at in order[start : start + sentences_each]]


def classes_of_words(chosen: Sequence[tuple[str, int]], words: np.ndarray) -> np.ndarray:
    """(W,) the label of the sentence that each word of the joined sentences stands in.

    Args:
        chosen: Sentences and labels.
        words: (W, 3).
    """
    starts = np.cumsum([0, *(len(sentence) + 1 for sentence, _ in chosen)])
    labels = np.array([label for _, label in chosen])
    return labels[np.searchsorted(starts, words[:, 1], side="right") - 1]
