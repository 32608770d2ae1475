"""What people marked in a text, in any form, as spans of characters and as marks of words.

A cell of a table holds character spans `[[start, end], …]` of the text (or `[segment, start,
end]`), marks 0 and 1 of words parted by white space (of one person, or a list a person), a list of
marked strings, or ERASER's evidences (tokens by white space).
Letters used for shapes: A people, W words, n spans.
"""

import ast
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from attreval.core.alignment import overlaps
from attreval.core.records import Evidence, Instance, as_places
from attreval.core.units import true_runs

Span = tuple[int, int, int]  # segment, start, end character (exclusive)
LISTS = (list, tuple, np.ndarray)
MARKS = re.compile(r"\[?\s*[01](?:\.0?)?(?:[\s,]+[01](?:\.0?)?)*\s*\]?")
FORMS = (
    "character spans [[start, end], …], marks 0/1 of the words parted by white space, a list of "
    "marked strings, or ERASER's evidences"
)


def is_missing(cell: Any) -> bool:
    """Whether a cell of a table is empty: None, NaN, NA or NaT."""
    import pandas as pd  # slow to import, and explaining reads no table

    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def read_spans(given: Any, segments: Sequence[str], where: str) -> np.ndarray:
    """(n, 3) segment, start, end (exclusive) of stretches of characters of a text, or of a pair.

    Args:
        given: [start, end] or [segment, start, end] each, or dicts with these names.
        segments: The text, or both of a pair.
        where: Begins the message of an error.

    Raises:
        ValueError: It has another form, or a stretch is not in the text.
    """
    out = []
    for span in given if isinstance(given, LISTS) else [given]:
        row = list(span) if isinstance(span, LISTS) else []
        if isinstance(span, dict):
            row = [span.get("segment", 0), span.get("start"), span.get("end")]
        elif len(row) == 2:
            row.insert(0, 0)
        whole = [isinstance(x, (int, float, np.number)) and x == int(x) for x in row]
        if len(row) != 3 or not all(whole):
            raise ValueError(
                f"{where}: a span is [start, end] or [segment, start, end]; got {span!r:.80}"
            )
        segment, start, end = map(int, row)
        if not (0 <= segment < len(segments) and 0 <= start < end <= len(segments[segment])):
            raise ValueError(
                f"{where}: the span {[segment, start, end]} is not in the text "
                f"{tuple(segments)!r:.80}"
            )
        out.append((segment, start, end))
    return as_places(out)


def met_words(spans: Sequence[Span] | np.ndarray, words: np.ndarray) -> np.ndarray:
    """(W,) 1 for each word that shares a character with a span, else 0.

    Args:
        spans: (n, 3).
        words: (W, 3).
    """
    met = overlaps(words, np.reshape(spans, (-1, 3))) > 0
    return met.any(axis=1).astype(float)


def mark_instance(instance: Instance, given: Sequence | np.ndarray | None, at: int) -> Instance:
    """The instance with what was marked in it as evidence.

    Args:
        instance: The text.
        given: One number a word, 0 for not marked; a list of these, or a 2-d array, with a row a
            person; or stretches as `read_spans` takes them: a word that one of them meets is
            marked. None: nobody looked at this text.
        at: The place of the text, for messages.

    Raises:
        ValueError: The marks do not fit the text, or could be two things.
    """
    if given is None:
        return instance
    where = f"text {at}"
    if not isinstance(given, np.ndarray):
        given = [given] if isinstance(given, dict) else list(given)
    rows = _rows_of_marks(given)
    if len(given) and np.isscalar(given[0]):
        marks = _as_numbers(given, where)[None]
    elif isinstance(given, np.ndarray) and given.ndim == 2:
        marks = _as_numbers(given, where)
    elif rows and all(len(row) == len(instance.words) for row in rows):
        if _could_be_characters(rows, instance.segments):
            raise ValueError(
                f"{where}: {given!r:.80} can be marks of words or stretches of characters; give "
                "marks as a numpy array, and a stretch as {'start': 0, 'end': 1}"
            )
        marks = _as_numbers(rows, where)
    else:
        marks = met_words(read_spans(given, instance.segments, where), instance.words)[None]
    if marks.shape[1] != len(instance.words):
        raise ValueError(f"{where} has {len(instance.words)} words; got marks of {marks.shape[1]}")
    return replace(instance, evidence=Evidence(marks=marks))


def _as_numbers(given: Sequence | np.ndarray, where: str) -> np.ndarray:
    """Marks as float64. ValueError for what is no finite number."""
    try:
        marks = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        marks = np.array(np.nan)
    if not np.isfinite(marks).all():
        raise ValueError(
            f"{where}: marks are finite numbers, 0 for words that are not marked; got {given!r:.80}"
        )
    return marks


def _rows_of_marks(given: Sequence | np.ndarray) -> list[list[int]]:
    """Lists in a list, a person each, that hold nothing but 0 and 1; else none."""
    rows = [list(row) if isinstance(row, LISTS) else [None] for row in given]
    if not all(map(_is_mark, chain(*rows))):
        return []
    return [list(map(int, row)) for row in rows]


def _could_be_characters(rows: list[list[int]], segments: Sequence[str]) -> bool:
    """Whether rows of marks of two or three words are also stretches of characters.

    `[0, 1]` is the first character; where that is a part of a word, nobody means it.
    """
    for row in rows:
        segment, *ends = row if len(row) == 3 else [0, *row]
        if ends != [0, 1] or segment >= len(segments):
            return False
        if not re.match(r"\S(\s|$)", segments[segment]):
            return False
    return True


def make_evidence(
    people: list[list[Span]], _segments: tuple[str, ...], words: np.ndarray
) -> Evidence:
    """Evidence of what A people marked: a word is marked that shares a character with a span.

    It takes the texts, without a use for them, since every row's `evidence` is called with them.

    Args:
        people: The spans of each.
        words: (W, 3).
    """
    marks = np.array([met_words(spans, words) for spans in people]).reshape(len(people), len(words))
    if not marks.any():
        return Evidence()
    runs = []
    for person, row in enumerate(marks):
        runs += [(start, end, person) for start, end in true_runs(row > 0)]
    return Evidence(marks=marks, spans=tuple(sorted(runs)))


def read_rationale(given: Any, segments: tuple[str, ...]) -> list[list[Span]] | None:
    """The spans that each person marked.

    Args:
        given: A cell in any of FORMS.
        segments: The text, or both of a pair.

    Returns:
        [] where nobody marked anything, None where the marks do not fit the text.
    """
    found = _parse(given)
    if found in (None, [], ""):
        return []
    if isinstance(found, (str, dict)):
        found = [found]
    people = _read_list(found, segments) if isinstance(found, list) else None
    return people if people is None or any(people) else []


def _parse(given: Any) -> Any:
    """A cell as lists, numbers and strings: JSON, marks parted by spaces, or Python's lists."""
    if is_missing(given):
        return None
    if not isinstance(given, str):
        return given.tolist() if isinstance(given, np.ndarray) else given
    text = given.strip()
    if MARKS.fullmatch(text) and not text.isdigit():
        return list(map(float, re.findall(r"[01]", re.sub(r"\.0?", "", text))))
    if text[:1] in ("[", "{"):
        for read in (json.loads, ast.literal_eval):  # literals only: nothing is run
            try:
                return read(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return text


def _read_list(found: list, segments: tuple[str, ...]) -> list[list[Span]] | None:
    """People's spans from a parsed list, by what it holds; None where they do not fit the text."""
    rows = _rows_of_marks(found)
    if rows:
        people = [_marked_words(row, segments) for row in rows]
        fitting = [one for one in people if one is not None]
        if len(fitting) == len(people):
            return None if _could_be_characters(rows, segments) else fitting  # both could be meant
        if max(map(len, rows)) > 3:  # neither can be meant
            return None
    flat = _flat(found)
    spans = None
    if all(isinstance(one, dict) for one in flat):
        spans = _evidences(flat, segments)
    elif all(isinstance(one, str) for one in found) and not set(found) <= {"0", "1"}:
        spans = _strings(found, segments)
    elif all(map(_is_mark, found)):
        spans = _marked_words(found, segments)
    elif all(isinstance(one, (list, tuple)) for one in found):
        with suppress(ValueError):
            given = read_spans([one for one in found if len(one)], segments, "")
            spans = list(map(tuple, given.tolist()))
    return None if spans is None else [spans]


def _flat(found: list) -> list:
    """The elements of nested lists, in order."""
    return [inner for one in found for inner in (_flat(one) if isinstance(one, list) else [one])]


def _is_mark(one: Any) -> bool:
    return one in (0, 1, "0", "1") and not isinstance(one, (list, dict))


def _marked_words(found: list, segments: tuple[str, ...]) -> list[Span] | None:
    """The words, parted by white space, that are marked 1: of the text, or of both of a pair."""
    first = _find_all(r"\S+", segments[:1])
    words = first if len(found) == len(first) else _find_all(r"\S+", segments)
    if len(found) != len(words):
        return None
    return [word for word, mark in zip(words, found, strict=True) if float(mark)]


def _find_all(
    pattern: str, segments: tuple[str, ...], flags: re.RegexFlag = re.NOFLAG
) -> list[Span]:
    """Where a pattern stands in the text, or in text and pair."""
    return [
        (at, *match.span())
        for at, text in enumerate(segments)
        for match in re.finditer(pattern, text, flags)
    ]


def _strings(found: list[str], segments: tuple[str, ...]) -> list[Span] | None:
    """Where each marked string stands: the first free place, in the case given or in any."""
    spans: list[Span] = []
    for string in found:
        pattern = r"\s+".join(map(re.escape, string.split()))
        if not pattern:
            continue
        places = _find_all(pattern, segments) + _find_all(pattern, segments, re.IGNORECASE)
        if not places:
            return None
        free = [place for place in places if place not in spans]
        spans.append((free or places)[0])
    return spans


def _evidences(found: list[dict], segments: tuple[str, ...]) -> list[Span] | None:
    """ERASER's pieces: tokens from start to end (exclusive) by white space, else their text."""
    words = _find_all(r"\S+", segments[:1])
    spans: list[Span] = []
    for piece in found:
        start = piece.get("start_token")
        end = piece.get("end_token")
        if not isinstance(start, int) or not isinstance(end, int) or start < 0:
            located = _strings([str(piece.get("text") or "")], segments)
            if not located:
                return None
            spans += located
        elif start < end <= len(words):
            _, first, _ = words[start]
            _, _, last = words[end - 1]
            spans.append((0, first, last))
        else:
            return None
    return spans
