"""What people hand over, read to the letter: texts, names of classes, a function's probabilities.

What could mean two things is a ValueError that says how to say either.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import sha256
from numbers import Integral
from typing import Any

import numpy as np

from attreval.core.records import Instance
from attreval.texts.words import words_of, writable

Text = str | tuple[str, str]
SHOWN = 40  # characters of a text that name it where it is long


def as_list(given: Any, what: str) -> list[Any]:
    """What is given one after the other: a list, a column, an array, a generator.

    Args:
        given: What came.
        what: What it is, for messages.

    Raises:
        ValueError: It is one thing alone, or has no order or names of its own.
    """
    several = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
    table = hasattr(given, "columns")
    if table or not several or isinstance(given, str | bytes | Mapping | Set):
        column = ": give one of its columns" if table else ""
        raise ValueError(f"{what}; got a {type(given).__name__}{column}")
    return list(given)


def read_segments(texts: Text | Iterable[Text]) -> list[tuple[str, ...]]:
    """Each text as a tuple of one string, or of two for a pair. A lone surrogate is replaced.

    Args:
        texts: A string; a tuple of two, which is a pair; or these one after the other, in a list, a
            column, an array or a generator.

    Raises:
        ValueError: A text is empty or anything else; says its place in the list.
    """
    if isinstance(texts, str | tuple):
        return [_read_text(texts, "")]
    several = as_list(texts, "texts are a string, a tuple of two for a pair, or a list of these")
    if not several:
        raise ValueError(
            "there is no text to explain; give at least one string, or a pair of strings"
        )
    return [_read_text(text, f" {at}") for at, text in enumerate(several)]


def _read_text(text: Any, at: str) -> tuple[str, ...]:
    """The segments of one text. at: its place in a list, for messages."""
    segments = (text,) if isinstance(text, str) else text
    pair = isinstance(text, tuple) and [isinstance(part, str) for part in text] == [True, True]
    if not pair and not isinstance(text, str):
        raise ValueError(
            f"text{at} is {text!r:.80}; a text is a string, and a pair a tuple of two strings; "
            "several texts are a list, and a list of words is joined to a string first"
        )
    for part, segment in enumerate(segments):
        if not segment.strip():
            of = f", part {part} of the pair," if pair else ""
            raise ValueError(
                f"text{at}{of} is empty ({segment!r:.40}), so there is nothing to explain; leave "
                "it out"
            )
    return tuple(writable(str(part)) for part in segments)  # numpy has strings of its own


def as_text(segments: tuple[str, ...]) -> Text:
    """What `read_segments` reads as these segments."""
    return segments[0] if len(segments) == 1 else (segments[0], segments[1])


def read_names(given: Any) -> list[Any]:
    """The names of classes, each at its number.

    Args:
        given: A list in the order of the outputs, or a mapping between names and numbers from 0,
            either way round.

    Raises:
        ValueError: It has no order, such as a set, or is a mapping that numbers no classes or could
            be read twice.
    """
    if isinstance(given, Mapping):
        return _numbered_names(given)
    return as_list(
        given,
        "labels are a list of the classes' names in the order of the model's outputs, or number "
        "them, as in {'negative': 0, 'positive': 1}",
    )


def _numbered_names(given: Mapping) -> list[Any]:
    """Names in the order of their numbers, from name -> number or number -> name."""
    readings: dict[tuple[str, ...], list[Any]] = {}
    for rows in (given.items(), [(number, name) for name, number in given.items()]):
        by_number = {_number(number): name for number, name in rows}
        if by_number.keys() == set(range(len(given))):
            names = [by_number[k] for k in range(len(given))]
            readings[tuple(map(str, names))] = names
    if len(readings) != 1:
        why = "can be read either way round" if readings else "do not number the classes from 0"
        raise ValueError(
            f"labels {dict(given)!r:.80} {why}; give the names as a list, in the order of the "
            "outputs"
        )
    (names,) = readings.values()
    return names


def _number(given: Any) -> int | None:
    """A class's number, as a whole number or in digits, as JSON has keys; None for others."""
    if isinstance(given, str):
        return int(given) if given.isascii() and given.isdigit() else None
    return int(given) if isinstance(given, Integral) and not isinstance(given, bool) else None


def read_columns(given: Any, labels: Sequence[str], name: str) -> np.ndarray:
    """(n, K) numbers that a function gave, its columns in the order of the labels.

    Args:
        given: An array, or what becomes one; columns of a table with names are those of the labels,
            in any order.
        labels: K class names.
        name: Of the function, for messages.

    Raises:
        ValueError: The columns have other names, or it is no table of numbers.
    """
    columns = [str(column) for column in getattr(given, "columns", ())]
    if columns and columns != [str(k) for k in range(len(columns))]:
        if sorted(columns) != sorted(labels):
            raise ValueError(
                f"{name} gives a table with columns {', '.join(columns)}, and labels are "
                f"{', '.join(labels)}; name them alike, or give the numbers alone (to_numpy)"
            )
        given = np.asarray(given)[:, [columns.index(label) for label in labels]]
    if hasattr(given, "detach"):  # a tensor, of any precision and anywhere
        given = given.detach().double().cpu()
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} gives a {type(given).__name__} that is no table of numbers"
        ) from None


def make_instances(segments: Iterable[tuple[str, ...]], model: Any = None) -> list[Instance]:
    """Texts as instances with their words, by the model's `tokenize` where it has one.

    What a text is called, and so every random draw, follows from its words.
    """
    tokenize = getattr(model, "tokenize", None)
    return [Instance(_name_text(parts), parts, 0, words_of(parts, tokenize)) for parts in segments]


def _name_text(segments: tuple[str, ...]) -> str:
    """A name that no other text has; a short text is its own."""
    whole = "\x1f".join(segments)
    if len(whole) <= SHOWN:
        return whole
    return f"{whole[:SHOWN]}… {sha256(whole.encode()).hexdigest()[:12]}"


def join_pairs(texts: list[str], others: list[str]) -> list[Text]:
    """Texts, or pairs of them with as many others.

    Raises:
        ValueError: There is another number of others.
    """
    if others and len(others) != len(texts):
        raise ValueError(
            f"there are {len(texts)} texts and {len(others)} second texts; give --pair once for "
            "each --text, or never"
        )
    return list(zip(texts, others, strict=True)) if others else list(texts)
