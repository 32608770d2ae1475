"""Joint scores: what every metric gives every explanation of the same models and texts, higher is better.

Explanations of tokens: agreement and simplicity are computed from what notebook 03 has stored, what notebooks 04 and 06
have kept of single texts is read, and the erasure that nobody has asked the model for yet is asked through the ledger.
Explanations of several types: what notebook 07_sun2024 has kept of single texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.records import Tokens
from attreval.core.tables import read_values
from attreval.metrics.agreement import agreement_of
from attreval.metrics.diagnosticity import diagnosticity
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import METRICS
from attreval.metrics.unified.complexity import simplicity
from compendium.config import Profile, Run
from compendium.papers.common.runs import RUN, common_methods, drop_unlearned, load_records_once, unlearned_table
from compendium.papers.common.sample import borrowed_evidence, to_explain, with_evidence
from compendium.papers.common.trained_models import load_model_once
from compendium.papers.kamp2023.readings import PEOPLE, Reading, make_reading
from compendium.papers.zhao2023.erasure import ErasureInput, ask_erasure, erasure_values, random_scores
from compendium.papers.zhao2023.settings import query_segment, rule_protocol
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

BATCHED_TEXTS = 4  # instances that share batches
COLUMNS = ["task", "model", "seed", "instance", "method", "metric", "value"]
STORED_BY = ("04_poerner2018", "06_zhao2023")
# in the order of zhao2023.erasure.VALUES; strengths of soft erasure have equal means, so that these decide nothing
ERASURE = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")
GAMES = ("hybrid", "manual", "hit_target")  # of the pointing game
STORED_METRICS = dict.fromkeys(GAMES, "pointing") | {METRICS[name].stored: name for name in ERASURE}
JOINT = {name: metric for name, metric in METRICS.items() if metric.joint}

ByMethod = dict[str, dict[str, float]]  # method -> metric -> value
Values = Iterator[tuple[str, str, float]]  # method, metric, value


@dataclass(frozen=True)
class _Text:
    """One instance. target: the explained class; stored: see `read_stored_metrics`; cases: what the model is asked."""

    instance: str
    tokens: Tokens
    target: int
    reading: Reading
    stored: ByMethod
    cases: list[ErasureInput]


def joint_runs(profile: Profile) -> list[Run]:
    """The explained runs that the study takes in."""
    return [run for run in profile.explained_runs() if _rows_of(profile, *run[:2])]


def token_jobs(step: Step) -> list[tuple]:
    """What `score_instances` is to be called with, a few instances each; of runs whose model has learned its task."""
    profile = step.profile
    runs = pd.DataFrame(joint_runs(profile), columns=RUN)
    learned = drop_unlearned(runs, unlearned_table(step, joint_runs(profile)))
    return [
        (step.results, profile, *run, start)
        for run in learned.itertuples(index=False, name=None)
        for start in range(0, _rows_of(profile, *run[:2]), BATCHED_TEXTS)
    ]


def score_instances(results: Results, profile: Profile, task: str, model: str, seed: int, start: int):
    """(values, costs by account) of the token explanations of a few instances from `start`.

    values: one row a task, model, seed, instance, method and metric (COLUMNS); they may be NaN.
    """
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    run = (task, model, seed)
    scorer = Scorer(load_model_once(results, profile, *run), profile.explaining_of(task).token_budget)
    records = load_records_once(results, profile, *run)
    explained = common_methods(records)
    methods = explained if "random" in explained else ["random", *explained]
    texts = _open_texts(scorer.model, results, profile, run, start, records, explained)
    query = query_segment(task)
    talks = ((case.method, ask_erasure(text.tokens, case, query)) for text in texts for case in text.cases)
    answers = iter(list(scorer.converse(talks)))
    rows = []
    for text in texts:
        erasure = _erasure_by_method(text, [next(answers) for _ in text.cases], explains_predicted(profile, task))
        values = [
            *agreement_values(text.reading, methods, profile.agreement),
            *simplicity_values(text.reading, methods),
            *pointing_values(text.stored, methods),
            *faithfulness_values(erasure, methods),
        ]
        rows += [(*run, text.instance, *value) for value in values]
    return pd.DataFrame(rows, columns=COLUMNS), scorer.costs


def explains_predicted(profile: Profile, task: str) -> bool:
    """Whether a task's explanations are of the predicted class, which notebook 06 asks about."""
    return profile.explaining_of(task).target == "predicted"


@lru_cache(maxsize=4)
def read_stored_metrics(results: Results, task: str, model: str, seed: int) -> dict[str, ByMethod]:
    """Instance -> method -> metric -> value: what notebooks 04 and 06 have kept of a run."""
    table = read_values(*(path for name in STORED_BY if (path := results.instances / f"{name}.parquet").exists()))
    of_run = (table.task == task) & (table.model == model) & (table.seed == seed)
    out: dict[str, ByMethod] = {}
    for row in table[of_run & table.measure.isin(list(STORED_METRICS))].itertuples():
        out.setdefault(row.instance, {}).setdefault(row.method, {})[STORED_METRICS[row.measure]] = row.value
    return out


def cases_to_ask(
    profile: Profile, names: tuple, scores: dict, known: ByMethod, asked: bool, soft: bool = True
) -> list[ErasureInput]:
    """What the model is still to be asked about one instance; soft erasure alone where hard erasure is known.

    Soft erasure needs the whole and the erased text too: they are asked with one ratio, the same for every method. Its
    strengths have the same mean for every method: raw ones would rank methods by how much of a text they keep.
    soft: whether the model can be disturbed softly; else hard erasure alone is asked.
    """
    wanted = ERASURE if soft else ERASURE[:2]
    protocol = rule_protocol(profile, names[0], "equal_means")
    one_ratio = replace(protocol, ratios=(1.0,))
    cases = []
    for m, values in scores.items() if asked else ():
        found = known.get(m, {})
        if any(metric not in found for metric in wanted):
            hard_known = "nc" in found and "ns" in found
            cases.append(
                ErasureInput("main", m, "own", values, one_ratio if hard_known else protocol, (*names, m), soft=soft)
            )
    return cases


def agreement_values(reading: Reading, methods: list[str], spec) -> Values:
    """Agreement of each method with the others (but not with random scores), and with people where they marked any."""
    peaks = {m: reading.peaks(m, spec) for m in methods}
    fixed: dict[str, list[float]] = {m: [] for m in methods}
    dynamic: dict[str, list[float]] = {m: [] for m in methods}
    for a, b in combinations(methods, 2):
        same_k = reading.agreement_at_k([a, b], spec.fixed_k, spec)
        own_k = agreement_of([peaks[a], peaks[b]])
        for m, other in ((a, b), (b, a)):
            if other != "random":
                fixed[m].append(same_k)
                dynamic[m].append(own_k)
    for m in methods:
        yield m, "agreement", _mean(fixed[m])
        yield m, "agreement_dynamic", _mean(dynamic[m])
        if reading.marked:
            yield m, "people", reading.agreement_at_k([m, PEOPLE], spec.fixed_k, spec)
            yield m, "people_dynamic", reading.agreement_at_peaks([m, PEOPLE], spec)


def simplicity_values(reading: Reading, methods: list[str]) -> Values:
    """How few tokens hold a method's scores: 1 for one token, 0 where all count alike; NaN for a text of one token."""
    return ((m, "simplicity", simplicity(reading.scores[m])) for m in methods)


def pointing_values(stored: ByMethod, methods: list[str]) -> Values:
    """Whether the highest word lies where the evidence must be, as notebook 04 has kept it."""
    return ((m, "pointing", stored[m]["pointing"]) for m in methods if "pointing" in stored.get(m, {}))


def faithfulness_values(values: ByMethod, methods: list[str]) -> Values:
    """The four erasure metrics, and diagnosticity: how many of them a method wins against random scores, ties at half.

    Diagnosticity needs all four. Random scores win half against others of their kind. A metric that not every method
    has on this text is left out: methods are compared on the same texts.
    """
    known = [x for x in ERASURE if all(not np.isnan(values[m].get(x, np.nan)) for m in methods)]
    for m in methods:
        for metric in known:
            yield m, metric, values[m][metric]
        if "random" in methods and len(known) == len(ERASURE):
            own, rival = ([values[x][metric] for metric in ERASURE] for x in (m, "random"))
            yield m, "diagnosticity", 0.5 if m == "random" else diagnosticity(own, rival, Protocol(ties="half"))


def read_unified_values(step: Step) -> pd.DataFrame:
    """What notebook 07_sun2024 keeps of explanations of several types, by text; empty where none is evaluated."""
    if not step.profile.explained_runs("diagnosis"):
        return pd.DataFrame(columns=COLUMNS)
    path = step.results.existing(step.results.instances / "07_sun2024.parquet", "07_sun2024")
    values = read_values(path).rename(columns={"measure": "metric"})
    return values[values.metric.isin(list(JOINT))]


def _open_texts(loaded, results: Results, profile: Profile, run: Run, start: int, records, explained) -> list[_Text]:
    """The instances from `start` with all that is known of them before the model is asked anything."""
    task, model, _ = run
    borrowed, stored = borrowed_evidence(task), read_stored_metrics(results, *run)
    asked = profile.joint.asked_of(task, profile.rows_explained(task, model))
    soft = not (hasattr(loaded, "refusal") and loaded.refusal("entry"))
    end = min(start + BATCHED_TEXTS, _rows_of(profile, task, model))
    texts = []
    for at, instance in enumerate(to_explain(profile, task, model)[start:end], start):
        tokens, names = loaded.tokens(instance), (*run, instance.id)
        of_text, known = records[instance.id], stored.get(instance.id, {})
        reading = make_reading(with_evidence(instance, borrowed), tokens, {m: of_text[m] for m in explained})
        reading.scores.setdefault("random", random_scores(tokens, *names))  # where it did not explain
        usable = known if explains_predicted(profile, task) else {}
        cases = cases_to_ask(profile, names, reading.scores, usable, at < asked, soft)
        texts.append(_Text(instance.id, tokens, next(iter(of_text.values())).target, reading, known, cases))
    return texts


def _erasure_by_method(text: _Text, answers: list[tuple], stored_counts: bool) -> ByMethod:
    """The erasure metrics of each method: stored where that counts, else just answered; NaN for another class's."""
    values = {m: dict(text.stored.get(m, {})) if stored_counts else {} for m in text.reading.scores}
    for case, (hard, softened) in zip(text.cases, answers, strict=True):
        found = dict(zip(ERASURE, erasure_values(hard, softened), strict=False)) | values[case.method]
        same_class = text.target == hard.target
        values[case.method] = found if same_class else dict.fromkeys(found, float("nan"))
    return values


def _rows_of(profile: Profile, task: str, model: str) -> int:
    """How many instances of a run go before all metrics."""
    return profile.joint.rows_of(task, profile.rows_explained(task, model))


def _mean(values: list[float]) -> float:
    """The mean of what is a number; NaN where nothing is."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")
