"""Joint scores: what every metric gives every explanation of the same models and texts, higher is
better.

Explanations of tokens: metrics are asked of what notebook 03 has stored; what notebooks 04 and 06
have kept of single texts is read, and the model is asked through the ledger what nobody has asked
it yet. Explanations of several types: what notebook 07_sun2024 has kept of single texts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from attreval.core.records import Attribution, Instance, Tokens
from attreval.metrics import METRICS
from attreval.metrics.erasure import predicted_class
from attreval.metrics.metric import Metric
from attreval.metrics.scored_text import RANDOM, ScoredText, Settings, without_asking
from compendium.config import Profile, Run
from compendium.papers.common import runs
from compendium.papers.common.trained_models import open_run
from compendium.papers.zhao2023.erasure import random_scores
from compendium.papers.zhao2023.settings import query_segment, rule_protocol
from compendium.project import Results
from compendium.workflow.instance_values import read_values
from compendium.workflow.step import Step

BATCHED_TEXTS = 4  # instances that share batches
COLUMNS = ["task", "model", "seed", "instance", "method", "metric", "value"]
STORED_BY = ("04_poerner2018", "06_zhao2023")
# strengths of soft erasure have equal means: raw ones would rank methods by how much of a text they
# keep
ERASURE = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")
GAMES = ("hybrid", "manual", "hit_target")  # of the pointing game, which notebook 04 alone plays
STORED_METRICS = dict.fromkeys(GAMES, "pointing") | {METRICS[name].stored: name for name in ERASURE}
JOINT = {name: metric for name, metric in METRICS.items() if metric.joint}
JUDGES = {name: metric.judge for name, metric in JOINT.items()}
MET = {
    "scores",
    "rivals",
    "random",
    "marks",
    "model",
}  # what explanations of tokens offer, of what metrics need
# in the order of the tables: what takes no model, what notebook 04 has stored, what takes one
OF_TOKENS = sorted(
    (metric for metric in JOINT.values() if not metric.notebook and set(metric.needs) <= MET),
    key=lambda metric: ("model" in metric.needs, metric.name == "pointing"),
)

Known = dict[tuple[str, str], float]  # (metric, method) -> value


def joint_runs(profile: Profile) -> list[Run]:
    """The explained runs that the study takes in."""
    return [run for run in profile.explained_runs() if _rows_of(profile, *run[:2])]


def token_jobs(step: Step) -> list[tuple]:
    """What `score_instances` is to be called with, a few instances each; of runs whose model has
    learned its task.
    """
    profile = step.profile
    taken = joint_runs(profile)
    unlearned = runs.unlearned_table(step, taken, of_papers=False)
    learned = runs.drop_unlearned(pd.DataFrame(taken, columns=runs.RUN), unlearned)
    jobs = []
    for task, model, seed in learned.itertuples(index=False, name=None):
        starts = range(0, _rows_of(profile, task, model), BATCHED_TEXTS)
        jobs += [(step.results, profile, task, model, seed, start) for start in starts]
    return jobs


def score_instances(
    results: Results, profile: Profile, task: str, model: str, seed: int, start: int
):
    """(values as COLUMNS, some NaN; costs by account) of the token explanations of a few instances
    from `start`.
    """
    run = (task, model, seed)
    scorer = open_run(results, profile, run)
    records = runs.load_records_once(results, profile, *run)
    stored = read_stored_metrics(results, profile, *run)
    methods = runs.common_methods(records)
    borrowed = runs.borrowed_evidence(task)
    kept = {"pointing"}
    if (
        profile.explaining_of(task).target == "predicted"
    ):  # which is the class that notebook 06 asks about
        kept.update(ERASURE)
    texts = []
    taken = runs.to_explain(profile, task, model)[: _rows_of(profile, task, model)]
    for instance in taken[start : start + BATCHED_TEXTS]:
        tokens = scorer.model.tokens(instance)
        explained = records[instance.id]
        scores = stored_scores(explained, methods, tokens)
        known = {key: value for key, value in stored.get(instance.id, {}).items() if key[0] in kept}
        target = next(iter(explained.values())).target
        marked = runs.with_evidence(instance, borrowed)
        texts.append(score_text(profile, run, marked, tokens, scores, target, known))
    asked = profile.joint.asked_of(task, profile.rows_explained(task, model))
    return ask_of_run(scorer, run, texts[: max(0, asked - start)], texts), scorer.costs


def stored_scores(
    explained: Mapping[str, Attribution], methods: Iterable[str], tokens: Tokens
) -> dict:
    """Method -> the scores that it gives each content token of a text."""
    return {method: explained[method].on_tokens(len(tokens))[tokens.content] for method in methods}


def score_text(
    profile: Profile,
    run: Run,
    instance: Instance,
    tokens: Tokens,
    scores: Mapping[str, np.ndarray],
    target: int | None,
    known: Known | None = None,
) -> ScoredText:
    """One instance as the joint study asks metrics about it, with random scores where none
    explained it.
    """
    names = (*run, instance.id)
    drawn = {} if RANDOM in scores else {RANDOM: random_scores(tokens, *names)}
    protocol = replace(rule_protocol(profile, run[0], "equal_means"), ties="half")
    spec = profile.agreement
    settings = Settings(
        k=spec.fixed_k,
        peaks=spec.peaks,
        ties=spec.ties,
        people=spec.people,
        protocol=protocol,
        query=query_segment(run[0]),
        compared=ERASURE,
    )
    return ScoredText(
        instance, tokens, dict(scores) | drawn, target, names, settings, found=dict(known or {})
    )


def ask_of_run(
    scorer, run: Run, asked: Sequence[ScoredText], texts: Sequence[ScoredText]
) -> pd.DataFrame:
    """The values of a run's texts as COLUMNS; see `ask_metrics`."""
    rows = []
    for text, found in zip(texts, ask_metrics(scorer, asked, texts), strict=True):
        rows += [(*run, text.instance.id, *value) for value in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def ask_metrics(
    scorer,
    asked: Sequence[ScoredText],
    texts: Sequence[ScoredText],
    metrics: Sequence[Metric] = OF_TOKENS,
) -> list[list[tuple[str, str, float]]]:
    """(method, metric, value) of each text; a method is an account of the ledger.

    asked: the texts of which the model is asked; of the others what is known already is said.
    """
    if hasattr(scorer.model, "refusal") and scorer.model.refusal("entry"):
        metrics = [metric for metric in metrics if not metric.disturbs]

    def conversation(part: list[Metric], text: ScoredText, method: str) -> Iterator:
        for metric in part:
            yield from metric.ask(text, method)

    for last in (
        False,
        True,
    ):  # what compares with random scores comes last: nothing is asked twice
        part = [
            metric
            for metric in metrics
            if "model" in metric.needs and ("random" in metric.needs) == last
        ]
        scorer.converse(
            (method, conversation(part, text, method)) for text in asked for method in text.scores
        )
    return [list(_values_of(text, metrics)) for text in texts]


def _values_of(text: ScoredText, metrics: Sequence[Metric]) -> Iterator[tuple[str, str, float]]:
    """What is known of a text, or takes no model.

    Values of the model are left out where another class than the predicted one is explained, and
    where not every method has one: methods are compared on the same texts.
    """
    other_class = predicted_class(text) not in (None, text.target)
    for metric in metrics:
        if "marks" in metric.needs and metric.name != "pointing" and not text.evidence.any():
            continue
        found = {}
        for method in text.scores:
            if metric.name != "pointing":
                found[method] = without_asking(metric.ask(text, method))
            elif (
                key := ("pointing", method)
            ) in text.found:  # by the evidence and the rules of notebook 04
                found[method] = text.found[key]
        if "model" in metric.needs and (other_class or np.isnan(list(found.values())).any()):
            continue
        yield from ((method, metric.name, value) for method, value in found.items())


def stored_files(results: Results, *_: object) -> list[Path]:
    """What notebooks 04 and 06 have kept of single texts, as far as they have run."""
    paths = [results.instances / f"{name}.parquet" for name in STORED_BY]
    return [path for path in paths if path.exists()]


@runs.kept_for_run(stored_files, 4)
def read_stored_metrics(
    results: Results, profile: Profile, task: str, model: str, seed: int
) -> dict[str, Known]:
    """Instance -> (metric, method) -> value: what notebooks 04 and 06 have kept of a run."""
    table = read_values(*stored_files(results))
    of_run = (table.task == task) & (table.model == model) & (table.seed == seed)
    out: dict[str, Known] = {}
    for row in table[of_run & table.measure.isin(list(STORED_METRICS))].itertuples():
        out.setdefault(row.instance, {})[STORED_METRICS[row.measure], row.method] = row.value
    return out


def read_unified_values(step: Step) -> pd.DataFrame:
    """What notebook 07_sun2024 keeps of explanations of several types, by text; empty where none is
    evaluated.
    """
    if not step.profile.explained_runs("diagnosis"):
        return pd.DataFrame(columns=COLUMNS)
    path = step.results.existing(step.results.instances / "07_sun2024.parquet", "07_sun2024")
    values = read_values(path).rename(columns={"measure": "metric"})
    return values[values.metric.isin(list(JOINT))]


def _rows_of(profile: Profile, task: str, model: str) -> int:
    """How many instances of a run go before all metrics."""
    return profile.joint.rows_of(task, profile.rows_explained(task, model))
