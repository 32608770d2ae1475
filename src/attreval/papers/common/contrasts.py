"""Contrasts: one option less others, averaged over cells (tasks, models, ...), with a bootstrap interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator

# (instances, options) values, and the difference that is asked of (draws, options) means
Cell = tuple[pd.DataFrame, Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Difference:
    """The mean difference over cells with its interval, in how many cells it is positive, and how many there are."""

    value: float
    low: float
    high: float
    positive: int
    cells: int


def mean_difference(
    values: pd.DataFrame, cells_of: Callable[[pd.DataFrame], Iterator[Cell]], draws: int, confidence: float
) -> Difference | None:
    """The mean over the cells of every task; None where there is no cell.

    values: with `task` and `instance`. Instances are drawn with replacement, the same draw for all cells of a task; a
    draw that holds no instance of a cell says nothing of that cell.
    """
    found, drawn = [], []
    for task, of_task in values.groupby("task", sort=False):
        ids = pd.Index(of_task.instance.unique())
        counts = draw_counts(generator("contrast", task), len(ids), draws)
        for table, difference in cells_of(of_task):
            weights = counts[:, ids.get_indexer(table.index)]
            with np.errstate(invalid="ignore"):
                means = (weights @ table.to_numpy()) / weights.sum(axis=1, keepdims=True)
            found.append(float(difference(table.to_numpy().mean(axis=0)[None])[0]))
            drawn.append(difference(means))
    if not found:
        return None
    known = ~np.isnan(drawn)
    with np.errstate(invalid="ignore"):
        low, high = percentile_interval(np.nansum(drawn, axis=0) / known.sum(axis=0), confidence)
    return Difference(float(np.mean(found)), float(low), float(high), sum(one > 0 for one in found), len(found))
