"""Figures of notebooks 01 and 02: lengths of texts, training curves. They know no method: see figures_cost."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt

from compendium.papers.common.style import task_title, use_style


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
