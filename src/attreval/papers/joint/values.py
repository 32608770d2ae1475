"""What does every judge say of every explanation, on the same models and texts?

The judges of single tokens hear what notebook 03 has stored, on the first instances of a run: what needs no model is
counted, what notebooks 04 and 06 have kept is read, and what nobody has asked the model is asked through the ledger.
The judges of tokens, pairs and spans have spoken in notebooks 07. All values are turned so that higher is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.config import Profile, Run
from attreval.core.project import Results
from attreval.core.tables import read_values
from attreval.metrics.diagnosticity import diagnosticity
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import FAITHFULNESS, METRICS
from attreval.metrics.unified.complexity import simplicity
from attreval.papers.common.evidence import borrowed_evidence, with_evidence
from attreval.papers.common.runs import common_methods, load_model_once, load_records_once
from attreval.papers.common.sample import to_explain
from attreval.papers.kamp2023.readings import PEOPLE, Reading, read
from attreval.papers.kamp2023.voting import at_k, at_peaks, peaks_of
from attreval.papers.zhao2023.erasure import Case, judge, main_protocol, query_of, random_scores, sum_up
from attreval.workflow.step import Step, set_threads

TOGETHER = 4  # instances that share batches
COLUMNS = ["task", "model", "seed", "instance", "method", "judge", "value"]
STORED_BY = ("04_poerner2018", "06_zhao2023")
GAMES = ("hybrid", "manual", "hit_target")  # what notebook 04 keeps of single instances -> pointing
ASKED = ("nc", "ns", "soft_nc", "soft_ns")  # in the order of erasure.sum_up
STORED = dict.fromkeys(GAMES, "pointing") | {METRICS[name].stored: name for name in ASKED}
JOINT = {name: metric for name, metric in METRICS.items() if metric.joint}


def joint_runs(profile: Profile) -> list[Run]:
    """The explained runs that the study takes in."""
    runs = profile.explained_runs()
    return [run for run in runs if profile.joint.rows_of(run[0], profile.rows_explained(*run[:2]))]


def jobs_of(step: Step) -> list[tuple]:
    """What `hear_some` is to be called with, a few instances each."""
    profile = step.profile
    return [
        (step.results, profile, *run, start)
        for run in joint_runs(profile)
        for start in range(0, profile.joint.rows_of(run[0], profile.rows_explained(*run[:2])), TOGETHER)
    ]


def hear_some(results: Results, profile: Profile, task: str, model: str, seed: int, start: int):
    """(values, costs by account) of the instances from `start`.

    values: one row a task, model, seed, instance, method and judge of single tokens, see JOINT; they may be NaN.
    """
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    text, run, explained = profile.model_dump_json(), (task, model, seed), profile.rows_explained(task, model)
    loaded = load_model_once(results, *run, text)
    scorer = Scorer(loaded, profile.explaining_of(task).token_budget)
    records, lent, said = load_records_once(results, *run, text), borrowed_evidence(task), read_said(results, *run)
    stored, asked = common_methods(records), profile.joint.asked_of(task, explained)
    methods = stored if "random" in stored else ["random", *stored]
    end = min(start + TOGETHER, profile.joint.rows_of(task, explained))
    rows, talks = [], []
    for at, instance in enumerate(to_explain(profile, task, model)[start:end], start):
        tokens, names, known = loaded.tokens(instance), (*run, instance.id), said.get(instance.id, {})
        reading = read(with_evidence(instance, lent), tokens, {m: records[instance.id][m] for m in stored})
        reading.scores.setdefault("random", random_scores(tokens, *names))  # the floor, where it did not explain
        counted = [*count_agreement(reading, methods, profile.agreement), *count_shares(reading, methods)]
        rows += [(*names, *row) for row in (*counted, *pointed(known, methods))]
        wanted = list_cases(profile, names, reading.scores, known if is_told(profile, task) else {}, at < asked)
        talks.append((instance.id, known, wanted, tokens))
    every = [(case, tokens) for _, _, wanted, tokens in talks for case in wanted]
    query = query_of(task)
    found = iter(scorer.converse((case.method, judge(tokens, case, query)) for case, tokens in every))
    for name, known, wanted, _ in talks:
        values = {m: dict(known.get(m, {})) if is_told(profile, task) else {} for m in methods}
        for case, (hard, softened) in zip(wanted, found, strict=False):
            heard = next(iter(records[name].values())).target == hard.target
            fresh = dict(zip(ASKED, sum_up(hard, softened), strict=False))
            values[case.method] = {k: v if heard else float("nan") for k, v in (fresh | values[case.method]).items()}
        rows += [(*run, name, *row) for row in compare_with_random(values, methods)]
    return pd.DataFrame(rows, columns=COLUMNS), scorer.costs


def is_told(profile: Profile, task: str) -> bool:
    """Whether what notebook 06 says of a task is of the explained class: it asks about the predicted one."""
    return profile.explaining_of(task).target == "predicted"


@lru_cache(maxsize=4)
def read_said(results: Results, task: str, model: str, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """Instance -> method -> judge -> value: what notebooks 04 and 06 have kept of a run."""
    paths = [path for name in STORED_BY if (path := results.instances / f"{name}.parquet").exists()]
    every = read_values(*paths)
    chosen = every[
        (every.task == task) & (every.model == model) & (every.seed == seed) & every.measure.isin(list(STORED))
    ]
    out: dict[str, dict[str, dict[str, float]]] = {}
    for row in chosen.itertuples():
        out.setdefault(row.instance, {}).setdefault(row.method, {})[STORED[row.measure]] = row.value
    return out


def list_cases(profile: Profile, names: tuple, scores: dict, known: dict, asked: bool) -> list[Case]:
    """What the model is still to be asked about one instance; softly alone where hard erasure is known.

    Soft erasure needs the whole and the erased text too: they are asked with one ratio, the same for every method.
    """
    protocol = main_protocol(profile, names[0])
    softly, cases = replace(protocol, ratios=(1.0,)), []
    for m, values in scores.items() if asked else ():
        there = known.get(m, {})
        if any(metric not in there for metric in FAITHFULNESS):
            hard = all(metric in there for metric in ("nc", "ns"))
            cases.append(Case("main", m, "own", values, softly if hard else protocol, (*names, m)))
    return cases


def pointed(known: dict, methods: list[str]) -> Iterator[tuple[str, str, float]]:
    """Whether the highest word lies where the evidence must be, as notebook 04 says."""
    for m in methods:
        if "pointing" in known.get(m, {}):
            yield m, "pointing", known[m]["pointing"]


def count_agreement(reading: Reading, methods: list[str], spec) -> Iterator[tuple[str, str, float]]:
    """Agreement of each method with the others (but not with random scores), and with people where they marked any."""
    from attreval.metrics.agreement import agreement_of

    peaks = {m: peaks_of(reading, m, spec) for m in methods}
    fixed, dynamic = ({m: [] for m in methods} for _ in range(2))
    for a, b in combinations(methods, 2):
        pair = at_k(reading, [a, b], spec.fixed_k, spec), agreement_of([peaks[a], peaks[b]])
        for m, other in ((a, b), (b, a)):
            if other != "random":
                fixed[m].append(pair[0])
                dynamic[m].append(pair[1])
    for m in methods:
        yield m, "agreement", mean_of(fixed[m])
        yield m, "agreement_dynamic", mean_of(dynamic[m])
        if reading.marked:
            yield m, "people", at_k(reading, [m, PEOPLE], spec.fixed_k, spec)
            yield m, "people_dynamic", at_peaks(reading, [m, PEOPLE], spec)


def mean_of(values: list[float]) -> float:
    """The mean of what is a number; NaN where nothing is."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def count_shares(reading: Reading, methods: list[str]) -> Iterator[tuple[str, str, float]]:
    """How few tokens hold a method's scores: 1 for one token, 0 where all count alike; NaN for a text of one token."""
    for m in methods:
        yield m, "simplicity", simplicity(reading.scores[m])


def compare_with_random(values: dict, methods: list[str]) -> Iterator[tuple[str, str, float]]:
    """The four measures of erasure, and how many of them a method wins against random scores, a tie counting half.

    Diagnosticity needs all four. Random scores win half against others of their kind. A measure that not every method
    has on this text is left out: methods are compared on the same texts.
    """
    known = [x for x in FAITHFULNESS if all(not np.isnan(values[m].get(x, np.nan)) for m in methods)]
    for m in methods:
        for metric in known:
            yield m, metric, values[m][metric]
        if "random" in methods and len(known) == len(FAITHFULNESS):
            own, rival = ([values[x][metric] for metric in FAITHFULNESS] for x in (m, "random"))
            yield m, "diagnosticity", 0.5 if m == "random" else diagnosticity(own, rival, Protocol(ties="half"))
