"""What a run (task, model, seed) of a profile has left: its model, its attributions, its tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

import pandas as pd

from attreval import corpora
from attreval.config import Judge, Profile
from attreval.core.project import Results
from attreval.core.records import Attribution
from attreval.core.tables import read_by_instance
from attreval.explain import METHODS
from attreval.workflow.step import Step


def load_model(results: Results, task: str, model: str, seed: int, profile: Profile):
    """The trained model of a task, ready to be asked, its classes in the task's order."""
    from attreval.models.loading import load_classifier

    folder, labels = results.model(profile.read_by(task), model, seed), corpora.TASKS[task].labels
    return load_classifier(folder, model, profile.device, profile.models[model].max_length, labels)


def load_attributions(
    results: Results, profile: Profile, task: str, model: str, seed: int
) -> dict[str, dict[str, Attribution]]:
    """Attributions of every shard: instance id -> method -> record."""
    paths = [results.attributions(task, model, seed, shard) for shard in range(profile.explaining_of(task).shards)]
    if missing := [path for path in paths if not path.exists()]:
        raise FileNotFoundError(
            f"no attributions at {missing[0]}: run notebook 03, or `attreval run --profile {profile.name}`"
        )
    return dict(sorted(read_by_instance(*paths).items()))


def common_methods(records: dict[str, dict[str, Attribution]]) -> list[str]:
    """The methods of single tokens that have explained every instance of a run, in the order of METHODS."""
    explained = set.intersection(*(set(by_method) for by_method in records.values()))
    return [name for name, method in METHODS.items() if name in explained and method.level == "token"]


def kept_for_run(runs: int = 1) -> Callable[[Callable], Callable]:
    """Decorate a function of (results, profile, task, model, seed): a process keeps what it gives for the last `runs`.

    The key is the results folder and the run: a process works for one profile.
    """

    def decorate(load: Callable) -> Callable:
        kept: OrderedDict[tuple, Any] = OrderedDict()

        @wraps(load)
        def load_once(results: Results, profile: Profile, *run):
            key = (results.root, *run)
            if key not in kept:
                kept[key] = load(results, profile, *run)
                while len(kept) > runs:
                    kept.popitem(last=False)
            return kept[key]

        load_once.cache_clear = kept.clear
        return load_once

    return decorate


@kept_for_run()
def load_model_once(results: Results, profile: Profile, task: str, model: str, seed: int):
    """The model of a run; the parts that a process judges one after the other mostly share it."""
    return load_model(results, task, model, seed, profile)


@kept_for_run()
def load_records_once(results: Results, profile: Profile, task: str, model: str, seed: int):
    """The attributions of a run."""
    return load_attributions(results, profile, task, model, seed)


def read_shards(step: Step, table: str, judge: Judge | None = None) -> pd.DataFrame:
    """A table that notebook 03 wrote for each shard (of a judge's runs), put together, with task, model and seed."""
    parts = []
    for task, model, seed in step.profile.explained_runs(judge):
        for shard in range(step.profile.explaining_of(task).shards):
            path = step.results.tables / f"03_explain-{task}-{model}-s{seed}-{shard}_{table}.csv"
            if not path.exists():
                raise FileNotFoundError(
                    f"no table {path}: run notebook 03, or `attreval run --profile {step.profile.name}`"
                )
            parts.append(pd.read_csv(path).assign(task=task, model=model, seed=seed))
    return pd.concat(parts, ignore_index=True)
