"""Chunks: spans of tokens by a shallow cut of the text, in place of a parse (Liberman & Church 1992).

Kamp et al. (2024) compare methods on syntactic spans that a parser finds. Here a span begins at a function word behind
a content word, at a mark of punctuation and behind it, so that `the old man | of the sea | .` needs no parser.
Letters used for shapes: n tokens, s chunks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WORDS = """
a an the this that these those my your his her its our their some any no every each both all another such
of in on at by for with from to into onto over under about after before between through during against without
within along across behind beside near off out up down around toward towards upon as than like
and or but nor so yet if because while although though when where whether since until unless
i you he she it we they me him us them who whom whose which what there
is are was were be been being am do does did have has had
will would shall should can could may might must not n't 's 're 've 'll 'd 'm
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
CONTINUED = "##"  # begins a piece of a word that began before


def find_chunks(tokens: Sequence[str]) -> np.ndarray:
    """(n,) number of the chunk that each token is in, from 0; pieces of a word stay together."""
    out, number, previous = [], -1, ""  # previous: function, content or mark; nothing before the first token
    for token in tokens:
        word = token.lower()
        if word.startswith(CONTINUED) and previous:
            out.append(number)
            continue
        kind = "mark" if not any(c.isalnum() for c in word) else "function" if word in FUNCTION_WORDS else "content"
        number += kind == "mark" or previous in ("", "mark") or (kind == "function" and previous == "content")
        out.append(number)
        previous = kind
    return np.array(out, dtype=int)


def chosen_chunks(selections: np.ndarray, chunks: np.ndarray) -> np.ndarray:
    """(..., s) bool, the chunks that hold a selected token, of (..., n) bool tokens. ValueError for other lengths."""
    selections = np.asarray(selections, dtype=bool)
    if selections.shape[-1] != len(chunks):
        raise ValueError(f"selections of {selections.shape[-1]} tokens do not fit chunks of {len(chunks)}")
    held = chunks[:, None] == np.arange(chunks.max(initial=-1) + 1)
    return selections.astype(int) @ held.astype(int) > 0
