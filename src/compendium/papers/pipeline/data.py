"""Notebook 01: sizes, lengths and labels of the corpora that a profile uses."""

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.style import task_title, use_style


def word_counts(profile: Profile) -> pd.DataFrame:
    """One row an instance of every task of a profile: task, split, label name, number of words."""
    parts = []
    for task in profile.tasks:
        if not corpora.table_path(task).exists():
            raise FileNotFoundError(
                f"the table of task {task!r} is not there: run `attreval fetch --task {task}`"
            )
        table = pq.read_table(corpora.table_path(task), columns=["split", "label", "words"])
        columns = {
            "task": task,
            "split": table["split"].to_pylist(),
            "label": [corpora.TASKS[task].labels[number] for number in table["label"].to_pylist()],
            "words": pc.list_value_length(table["words"]).to_numpy(),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def corpus_table(counts: pd.DataFrame) -> pd.DataFrame:
    """One row a task and split: instances, words, and how the labels are shared out."""
    grouped = counts.groupby(["task", "split"], sort=False)
    out = grouped.words.agg(
        instances="size", words_mean="mean", words_median="median", words_max="max"
    ).reset_index()
    shares = grouped.label.value_counts(normalize=True, sort=False)
    out["labels"] = [
        ", ".join(
            f"{name} {share:.1%}" for name, share in shares.loc[task, split].sort_index().items()
        )
        for task, split in zip(out.task, out.split, strict=True)
    ]
    order = out.split.map({"train": 0, "dev": 1, "test": 2})
    return out.iloc[np.lexsort((order, out.task))].reset_index(drop=True)


def draw_lengths(lengths: pd.DataFrame) -> Axes:
    """Words an instance, a row a task, the shortest first: median, half and nine tenths."""
    use_style()
    shares = lengths.groupby("task").words.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    shares = shares.unstack().sort_values(0.5)
    _, axes = plt.subplots(figsize=(7, 0.28 * len(shares) + 0.9))
    places = range(len(shares))
    for low, high, width in ((0.05, 0.95, 1.2), (0.25, 0.75, 5)):
        axes.hlines(places, shares[low], shares[high], color="#0072B2", linewidth=width)
    axes.plot(shares[0.5], places, "o", color="#0072B2", markerfacecolor="white")
    axes.set(xscale="log", xlabel="words in an instance: median, middle half, middle nine tenths")
    axes.set_yticks(places, map(task_title, shares.index))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.invert_yaxis()
    return axes
