"""What was trained and explained, and what did it cost? The shards and seeds of a profile, put together."""

from __future__ import annotations

import pandas as pd

from attreval import corpora
from attreval.config import Profile
from attreval.papers.common.runs import read_shards
from attreval.workflow.step import Step

PER_INSTANCE = ["requested", "unique", "reused", "requested_tokens", "unique_tokens", "gradients"]


def model_table(step: Step) -> pd.DataFrame:
    """One row a task, model and seed: how well the model does on test."""
    runs = step.profile.trained_runs()
    table = pd.concat([step.results.read_table("accuracy", "02_train", *run) for run in runs], ignore_index=True)
    for task, part in table.groupby("task", sort=False):
        for name in ("accuracy", "macro_f1", "majority"):
            step.number(f"train.{task}.{name}", float(part[name].mean()), 3)
        step.number(f"train.{task}.accuracy_low", float(part.accuracy_low.min()), 3)
        step.number(f"train.{task}.accuracy_high", float(part.accuracy_high.max()), 3)
        for name in ("train_rows", "test_rows"):
            step.number(f"train.{task}.{name}", int(part[name].max()))
        step.number(f"train.{task}.also", describe_extra(step.profile, task))
        step.number(f"train.{task}.precision", ", ".join(dict.fromkeys(part.precision)))
    return table


def describe_extra(profile: Profile, task: str) -> str:
    """What a task's models are trained on besides its own train split, in words."""
    parts = [
        f"{more.rows:,} instances of {corpora.TASKS[other].short}, cut to their last {more.last_words} words"
        for other, more in profile.tasks[task].also_train.items()
    ]
    return " and ".join(parts) or "nothing else"


def cost_table(step: Step) -> pd.DataFrame:
    """One row a task and method: model evaluations and tokens an instance, over all models, seeds and shards."""
    shards = read_shards(step, "cost")
    totals = (
        shards[PER_INSTANCE]
        .mul(shards.instances, axis=0)
        .assign(task=shards.task, method=shards.method, instances=shards.instances)
    )
    totals = totals.groupby(["task", "method"], sort=False).sum().reset_index()
    totals[PER_INSTANCE] = totals[PER_INSTANCE].div(totals.instances, axis=0)
    for task, part in totals.groupby("task", sort=False):
        step.number(f"explain.{task}.requested", float(part.requested.sum()), 0)
        step.number(f"explain.{task}.unique", float(part.unique.sum()), 0)
        step.number(f"explain.{task}.reused_share", float(part.reused.sum() / part.requested.sum()), percent=True)
    return totals[["task", "method", "instances", *PER_INSTANCE]]


def note_explained(step: Step) -> None:
    """Keep what the text says of the explained instances."""
    for task, part in read_shards(step, "instances").groupby("task", sort=False):
        one = part.drop_duplicates("instance")
        step.number(f"explain.{task}.instances", len(one))
        step.number(f"explain.{task}.tokens_mean", float(one.tokens.mean()), 1)
        step.number(f"explain.{task}.accuracy", float((part.predicted == part.label).mean()), 3)
        step.number(f"explain.{task}.truncated", int((one.dropped > 0).sum()))
        step.number(f"explain.{task}.gap_max", float(part.gap.max()), 3)
        step.number(f"explain.{task}.gap_share_max", float(part.gap_share.max()), 3)
    for task, part in read_shards(step, "precision").groupby("task", sort=False):
        step.number(f"explain.{task}.sampled_precision", ", ".join(dict.fromkeys(part.precision)))
        step.number(f"explain.{task}.sampled_correlation", float(part.correlation.mean()), 4)
