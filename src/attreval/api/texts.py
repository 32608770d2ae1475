"""Texts as people give them, strings or pairs of strings, as the records that the rest of the package reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from attreval.core.records import Instance
from attreval.texts.words import words_of, writable

Text = str | tuple[str, str]
SHOWN = 40  # characters of a text that name it where it is long


def read_segments(texts: Text | Iterable[Text]) -> list[tuple[str, ...]]:
    """Each text as a tuple of one string, or of two for a pair.

    texts: several, or one; a tuple of two strings is one pair. A lone surrogate is replaced. ValueError, with the place
    in the list, for what is empty or neither a string nor a pair.
    """
    if not isinstance(texts, Iterable) or isinstance(texts, bytes | Mapping) or hasattr(texts, "columns"):
        raise ValueError(
            f"texts are a string, a tuple of two for a pair, or a list of these; got a {type(texts).__name__}"
            + (": give one of its columns" if hasattr(texts, "columns") else "")
        )
    pair = isinstance(texts, tuple) and len(texts) == 2 and all(isinstance(part, str) for part in texts)
    several: list[Any] = [texts] if isinstance(texts, str) or pair else list(texts)
    if not several:
        raise ValueError("there is no text to explain; give at least one string, or a pair of strings")
    return [_check_text(text, at) for at, text in enumerate(several)]


def as_text(segments: tuple[str, ...]) -> Text:
    """What `read_segments` reads as these segments."""
    return segments[0] if len(segments) == 1 else (segments[0], segments[1])


def _check_text(text: Text, at: int) -> tuple[str, ...]:
    """The segments of one text. ValueError where it is none."""
    segments = (text,) if isinstance(text, str) else tuple(text) if isinstance(text, (tuple, list)) else ()
    if len(segments) not in (1, 2) or not all(isinstance(part, str) for part in segments):
        raise ValueError(f"text {at} is {text!r:.80}; a text is a string, and a pair a tuple of two strings")
    for part, segment in enumerate(segments):
        if not segment.strip():
            of = f", part {part} of the pair," if len(segments) == 2 else ""
            raise ValueError(f"text {at}{of} is empty ({segment!r:.40}), so there is nothing to explain; leave it out")
    return tuple(writable(str(part)) for part in segments)  # numpy has strings of its own


def make_instances(segments: Iterable[tuple[str, ...]]) -> list[Instance]:
    """Texts as instances with their words. What a text is called, and so every random draw, follows from its words."""
    return [Instance(_name_text(parts), parts, 0, words_of(parts)) for parts in segments]


def _name_text(segments: tuple[str, ...]) -> str:
    """A name that no other text has; a short text is its own."""
    whole = "\x1f".join(segments)
    if len(whole) <= SHOWN:
        return whole
    return f"{whole[:SHOWN]}… {sha256(whole.encode()).hexdigest()[:12]}"


def join_pairs(texts: list[str], others: list[str]) -> list[Text]:
    """Texts, or pairs of them with as many others. ValueError for another number of others."""
    if others and len(others) != len(texts):
        raise ValueError(
            f"there are {len(texts)} texts and {len(others)} second texts; give --pair once for each --text, or never"
        )
    return list(zip(texts, others, strict=True)) if others else list(texts)
