"""Average pairwise difference (APD) over training seeds (Kamp et al. 2023, appendix A and Table 2).

Runs of a profile's tasks that differ in the seed alone are compared as they are; where a profile
has a study of seeds, its models are trained and explained here, each seed by itself, so that they
may run side by side.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.records import Attribution
from attreval.core.seeds import generator
from attreval.core.tables import read_attributions, write_attributions
from attreval.methods.run import explain_instances, records_of
from attreval.metrics.agreement import profile_differences, profile_matrix
from attreval.models.placing import pick_precision
from attreval.models.scorer import Scorer
from attreval.models.training import measure_performance
from compendium import corpora
from compendium.config import BootstrapSpec, Profile
from compendium.papers.common.runs import load_attributions, read_accuracy, reported
from compendium.papers.common.tables import table_of
from compendium.papers.kamp2023.readings import SIX
from compendium.papers.pipeline.training import train_on
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

STUDY = "study"  # what the task of a study's runs is called in the names of files


Profiles = dict[tuple[str, str], np.ndarray]  # scores by instance and method


class SeedRun(NamedTuple):
    """One of several runs that differ in the seed alone."""

    seed: int
    accuracy: float
    profiles: Profiles


class Study(NamedTuple):
    """The runs of a task and model."""

    task: str
    model: str
    runs: list[SeedRun]


@table_of("task model seed accuracy apd chosen profiles longest low high least chance p")
def apd_table(step: Step) -> Iterator[dict]:
    """One row a task, model and seed: accuracy, average pairwise difference, and if it is chosen.

    Profiles are normalised and padded, see metrics.agreement. The last five columns: see
    `order_table`.
    """
    for task, model, runs in [*seeds_of_tasks(step), *seeds_of_study(step)]:
        keys, profiles = align([run.profiles for run in runs])
        longest = max(map(len, profiles[0]))
        matrices = [profile_matrix(p, longest) for p in profiles]
        by_profile = profile_differences(matrices, step.profile.agreement.apd_itself)
        instances = [instance for instance, _ in keys]
        order = order_table(by_profile, instances, step.profile.bootstrap, "apd", task, model)
        apd = by_profile.mean(axis=1)
        found = pd.DataFrame(runs).drop(columns="profiles")
        found = found.assign(task=task, model=model, apd=apd, profiles=len(keys), longest=longest)
        found["chosen"] = np.arange(len(runs)) == apd.argmin()
        yield from pd.concat([found, order], axis=1).to_dict("records")


def align(runs: list[Profiles]) -> tuple[list[tuple[str, str]], list[list[np.ndarray]]]:
    """(instance, method) of what all runs have, and the profiles of each run in that order."""
    keys = sorted(set.intersection(*map(set, runs)))
    return keys, [[run[key] for key in keys] for run in runs]


def _profiles_of(records: list[Attribution]) -> Profiles:
    """Scores by instance and method, of the six methods where they are among them, else of all."""
    six = [r for r in records if r.method in SIX]
    return {(r.instance, r.method): r.scores for r in six or records}


def seeds_of_tasks(step: Step) -> Iterator[Study]:
    """The runs of every task that trains a model with several seeds."""
    asked = step.profile.explained_runs("agreement")
    for (task, model), of_model in groupby(asked, key=lambda run: run[:2]):
        runs = list(of_model)
        found = []
        for run in runs if len(runs) > 1 else ():
            loaded = load_attributions(step.results, step.profile, *run)
            records = [record for by_method in loaded.values() for record in by_method.values()]
            accuracy = read_accuracy(step, *run).accuracy
            found.append(SeedRun(run[2], accuracy, _profiles_of(records)))
        if found:
            yield Study(task, model, found)


def seeds_of_study(step: Step) -> Iterator[Study]:
    """The same of the models that are trained for nothing else, where the profile has such."""
    study = step.profile.seed_study
    if not study:
        return
    jobs = [(step.results, step.profile, seed) for seed in study.seeds]
    made = step.side_by_side(
        train_and_explain, jobs, "training and explaining, by seed", of_models=False
    )
    found = []
    for seed, (accuracy, records) in zip(study.seeds, made, strict=True):
        path = step.results.attributions(f"{STUDY}_{study.task}", study.model, seed, "all")
        write_attributions(path, records)
        step.files.append(path)
        found.append(SeedRun(seed, accuracy, _profiles_of(read_attributions(path))))
    yield Study(study.task, study.model, found)


def train_and_explain(
    results: Results, profile: Profile, seed: int
) -> tuple[float, list[Attribution]]:
    """Train one model and explain with it; give its accuracy on test, and the attributions."""
    set_threads(profile.threads)
    study = profile.seed_study
    if study is None:
        raise ValueError(f"profile {profile.name!r} has no seed_study")
    spec = profile.study_explaining()
    names = (STUDY, study.task, study.model, seed)
    instances = corpora.load_task(study.task, "train", study.train_rows)
    dev = corpora.load_task(study.task, "dev", study.dev_rows)
    folder = results.model(f"{STUDY}_{study.task}", study.model, seed)
    model, _ = train_on(
        profile, study.task, study.model, names, instances, dev, profile.study_training(), folder
    )
    test = corpora.load_task(study.task, "test", study.test_rows)
    faster = pick_precision(profile.training.precision, model.device)
    tested = measure_performance(model, test, faster)
    precision = pick_precision(spec.perturbation_precision, model.device)
    scorer = Scorer(model, spec.token_budget, sampled_precision=precision)
    explained = explain_instances(
        scorer, test[: study.explain_rows], spec.methods, spec, names, spec.target
    )
    return tested.accuracy, records_of(explained)


def spread_table(step: Step, apd: pd.DataFrame) -> pd.DataFrame:
    """One row a study: runs, least and largest APD, and their distance over the least.

    `main`: the profile's study of seeds, or else the first task with several; `other`; `published`.
    apd: as `apd_table` makes it. chance, p: see `order_table`. stays: share of draws of texts in
    which the chosen run is the least. surely: runs above it.
    """

    def found(study: str, task: str, model: str, apd: pd.Series) -> dict:
        ends = {"least": apd.min(), "most": apd.max(), "spread": relative_spread(apd)}
        return {"study": study, "task": task, "model": model, "runs": len(apd)} | ends

    profile = step.profile
    study = profile.seed_study
    by_study = dict(list(apd.groupby(["task", "model"], sort=False)))
    main = (study.task, study.model) if study else next(iter(by_study))
    rows = []
    for name, part in by_study.items():
        task, model = name
        own = study if name == main else None
        more = {
            "train_rows": (own or profile.tasks[profile.read_by(task)]).train_rows,
            "explain_rows": (own or profile.tasks[task]).explain_rows,
            "chance": part.chance.iloc[0],
            "p": part.p.iloc[0],
            "stays": part.least[part.chosen].iloc[0],
            "surely": (part.low > 0).sum(),
        }
        rows.append(found("main" if name == main else "other", task, model, part.apd) | more)
    rows.append(found("published", "esnli", "DistilBERT", reported("kamp_table2_apd").apd))
    counts = dict.fromkeys(("train_rows", "explain_rows", "surely"), "Int64")
    return pd.DataFrame(rows).astype(counts)


def order_table(
    differences: np.ndarray, instances: Sequence[str], settings: BootstrapSpec, *names: object
) -> pd.DataFrame:
    """One row a run: the interval of its excess over the least, and how often it is the least.

    differences: (r, p) of `agreement.profile_differences`; instances: (p,) whose profile each is.
    low, high: of its difference over that of the run that is least here, less 1; texts are drawn
        with replacement.
    least: share of draws in which no run has less. chance: the mean distance of the largest over
    the least where in each text runs change names at random; p: share of such worlds, this one
    included, with at least ours.
    """
    sums, counts = sum_by_text(differences, instances)
    drawn = draw_counts(generator("order of runs", *names), len(counts), settings.draws)
    means = (drawn @ sums.T) / (drawn @ counts)[:, None]
    least = differences.mean(axis=1).argmin()
    low, high = percentile_interval(means / means[:, [least]] - 1, settings.confidence)
    first = np.bincount(means.argmin(axis=1), minlength=len(sums)) / len(means)
    spreads = exchanged_spreads(sums, settings.nulls, *names)
    p = (1 + (spreads >= relative_spread(sums.sum(axis=1))).sum()) / (1 + len(spreads))
    return pd.DataFrame(
        {"low": low, "high": high, "least": first, "chance": spreads.mean(), "p": p}
    )


def sum_by_text(differences: np.ndarray, instances: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(r, t) sums over the profiles of each text, and (t,) how many it has.

    Texts in the order of their names.
    """
    texts, at = np.unique(instances, return_inverse=True)
    of_text = np.arange(len(texts))[:, None] == at[None]
    return differences @ of_text.T, of_text.sum(axis=1)


def relative_spread(apd: np.ndarray) -> float:
    """By which share of the least the largest exceeds it."""
    return apd.max() / apd.min() - 1


def exchanged_spreads(sums: np.ndarray, worlds: int, *names: object) -> np.ndarray:
    """(worlds,) spreads where in each text the runs' (r, t) sums change places at random."""
    rng = generator("exchanged runs", *names)
    return np.array(
        [relative_spread(rng.permuted(sums, axis=0).sum(axis=1)) for _ in range(worlds)]
    )
