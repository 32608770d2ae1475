"""Do some methods hit more often than others, over several models and games at once? One number, with its interval.

A column is one task, model, game and kind of prediction, as in Table 2 of Poerner et al. (2018). In each column one
group of methods is set against another; the difference is averaged over columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics.pointing_game import BASELINES

CONDITIONS_OF = {"hybrid": ("all",), "manual": ("all",), "hit_target": ("correct",), "hit_feat": ("correct", "wrong")}
Pick = Literal["mean", "best"]


@dataclass(frozen=True)
class Contrast:
    """better, worse: methods; `worse` empty stands for all others but baselines. pick: how a group becomes one number.

    games, architectures, tasks: which columns; None takes all there are.
    """

    better: tuple[str, ...]
    worse: tuple[str, ...] = ()
    pick: Pick = "mean"
    games: tuple[str, ...] | None = None
    architectures: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Difference:
    """The mean difference over columns with its interval, the share of columns where it is positive, and how many."""

    value: float
    low: float
    high: float
    positive: int
    columns: int


def contrast(hits: pd.DataFrame, asked: Contrast, draws: int, level: float) -> Difference | None:
    """The difference that a contrast asks for; None where no column has both of its groups.

    hits: as for `pointing.summarise`, with `architecture`. Instances are drawn with replacement, the same draw for all
    models of a task; seeds of one instance are averaged first. A column of which a draw has no instance does not count.
    """
    found, spread = [], []
    chosen = hits[hits.discarded == ""]
    for name, values in (("task", asked.tasks), ("architecture", asked.architectures), ("metric", asked.games)):
        chosen = chosen if values is None else chosen[chosen[name].isin(values)]
    for task, of_task in chosen.groupby("task", sort=False):
        ids = pd.Index(of_task.instance.unique())
        rng = generator("contrast", task)
        counts = rng.multinomial(len(ids), np.full(len(ids), 1 / len(ids)), size=draws).astype(float)
        for values in columns_of(of_task):
            groups = group(list(values.columns), asked)
            if groups is None:
                continue
            weights = counts[:, ids.get_indexer(values.index)]
            with np.errstate(invalid="ignore"):
                drawn = (weights @ values.to_numpy()) / weights.sum(axis=1, keepdims=True)
            found.append(differ(values.to_numpy().mean(axis=0)[None], groups, asked.pick)[0])
            spread.append(differ(drawn, groups, asked.pick))
    if not found:
        return None
    low, high = np.nanquantile(np.nanmean(spread, axis=0), [(1 - level) / 2, (1 + level) / 2])
    return Difference(float(np.mean(found)), float(low), float(high), int(np.sum(np.array(found) > 0)), len(found))


def columns_of(hits: pd.DataFrame):
    """One (instances, methods) table of hits for each model, game and kind of prediction."""
    for (_, metric), part in hits.groupby(["model", "metric"], sort=False):
        for condition in CONDITIONS_OF[metric]:
            kept = part if condition == "all" else part[part.correct == (condition == "correct")]
            if len(kept):
                yield kept.pivot_table(index="instance", columns="method", values="hit", aggfunc="mean", sort=False)


def group(methods: Sequence[str], asked: Contrast) -> tuple[list[int], list[int]] | None:
    """Where the two groups stand among the methods; None where one of them has nobody."""
    better = [at for at, name in enumerate(methods) if name in asked.better]
    others = [n for n in methods if n not in asked.better and n not in BASELINES]
    worse = [at for at, name in enumerate(methods) if name in (asked.worse or others)]
    return (better, worse) if better and worse else None


def differ(values: np.ndarray, groups: tuple[list[int], list[int]], pick: Pick) -> np.ndarray:
    """(draws,) the first group's mean or best less the second's, of (draws, methods) accuracies."""
    reduce = np.max if pick == "best" else np.mean
    return reduce(values[:, groups[0]], axis=1) - reduce(values[:, groups[1]], axis=1)
