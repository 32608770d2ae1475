"""What people marked in a user's own texts, in any of four forms, as spans of characters.

Character spans `[[start, end], …]` of the text (or `[segment, start, end]`), marks 0 and 1 of words parted by white
space (of one person, or a list a person), a list of marked strings, or ERASER's evidences (tokens by white space).
Letters used for shapes: A people, W words.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import numpy as np

from attreval.core.records import Evidence
from attreval.core.runs import true_runs

Span = tuple[int, int, int]  # segment, start, end character (exclusive)
MARKS = re.compile(r"\[?\s*[01](?:\.0?)?(?:[\s,]+[01](?:\.0?)?)*\s*\]?")
FORMS = (
    "character spans [[start, end], …], marks 0/1 of the words parted by white space, a list of marked strings, or "
    "ERASER's evidences"
)


def read_rationale(given: Any, segments: tuple[str, ...]) -> list[list[Span]] | None:
    """The spans that each person marked; [] where nobody marked anything, None where the marks do not fit the text."""
    found = _parse(given)
    if found is None or found == [] or found == "":
        return []
    if isinstance(found, str):
        found = [found]
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        return None
    people = _read_list(found, segments)
    return people if people is None or any(people) else []


def mark_words(people: list[list[Span]], _segments: tuple[str, ...], words: np.ndarray) -> Evidence:
    """Evidence of A people: (A, W) marks and word spans; a word is marked that shares a character with a span."""
    marks = np.zeros((len(people), len(words)))
    for person, spans in enumerate(people):
        for segment, start, end in spans:
            marks[person, (words[:, 0] == segment) & (words[:, 1] < end) & (words[:, 2] > start)] = 1
    if not marks.any():
        return Evidence()
    runs = [(start, end, person) for person, row in enumerate(marks) for start, end in true_runs(row > 0)]
    return Evidence(marks=marks, spans=tuple(sorted(runs)))


def _parse(given: Any) -> Any:
    """A cell as lists, numbers and strings: JSON, marks parted by spaces, or lists as Python prints them."""
    if given is None or (isinstance(given, float) and np.isnan(given)):
        return None
    if not isinstance(given, str):
        return given.tolist() if isinstance(given, np.ndarray) else given
    text = given.strip()
    if MARKS.fullmatch(text) and not text.isdigit():
        return [float(sign) for sign in re.findall(r"[01]", re.sub(r"\.0?", "", text))]
    if text[:1] in ("[", "{"):
        for read in (json.loads, ast.literal_eval):  # literals only: nothing is run
            try:
                return read(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return text


def _read_list(found: list, segments: tuple[str, ...]) -> list[list[Span]] | None:
    """People's spans from a parsed list, by what it holds."""
    if all(isinstance(one, dict) for one in _flat(found)):
        return _alone(_evidences(list(_flat(found)), segments))
    if all(isinstance(one, str) for one in found) and not set(found) <= {"0", "1"}:
        return _alone(_strings(found, segments))
    if all(_is_mark(one) for one in found):
        return _alone(_marked_words(found, segments))
    if not all(isinstance(one, (list, tuple)) for one in found):
        return None
    if all(len(one) > 3 and all(map(_is_mark, one)) for one in found):
        people = [_marked_words(one, segments) for one in found]
        return None if None in people else people
    return _alone(_characters(found, segments))


def _alone(spans: list[Span] | None) -> list[list[Span]] | None:
    """The spans of one person, as people."""
    return None if spans is None else [spans]


def _flat(found: list) -> list:
    """What lists in a list hold, with what is no list."""
    return [inner for one in found for inner in (_flat(one) if isinstance(one, list) else [one])]


def _is_mark(one: Any) -> bool:
    """Whether a value is a mark of one word."""
    return one in (0, 1, "0", "1") and not isinstance(one, (list, dict))


def _characters(found: list, segments: tuple[str, ...]) -> list[Span] | None:
    """Spans of characters, of the first segment where none is named."""
    spans = [tuple(one) if len(one) == 3 else (0, *one) for one in found if len(one)]
    for span in spans:
        if len(span) != 3 or not all(isinstance(x, (int, float)) and x == int(x) for x in span):
            return None
        segment, start, end = span
        if not (0 <= segment < len(segments) and 0 <= start < end <= len(segments[int(segment)])):
            return None
    return [tuple(map(int, span)) for span in spans]


def _marked_words(found: list, segments: tuple[str, ...]) -> list[Span] | None:
    """The words, parted by white space, that are marked 1: of the text, or of text and pair together."""
    words = [(s, *match.span()) for s, text in enumerate(segments) for match in re.finditer(r"\S+", text)]
    first = [word for word in words if word[0] == 0]
    words = first if len(found) == len(first) else words
    if len(found) != len(words):
        return None
    return [word for word, mark in zip(words, found, strict=True) if float(mark)]


def _strings(found: list[str], segments: tuple[str, ...]) -> list[Span] | None:
    """Where each marked string stands: the first place that no other has taken, in the case given or in any."""
    spans: list[Span] = []
    for string in filter(None, (one.strip() for one in found)):
        pattern = re.compile(r"\s+".join(map(re.escape, string.split())))
        loose = re.compile(pattern.pattern, re.IGNORECASE)
        places = [
            (s, *match.span())
            for form in (pattern, loose)
            for s, text in enumerate(segments)
            for match in form.finditer(text)
        ]
        if not places:
            return None
        spans.append(next((place for place in places if place not in spans), places[0]))
    return spans


def _evidences(found: list[dict], segments: tuple[str, ...]) -> list[Span] | None:
    """ERASER's pieces: tokens from start to end (exclusive), parted by white space, else their text."""
    words = [match.span() for match in re.finditer(r"\S+", segments[0])]
    spans = []
    for piece in found:
        start, end = piece.get("start_token"), piece.get("end_token")
        if not isinstance(start, int) or not isinstance(end, int) or start < 0:
            located = _strings([str(piece.get("text") or "")], segments)
            if not located:
                return None
            spans += located
        elif start < end <= len(words):
            spans.append((0, words[start][0], words[end - 1][1]))
        else:
            return None
    return spans
