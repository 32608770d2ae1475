"""Contrasts of methods by their hits: do some hit more often than others, over several models and games at once?

A cell is one task, model, game and kind of prediction: a column of Table 2 of Poerner et al. (2018). In each cell one
group of methods is set against another; the difference is averaged over cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from attreval.metrics.pointing_game import BASELINES
from attreval.papers.common.contrasts import Cell, Difference, mean_difference

CONDITIONS_OF = {"hybrid": ("all",), "manual": ("all",), "hit_target": ("correct",), "hit_feat": ("correct", "wrong")}
Pick = Literal["mean", "best"]


@dataclass(frozen=True)
class MethodContrast:
    """better, worse: methods; `worse` empty stands for all others but baselines. pick: how a group becomes one number.

    games, architectures, tasks: which cells; None takes all there are.
    """

    better: tuple[str, ...]
    worse: tuple[str, ...] = ()
    pick: Pick = "mean"
    games: tuple[str, ...] | None = None
    architectures: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None


def contrast_methods(hits: pd.DataFrame, asked: MethodContrast, draws: int, confidence: float) -> Difference | None:
    """The difference that a contrast asks for; None where no cell has both of its groups.

    hits: rows of `pointing_game.play` with task, model, seed and `architecture`; seeds of one instance are averaged.
    """
    chosen = hits[hits.discarded == ""]
    for name, values in (("task", asked.tasks), ("architecture", asked.architectures), ("metric", asked.games)):
        chosen = chosen if values is None else chosen[chosen[name].isin(values)]
    return mean_difference(chosen, partial(_cells, asked=asked), draws, confidence)


def _cells(hits: pd.DataFrame, asked: MethodContrast) -> Iterator[Cell]:
    """One (instances, methods) table of hits for each model, game and kind of prediction that has both groups."""
    for (_, metric), part in hits.groupby(["model", "metric"], sort=False):
        for condition in CONDITIONS_OF[metric]:
            kept = part if condition == "all" else part[part.correct == (condition == "correct")]
            if not len(kept):
                continue
            table = kept.pivot_table(index="instance", columns="method", values="hit", aggfunc="mean", sort=False)
            better, worse = _groups(list(table.columns), asked)
            if better and worse:
                yield table, partial(_difference, better=better, worse=worse, pick=asked.pick)


def _groups(methods: Sequence[str], asked: MethodContrast) -> tuple[list[int], list[int]]:
    """Where the two groups stand among the methods."""
    others = [n for n in methods if n not in asked.better and n not in BASELINES]
    better = [at for at, name in enumerate(methods) if name in asked.better]
    worse = [at for at, name in enumerate(methods) if name in (asked.worse or others)]
    return better, worse


def _difference(means: np.ndarray, better: list[int], worse: list[int], pick: Pick) -> np.ndarray:
    """(draws,) the first group's mean or best less the second's, of (draws, methods) accuracies."""
    reduce = np.max if pick == "best" else np.mean
    return reduce(means[:, better], axis=1) - reduce(means[:, worse], axis=1)
