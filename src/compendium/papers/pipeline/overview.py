"""Notebook 03_overview: what was trained and explained, and what it cost, all shards and seeds put together."""

from __future__ import annotations

import pandas as pd

from compendium import corpora
from compendium.config import Profile
from compendium.config.sections import AlsoTrain
from compendium.papers.common.runs import read_shards
from compendium.workflow.step import Step

PER_INSTANCE = ["requested", "unique", "reused", "requested_tokens", "unique_tokens", "gradients"]


def model_table(step: Step) -> pd.DataFrame:
    """One row a task, model and seed: how well the model does on test."""
    runs = step.profile.trained_runs()
    return pd.concat([step.results.read_table("accuracy", "02_train", *run) for run in runs], ignore_index=True)


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
    return totals[["task", "method", "instances", *PER_INSTANCE]]


def task_table(step: Step, cost: pd.DataFrame) -> pd.DataFrame:
    """One row an explained task: what its models also learn from, and what was explained, over models and seeds.

    instances, tokens_mean, truncated: of the texts. accuracy: of the explained predictions. gap_max, gap_share_max: the
    largest completeness gaps. reused_share: of all evaluations asked for. sampled_precision, sampled_correlation: of
    sampled methods, how the scores in this precision correlate with the exact ones. cost: of `cost_table`. NaN: what
    only the tables of single texts say, of a task whose steps were restored from a commit, which has none.
    """
    explained = read_shards(step, "instances", gaps=True)
    precision, shards = read_shards(step, "precision"), read_shards(step, "cost")
    rows = []
    for task in dict.fromkeys(cost.task):
        part, spent = explained[explained.task == task], cost[cost.task == task]
        sampled = precision[precision.task == task]
        row = {"task": task, "also_trained_on": _also_trained_on(step.profile, task)}
        rows.append(
            row
            | (_of_texts(part) if len(part) else _of_predictions(shards[shards.task == task]))
            | {
                "reused_share": spent.reused.sum() / spent.requested.sum(),
                "sampled_precision": ", ".join(dict.fromkeys(sampled.precision)),
                "sampled_correlation": sampled.correlation.mean(),
            }
        )
    return pd.DataFrame(rows)


def _of_texts(part: pd.DataFrame) -> dict[str, float]:
    """What a task's tables of single texts say."""
    texts = part.drop_duplicates("instance")
    return {
        "instances": len(texts),
        "tokens_mean": texts.tokens.mean(),
        "truncated": (texts.dropped > 0).sum(),
        "accuracy": (part.predicted == part.label).mean(),
        "gap_max": part.gap.max(),
        "gap_share_max": part.gap_share.max(),
    }


def _of_predictions(shards: pd.DataFrame) -> dict[str, float]:
    """How many texts a task's models were asked to predict, and how long they are: of the model with most."""
    asked = shards[shards.method == "prediction"]
    sums = asked.assign(tokens=asked.requested_tokens * asked.instances).groupby("model", sort=False)
    most = sums[["instances", "tokens"]].sum().nlargest(1, "instances").iloc[0]
    rest = dict.fromkeys(("truncated", "accuracy", "gap_max", "gap_share_max"), float("nan"))
    return {"instances": int(most.instances), "tokens_mean": most.tokens / most.instances} | rest


def _also_trained_on(profile: Profile, task: str) -> str:
    """What a task's models are trained on besides its own train split, in words."""
    parts = [
        f"{more.rows:,} instances of {corpora.TASKS[other].short}, {_said(more)}"
        for other, more in profile.tasks[task].also_train.items()
    ]
    return " and ".join(parts) or "nothing else"


def _said(more: AlsoTrain) -> str:
    """How instances are shortened, in words."""
    if more.last_words is not None:
        return f"cut to their last {more.last_words} words"
    copies = ", ".join(map(str, more.around_marks))
    return f"as far as people marked them cut to the marked words with {copies} words on either side"
