"""Words and sentences of a text, and documents of known evidence, mixed from sentences.

Words are runs of letters and digits, and single other visible characters, where a character is what
a reader takes for one: a grapheme cluster, with its marks and joiners. Scripts that are written
without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) have a word a character. White space
is not a word, so every word holds at least one visible or control character. The study's corpora
use spaCy's English rules instead (`compendium.corpora.table`), as the papers' tables rest on them.

Mixed documents are shuffled sentences, a few at a time (Poerner et al. 2018, 4.1): a classifier
that gives one a class can only have it from the sentences that come from texts of this class.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import regex

from attreval.core.records import as_places
from attreval.core.seeds import generator
from attreval.core.units import SENTENCE

SURROGATE = re.compile("[\ud800-\udfff]")
# Chinese and Japanese; scripts; letters that begin a cluster with what follows
ALONE = (
    r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{GCB=Prepend}"
)
LETTER = rf"[\p{{L}}\p{{N}}_--[{ALONE}]]"
RUN = rf"{LETTER}(?:{LETTER}|[\p{{M}}\p{{GCB=Extend}}\p{{GCB=SpacingMark}}\p{{GCB=ZWJ}}])*+"
JOINED = r"['\u2019.\-\u2010\u2011\u05be\u05f3\u05f4]"  # the last three are Hebrew's
SPACE = r"[\s\x1c-\x1f]"
# some vowel signs of Burmese are clusters of their own
ONE = rf"(?:(?!{SPACE})\X|\X(?<!{SPACE}))(?:(?=\p{{M}})\X)*+"
WORD = regex.compile(rf"(?V1){RUN}(?:{JOINED}{RUN})*|{ONE}")


def writable(text: str) -> str:
    """The text with lone surrogates replaced, which UTF-8 cannot hold; offsets stay."""
    return text if text.isascii() else SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def words_of(
    segments: Sequence[str], tokenize: Callable[[str], Iterable[str]] | None = None
) -> np.ndarray:
    """(W, 3) segment, start, end (exclusive) of the words of one or two texts, in order.

    Args:
        segments: The texts.
        tokenize: From a text to its words, in order and as they stand there; None takes ours.

    Raises:
        ValueError: `tokenize` gives words that do not stand in the text.
    """
    found: list[int] = []
    for at, text in enumerate(segments):
        ours = (word.span() for word in WORD.finditer(text))
        for start, end in ours if tokenize is None else locate_words(text, tokenize(text)):
            found += at, start, end
    return as_places(found)


def locate_words(text: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Start and end of each word, one behind the other; blank ones are passed over.

    ValueError for a word that is not there.
    """
    end = 0
    for word in words:
        if not str(word).strip():
            continue
        start = text.find(word, end)
        if start < 0:
            raise ValueError(
                f"`tokenize` gives {word!r}, which does not come in {text[end:]!r:.80}; it gives "
                "the words of a text in their order, as they stand there"
            )
        end = start + len(word)
        yield start, end


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
