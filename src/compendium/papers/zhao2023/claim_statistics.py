"""The numbers behind the claims of Zhao & Aletras (2023): functions of diagnosticity by cell.

What is chosen (the best of several, the least) is chosen on other texts than it is read from; an sd
of means is freed of their noise. Letters used for shapes: b draws and the sample itself, t tasks, m
methods, k metrics, r ratios.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from attreval.metrics import FAITHFULNESS
from compendium.papers.common.contrasts import Statements, Statistic, best_of, least_of, true_sd
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
LEAST_TASKS = 3  # that a statement on "tasks" is about; the paper has four


@dataclass(frozen=True)
class Cells:
    """The means of all tasks, whose names and those of methods are along the axes.

    values: (b, t, m, k) diagnosticity. by_ratio: (b, t, m, 2, r) that of NC and NS at one ratio;
    means: (b, t, m, 2, r) their mean values.
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
        """(b, t, 2, r) diagnosticity of NC and NS at each ratio on some tasks, over methods."""
        if not tasks or self.by_ratio is None:
            raise CannotTell("needs curves of the paper's short data sets")
        return self.by_ratio[:, tasks].mean(axis=2)

    def stands_for(self, datasets: tuple[str, ...]) -> list[int]:
        """Where the tasks stand that are, or stand in for, these data sets of the paper."""
        return [at for at, task in enumerate(self.tasks) if published_dataset(task) in datasets]

    def need_tasks(self) -> None:
        """Raise CannotTell for too few tasks to say something of tasks."""
        if len(self.tasks) < LEAST_TASKS:
            raise CannotTell(
                f"needs {LEAST_TASKS} tasks whose models have learned them; this run has "
                f"{len(self.tasks)}"
            )


class CannotTell(Exception):
    """These tasks, methods and ratios do not decide the statement."""


STATEMENTS = Statements()
decides = STATEMENTS.decides


def least(leads: Callable[[Cells, Cells], np.ndarray]) -> Statistic:
    """Decorate a function that gives several (b, ...) leads: it becomes the least of them.

    leads: takes the cells to read, and those by which it makes choices of its own.
    """

    @wraps(leads)
    def statistic(fit: Cells, read: Cells) -> np.ndarray:
        chosen = leads(fit, fit)
        shown = leads(read, fit)
        return least_of(chosen.reshape(len(chosen), -1), shown.reshape(len(shown), -1))

    return statistic


def lead_of_metric(soft: int, hard: int) -> Statistic:
    """Mean of one metric less that of another."""
    return lambda cells: (cells.values[..., soft] - cells.values[..., hard]).mean(axis=(1, 2))


decides("soft-nc-over-nc", "hard and soft")(lead_of_metric(SOFT_NC, NC))
decides("soft-ns-over-ns", "hard and soft")(lead_of_metric(SOFT_NS, NS))


@decides("soft-in-16-of-18", "hard and soft")
def share_of_cells(cells: Cells) -> np.ndarray:
    """Share of the means of Tables 2 and 3 in which soft lies above hard; a tie is a half."""
    means = np.concatenate([cells.by_method, cells.by_task], axis=1)
    leads = means[..., SOFT] - means[..., HARD]
    return ((leads > 0) + 0.5 * (leads == 0)).mean(axis=(1, 2))


@decides("comprehensiveness-over-sufficiency", "comprehensiveness and sufficiency", chosen=True)
@least
def comprehensiveness_lead(cells: Cells, _: Cells) -> np.ndarray:
    """NC - NS and Soft-NC - Soft-NS of each method, the least of them."""
    means = cells.by_method
    hard = means[..., NC] - means[..., NS]
    return np.concatenate([hard, means[..., SOFT_NC] - means[..., SOFT_NS]], axis=1)


@decides("soft-varies-less-over-methods", "hard and soft", chosen=True)
def sd_over_methods_gap(fit: Cells, read: Cells) -> np.ndarray:
    """sd over methods, hard less soft, the mean of the two families of metrics."""
    sd = true_sd(fit.by_method, read.by_method)
    return (sd[:, NC] - sd[:, SOFT_NC] + sd[:, NS] - sd[:, SOFT_NS]) / 2


@decides("tasks-matter-more-than-methods", "tasks", chosen=True)
def tasks_over_methods(fit: Cells, read: Cells) -> np.ndarray:
    """sd over tasks less sd over methods, the mean of the four metrics."""
    read.need_tasks()
    return (true_sd(fit.by_task, read.by_task) - true_sd(fit.by_method, read.by_method)).mean(
        axis=1
    )


@decides("topics-trade-off", "tasks", chosen=True)
@least
def topic_trade_off(cells: Cells, _: Cells) -> np.ndarray:
    """By how much AG leads all other tasks in Soft-NC and trails them in Soft-NS, the lesser."""
    cells.need_tasks()
    at = cells.stands_for(("AG",))[:1]
    if not at:
        raise CannotTell("needs a task of news topics")
    own = cells.by_task[:, at]
    rest = np.delete(cells.by_task, at, axis=1)
    return np.concatenate([(own - rest)[..., SOFT_NC], (rest - own)[..., SOFT_NS]], axis=1)


def of_deeplift(cells: Cells, metric: int) -> tuple[np.ndarray, np.ndarray]:
    """(b,) DeepLIFT's mean of a metric, and (b, m - 1) those of the other methods."""
    if "deeplift" not in cells.methods or len(cells.methods) < 2:
        raise CannotTell("needs DeepLIFT and another method")
    at = cells.methods.index("deeplift")
    means = cells.by_method[..., metric]
    return means[:, at], np.delete(means, at, axis=1)


@decides("deeplift-first-by-soft-nc", chosen=True)
def deeplift_over_best(fit: Cells, read: Cells) -> np.ndarray:
    """By how much DeepLIFT's mean Soft-NC is above the best of the other methods."""
    own, others = of_deeplift(read, SOFT_NC)
    return own - best_of(of_deeplift(fit, SOFT_NC)[1], others)


@decides("deeplift-low-by-nc")
def deeplift_over_mean(cells: Cells) -> np.ndarray:
    """By how much DeepLIFT's mean NC is above the mean of the other methods."""
    own, others = of_deeplift(cells, NC)
    return own - others.mean(axis=1)


@decides("rises-with-ratio", "none")
def rising_curves(cells: Cells) -> np.ndarray:
    """Share of tasks, methods and measures with a higher mean at the last ratio than the first."""
    if cells.means is None or cells.means.shape[-1] < 2:
        raise CannotTell("needs curves of two ratios")
    return (cells.means[..., -1] > cells.means[..., 0]).mean(axis=(1, 2, 3))


@decides("diagnosticity-falls-again", "none", chosen=True)
@least
def rise_and_fall(cells: Cells, fit: Cells) -> np.ndarray:
    """Diagnosticity at the best inner ratio less that at the first and last, the least of all."""
    at = cells.stands_for(SHORT)
    curves = cells.curves(at)
    if curves.shape[-1] < 3:
        raise CannotTell("needs curves of three ratios")
    best = fit.curves(at)[..., 1:-1].argmax(axis=-1)[..., None] + 1
    return np.take_along_axis(curves, best, axis=-1) - curves[..., [0, -1]]


@decides("soft-above-hard-on-long-texts", "hard and soft")
def soft_above_hard_on_long_texts(cells: Cells) -> np.ndarray:
    """The soft measure less the hard one, mean over both measures and the tasks of long texts."""
    at = [i for i in cells.stands_for(LONG) if cells.tasks[i] != "snli"]  # which is not long
    if len(at) < len(LONG):
        raise CannotTell("needs both long data sets, and models that have learned them")
    by_task = cells.by_task[:, at]
    return (by_task[..., SOFT] - by_task[..., HARD]).mean(axis=(1, 2))


@least
def lead_of_the_first(cells: Cells, fit: Cells) -> np.ndarray:
    """Of soft metrics by setting: the first one's less the best other's, the lesser of the two.

    The settings' metrics stand one after the other along the axis of metrics.
    """

    def by_setting(of: Cells) -> np.ndarray:
        return of.values.mean(axis=(1, 2)).reshape(len(of.values), -1, len(SOFT))

    own = by_setting(cells)
    others = by_setting(fit)[:, 1:]
    best = [best_of(others[..., metric], own[:, 1:, metric]) for metric in range(len(SOFT))]
    return own[:, 0] - np.stack(best, axis=1)
