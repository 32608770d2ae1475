"""Which words lie in these character spans? For corpora whose evidence is given as spans of one text."""

from __future__ import annotations

import numpy as np

from attreval.core.records import Evidence


def mark_spans(spans: list[tuple[int, int]], segments: tuple[str, ...], words: np.ndarray) -> Evidence:
    """Evidence of one annotator from character spans of the first segment: (1, W) marks, and word spans.

    A word belongs to a span that it shares a character with. No span, no evidence.
    """
    if not spans:
        return Evidence()
    marks, found = np.zeros((1, len(words))), set()
    for start, end in spans:
        inside = np.flatnonzero((words[:, 0] == 0) & (words[:, 1] < end) & (words[:, 2] > start))
        if len(inside):
            marks[0, inside] = 1
            found.add((int(inside[0]), int(inside[-1]) + 1, 0))
    return Evidence(marks=marks, spans=tuple(sorted(found)))
