"""Marks of people: which tokens they mark, and how far people agree with each other (Kamp et al. 2023, section 3).

Evidence holds one row of word marks for each of A people, any number of them. Every piece of a marked word is marked,
punctuation never is: annotators could not tell it from the word beside it (the released code of Kamp et al. 2023).
That code looks at the tokenizer's own text of a piece: what the vocabulary does not know, such as an emoji, is `[UNK]`
there, holds letters, and counts as a word.
Letters used for shapes: A people, W words, n content tokens.
"""

from __future__ import annotations

import re

import numpy as np

from attreval.core.alignment import marked_tokens
from attreval.core.records import Instance, Tokens

PUNCTUATION = re.compile(r"[^\w\s]+")
UNKNOWN = ("[UNK]", "<unk>")


def token_marks(instance: Instance, tokens: Tokens) -> np.ndarray:
    """(A, n) marks of the content tokens: that of the word that holds them, 0 for punctuation that is known.

    Raises ValueError where nobody marked this instance.
    """
    marks = instance.evidence.marks
    if not len(marks):
        raise ValueError(f"instance {instance.id!r} holds no marks of people; pick a task whose evidence is marks")
    content = tokens.content
    texts = [instance.segments[s][a:b] for s, a, b in tokens.offsets[content]]
    is_word = np.array([PUNCTUATION.fullmatch(text) is None for text in texts])
    is_word |= np.isin(np.array(tokens.texts)[content], UNKNOWN)
    return np.array([marked_tokens(person, tokens)[content] for person in marks]) * is_word


def spaced_marks(instance: Instance) -> np.ndarray:
    """(A, w) marks of the words that white space parts, which is what annotators see: 1 where any part is marked."""
    words = instance.words
    gap = (words[1:, 0] != words[:-1, 0]) | (words[1:, 1] > words[:-1, 2])
    starts = np.concatenate([[0], np.flatnonzero(gap) + 1])
    return np.maximum.reduceat(instance.evidence.marks > 0, starts, axis=1)


def relevance(marks: np.ndarray) -> np.ndarray:
    """(n,) share of people who mark each token, in steps of 1/A (Kamp et al. 2023, section 3)."""
    return (np.asarray(marks) > 0).mean(axis=0)


def overlap(marks: np.ndarray) -> tuple[float, float]:
    """What all people mark over what anybody marks, and over what the one marks who marks least; NaN over nothing."""
    marked = np.asarray(marks) > 0
    shared, anybody, least = marked.all(axis=0).sum(), marked.any(axis=0).sum(), marked.sum(axis=1).min()
    shares = [float(shared / size) if size else float("nan") for size in (anybody, least)]
    return shares[0], shares[1]
