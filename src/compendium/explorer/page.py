"""The explorer: a page of explained texts, any two methods side by side, that needs nothing else.

Texts take little space: they share token lists, and a method's scores are kept as whole numbers, in
as few digits as leave everything that is computed from them as it is: the order at the top, the
ties there, and the peaks.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib import resources
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import numpy as np
from scipy.stats import rankdata

from attreval.core.tables import write_text
from attreval.methods import METHODS
from attreval.metrics import METRICS
from attreval.metrics.dynamic_k import PEAK_RULES, PeakRule, local_maxima
from attreval.metrics.metric import JUDGES, NO_JUDGE
from compendium import corpora, project
from compendium.config import AgreementSpec, Profile, Run, make_known
from compendium.corpora.tasks import is_ours
from compendium.explorer.read import (
    RUN,
    ExplainedText,
    instance_values,
    read_means,
    runs_to_show,
    take_turns,
    texts_of_run,
)
from compendium.papers.kamp2023.readings import PEOPLE
from compendium.project import Results

MOST_BYTES = 2_700_000  # of data; the page must stay under 3 MB with everything else in it
DIGITS = (2, 3, 4, 5, 6, 8, 10, 12, 15)
PLAIN_DIGITS = 4  # with so many or more, peaks are listed rather than kept by yet more digits
PAGE = "explorer.html"
COMMITTED = "explorer.json"
MOST_TEXTS = 200
OF_METRIC = ("judge", "title", "higher_is_better", "about")
OF_METHOD = ("title", "signed", "level")
OTHERWISE = ("pointing", "people", "people_dynamic")  # shown game by game, or computed on the page
JOINT = [name for name, metric in METRICS.items() if metric.joint and name not in OTHERWISE]
SHOWN = {m.stored or name: m for name, m in METRICS.items() if m.stored or name in JOINT}
SCRIPTS = ("agreement.js", "data.js", "drawing.js", "panels.js", "metric_table.js", "explorer.js")


def write_page(results: Results) -> Path | None:
    """Write explorer.html of a profile's results into the project folder, for both routes.

    Returns None, and writes no page, where no explained text is there. A committed run has the data
    of its texts that may be shown.
    """
    icon = project.home() / "paper" / "favicon.svg"
    page = project.home() / PAGE
    committed = results.root / COMMITTED
    data = project.read_json(committed) if committed.exists() else gather_page(results)
    page.unlink(missing_ok=True)
    if not data["runs"]:
        return None
    made = explorer_page(data, icon.read_text(encoding="utf-8") if icon.exists() else "")
    write_text(page, made)
    return page


def explorer_page(data: dict, icon: str = "") -> str:
    """The page for some data (see pack_page), with styles and scripts inside. icon: as SVG."""
    files = resources.files("compendium.explorer") / "js"
    page = (files / "page.html").read_text(encoding="utf-8")
    scripts = [(files / name).read_text(encoding="utf-8") for name in SCRIPTS]
    about = data["about"]
    words = {"profile": "Profile", "attreval": "attreval", "commit": "commit", "date": "results of"}
    told = [f"{word} {about[name]}" for name, word in words.items() if about.get(name)]
    parts = {
        "icon": "data:image/svg+xml," + quote(icon) if icon else "data:,",
        "style": (files / "explorer.css").read_text(encoding="utf-8"),
        "print": (files / "print.css").read_text(encoding="utf-8"),
        "script": "".join(scripts),
        "made": escape(", ".join(told) + "."),
        "data": to_json(data),  # last: nothing is looked for inside it
    }
    for name, text in parts.items():
        page = page.replace(f"[[{name}]]", text, 1)
    return page


def gather_page(results: Results, everything: bool = True) -> dict:
    """The page's data from what a run has left; without texts where nothing was explained.

    everything: or only what was written for this study, which may be shown to everybody.
    The settings are those that the manifest says the results were made with; what has no place in
    today's schema is passed over, since a setting may have been renamed since.
    """
    facts = results.facts()
    about = {
        "profile": str(facts.get("profile") or results.root.name),
        "attreval": str(facts.get("attreval") or ""),
        "date": str(facts.get("date") or "")[:10],
        "commit": str(facts.get("commit") or "")[:12],
    }
    if not facts.get("settings"):
        return pack_page([], {}, about, AgreementSpec(), [])
    make_known(facts["settings"])
    profile = Profile.model_validate(facts["settings"], extra="ignore")
    if not everything:
        ours = {n: task for n, task in profile.tasks.items() if is_ours(corpora.TASKS[n])}
        profile = profile.model_copy(update={"tasks": ours})
    runs, gaps = runs_to_show(results, profile)
    counts = {run: len(instances) for run, instances in runs.items()}
    turns = take_turns(counts, MOST_TEXTS)
    values = instance_values(results, profile.only_shown)
    found = {}
    for run, instances in runs.items():
        chosen = [instances[place] for other, place in turns if other == run]
        for text in texts_of_run(results, profile, run, chosen, values):
            found[run, text.instance.id] = text
    names = [(run, runs[run][place].id) for run, place in turns]
    texts = [found[name] for name in names if name in found]
    means = read_means(results, values, runs) if runs else {}
    return pack_page(texts, means, about, profile.agreement, gaps, counts)


def _same_top(scores: np.ndarray, kept: np.ndarray, largest_k: int) -> bool:
    """Whether the top k for every k up to the largest, with their ties, are the same."""
    top = scores >= np.sort(scores)[-largest_k:].min()
    if not top.all() and kept[~top].max() >= kept[top].min():
        return False
    return (rankdata(scores[top], "dense") == rankdata(kept[top], "dense")).all()


def _same_shape(scores: np.ndarray, kept: np.ndarray) -> bool:
    """Whether neighbours, ends and mean are in the same order: then peaks are, too, by any rule."""

    def signs(values: np.ndarray) -> np.ndarray:
        ends = values[-1] - values[0]
        return np.sign([*np.diff(values), ends, *(values - values.mean())])

    return (signs(scores) == signs(kept)).all()


def pack_scores(scores: np.ndarray, largest_k: int, rule: PeakRule) -> list:
    """[unit, values] or [unit, values, peaks]: a score is unit * value, a whole number if possible.

    Peaks are listed where it would take more than a few digits to tell them from the values.
    """
    largest = float(np.abs(scores).max(initial=0.0))
    if largest == 0:
        return [0, [0] * len(scores)]
    for digits in DIGITS:
        kept = np.rint(scores / largest * 10.0**digits)
        alike = _same_shape(scores, kept)
        if _same_top(scores, kept, largest_k) and (digits >= PLAIN_DIGITS or alike):
            packed = [_short(largest / 10.0**digits), kept.astype(np.int64).tolist()]
            return packed if alike else [*packed, local_maxima(scores, rule).tolist()]
    return [1, scores.tolist(), local_maxima(scores, rule).tolist()]


def _short(value: float | None, digits: int = 6) -> float | int | None:
    """A number in so many significant digits; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def pack_layout(text: ExplainedText) -> list:
    """[texts, offsets, rest]: each part of the text up to where the model stopped reading.

    offsets: a part's tokens as characters skipped and characters covered, in turn. rest: characters
    not read.
    """
    offsets = text.tokens.offsets[text.tokens.content]
    texts = []
    runs = []
    rest = []
    for part, segment in enumerate(text.instance.segments):
        at = 0
        steps = []
        for start, end in offsets[offsets[:, 0] == part, 1:].tolist():
            start = max(start, at)
            end = max(start, end)
            steps += [start - at, end - start]
            at = end
        # a full stop that is left is no text that was cut
        end = at if re.search(r"\w", segment[at:]) else len(segment)
        texts.append(segment[:end])
        runs.append(steps)
        rest.append(len(segment) - end)
    return [texts, runs, rest]


def pack_text(text: ExplainedText, methods: list[str], largest_k: int, rule: PeakRule) -> dict:
    """One text as JSON values; columns have an entry for each method of its run, or null."""
    columns = {}
    for name in SHOWN:
        column = [_short(text.metrics.get(name, {}).get(method)) for method in methods]
        if any(value is not None for value in column):
            columns[name] = column
    out = {"id": text.instance.id, "label": text.instance.label}
    out |= _pick(text, "predicted", "target")
    out["probability"] = _short(text.probability, 4)
    scores = [text.scores.get(method) for method in methods]
    out["scores"] = [one if one is None else pack_scores(one, largest_k, rule) for one in scores]
    out["metrics"] = columns
    features: dict[str, list] = {}
    for method, first in text.features.items():
        packed = [[*map(list, feature), _short(score, 4)] for feature, score in first]
        features[str(methods.index(method))] = packed
    if features:
        out["features"] = features
    marked = text.marks > 0
    if marked.any():
        out["people"] = [len(marked), marked.sum(axis=0).tolist()]
    if text.evidence:
        games = text.evidence.items()
        out["evidence"] = {game: np.flatnonzero(found).tolist() for game, found in games}
    if text.relations:
        out["relations"] = [[list(first), list(second)] for first, second in text.relations]
    if text.text_agreement:
        out["text_agreement"] = {name: _short(value) for name, value in text.text_agreement.items()}
    return out


def pack_means(means: dict, methods: list[str]) -> dict:
    """The tables' means (see read.read_means) by places of methods; pairs as `3-7`, `3-people`."""

    def pack_pairs(kind: str, pack_value: Callable) -> dict:
        packed = {}
        for pair, (value, n) in means.get(kind, {}).items():
            if {*pair} <= {*methods, PEOPLE}:
                packed[key(pair)] = [pack_value(value), n]
        return packed

    def key(pair: tuple[str, str]) -> str:
        places = sorted(methods.index(voter) for voter in pair if voter != PEOPLE)
        named = [PEOPLE] if PEOPLE in pair else []
        return "-".join([*map(str, places), *named])

    def by_k(values: dict[int, float]) -> list:
        return [_short(values.get(k)) for k in range(1, max(values) + 1)]

    by_metric = {}
    for name, of in means.get("metrics", {}).items():
        if name in SHOWN:
            found = [of.get(method) for method in methods]
            by_metric[name] = [pair and [_short(pair[0]), pair[1]] for pair in found]
    alike = means.get("text_agreement", {})
    return {
        "means": by_metric,
        "pairs": pack_pairs("pairs", by_k),
        "dynamic": pack_pairs("dynamic", _short),
        "text_agreement": {name: _short(value) for name, value in alike.items()},
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
    """Data of a page from texts, in order while there is room, by run with the tables' means.

    Args:
        texts: what is shown.
        means: of the tables, by run.
        about: the run, in words.
        agreement: how the run measured it.
        gaps: what is missing, in words.
        counts: how many texts each run has explained.
        most_bytes: of all texts.
    """
    counts = counts or {}
    runs = list(dict.fromkeys([*counts, *(text.run for text in texts)]))
    explained: dict[Run, set[str]] = {run: set() for run in runs}
    for text in texts:
        explained[text.run].update(text.scores)
    methods = {run: [name for name in METHODS if name in names] for run, names in explained.items()}
    rule = PEAK_RULES[agreement.peaks]
    layouts: dict[str, int] = {}
    packed: dict[Run, list[dict]] = {run: [] for run in runs}
    spent = 0
    for text in texts:
        layout = to_json(pack_layout(text))
        item = pack_text(text, methods[text.run], agreement.largest_k, rule)
        spent += len(to_json(item).encode())
        if layout not in layouts:
            spent += len(layout.encode())
        if spent > most_bytes:
            break
        item["layout"] = layouts.setdefault(layout, len(layouts))
        packed[text.run].append(item)
    used = dict.fromkeys(chain.from_iterable(methods.values()))
    tasks = {}
    shown = []
    for run in runs:
        if packed[run]:
            task = corpora.TASKS[run[0]]
            tasks[run[0]] = _pick(task, "title", "short", "labels") | {"parts": task.segments}
            about_run = dict(zip(RUN, run, strict=True)) | {"methods": methods[run]}
            about_run |= {"explained": counts.get(run, len(packed[run])), "texts": packed[run]}
            shown.append(about_run | pack_means(means.get(run, {}), methods[run]))
    return {
        "about": about,
        "settings": {
            "rule": {"name": agreement.peaks} | asdict(rule),
            **_pick(agreement, "largest_k", "fixed_k", "people", "ties"),
        },
        "judges": {**JUDGES, "": NO_JUDGE},
        "metrics": [{"name": name} | _pick(SHOWN[name], *OF_METRIC) for name in SHOWN],
        "methods": {name: _pick(METHODS[name], *OF_METHOD) for name in used},
        "tasks": tasks,
        "layouts": [json.loads(layout) for layout in layouts],
        "runs": shown,
        "gaps": gaps,
    }


def _pick(record: object, *names: str) -> dict:
    return {name: getattr(record, name) for name in names}


def to_json(value: object) -> str:
    """JSON without spaces that can stand in a script element: nothing in it ends the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
