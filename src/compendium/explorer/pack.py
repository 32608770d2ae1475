"""Explained texts as JSON in little space: which are taken, shared token lists, scores cut to what matters.

A method's scores are kept as whole numbers, in as few digits as leave everything that is computed from them as it is:
the order at the top, the ties there, and the peaks.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from attreval.methods import METHODS
from attreval.metrics import STORED
from attreval.metrics.dynamic_k import PEAK_RULES, PeakRule, local_maxima
from attreval.metrics.metric import JUDGES
from compendium import corpora
from compendium.config import AgreementSpec, Run
from compendium.explorer.read import RUN, ExplainedText
from compendium.papers.kamp2023.readings import PEOPLE

MOST_BYTES = 2_700_000  # of data; the page must stay under 3 MB with everything else in it
DIGITS = (2, 3, 4, 5, 6, 8, 10, 12, 15)
PLAIN_DIGITS = 4  # with so many or more, peaks are listed rather than kept by yet more digits


def _same_top(scores: np.ndarray, kept: np.ndarray, largest_k: int) -> bool:
    """Whether the top k for every k up to the largest, with their ties, are the same."""
    border = np.partition(scores, -largest_k)[-largest_k] if largest_k < len(scores) else scores.min()
    top = scores >= border
    if not top.all() and kept[~top].max() >= kept[top].min():
        return False
    ranks = [np.unique(values[top], return_inverse=True)[1] for values in (scores, kept)]
    return bool((ranks[0] == ranks[1]).all())


def _same_shape(scores: np.ndarray, kept: np.ndarray) -> bool:
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
        if _same_top(scores, kept, largest_k) and (digits >= PLAIN_DIGITS or _same_shape(scores, kept)):
            packed = [_short(largest / 10.0**digits), kept.astype(np.int64).tolist()]
            return packed if _same_shape(scores, kept) else [*packed, local_maxima(scores, rule).tolist()]
    return [1, scores.tolist(), local_maxima(scores, rule).tolist()]


def _short(value: float, digits: int = 6) -> float | int | None:
    """A number in so many significant digits; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def pack_layout(text: ExplainedText) -> list:
    """[texts, offsets, rest]: each part of the text up to where the model stopped reading.

    offsets: a part's tokens as characters skipped and characters covered, in turn. rest: characters not read.
    """
    offsets = text.tokens.offsets[text.tokens.content]
    texts, runs, rest = [], [], []
    for part, segment in enumerate(text.instance.segments):
        at, steps = 0, []
        for start, end in offsets[offsets[:, 0] == part, 1:].tolist():
            start = max(start, at)
            end = max(start, end)
            steps += [start - at, end - start]
            at = end
        end = at if re.search(r"\w", segment[at:]) else len(segment)  # a full stop that is left is no text that was cut
        texts.append(segment[:end])
        runs.append(steps)
        rest.append(len(segment) - end)
    return [texts, runs, rest]


def pack_text(text: ExplainedText, methods: list[str], largest_k: int, rule: PeakRule) -> dict:
    """One text as JSON values; columns have one entry a method of its run, null where there is none."""
    columns = {
        name: [_short(text.metrics[name].get(method)) for method in methods] for name in STORED if name in text.metrics
    }
    out = {
        "id": text.instance.id,
        "label": text.instance.label,
        "predicted": text.predicted,
        "target": text.target,
        "probability": _short(text.probability, 4),
        "scores": [pack_scores(text.scores[m], largest_k, rule) if m in text.scores else None for m in methods],
        "metrics": {name: column for name, column in columns.items() if any(v is not None for v in column)},
    }
    if text.features:
        out["features"] = {
            str(methods.index(m)): [[list(feature[0]), list(feature[1]), _short(score, 4)] for feature, score in first]
            for m, first in text.features.items()
        }
    if (text.marks > 0).any():
        out["people"] = [len(text.marks), (text.marks > 0).sum(axis=0).tolist()]
    if text.evidence:
        out["evidence"] = {game: np.flatnonzero(found).tolist() for game, found in text.evidence.items()}
    if text.relations:
        out["relations"] = [[list(first), list(second)] for first, second in text.relations]
    if text.text_agreement:
        out["text_agreement"] = {name: _short(value) for name, value in text.text_agreement.items()}
    return out


def pack_means(means: dict, methods: list[str]) -> dict:
    """The tables' means (see read.read_means) by the places of methods; pairs as `3-7`, with people as `3-people`."""

    def pack_pairs(found: dict, pack_value) -> dict:
        known = {pair: value for pair, value in found.items() if set(pair) <= {*methods, PEOPLE}}
        return {key(pair): [pack_value(value), n] for pair, (value, n) in known.items()}

    def key(pair: tuple[str, str]) -> str:
        places = sorted(methods.index(voter) for voter in pair if voter != PEOPLE)
        return "-".join([*map(str, places), *([PEOPLE] if PEOPLE in pair else [])])

    def by_k(values: dict[int, float]) -> list:
        return [_short(values.get(k)) for k in range(1, max(values) + 1)]

    return {
        "means": {
            name: [[_short(of[m][0]), of[m][1]] if m in of else None for m in methods]
            for name, of in means.get("metrics", {}).items()
            if name in STORED
        },
        "pairs": pack_pairs(means.get("pairs", {}), by_k),
        "dynamic": pack_pairs(means.get("dynamic", {}), _short),
        "text_agreement": {name: _short(value) for name, value in means.get("text_agreement", {}).items()},
    }


def pack_page(
    texts: Sequence[ExplainedText],
    means: Mapping[Run, dict],
    about: dict[str, str],
    agreement: AgreementSpec,
    gaps: list[str],
    counts: Mapping[Run, int] | None = None,
    most_bytes: int = MOST_BYTES,
) -> dict:
    """Data of a page from texts, taken in order while there is room; grouped by run, with the tables' means.

    gaps: what is missing, in words. counts: how many texts each run has explained.
    """
    counts = counts or {}
    runs = list(dict.fromkeys([*counts, *(text.run for text in texts)]))
    methods = {run: [m for m in METHODS if any(m in t.scores for t in texts if t.run == run)] for run in runs}
    rule = PEAK_RULES[agreement.peaks]
    layouts: dict[str, int] = {}
    packed: dict[Run, list[dict]] = {run: [] for run in runs}
    spent = 0
    for text in texts:
        layout = to_json(pack_layout(text))
        item = pack_text(text, methods[text.run], agreement.largest_k, rule)
        spent += len(to_json(item).encode()) + (0 if layout in layouts else len(layout.encode()))
        if spent > most_bytes:
            break
        item["layout"] = layouts.setdefault(layout, len(layouts))
        packed[text.run].append(item)
    names = list(dict.fromkeys(m for run in runs for m in methods[run]))
    tasks = {run[0]: corpora.TASKS[run[0]] for run in runs if packed[run]}
    return {
        "about": about,
        "settings": {
            "largest_k": agreement.largest_k,
            "fixed_k": min(agreement.fixed_k, agreement.largest_k),
            "rule": {"name": agreement.peaks} | asdict(rule),
            "people": agreement.people,
            "ties": agreement.ties,
        },
        "judges": JUDGES,
        "metrics": [
            {"name": name, "judge": m.judge, "title": m.title, "higher_is_better": m.higher_is_better, "about": m.about}
            for name, m in STORED.items()
        ],
        "methods": {
            m: {"title": METHODS[m].title, "signed": METHODS[m].signed, "level": METHODS[m].level} for m in names
        },
        "tasks": {
            n: {"title": t.title, "short": t.short, "labels": t.labels, "parts": t.segments} for n, t in tasks.items()
        },
        "layouts": [json.loads(layout) for layout in layouts],
        "runs": [
            dict(zip(RUN, run, strict=True))
            | {"methods": methods[run], "explained": counts.get(run, len(packed[run])), "texts": packed[run]}
            | pack_means(means.get(run, {}), methods[run])
            for run in runs
            if packed[run]
        ],
        "gaps": gaps,
    }


def take_turns(counts: Mapping[Run, int], most: int) -> list[tuple[Run, int]]:
    """(run, place in the run's table) of the instances to show, in the order in which they are taken.

    Tasks take turns, and within a task its runs do, each with its next instance, until `most` are taken or none is
    left; tables lie in a random order, so the first instances of a run are a random sample. counts: by run.
    """
    taken = dict.fromkeys(counts, 0)
    of_task = Counter({run[0]: 0 for run in counts})
    out: list[tuple[Run, int]] = []
    while len(out) < most and (left := [run for run in counts if taken[run] < counts[run]]):
        open_tasks = {run[0] for run in left}
        task = min((name for name in of_task if name in open_tasks), key=of_task.__getitem__)  # the first of equals
        run = min((run for run in left if run[0] == task), key=taken.__getitem__)
        out.append((run, taken[run]))
        taken[run] += 1
        of_task[task] += 1
    return out


def to_json(value) -> str:
    """JSON without spaces that can stand in a script element: nothing in it ends the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(
        {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}
    )
