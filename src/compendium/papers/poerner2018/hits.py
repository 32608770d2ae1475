"""The pointing game of Poerner et al. (2018): how often each method's highest word is evidence, on every model.

And how much hits depend on choices in which the paper's text, its code and this study differ: ties, affixes, the
sampling and the solver of LIMSSE, and the output gate of decomposition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import pandas as pd

from attreval.core.records import Attribution
from attreval.core.tables import read_by_instance
from attreval.metrics import pointing_game
from attreval.metrics.pointing_game import BASELINES, Affix, Ties
from compendium.config import PointingSpec, Profile
from compendium.corpora import TASKS
from compendium.papers.common.runs import (
    common_methods,
    load_attributions,
    load_tokens,
    read_shards,
    reported,
    to_explain,
)
from compendium.papers.common.tables import table_of
from compendium.papers.pipeline.other_choices import other_choices, tried_run
from compendium.papers.poerner2018.tables import BLOCKS, NAMES, TASKS_OF
from compendium.workflow.step import Step

NORMS = tuple(ours for paper, ours in NAMES.items() if paper.endswith("_L2"))  # the weak methods of the paper
KEPT = ["task", "model", "method", "accuracy", "low", "high", "random", "instances"]  # of what is no better than chance


def pointing_hits(step: Step) -> pd.DataFrame:
    """One row per task, model, seed, instance, game and method; see `metrics.pointing_game.play`.

    architecture: what the paper's tables call the model.
    """
    out, predictions = [], read_predictions(step)
    runs = step.profile.explained_runs("pointing")
    show = step.progress("pointing")
    for done, run in enumerate(runs):
        out += play_run(step, run, predictions, step.profile.pointing)
        show(done + 1, len(runs))
    return pd.DataFrame(out)


def play_run(
    step: Step,
    run: tuple[str, str, int],
    predictions: pd.Series,
    spec: PointingSpec,
    records: dict[str, dict[str, Attribution]] | None = None,
) -> list[dict]:
    """The rows of one run by the rules of `spec`; of the texts that other records explain, where they are given."""
    profile, (task, model, seed), out = step.profile, run, []
    records = load_attributions(step.results, profile, *run) if records is None else records
    methods = common_methods(records)
    tokens = load_tokens(step.results, profile, *run)
    known = {"task": task, "model": model, "architecture": architecture_names(profile, task)[model], "seed": seed}
    for instance in to_explain(profile, task, model):
        if instance.id in records:
            rows = pointing_game.play(
                instance,
                tokens[instance.id],
                int(predictions[task, model, seed, instance.id]),
                {name: records[instance.id][name] for name in methods},
                spec.ties,
                affix_of(spec, task),
                run,
            )
            out += [known | row for row in rows]
    return out


def affix_of(spec: PointingSpec, task: str) -> pointing_game.Affix | None:
    """How the words of a task's lists are matched; None where people marked the texts: every person's marks count."""
    return spec.affix if TASKS[task].mark_rules else None


def architecture_names(profile: Profile, task: str) -> dict[str, str]:
    """What tables call a task's models: the architecture where that tells them apart, and otherwise the name."""
    kinds = {name: profile.models[name].architecture for name in profile.tasks[task].models}
    kinds = {name: name if kind == "transformer" else kind for name, kind in kinds.items()}
    return {name: (kind if list(kinds.values()).count(kind) == 1 else name).upper() for name, kind in kinds.items()}


def read_predictions(step: Step) -> pd.Series:
    """The predicted class of every explained instance, by task, model, seed and instance."""
    table = read_shards(step, "instances", "pointing")
    return table.set_index(["task", "model", "seed", "instance"]).predicted


def accuracy_table(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """Pointing accuracy with its interval; see `metrics.pointing_game.summarise`."""
    keys = ("task", "model", "architecture")
    return pointing_game.summarise(hits, step.profile.bootstrap.draws, step.profile.bootstrap.confidence, keys)


def attractor_table(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """Pointing accuracy by number of attractors, for the largest agreement task; empty where there is none."""
    asked = hits[hits.attractors.notna()]
    largest = asked.drop_duplicates(["task", "instance"]).task.value_counts()
    chosen = asked[asked.task == largest.index[0]] if len(largest) else asked
    return pointing_game.summarise_by_attractors(
        chosen, step.profile.bootstrap.draws, step.profile.bootstrap.confidence
    )


def no_better_than_random(summary: pd.DataFrame) -> pd.DataFrame:
    """One row per task, model and method whose interval on hybrid documents reaches down to a random word's accuracy.

    Gradient norms are left out: they do not tell evidence for a class from evidence against it.
    """
    hybrid = summary[summary.metric == "hybrid"]
    chance = hybrid[hybrid.method == "random"].set_index(["task", "model"]).accuracy
    rest = hybrid[~hybrid.method.isin([*NORMS, *pointing_game.BASELINES])]
    rest = rest.join(chance.rename("random"), on=["task", "model"])
    return rest[rest.low <= rest.random][KEPT].reset_index(drop=True)


@table_of("block task instances discarded right random last norms best_method best cells beat_random exceptions")
def block_table(summary: pd.DataFrame) -> Iterator[dict]:
    """One row per block that the text discusses (see tables.BLOCKS), empty where the profile has no task of it.

    discarded, right: shares, means over models. random, last, norms (mean of gradient norms), best: mean hits over
    models. cells: methods (no norm, no baseline) that are compared with chance on hybrid documents, over all of the
    block's tasks and models; exceptions: those of `no_better_than_random`; beat_random: the others.
    """
    exceptions = no_better_than_random(summary)
    tested = summary[(summary.metric == "hybrid") & ~summary.method.isin([*NORMS, *pointing_game.BASELINES])]
    for name, block in BLOCKS.items():
        task, part = block.task(summary)
        cells, below = (int(table.task.isin(block.tasks).sum()) for table in (tested, exceptions))
        row = {"block": name, "task": task, "cells": cells, "beat_random": cells - below, "exceptions": below}
        if task:
            means = part.groupby("method", sort=False).accuracy.mean()
            explained = means.drop(list(pointing_game.BASELINES), errors="ignore")
            row |= {"best_method": explained.idxmax(), "best": explained.max()} if len(explained) else {}
            row |= {"instances": part.instances.max(), **part.drop_duplicates("model")[["discarded", "right"]].mean()}
            row |= {"random": means.get("random"), "last": means.get("last")}
            row["norms"] = means.reindex(list(NORMS)).mean()
        yield row


TRAINED_ON = {  # their experiment -> the task of their models, as the table of accuracies has it
    "yelp hybrid": "yelp",
    "20newsgroups hybrid": "20newsgroups",
    "20newsgroups manual": "20newsgroups",
    "morphosyntactic agreement": "morphosyntactic_agreement",
}


@table_of(
    "task experiment trained_on model architecture accuracy published ours_less_published discarded published_low "
    "published_high"
)
def accuracy_beside_published(step: Step, summary: pd.DataFrame) -> Iterator[tuple]:
    """One row per explained task and model: test accuracy and share of discarded texts, ours and theirs.

    accuracy: of the trained model on its own test split, mean over seeds; discarded: of the explained texts.
    published_low, published_high: the published range of discards, over models. NaN where the paper has no such cell.
    summary: of hits.accuracy_table.
    """
    profile = step.profile
    accuracy = reported("poerner_task_accuracy").set_index("task")
    discards = reported("poerner_discards").set_index("experiment")
    experiments = {task: name for name, tasks in TASKS_OF.items() for task in tasks}
    for task, model in dict.fromkeys((task, model) for task, model, _ in profile.explained_runs("pointing")):
        if task not in experiments:
            continue
        experiment, architecture = experiments[task], architecture_names(profile, task)[model]
        trained_on = profile.read_by(task)
        seeds = profile.tasks[task].seeds
        found = [step.results.read_table("accuracy", "02_train", trained_on, model, seed) for seed in seeds]
        own = float(np.mean([table.accuracy.iloc[0] for table in found]))
        theirs = accuracy.loc[TRAINED_ON[experiment]].get(architecture, np.nan)
        part = summary[(summary.task == task) & (summary.model == model) & (summary.condition == "all")]
        ends = discards.reindex([experiment])[["low", "high"]].iloc[0]
        discarded = part.discarded.mean()
        yield task, experiment, trained_on, model, architecture, own, theirs, own - theirs, discarded, *ends


KEYS = ["task", "model", "seed", "instance", "metric", "method"]


@table_of("choice value instead_of game texts methods change largest method moved on")
def choice_table(step: Step, hits: pd.DataFrame) -> Iterator[tuple]:
    """One row per choice, value other than the profile's, and game: how much it changes the share of hits.

    change: mean over methods and models. largest: of one method, over models. moved: share of the explanations whose
    expected hit changes. on: whether all stored scores were looked at, or a few texts explained again. hits: of
    pointing_hits.
    """
    yield from _judged_otherwise(step, hits)
    yield from _explained_otherwise(step, hits)


def _judged_otherwise(step: Step, hits: pd.DataFrame) -> Iterator[tuple]:
    """Rows of the choices that need no model: all runs are played again by the other rule."""
    spec, predictions = step.profile.pointing, read_predictions(step)
    runs = step.profile.explained_runs("pointing")
    manual = {task for task in hits[hits.metric == "manual"].task.unique() if TASKS[task].mark_rules}
    for choice, values, asked in (
        ("ties", get_args(Ties), runs),
        ("affix", get_args(Affix), [run for run in runs if run[0] in manual]),
    ):
        for value in values:
            own = getattr(spec, choice)
            if value != own:
                other = spec.changed(**{choice: value})
                rows = [row for run in asked for row in play_run(step, run, predictions, other)]
                yield from _compare(choice, value, own, hits, pd.DataFrame(rows), "all stored scores")


def _explained_otherwise(step: Step, hits: pd.DataFrame) -> Iterator[tuple]:
    """Rows of the choices for which notebook 03 has explained a few texts again."""
    run = tried_run(step.profile)
    if run is None:
        return
    predictions, budget = read_predictions(step), step.profile.explaining_of(run[0])
    for choice in other_choices(budget):
        path = step.results.attributions(*run, choice.part)
        if path.exists():
            records = read_by_instance(path)
            rows = play_run(step, run, predictions, step.profile.pointing, records)
            on = f"{len(records)} texts of {run[1]}, {run[0]}"
            yield from _compare(choice.field, choice.value, getattr(budget, choice.field), hits, pd.DataFrame(rows), on)


def _compare(choice: str, value, own, hits: pd.DataFrame, other: pd.DataFrame, on: str) -> Iterator[tuple]:
    """A row per game: how hits of the same explanations differ between two values of a choice."""
    if not len(other):
        yield (choice, value, own, "manual", 0, 0, np.nan, np.nan, "", np.nan, "no task of this profile is judged so")
        return
    columns = [*KEYS, "hit", "discarded"]
    both = hits[columns].merge(other[columns], on=KEYS, suffixes=("", "_other"))
    both = both[(both.discarded == "") & (both.discarded_other == "") & ~both.method.isin(BASELINES)]
    for game, part in both.groupby("metric", sort=False):
        change = part.hit_other - part.hit
        if choice == "affix" and game != "manual":
            continue
        by_method = change.groupby(part.method).mean()
        most = by_method.abs().idxmax()
        texts = len(part.drop_duplicates(["task", "instance"]))
        moved = float((change.abs() > 1e-12).mean())
        yield (choice, value, own, game, texts, len(by_method), change.mean(), by_method[most], most, moved, on)
