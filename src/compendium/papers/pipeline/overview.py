"""Notebook 03_overview: what was trained and explained, and what it cost."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from attreval.methods import METHODS
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.method_style import name_method
from compendium.papers.common.runs import mean_costs, read_of_runs, read_shards
from compendium.papers.common.sentences import highest, lowest, of_row, sentence
from compendium.papers.common.style import name_run, task_title, use_style
from compendium.papers.common.tables import table_of
from compendium.workflow.step import Step


def model_table(step: Step) -> pd.DataFrame:
    """One row a task, model and seed: how well the model does on test."""
    return read_of_runs(step, "accuracy", "02_train", step.profile.trained_runs())


def cost_table(step: Step) -> pd.DataFrame:
    """One row a task and method: model evaluations and tokens an instance, over all runs."""
    return mean_costs(read_shards(step, "cost"), ["task", "method"]).reset_index()


@table_of(
    "task also_trained_on instances tokens_mean truncated accuracy gap_max gap_share_max "
    "reused_share sampled_precision sampled_correlation"
)
def task_table(step: Step, cost: pd.DataFrame) -> Iterator[tuple]:
    """One row an explained task: what its models also learn from, and what was explained.

    instances, tokens_mean, truncated: of the texts. accuracy: of the explained predictions.
    gap_max, gap_share_max: the largest completeness gaps. reused_share: of all evaluations asked
    for. sampled_precision, sampled_correlation: of sampled methods, how the scores in this
    precision correlate with the exact ones. cost: of `cost_table`. NaN: what only the tables of
    single texts say, of a task whose steps were restored from a commit, which has none.
    """
    explained = read_shards(step, "instances", gaps=True)
    precision = read_shards(step, "precision")
    shards = read_shards(step, "cost")
    for task, spent in cost.groupby("task", sort=False):
        part = explained[explained.task == task]
        sampled = precision[precision.task == task]
        if len(part):
            texts = part.drop_duplicates("instance")
            accuracy = (part.predicted == part.label).mean()
            read = (len(texts), texts.tokens.mean(), (texts.dropped > 0).sum(), accuracy)
            found = (*read, part.gap.max(), part.gap_share.max())
        # how many texts its models were asked to predict, and how long they are: of the model with
        # most
        else:
            asked = shards[(shards.task == task) & (shards.method == "prediction")]
            sums = asked.assign(tokens=asked.requested_tokens * asked.instances).groupby(
                "model", sort=False
            )
            most = sums[["instances", "tokens"]].sum().nlargest(1, "instances").iloc[0]
            found = (int(most.instances), most.tokens / most.instances, *[np.nan] * 4)
        reused = spent.reused.sum() / spent.requested.sum()
        names = ", ".join(sampled.precision.unique())
        yield (
            task,
            _also_trained_on(step.profile, task),
            *found,
            reused,
            names,
            sampled.correlation.mean(),
        )


def _also_trained_on(profile: Profile, task: str) -> str:
    """What a task's models are trained on besides its own train split, in words."""
    parts = []
    for other, more in profile.tasks[task].also_train.items():
        short = f"cut to their last {more.last_words} words"
        if more.last_words is None:
            copies = ", ".join(map(str, more.around_marks))
            short = (
                f"as far as people marked them cut to the marked words with {copies} words on "
                "either side"
            )
        parts.append(f"{more.rows:,} instances of {corpora.TASKS[other].short}, {short}")
    return " and ".join(parts) or "nothing else"


def draw_cost(cost: pd.DataFrame) -> Axes:
    """Evaluations an instance that each method asks for and that are computed, a point a task."""
    use_style()
    asked = cost[cost.requested > 0]
    order = asked.groupby("method", sort=False).requested.median().sort_values(kind="stable").index
    names = {"requested": "asked for", "unique": "computed"}
    long = asked.rename(columns=names).melt(
        "method", names.values(), var_name="which", value_name="evaluations"
    )
    _, axes = plt.subplots(figsize=(7.2, 0.25 * len(order) + 1), layout="constrained")
    looks: dict[str, Any] = {
        "dodge": True,
        "jitter": False,
        "alpha": 0.7,
        "palette": ["#999999", "#0072B2"],
    }
    sns.stripplot(long, x="evaluations", y="method", order=order, hue="which", ax=axes, **looks)
    titles = {name: one.title for name, one in METHODS.items()}
    axes.set_yticks(range(len(order)), [titles.get(name, name.capitalize()) for name in order])
    axes.set(xscale="log", xlabel="model evaluations an instance", ylabel="")
    axes.legend(title="")
    return axes


@sentence
def say_trained_models(models: pd.DataFrame) -> str:
    """Which models know their task best and worst, and how many surely know something."""
    best = highest(models, "accuracy")
    worst = lowest(models, "accuracy")
    sure = (models.accuracy_low > models.majority).sum()
    shown = [
        f"{name_run(row)} at {of_row(row, 'accuracy', 'accuracy_low', 'accuracy_high')}"
        for row in (best, worst)
    ]
    return (
        f"{sure} of {len(models)} models are surely more accurate than naming the most frequent "
        f"class; accuracy is highest for {shown[0]} and lowest for {shown[1]}."
    )


@sentence
def say_cost(cost: pd.DataFrame) -> str:
    """The most expensive method of any task, and the share that need not be computed."""
    asked = cost[cost.requested > 0]
    most = highest(asked, "requested")
    sums = asked.groupby("task")[["requested", "reused"]].sum()
    shares = sums.reused / sums.requested
    return (
        f"The most expensive explanation is {name_method(most.method)} on "
        f"{task_title(most.task)}, with {most.requested:,.0f} evaluations per text; "
        f"{100 * (sums.reused.sum() / sums.requested.sum()):.0f} % of all evaluations asked for "
        f"are already known ({100 * shares.min():.0f} % to {100 * shares.max():.0f} %, depending "
        "on the task)."
    )
