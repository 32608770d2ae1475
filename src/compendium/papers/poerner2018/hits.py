"""The pointing game of Poerner et al. (2018): how often each method's highest word is evidence, on every model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core.records import Attribution
from attreval.metrics import pointing_game
from compendium.config import PointingSpec, Profile
from compendium.corpora import TASKS
from compendium.papers.common.runs import common_methods, load_attributions, load_tokens, read_shards, reported
from compendium.papers.common.sample import to_explain
from compendium.papers.poerner2018.tables import BLOCKS, NAMES, TASKS_OF
from compendium.workflow.step import Step

NORMS = tuple(ours for paper, ours in NAMES.items() if paper.endswith("_L2"))  # the weak methods of the paper
KEPT = ["task", "model", "method", "accuracy", "low", "high", "random", "instances"]  # of what is no better than chance
BLOCK_COLUMNS = ["block", "task", "instances", "discarded", "right", "random", "last", "norms", "best_method", "best"]
BLOCK_COLUMNS += ["cells", "beat_random", "exceptions"]


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


def block_table(summary: pd.DataFrame) -> pd.DataFrame:
    """One row per block that the text discusses (see tables.BLOCKS), empty where the profile has no task of it.

    discarded, right: shares, means over models. random, last, norms (mean of gradient norms), best: mean hits over
    models. cells: methods (no norm, no baseline) that are compared with chance on hybrid documents, over all of the
    block's tasks and models; exceptions: those of `no_better_than_random`; beat_random: the others.
    """
    rows = []
    exceptions = no_better_than_random(summary)
    tested = summary[(summary.metric == "hybrid") & ~summary.method.isin([*NORMS, *pointing_game.BASELINES])]
    for name, block in BLOCKS.items():
        task, part = block.task(summary)
        cells, below = (int(table.task.isin(block.tasks).sum()) for table in (tested, exceptions))
        row = {"block": name, "task": task, "cells": cells, "beat_random": cells - below, "exceptions": below}
        rows.append(row | (_hits_of_block(part) if task else {}))
    return pd.DataFrame(rows, columns=BLOCK_COLUMNS)


def _hits_of_block(part: pd.DataFrame) -> dict:
    """What `block_table` says of the rows of one task, game and condition."""
    means = part.groupby("method", sort=False).accuracy.mean()
    explained = means.drop(list(pointing_game.BASELINES), errors="ignore")
    once = part.drop_duplicates("model")
    best = {"best_method": explained.idxmax(), "best": explained.max()} if len(explained) else {}
    return best | {
        "instances": part.instances.max(),
        "discarded": once.discarded.mean(),
        "right": once.right.mean(),
        "random": means.get("random"),
        "last": means.get("last"),
        "norms": means.reindex(list(NORMS)).mean(),
    }


TRAINED_ON = {  # their experiment -> the task of their models, as the table of accuracies has it
    "yelp hybrid": "yelp",
    "20newsgroups hybrid": "20newsgroups",
    "20newsgroups manual": "20newsgroups",
    "morphosyntactic agreement": "morphosyntactic_agreement",
}
COLUMNS = ["task", "experiment", "trained_on", "model", "architecture", "accuracy", "published", "ours_less_published"]
COLUMNS += ["discarded", "published_low", "published_high"]


def accuracy_beside_published(step: Step, summary: pd.DataFrame) -> pd.DataFrame:
    """One row per explained task and model: test accuracy and share of discarded texts, ours and theirs.

    accuracy: of the trained model on its own test split, mean over seeds; discarded: of the explained texts.
    published_low, published_high: the published range of discards, over models. NaN where the paper has no such cell.
    summary: of hits.accuracy_table.
    """
    profile, rows = step.profile, []
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
        rows.append((task, experiment, trained_on, model, architecture, own, theirs, own - theirs, discarded, *ends))
    return pd.DataFrame(rows, columns=COLUMNS)
