"""How does a page of texts and scores stay small? Shared token lists, columns, and scores cut to what matters.

A method's scores are kept as whole numbers, in as few digits as leave everything that is computed from them as it is:
the order at the top, the ties there, and the peaks.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np

from attreval.explorer.gathering import Shown
from attreval.metrics.dynamic_k import PeakRule, local_maxima
from attreval.metrics.registry import STORED

DIGITS = (2, 3, 4, 5, 6, 8, 10, 12, 15)
PLAIN_DIGITS = 4  # with so many or more, peaks are listed rather than told by yet more


def same_top(scores: np.ndarray, kept: np.ndarray, largest_k: int) -> bool:
    """Whether the top k for every k up to the largest, with their ties, are the same."""
    border = np.partition(scores, -largest_k)[-largest_k] if largest_k < len(scores) else scores.min()
    top = scores >= border
    if not top.all() and kept[~top].max() >= kept[top].min():
        return False
    ranks = [np.unique(values[top], return_inverse=True)[1] for values in (scores, kept)]
    return bool((ranks[0] == ranks[1]).all())


def same_shape(scores: np.ndarray, kept: np.ndarray) -> bool:
    """Whether neighbours, the two ends, and the mean are in the same order: then peaks are the same by any rule."""
    steps = (np.diff(scores), np.diff(kept))
    ends = (scores[-1] - scores[0], kept[-1] - kept[0])
    means = (scores - scores.mean(), kept - kept.mean())
    return all((np.sign(a) == np.sign(b)).all() for a, b in (steps, ends, means))


def pack_scores(scores: np.ndarray, largest_k: int, rule: PeakRule) -> list:
    """[unit, values] or [unit, values, peaks]: a score is unit * value, the values whole numbers wherever these do.

    peaks are listed where it would take more than a few digits to tell them from the values.
    """
    largest = float(np.abs(scores).max(initial=0.0))
    if largest == 0:
        return [0, [0] * len(scores)]
    for digits in DIGITS:
        kept = np.rint(scores / largest * 10.0**digits)
        if same_top(scores, kept, largest_k) and (digits >= PLAIN_DIGITS or same_shape(scores, kept)):
            packed = [short(largest / 10.0**digits), kept.astype(np.int64).tolist()]
            return packed if same_shape(scores, kept) else [*packed, local_maxima(scores, rule).tolist()]
    return [1, scores.tolist(), local_maxima(scores, rule).tolist()]


def short(value: float, digits: int = 6) -> float | int | None:
    """A number in so many significant digits; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def pack_layout(shown: Shown) -> list:
    """[texts, offsets, rest]: each part of the text up to where the model stopped reading.

    offsets: a part's tokens as characters skipped and characters covered, in turn. rest: characters not read.
    """
    offsets = shown.tokens.offsets[shown.tokens.content]
    texts, runs, rest = [], [], []
    for part, text in enumerate(shown.instance.segments):
        at, steps = 0, []
        for start, end in offsets[offsets[:, 0] == part, 1:].tolist():
            start = max(start, at)
            end = max(start, end)
            steps += [start - at, end - start]
            at = end
        end = at if re.search(r"\w", text[at:]) else len(text)  # a full stop that is left is no text that was cut
        texts.append(text[:end])
        runs.append(steps)
        rest.append(len(text) - end)
    return [texts, runs, rest]


def pack_shown(shown: Shown, methods: list[str], largest_k: int, rule: PeakRule) -> dict:
    """One instance as JSON values; columns have one entry a method of its run, null where there is none."""
    measures = [name for name in STORED if name in shown.judged]
    known = {name: [short(shown.judged[name].get(m, math.nan)) for m in methods] for name in measures}
    out = {
        "id": shown.instance.id,
        "label": shown.instance.label,
        "predicted": shown.predicted,
        "target": shown.target,
        "p": short(shown.probability, 4),
        "scores": [pack_scores(shown.scores[m], largest_k, rule) if m in shown.scores else None for m in methods],
        "judged": {name: column for name, column in known.items() if any(v is not None for v in column)},
    }
    if shown.pieces:
        out["pieces"] = {
            str(methods.index(m)): [[list(piece[0]), list(piece[1]), short(score, 4)] for piece, score in first]
            for m, first in shown.pieces.items()
        }
    if (shown.marks > 0).any():
        out["people"] = [len(shown.marks), (shown.marks > 0).sum(axis=0).tolist()]
    if shown.evidence:
        out["evidence"] = {game: np.flatnonzero(found).tolist() for game, found in shown.evidence.items()}
    if shown.relations:
        out["relations"] = [[list(first), list(second)] for first, second in shown.relations]
    if shown.facts:
        out["facts"] = {name: short(value) for name, value in shown.facts.items()}
    return out


def to_json(value) -> str:
    """JSON without spaces that can stand in a script element: nothing in it ends the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(
        {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}
    )
