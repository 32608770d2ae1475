"""Where each word of a text begins and ends: runs of letters and digits, and single other visible characters.

Chinese and Japanese are written without spaces: there each character is a word. White space is not a word, so every
word holds at least one visible or control character. The study's corpora use spaCy's English rules instead
(`compendium.corpora.table`), as the papers' tables rest on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

SURROGATE = re.compile("[\ud800-\udfff]")
ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese and Japanese
WORD = re.compile(rf"[{ALONE}]|[^\W{ALONE}]+(?:['\u2019.\-][^\W{ALONE}]+)*|[^\w\s]")


def writable(text: str) -> str:
    """The text with every lone surrogate replaced, which UTF-8 cannot hold; offsets stay as they were."""
    return text if text.isascii() else SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def words_of(segments: Sequence[str]) -> np.ndarray:
    """(W, 3) segment, start, end (exclusive) of the words of one or two texts, in order."""
    found = [(at, *word.span()) for at, text in enumerate(segments) for word in WORD.finditer(text)]
    return np.array(found, dtype=np.int64).reshape(-1, 3)
