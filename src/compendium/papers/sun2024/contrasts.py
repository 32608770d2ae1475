"""Contrasts of types of explanation, or of techniques, over several models and tasks at once.

A cell is a technique, model and task where types are compared (Sun et al. 2024, figure 2), and a
type, model and task where techniques are. In each cell one option is set against others; the
difference is averaged over cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from attreval.metrics import METRICS
from compendium.config import BootstrapSpec
from compendium.papers.common.contrasts import (
    ContrastCell,
    Difference,
    Statistic,
    best_of,
    exchange_columns,
    least_of,
    mean_difference,
)
from compendium.papers.sun2024.tables import PROPERTIES

CHANCE = "random"
Across = Literal["type", "technique", "form"]
Pick = Literal["mean", "best", "least"]


@dataclass(frozen=True)
class TypeContrast:
    """One type of explanation, technique or form (as `across` says) against others.

    better, worse: what is compared; `random` stands for chance. pick: how several of `worse` become
    one number: their mean, the best or the least of them. count: the number is the share of cells
    in which the difference is above 0. properties, kinds (of models), types, techniques, forms,
    tasks: which cells; None takes all there are. Only simulatability has forms, in which agents are
    shown an explanation.
    """

    properties: tuple[str, ...]
    better: str
    worse: tuple[str, ...]
    across: Across = "type"
    pick: Pick = "mean"
    count: bool = False
    kinds: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    techniques: tuple[str, ...] | None = None
    forms: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None


def contrast_types(
    values: pd.DataFrame, asked: TypeContrast, settings: BootstrapSpec
) -> Difference | None:
    """The difference that a contrast asks for, higher being better.

    None where no cell has all of its options.

    values: columns task, model, kind, technique, type, form, property, instance, agent, value,
    chance. Texts and agents are drawn with replacement.
    """
    return mean_difference(make_cells(values, asked), settings)


def make_cells(values: pd.DataFrame, asked: TypeContrast) -> list[ContrastCell]:
    """A cell for each technique or type, model, task and property that has all options."""
    options = (asked.better, *asked.worse)
    cells = []
    for task, model, rows, table, chance in _tables(values, asked):
        texts, agents = zip(*rows, strict=True)
        cell = ContrastCell(
            task,
            model,
            table,
            texts,
            seeds=agents,
            statistic=COUNTED[asked.pick] if asked.count else LEADS[asked.pick],
            chosen=asked.pick != "mean" and not asked.count,
            by_scores=partial(_as_random, table, chance, options),
            by_names=partial(exchange_columns, table),
        )
        cells.append(cell)
    return cells


def count_cells(values: pd.DataFrame, asked: TypeContrast) -> tuple[int, int]:
    """In how many cells the option is strictly better, of how many.

    values: one per cell and option, as published.
    """
    leads = np.array([cell.as_printed() for cell in make_cells(values, asked)])
    return (leads > 0.5 * asked.count).sum(), len(leads)


def mean_of_cells(values: pd.DataFrame, asked: TypeContrast) -> float:
    """The contrast of such values, mean over cells; NaN without any."""
    leads = np.array([cell.as_printed() for cell in make_cells(values, asked)])
    return leads.mean() if len(leads) else np.nan


def rows_asked(values: pd.DataFrame, asked: TypeContrast) -> pd.DataFrame:
    """The rows that a contrast looks at."""
    chosen = values[values.property.isin(asked.properties)]
    for name in ("task", "kind", "type", "technique", "form"):
        if (allowed := getattr(asked, f"{name}s")) is not None:
            chosen = chosen[chosen[name].isin(allowed)]
    return chosen


def _tables(
    values: pd.DataFrame, asked: TypeContrast
) -> Iterator[tuple[str, str, tuple, np.ndarray, np.ndarray]]:
    """Each cell's task, model, rows (instance, agent) and two (rows, options) arrays.

    The option to be better stands first.

    The arrays hold the values and what chance gives in their place (of chance itself, its own
    values), turned so that higher is better. Rows that lack an option are left out, and so are
    cells without rows.
    """
    every = ("task", "model", "property", "technique", "type", "form")
    keys = [name for name in every if name != asked.across]
    options = [asked.better, *asked.worse]
    for key, part in rows_asked(values, asked).groupby(keys, sort=False, dropna=False):
        at, rows = pd.MultiIndex.from_frame(part[["instance", "agent"]]).factorize()
        option = pd.Index(options).get_indexer(part[asked.across])
        found = np.full((2, len(rows), len(options)), np.nan)
        known = option >= 0
        sign = METRICS[PROPERTIES[key[2]].metric].sign
        found[:, at[known], option[known]] = (
            sign * part.loc[known, ["value", "chance"]].to_numpy().T
        )
        if CHANCE in options:
            own = next(name for name in options if name != CHANCE)
            found[:, :, options.index(CHANCE)] = found[1, :, options.index(own)]
        whole = ~np.isnan(found[0]).any(axis=1)
        if whole.any():
            yield key[0], key[1], rows[whole], *found[:, whole]


# (b,) the first column less the mean, the best or the least of the others
LEADS: dict[Pick, Statistic] = {
    "mean": lambda read: read[:, 0] - read[:, 1:].mean(axis=1),
    "best": lambda fit, read: read[:, 0] - best_of(fit[:, 1:], read[:, 1:]),
    "least": lambda fit, read: read[:, 0] - least_of(fit[:, 1:], read[:, 1:]),
}


def _first(read: np.ndarray) -> np.ndarray:
    """(b,) whether the first column is the highest, shared with what ties with it."""
    ties = (read == read.max(axis=1, keepdims=True)).astype(float)
    return ties[:, 0] / ties.sum(axis=1)


# whether the first column is better, to count cells: of equal options each is as often
COUNTED: dict[Pick, Statistic] = {
    "mean": lambda read: _first(np.stack([read[:, 0], read[:, 1:].mean(axis=1)], axis=1)),
    "best": _first,
    "least": lambda read: 1 - _first(-read),
}


def _as_random(
    values: np.ndarray,
    chance: np.ndarray,
    options: tuple[str, ...],
    worlds: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """(j, n, options) values where there is nothing but random tokens, as many as are compared.

    Of explanations, each is as many random tokens, on texts drawn anew; where random tokens are
    what an explanation is set against, the two change places at random in each text.
    """
    if CHANCE not in options:
        return chance[rng.integers(len(chance), size=(worlds, len(chance)))]
    swapped = rng.random((worlds, len(values), 1)) < 0.5
    return np.where(swapped, values[:, ::-1], values)
