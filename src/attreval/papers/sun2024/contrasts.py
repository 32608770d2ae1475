"""Contrasts of types of explanation, or of techniques: does one do better, over several models and tasks at once?

A cell is a technique, model and task where types are compared (Sun et al. 2024, figure 2), and a type, model and task
where techniques are. In each cell one option is set against others; the difference is averaged over cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from attreval.metrics.registry import METRICS
from attreval.papers.common.contrasts import Cell, Difference, mean_difference
from attreval.papers.sun2024.tables import PROPERTIES

CHANCE = "random"
Across = Literal["type", "technique", "form"]


@dataclass(frozen=True)
class TypeContrast:
    """better, worse: types of explanation (`random` stands for chance), or what `across` names. pick: how several of
    `worse` become one number, their mean or the best of them. kinds (of models), types, techniques, forms, tasks: which
    cells; None takes all there are. An explanation is shown to agents in a form; other properties have none."""

    property: str
    better: str
    worse: tuple[str, ...]
    across: Across = "type"
    pick: Literal["mean", "best"] = "mean"
    kinds: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    techniques: tuple[str, ...] | None = None
    forms: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None


def contrast_types(values: pd.DataFrame, asked: TypeContrast, draws: int, confidence: float) -> Difference | None:
    """The difference that a contrast asks for, higher being better; None where no cell has all of its options.

    values: columns task, model, kind, technique, type, form, property, instance, value, chance.
    """
    difference = partial(_difference, pick=asked.pick)

    def cells(of_task: pd.DataFrame) -> Iterator[Cell]:
        return ((table, difference) for table in _tables(of_task, asked))

    return mean_difference(choose(values, asked), cells, draws, confidence)


def count_cells(values: pd.DataFrame, asked: TypeContrast) -> tuple[int, int]:
    """In how many cells the option is strictly better, of how many; of a table with one value a cell and option."""
    found = [_difference(cell.to_numpy(), asked.pick).mean() for cell in _tables(choose(values, asked), asked)]
    return int(np.sum(np.array(found) > 0)), len(found)


def choose(values: pd.DataFrame, asked: TypeContrast) -> pd.DataFrame:
    """The rows that a contrast looks at, turned so that higher is better."""
    chosen = values[values.property == asked.property]
    filters = {"task": asked.tasks, "kind": asked.kinds, "type": asked.types}
    filters |= {"technique": asked.techniques, "form": asked.forms}
    for name, allowed in filters.items():
        chosen = chosen if allowed is None else chosen[chosen[name].isin(allowed)]
    sign = METRICS[PROPERTIES[asked.property]].sign
    return chosen.assign(value=sign * chosen.value, chance=sign * chosen.chance)


def _tables(chosen: pd.DataFrame, asked: TypeContrast) -> Iterator[pd.DataFrame]:
    """One (instances, options) table a cell: the option that should be better first, then the others."""
    keys = [name for name in ("task", "model", "technique", "type", "form") if name != asked.across]
    for _, part in chosen.groupby(keys, sort=False, dropna=False):
        wide = part.pivot_table(index="instance", columns=asked.across, values="value", aggfunc="mean", sort=False)
        if CHANCE in asked.worse or asked.better == CHANCE:
            own = next(name for name in (asked.better, *asked.worse) if name != CHANCE)
            wide[CHANCE] = part[part[asked.across] == own].groupby("instance").chance.mean()
        options = [asked.better, *asked.worse]
        if all(name in wide for name in options):
            whole = wide[options].dropna()
            if len(whole):
                yield whole


def _difference(values: np.ndarray, pick: str) -> np.ndarray:
    """(draws,) the first column less the mean or the largest of the others."""
    return values[:, 0] - (values[:, 1:].max(axis=1) if pick == "best" else values[:, 1:].mean(axis=1))
