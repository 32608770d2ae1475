"""Figures of notebooks 01-03: lengths of texts (01), training curves (02), cost of explaining (03_overview)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt

from attreval.explain import METHODS
from attreval.papers.common.style import task_title, use_style


def draw_lengths(lengths: pd.DataFrame):
    """Empirical distribution of words an instance, one line a task. lengths: columns task, words."""
    use_style()
    _, axes = plt.subplots(figsize=(7, 3.6))
    named = lengths.assign(task=lengths.task.map(task_title))
    sns.ecdfplot(named, x="words", hue="task", ax=axes, linewidth=2)
    axes.set(xlabel="words in an instance", ylabel="share of instances", xscale="log")
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if named.words.min() <= t <= named.words.max()]
    axes.set_xticks(ticks, [f"{t}" for t in ticks])
    axes.minorticks_off()
    sns.move_legend(axes, "lower right", title=None)
    return axes


def draw_training(curve: pd.DataFrame):
    """Loss on train and dev, and accuracy on dev, by epoch. curve: one row a check."""
    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    left.plot(curve.epoch, curve.train_loss, marker="o", label="train")
    left.plot(curve.epoch, curve.dev_loss, marker="s", linestyle="--", label="dev")
    left.set(xlabel="epoch", ylabel="cross-entropy")
    left.legend()
    right.plot(curve.epoch, curve.dev_accuracy, marker="s", color="C1", linestyle="--")
    right.set(xlabel="epoch", ylabel="accuracy on dev")
    figure.tight_layout()
    return left


def draw_cost(cost: pd.DataFrame):
    """Evaluations an instance, asked for and computed, a pair of bars a method, a panel a task, logarithmic scale.

    cost: columns task, method, requested, unique.
    """
    use_style()
    tasks = list(dict.fromkeys(cost.task))
    methods = [m for m in dict.fromkeys(cost.method) if cost[cost.method == m].requested.max() > 0]
    figure, panels = plt.subplots(
        1, len(tasks), figsize=(5.2 * len(tasks), 0.42 * len(methods) + 1.4), sharey=True, squeeze=False
    )
    places = np.arange(len(methods))
    for axes, task in zip(panels[0], tasks, strict=True):
        part = cost[cost.task == task].set_index("method").reindex(methods)
        axes.barh(places - 0.2, part.requested, height=0.4, label="asked for", color="#bbbbbb")
        axes.barh(places + 0.2, part.unique, height=0.4, label="computed", color="#0072B2")
        names = [METHODS[m].title if m in METHODS else m.capitalize() for m in methods]
        axes.set(
            yticks=places,
            yticklabels=names,
            xscale="log",
            xlabel="model evaluations an instance",
            title=task_title(task),
        )
        axes.minorticks_off()
    panels[0][0].invert_yaxis()
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=2)
    figure.tight_layout()
    return panels[0][0]
