"""Contrasts: one option less others, averaged over cells (tasks, models, ...), with its interval and its nulls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attreval.core.seeds import generator
from compendium.config import BootstrapSpec
from compendium.papers.common.resampling import Statistic, draw, evaluate, exchange_names, mean_of_known
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding


@dataclass(frozen=True)
class Cell:
    """values: (n, options) of the task's texts and seeds that are named. difference: what is asked of their means.

    chosen: whether it chooses an option by its mean. by_scores: makes (j, n, options) with nothing but random scores.
    exchanged: the options whose names are exchanged, all where it is empty; None for a number that no name decides.
    """

    task: str
    model: str
    values: np.ndarray
    texts: Sequence
    seeds: Sequence
    difference: Statistic
    chosen: bool = False
    by_scores: Callable[[int, np.random.Generator], np.ndarray] | None = None
    exchanged: tuple[int, ...] | None = ()

    def worlds(self, kind: str, number: int, rng: np.random.Generator) -> np.ndarray | None:
        """(j, n, options) in worlds of one kind of null."""
        if kind == "scores":
            return self.by_scores(number, rng) if self.by_scores else None
        if self.exchanged is None:
            return None
        at = list(self.exchanged or range(self.values.shape[1]))
        out = np.repeat(self.values[None], number, axis=0)
        out[:, :, at] = exchange_names(self.values[:, at], number, rng)
        return out


@dataclass(frozen=True)
class Difference:
    """finding: of the mean over cells. positive: in how many it is above 0, of so many cells, tasks and models."""

    finding: Finding
    positive: int
    cells: int
    tasks: tuple[str, ...]
    models: tuple[str, ...]


def mean_difference(
    cells: Iterable[Cell],
    settings: BootstrapSpec,
    over: Callable[[np.ndarray, list[Cell]], np.ndarray] = lambda drawn, _: mean_of_known(drawn),
) -> Difference | None:
    """The mean over cells; None where there is no cell.

    Texts are drawn with replacement, the same draw for all cells of a task. Cells of fewer than LEAST_TEXTS texts are
    left out where others have more. over: (cells, b, ...) values and the cells -> (b,), instead of their mean.
    """
    cells = [cell for cell in cells if len(cell.values)]
    sizes = [len(set(cell.texts)) for cell in cells]
    if any(size >= LEAST_TEXTS for size in sizes):
        cells = [cell for cell, size in zip(cells, sizes, strict=True) if size >= LEAST_TEXTS]
    if not cells:
        return None
    drawn, nulls, draws = [], {"scores": [], "names": []}, {}
    for task in dict.fromkeys(cell.task for cell in cells):
        same = [cell for cell in cells if cell.task == task]
        texts, seeds = ([label for cell in same for label in getattr(cell, name)] for name in ("texts", "seeds"))
        draws[task] = draw(texts, seeds, settings.draws, "contrast", task)
    for at, cell in enumerate(cells):
        sample = draws[cell.task].sample(cell.texts, cell.seeds)
        drawn.append(evaluate(sample, cell.values, cell.difference, cell.chosen))
        for kind, worlds in nulls.items():
            made = cell.worlds(kind, settings.nulls, generator("null", kind, cell.task, at))
            if made is not None:
                worlds.append(evaluate(sample, made, cell.difference, cell.chosen))
    drawn = np.array(drawn)
    value = over(drawn, cells)
    finding = Finding(
        float(value[0]),
        value[1:],
        *(over(np.array(worlds), cells) if worlds else np.zeros(0) for worlds in nulls.values()),
        texts=min(len(set(cell.texts)) for cell in cells),
        models=len({cell.model for cell in cells}),
        seeds=max(len(set(cell.seeds)) for cell in cells),
    )
    positive = int((drawn[:, 0] > 0).sum()) if drawn.ndim == 2 else 0
    names = (tuple(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("task", "model"))
    return Difference(finding, positive, len(cells), *names)
