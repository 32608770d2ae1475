"""Notebook 01: sizes, lengths and labels of the corpora that a profile uses."""

from __future__ import annotations

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import seaborn as sns
from matplotlib import pyplot as plt

from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.style import task_title, use_style


def word_counts(profile: Profile) -> pd.DataFrame:
    """One row an instance of every task of a profile: task, split, label name, number of words."""
    parts = []
    for task in profile.tasks:
        if not corpora.table_path(task).exists():
            raise FileNotFoundError(f"the table of task {task!r} is not there: run `attreval fetch --task {task}`")
        table = pq.read_table(corpora.table_path(task), columns=["split", "label", "words"])
        labels = [corpora.TASKS[task].labels[k] for k in table["label"].to_pylist()]
        words = pc.list_value_length(table["words"]).to_numpy()
        parts.append(pd.DataFrame({"task": task, "split": table["split"].to_pylist(), "label": labels, "words": words}))
    return pd.concat(parts, ignore_index=True)


def corpus_table(counts: pd.DataFrame) -> pd.DataFrame:
    """One row a task and split: instances, words, and how the labels are shared out."""
    grouped = counts.groupby(["task", "split"], sort=False)
    out = grouped.words.agg(instances="size", words_mean="mean", words_median="median", words_max="max").reset_index()
    shares = grouped.label.value_counts(normalize=True, sort=False)
    out["labels"] = [
        ", ".join(f"{name} {share:.1%}" for name, share in shares.loc[task, split].sort_index().items())
        for task, split in zip(out.task, out.split, strict=True)
    ]
    order = {"train": 0, "dev": 1, "test": 2}
    return out.sort_values(
        ["task", "split"], key=lambda c: c.map(order) if c.name == "split" else c, kind="stable", ignore_index=True
    )


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
