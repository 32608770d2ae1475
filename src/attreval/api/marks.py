"""What people marked in a text, given as words or as stretches of characters, as marks of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attreval.core.records import Evidence, Instance


def mark_instance(instance: Instance, given, at: int) -> Instance:
    """The instance with what was marked in it as evidence; at: its place, for messages.

    given: one number a word, 0 for not marked; a 2-d array with a row a person; or stretches (start, end) or (segment,
    start, end), or dicts with these names: a word that one of them meets is marked. None: nobody looked at this text.
    ValueError for what does not fit the text.
    """
    if given is None:
        return instance
    given = given if isinstance(given, np.ndarray) else list(given)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        marks = given.astype(float)
    elif len(given) and np.isscalar(given[0]):
        marks = np.asarray(given, dtype=float)[None]
    else:
        marks = _meet(instance, given, at)[None]
    if marks.shape[1] != len(instance.words):
        raise ValueError(f"text {at} has {len(instance.words)} words; got marks of {marks.shape[1]}")
    if not np.isfinite(marks).all():
        raise ValueError(f"text {at}: marks are finite numbers, 0 for words that are not marked")
    return replace(instance, evidence=Evidence(marks=marks))


def _meet(instance: Instance, spans: Sequence, at: int) -> np.ndarray:
    """(W,) 1 for each word that one of the stretches meets."""
    marks = np.zeros(len(instance.words))
    for span in spans:
        row = (span.get("segment", 0), span.get("start"), span.get("end")) if isinstance(span, dict) else tuple(span)
        row = (0, *row) if len(row) == 2 else row
        if len(row) != 3 or any(not isinstance(part, (int, np.integer)) for part in row):
            raise ValueError(
                f"text {at}: a mark is (start, end) or (segment, start, end), in characters; got {span!r:.60}"
            )
        segment, start, end = row
        if not 0 <= segment < len(instance.segments) or not 0 <= start < end <= len(instance.segments[segment]):
            raise ValueError(f"text {at}: characters {start} to {end} of part {segment} are outside its text")
        words = instance.words
        marks[(words[:, 0] == segment) & (words[:, 1] < end) & (words[:, 2] > start)] = 1
    return marks
