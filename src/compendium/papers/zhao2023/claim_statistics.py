"""The numbers behind the claims of Zhao & Aletras (2023), each a function of diagnosticity by task
and method.

What is chosen (the best of several, the least) is chosen on other texts than it is read from; an sd
of means is freed of their noise. Letters used for shapes: b draws and the sample itself, t tasks, m
methods, k metrics, r ratios.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import NamedTuple

import numpy as np

from attreval.metrics import FAITHFULNESS
from compendium.papers.common.contrasts import best_of, least_of, mean_of_known, spread
from compendium.papers.zhao2023.settings import published_dataset

NC, SOFT_NC, NS, SOFT_NS = range(len(FAITHFULNESS))
HARD = [NC, NS]
SOFT = [SOFT_NC, SOFT_NS]
SWAPS = {  # which metrics stand in the places of NC, Soft-NC, NS and Soft-NS
    "hard and soft": [SOFT_NC, NC, SOFT_NS, NS],
    "comprehensiveness and sufficiency": [NS, SOFT_NS, NC, SOFT_NC],
}
SHORT = ("SST", "AG")  # the data sets of short texts, on which the curves of Figure 3 rise and fall
LONG = ("MultiRC", "EvInf")


@dataclass(frozen=True)
class Cells:
    """values: (b, t, m, k) diagnosticity. by_ratio: (b, t, m, 2, r) that of NC and NS at one ratio;
    means: (b, t, m, 2, r) their mean values. tasks, methods: names along the axes.
    """

    values: np.ndarray
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    by_ratio: np.ndarray | None = None
    means: np.ndarray | None = None

    @property
    def by_method(self) -> np.ndarray:
        """(b, m, k) means over tasks."""
        return self.values.mean(axis=1)

    @property
    def by_task(self) -> np.ndarray:
        """(b, t, k) means over methods."""
        return self.values.mean(axis=2)

    def curves(self, tasks: list[int]) -> np.ndarray:
        """(b, t, 2, r) diagnosticity of NC and NS at each ratio on some tasks, means over
        methods.
        """
        return self.by_ratio[:, tasks].mean(axis=2)

    def stands_for(self, datasets: tuple[str, ...]) -> list[int]:
        """Where the tasks stand that are, or stand in for, these data sets of the paper."""
        return [at for at, task in enumerate(self.tasks) if published_dataset(task) in datasets]


Statistic = Callable[
    [Cells, Cells], np.ndarray | None
]  # cells to choose by, cells to read -> (b,); None: cannot tell


class Statement(NamedTuple):
    """What a claim is decided by. exchanged: the names that decide nothing where there is nothing
    to find: those of `methods`, of `tasks`, or one of SWAPS. chosen: the statistic chooses
    something, and so is cross-fitted.
    """

    statistic: Statistic
    exchanged: str
    chosen: bool = False

    def number(self, whole: Cells, folds: list[tuple[Cells, Cells]]) -> np.ndarray | None:
        """(b,) of the cells of all texts, or, where it chooses, cross-fitted; None where these
        cells cannot tell.
        """
        if not self.chosen:
            return self.statistic(whole, whole)
        found = [self.statistic(fit, read) for fit, read in folds]
        return None if found[0] is None else mean_of_known(np.stack(found))


STATEMENTS: dict[str, Statement] = {}  # by claim


def _decides(claim: str, exchanged: str, chosen: bool = False) -> Callable[[Statistic], Statistic]:
    """Decorate the statistic that decides a claim; see Statement."""

    def add(statistic: Statistic) -> Statistic:
        STATEMENTS[claim] = Statement(statistic, exchanged, chosen)
        return statistic

    return add


def least(leads: Callable[[Cells, Cells], np.ndarray | None]) -> Statistic:
    """Decorate a function of cells that gives several (b, ...) leads: it becomes the statistic of
    the least of them.

    leads: takes the cells to read, and those by which it makes choices of its own.
    """

    @wraps(leads)
    def statistic(fit: Cells, read: Cells) -> np.ndarray | None:
        chosen = leads(fit, fit)
        shown = leads(read, fit)
        if chosen is None or shown is None:
            return None
        return least_of(chosen.reshape(len(chosen), -1), shown.reshape(len(shown), -1))

    return statistic


def lead_of_metric(soft: int, hard: int) -> Statistic:
    """Mean of one metric less that of another."""
    return lambda _, cells: (cells.values[..., soft] - cells.values[..., hard]).mean(axis=(1, 2))


_decides("soft-nc-over-nc", "hard and soft")(lead_of_metric(SOFT_NC, NC))
_decides("soft-ns-over-ns", "hard and soft")(lead_of_metric(SOFT_NS, NS))


@_decides("soft-in-16-of-18", "hard and soft")
def share_of_cells(_: Cells, cells: Cells) -> np.ndarray:
    """In how many of the means of Tables 2 and 3 the soft metric lies above its hard counterpart; a
    tie is a half.
    """
    means = np.concatenate([cells.by_method, cells.by_task], axis=1)
    leads = means[..., SOFT] - means[..., HARD]
    return ((leads > 0) + 0.5 * (leads == 0)).mean(axis=(1, 2))


@_decides("comprehensiveness-over-sufficiency", "comprehensiveness and sufficiency", chosen=True)
@least
def comprehensiveness_lead(cells: Cells, _: Cells) -> np.ndarray:
    """NC - NS and Soft-NC - Soft-NS of each method, the least of them."""
    means = cells.by_method
    hard = means[..., NC] - means[..., NS]
    return np.concatenate([hard, means[..., SOFT_NC] - means[..., SOFT_NS]], axis=1)


@_decides("soft-varies-less-over-methods", "hard and soft", chosen=True)
def sd_over_methods_gap(fit: Cells, read: Cells) -> np.ndarray:
    """sd over methods, hard less soft, the mean of the two families of metrics."""
    sd = spread(fit.by_method, read.by_method)
    return (sd[:, NC] - sd[:, SOFT_NC] + sd[:, NS] - sd[:, SOFT_NS]) / 2


@_decides("tasks-matter-more-than-methods", "tasks", chosen=True)
def tasks_over_methods(fit: Cells, read: Cells) -> np.ndarray:
    """sd over tasks less sd over methods, the mean of the four metrics."""
    return (spread(fit.by_task, read.by_task) - spread(fit.by_method, read.by_method)).mean(axis=1)


@_decides("topics-trade-off", "tasks", chosen=True)
@least
def topic_trade_off(cells: Cells, _: Cells) -> np.ndarray | None:
    """By how much AG leads all other tasks in Soft-NC and trails them in Soft-NS, the lesser of the
    two.
    """
    at = cells.stands_for(("AG",))[:1]
    if not at or len(cells.tasks) < 2:
        return None
    own = cells.by_task[:, at]
    rest = np.delete(cells.by_task, at, axis=1)
    return np.concatenate([(own - rest)[..., SOFT_NC], (rest - own)[..., SOFT_NS]], axis=1)


def deeplift_lead(fit: Cells, read: Cells, metric: int, over: str) -> np.ndarray | None:
    """By how much DeepLIFT's mean of a metric is above the `best` of the other methods, or their
    `mean`.
    """
    if "deeplift" not in read.methods or len(read.methods) < 2:
        return None
    at = read.methods.index("deeplift")
    others = np.delete(read.by_method[..., metric], at, axis=1)
    rival = others.mean(axis=1)
    if over == "best":
        rival = best_of(np.delete(fit.by_method[..., metric], at, axis=1), others)
    return read.by_method[:, at, metric] - rival


_decides("deeplift-first-by-soft-nc", "methods", chosen=True)(
    partial(deeplift_lead, metric=SOFT_NC, over="best")
)
_decides("deeplift-low-by-nc", "methods")(partial(deeplift_lead, metric=NC, over="mean"))


@_decides("rises-with-ratio", "none")
def rising_steps(_: Cells, cells: Cells) -> np.ndarray | None:
    """In how many steps from one ratio to the next the mean NC or NS of a task and method does not
    fall.
    """
    if cells.means is None or cells.means.shape[-1] < 2:
        return None
    return (np.diff(cells.means, axis=-1) >= -1e-9).mean(axis=(1, 2, 3, 4))


@_decides("diagnosticity-falls-again", "none", chosen=True)
@least
def rise_and_fall(cells: Cells, fit: Cells) -> np.ndarray | None:
    """Diagnosticity at the best inner ratio less that at the first and last, the least of all of
    these.
    """
    at = cells.stands_for(SHORT)
    if not at or cells.by_ratio is None or cells.by_ratio.shape[-1] < 3:
        return None
    best = fit.curves(at)[..., 1:-1].argmax(axis=-1)[..., None] + 1
    curves = cells.curves(at)
    return np.take_along_axis(curves, best, axis=-1) - curves[..., [0, -1]]


@_decides("soft-above-all-ratios", "none", chosen=True)
@least
def soft_above_all_ratios(cells: Cells, fit: Cells) -> np.ndarray | None:
    """The soft measure less the hard one at its best ratio, the least over measures and the tasks
    of long texts.
    """
    at = [i for i in cells.stands_for(LONG) if cells.tasks[i] != "snli"]  # which is not long
    if not at or cells.by_ratio is None:
        return None
    best = fit.curves(at).argmax(axis=-1)[..., None]
    hard = np.take_along_axis(cells.curves(at), best, axis=-1)[..., 0]
    return cells.by_task[:, at][..., SOFT] - hard


@least
def lead_of_the_first(cells: Cells, fit: Cells) -> np.ndarray:
    """Of settings' soft metrics along the axis of metrics: the first setting's less the best
    other's, the lesser of the two metrics.
    """

    def by_setting(of: Cells) -> np.ndarray:
        return of.values.mean(axis=(1, 2)).reshape(len(of.values), -1, len(SOFT))

    own = by_setting(cells)
    others = by_setting(fit)[:, 1:]
    best = [best_of(others[..., metric], own[:, 1:, metric]) for metric in range(len(SOFT))]
    return own[:, 0] - np.stack(best, axis=1)
