"""What does every judge say of every explanation, on the same models and texts?

The judges of single tokens hear what notebook 03 has stored, on the first instances of a run: what needs no model is
counted, and what needs one (erasure) is asked through the ledger. The judges of tokens, pairs and spans have spoken in
notebooks 07. All values are turned so that higher is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.config import Profile, Run
from attreval.judge import pointing
from attreval.judge.complexity import entropy
from attreval.judge.diagnosticity import METRICS, wins
from attreval.project import Results
from attreval.seeds import generator
from attreval.step import Step, set_threads
from attreval.study.agreeing import common_methods
from attreval.study.cases import borrowed_evidence, with_evidence
from attreval.study.erasing import Case, judge, load_model_once, load_records_once, main_protocol, query_of, sum_up
from attreval.study.reading import PEOPLE, Reading, read
from attreval.study.sample import to_explain
from attreval.study.voting import at_k, at_peaks, peaks_of

TOGETHER = 4  # instances that share batches
COLUMNS = ["task", "model", "seed", "instance", "method", "judge", "value"]
RIVAL = "rival"  # random scores that every method, `random` too, is compared with


@dataclass(frozen=True)
class Judge:
    """One judge of the joint study. better: what its own numbers say is better, and how that became `higher`."""

    title: str
    better: str
    source: str


HIGHER = "higher"
JUDGES = {
    "pointing": Judge("Pointing", HIGHER, "Poerner et al. 2018"),
    "agreement": Judge("Agreement (fixed k)", HIGHER, "Kamp et al. 2023"),
    "agreement_dynamic": Judge("Agreement (dynamic k)", HIGHER, "Kamp et al. 2023"),
    "people": Judge("People (fixed k)", HIGHER, "Kamp et al. 2023"),
    "people_dynamic": Judge("People (dynamic k)", HIGHER, "Kamp et al. 2023"),
    "nc": Judge("NC", HIGHER, "Zhao & Aletras 2023"),
    "ns": Judge("NS", HIGHER, "Zhao & Aletras 2023"),
    "soft_nc": Judge("Soft-NC", HIGHER, "Zhao & Aletras 2023"),
    "soft_ns": Judge("Soft-NS", HIGHER, "Zhao & Aletras 2023"),
    "diagnosticity": Judge("Diagnosticity", HIGHER, "Zhao & Aletras 2023"),
    "complexity": Judge("Simplicity", "lower entropy: 1 - entropy / ln n", "Bhatt et al. 2020"),
    "unified_comprehensiveness": Judge("Comprehensiveness (unified)", HIGHER, "Sun et al. 2024"),
    "unified_sufficiency": Judge("Sufficiency (unified)", "lower: 1 - share of changed classes", "Sun et al. 2024"),
    "people_units": Judge("People (units)", HIGHER, "Sun et al. 2024"),
    "people_interactions": Judge("People (interactions)", HIGHER, "Sun et al. 2024"),
    "simulatability": Judge("Simulatability", HIGHER, "Sun et al. 2024"),
    "unified_complexity": Judge("Simplicity (unified)", "lower entropy: 1 - entropy / ln k", "Sun et al. 2024"),
}
OF_PIECES = tuple(JUDGES)[11:]  # they judge explanations of several types at equal numbers of tokens


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

    values: one row a task, model, seed, instance, method and judge of single tokens, see JUDGES; they may be NaN.
    """
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    text, run = profile.model_dump_json(), (task, model, seed)
    loaded = load_model_once(results, *run, text)
    scorer = Scorer(loaded, profile.explaining_of(task).token_budget)
    records, lent, query = load_records_once(results, *run, text), borrowed_evidence(task), query_of(task)
    methods, protocol = common_methods(records), main_protocol(profile, task)
    end = min(start + TOGETHER, profile.joint.rows_of(task, profile.rows_explained(task, model)))
    part = [with_evidence(instance, lent) for instance in to_explain(profile, task, model)[start:end]]
    rows, asked = [], []
    for instance in part:
        tokens, names = loaded.tokens(instance), (*run, instance.id)
        reading = read(instance, tokens, {m: records[instance.id][m] for m in methods})
        counted = [*count_agreement(reading, methods, profile.agreement), *count_shares(reading, methods)]
        rows += [(*names, *row) for row in counted]
        scores = reading.scores | {RIVAL: generator("joint", *names, RIVAL).standard_normal(len(tokens.content))}
        asked += [
            (instance, tokens, Case("main", m, "own", scores[m], protocol, (*names, m))) for m in (*methods, RIVAL)
        ]
    found = scorer.converse((case.method, judge(tokens, case, query)) for _, tokens, case in asked)
    by_instance: dict[str, dict[str, tuple]] = {}
    for (instance, _, case), (hard, softened) in zip(asked, found, strict=True):
        values = dict(zip(("nc", "ns", "soft_nc", "soft_ns"), sum_up(hard, softened), strict=False))
        by_instance.setdefault(instance.id, {})[case.method] = (hard.target, values)
    for instance in part:
        names, known = (*run, instance.id), by_instance[instance.id]
        own = {m: records[instance.id][m] for m in methods}
        rows += [(*names, *row) for row in compare_with_rival(known, own, methods)]
        rows += [(*names, *row) for row in point_at_evidence(instance, loaded, own, known[RIVAL][0], profile, run)]
    return pd.DataFrame(rows, columns=COLUMNS), scorer.costs


def count_agreement(reading: Reading, methods: list[str], spec) -> Iterator[tuple[str, str, float]]:
    """Agreement of each method with the others (but not with random scores), and with people where they marked any."""
    from attreval.judge.agreement import agreement_of

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
    n = len(reading.pieces)
    for m in methods:
        yield m, "complexity", 1 - entropy(reading.scores[m]) / np.log(n) if n > 1 else float("nan")


def compare_with_rival(known: dict, records: dict, methods: list[str]) -> Iterator[tuple[str, str, float]]:
    """The four measures of erasure, and how many of them a method wins against random scores, ties counting half.

    An explanation of another class than the predicted one is not heard: erasure asks about the predicted class.
    """
    from attreval.judge.protocol import Protocol

    _, rival = known[RIVAL]
    for m in methods:
        target, own = known[m]
        heard = records[m].target == target
        for metric in METRICS:
            yield m, metric, own[metric] if heard else float("nan")
        won = wins([own[x] for x in METRICS], [rival[x] for x in METRICS], Protocol(ties="half"))
        yield m, "diagnosticity", float(won.mean()) if heard else float("nan")


def point_at_evidence(instance, model, records: dict, predicted: int, profile, run: Run):
    """Whether the highest word lies where the evidence must be, where a task says so; random scores in closed form."""
    if not (instance.evidence.classes or instance.evidence.tags or run[0].startswith("manual")):
        return
    rows = pointing.play(
        instance, model.tokens(instance), predicted, records, profile.pointing.ties, profile.pointing.affix, run
    )
    for row in rows:
        if row["metric"] in ("hybrid", "manual", "hit_target") and row["method"] in records:
            yield row["method"], "pointing", row["hit"]
