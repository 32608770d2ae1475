"""What does the explorer's page hold? One profile's texts with their scores, the tables' means beside them, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
import pandas as pd

from attreval import corpora
from attreval.config import Profile, Run
from attreval.core.project import Results
from attreval.explain import METHODS
from attreval.explorer.choosing import MOST, take_turns
from attreval.explorer.gathering import FACTS, RUN, Shown, find_sources, read_judged, read_shown, read_table
from attreval.explorer.packing import pack_layout, pack_shown, short, to_json
from attreval.metrics.dynamic_k import PEAK_RULES
from attreval.metrics.registry import JUDGES, STORED
from attreval.papers.kamp2023.readings import PEOPLE

MOST_BYTES = 2_700_000  # of data; the page must stay under 3 MB with everything else in it


def gather(results: Results, most: int = MOST, most_bytes: int = MOST_BYTES) -> dict:
    """The page's data from what a run has left; without instances where nothing was explained.

    The settings are those that the manifest says the results were made with.
    """
    manifest = results.root / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    about = {name: str(facts.get(name) or "") for name in ("profile", "attreval", "date")}
    about["date"] = about["date"][:10]
    about["profile"] = about["profile"] or results.root.name
    about["commit"] = str(facts.get("commit") or "")[:12]
    if not facts.get("settings"):
        return assemble([], {}, about, Profile.model_construct().agreement, [])
    profile = Profile.model_validate(facts["settings"])
    sources, gaps = find_sources(results, profile)
    counts = {source.run: len(source.instances) for source in sources}
    turns = take_turns(counts, most)
    shown: dict[tuple[Run, int], Shown] = {}
    values = read_judged(results)
    for source in sources:
        places = [place for run, place in turns if run == source.run]
        found = {s.instance.id: s for s in read_shown(results, profile, source, places, values)}
        kept = {(source.run, at): source.instances[at].id for at in places}
        shown |= {turn: found[name] for turn, name in kept.items() if name in found}
    fitting = [shown[turn] for turn in turns if turn in shown]
    return assemble(fitting, read_means(results, values), about, profile.agreement, gaps, counts, most_bytes)


def assemble(
    shown: Iterable[Shown],
    means: dict[Run, dict],
    about: dict[str, str],
    agreement,
    gaps: list[str],
    counts: dict[Run, int] | None = None,
    most_bytes: int = MOST_BYTES,
) -> dict:
    """Data of a page from instances, taken in order while there is room; grouped by run, with the tables' means.

    agreement: AgreementSpec. counts: how many instances each run has explained.
    """
    shown, counts = list(shown), counts or {}
    runs: dict[Run, dict] = {run: {} for run in counts}
    for one in shown:
        runs.setdefault(one.run, {})
    methods = {run: [m for m in METHODS if any(m in s.scores for s in shown if s.run == run)] for run in runs}
    rule, layouts = PEAK_RULES[agreement.peaks], {}
    packed: dict[Run, list[dict]] = {run: [] for run in runs}
    spent = 0
    for one in shown:
        layout = to_json(pack_layout(one))
        item = pack_shown(one, methods[one.run], agreement.largest_k, rule)
        size = len(to_json(item).encode()) + (0 if layout in layouts else len(layout.encode()))
        if spent + size > most_bytes:
            break
        spent += size
        item["layout"] = layouts.setdefault(layout, len(layouts))
        packed[one.run].append(item)
    names = list(dict.fromkeys(m for run in runs for m in methods[run]))
    tasks = {run[0]: corpora.TASKS[run[0]] for run in runs if packed[run]}
    return {
        "about": about,
        "settings": {
            "largest_k": agreement.largest_k,
            "fixed_k": min(agreement.fixed_k, agreement.largest_k),
            "rule": {"name": agreement.peaks} | {name: getattr(rule, name) for name in rule.__dataclass_fields__},
            "people": agreement.people,
            "ties": agreement.ties,
        },
        "judges": JUDGES,
        "measures": [
            {"name": name, "judge": m.judge, "title": m.title, "better": m.sign, "about": m.about}
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
            | {"methods": methods[run], "explained": counts.get(run, len(packed[run])), "shown": packed[run]}
            | pack_means(means.get(run, {}), methods[run])
            for run in runs
            if packed[run]
        ],
        "gaps": gaps,
    }


def read_means(results: Results, values: pd.DataFrame) -> dict[Run, dict]:
    """What the tables say of each run over all its instances, with how many these are.

    judged: measure -> method -> (mean, instances). pairs: (voter, voter) -> (agreement by k, instances). dynamic: the
    same at dynamic k. facts: means of what is said of a text as a whole.

    values: of read_judged.
    """
    out: dict[Run, dict] = {}
    judged = values.groupby([*RUN, "measure", "method"], sort=False).value.agg(["mean", "size"])
    for (*run, measure, method), row in judged.iterrows():
        of = out.setdefault(tuple(run), {}).setdefault("judged", {}).setdefault(measure, {})
        of[method] = (float(row["mean"]), int(row["size"]))
    for name, voters in (("agreement_at_k", ("method_a", "method_b")), ("with_people", ("method", None))):
        for row in read_table(results.tables / f"05_kamp2023_{name}.csv").to_dict("records"):
            pair = tuple(row[voter] if voter else PEOPLE for voter in voters)
            of = out.setdefault(tuple(row[n] for n in RUN), {}).setdefault("pairs", {})
            by_k, _ = of.setdefault(pair, ({}, int(row["instances"])))
            by_k[int(row["k"])] = row["agreement"]
    for row in read_table(results.tables / "05_kamp2023_dynamic.csv").to_dict("records"):
        of = out.setdefault(tuple(row[n] for n in RUN), {}).setdefault("dynamic", {})
        of[row["a"], row["b"]] = (row["dynamic"], int(row["instances"] - row["undefined"]))
    sentences = read_table(results.tables / "05_kamp2023_sentences.csv")
    for run, part in sentences.groupby(RUN, sort=False) if len(sentences) else ():
        out.setdefault(run, {})["facts"] = part[list(FACTS)].mean().dropna().to_dict()
    return out


def pack_means(means: dict, methods: list[str]) -> dict:
    """The tables' means by the places of methods; pairs as `3-7`, with people as `3-people`."""

    def key(pair: tuple[str, str]) -> str | None:
        if any(voter != PEOPLE and voter not in methods for voter in pair):
            return None
        places = sorted(methods.index(voter) for voter in pair if voter != PEOPLE)
        return "-".join([*map(str, places), *([PEOPLE] if PEOPLE in pair else [])])

    judged = {
        name: [[short(of[m][0]), of[m][1]] if m in of else None for m in methods]
        for name, of in means.get("judged", {}).items()
        if name in STORED
    }
    pairs = {
        key(pair): [[short(by_k.get(k, np.nan)) for k in range(1, max(by_k) + 1)], n]
        for pair, (by_k, n) in means.get("pairs", {}).items()
    }
    dynamic = {key(pair): [short(value), n] for pair, (value, n) in means.get("dynamic", {}).items()}
    for found in (pairs, dynamic):
        found.pop(None, None)
    facts = {name: short(value) for name, value in means.get("facts", {}).items()}
    return {"means": judged, "pairs": pairs, "dynamic": dynamic, "facts": facts}
