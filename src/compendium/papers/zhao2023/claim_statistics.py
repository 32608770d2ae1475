"""The numbers behind the claims of Zhao & Aletras (2023), each a function of diagnosticity by task and method.

What is chosen (the best of several, the least) is chosen on other texts than it is read from; an sd of means is freed
of their noise. Letters used for shapes: b draws and the sample itself, t tasks, m methods, k metrics, r ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attreval.metrics import FAITHFULNESS
from compendium.papers.common.resampling import best_of, least_of, spread
from compendium.papers.zhao2023.datasets import published_dataset

NC, SOFT_NC, NS, SOFT_NS = range(len(FAITHFULNESS))
SHORT = ("SST", "AG")  # the data sets of short texts, on which the curves of Figure 3 rise and fall
LONG = ("MultiRC", "EvInf")


@dataclass(frozen=True)
class Cells:
    """values: (b, t, m, k) diagnosticity. by_ratio: (b, t, m, 2, r) that of NC and NS at one ratio; means: (b, t, m, 2,
    r) their mean values. tasks, methods: names along the axes."""

    values: np.ndarray
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    by_ratio: np.ndarray | None = None
    means: np.ndarray | None = None

    def task(self, published: str) -> int | None:
        """Where the task stands that is, or stands in for, a published one."""
        fits = [i for i, name in enumerate(self.tasks) if published_dataset(name) == published]
        return fits[0] if fits else None

    def method(self, name: str) -> int | None:
        """Where a method stands."""
        return self.methods.index(name) if name in self.methods else None


Statistic = Callable[[Cells, Cells], np.ndarray | None]  # cells to choose by, cells to read -> (b,)


def mean_difference(soft: int, hard: int) -> Statistic:
    """Mean of one metric less that of another."""
    return lambda _, cells: (cells.values[..., soft] - cells.values[..., hard]).mean(axis=(1, 2))


def share_of_cells(_: Cells, cells: Cells) -> np.ndarray:
    """In how many of the means of Tables 2 and 3 the soft metric lies above its hard counterpart; a tie is a half."""
    by_method, by_task = cells.values.mean(axis=1), cells.values.mean(axis=2)
    leads = [
        means[..., soft] - means[..., hard]
        for means in (by_method, by_task)
        for soft, hard in ((SOFT_NC, NC), (SOFT_NS, NS))
    ]
    leads = np.concatenate(leads, axis=1)
    return ((leads > 0) + 0.5 * (leads == 0)).mean(axis=1)


def _least(of: Callable[[Cells], np.ndarray]) -> Statistic:
    """The least of several differences, (b, c) each, chosen on other texts."""
    return lambda fit, read: least_of(of(fit), of(read))


def _comprehensiveness_leads(cells: Cells) -> np.ndarray:
    """(b, 2 m) NC - NS and Soft-NC - Soft-NS of each method."""
    means = cells.values.mean(axis=1)
    return np.concatenate([means[..., NC] - means[..., NS], means[..., SOFT_NC] - means[..., SOFT_NS]], axis=1)


def _sd_over_methods(fit: Cells, read: Cells) -> np.ndarray:
    """(b, k) sd over methods of the true means over tasks."""
    return spread(fit.values.mean(axis=1), read.values.mean(axis=1))


def sd_over_methods_gap(fit: Cells, read: Cells) -> np.ndarray:
    """sd over methods, hard less soft, the mean of the two families of metrics."""
    sd = _sd_over_methods(fit, read)
    return (sd[:, NC] - sd[:, SOFT_NC] + sd[:, NS] - sd[:, SOFT_NS]) / 2


def tasks_over_methods(fit: Cells, read: Cells) -> np.ndarray:
    """sd over tasks less sd over methods, the mean of the four metrics."""
    over_tasks = spread(fit.values.mean(axis=2), read.values.mean(axis=2))
    return (over_tasks - _sd_over_methods(fit, read)).mean(axis=1)


def topic_trade_off(fit: Cells, read: Cells) -> np.ndarray | None:
    """By how much AG leads all other tasks in Soft-NC and trails them in Soft-NS, the lesser of the two."""
    at = read.task("AG")
    if at is None or len(read.tasks) < 2:
        return None

    def leads(cells: Cells) -> np.ndarray:
        means = cells.values.mean(axis=2)
        rest = np.delete(means, at, axis=1)
        over = means[:, at, None, SOFT_NC] - rest[..., SOFT_NC]
        return np.concatenate([over, rest[..., SOFT_NS] - means[:, at, None, SOFT_NS]], axis=1)

    return least_of(leads(fit), leads(read))


def deeplift_lead(metric: int, over: str) -> Statistic:
    """By how much DeepLIFT's mean of a metric is above the `best` of the other methods, or their `mean`."""

    def difference(fit: Cells, read: Cells) -> np.ndarray | None:
        at = read.method("deeplift")
        if at is None or len(read.methods) < 2:
            return None
        means, chosen = (cells.values.mean(axis=1)[..., metric] for cells in (read, fit))
        others = np.delete(means, at, axis=1)
        rival = best_of(np.delete(chosen, at, axis=1), others) if over == "best" else others.mean(axis=1)
        return means[:, at] - rival

    return difference


def rising_steps(_: Cells, cells: Cells) -> np.ndarray | None:
    """In how many steps from one ratio to the next the mean NC or NS of a task and method does not fall."""
    if cells.means is None or cells.means.shape[-1] < 2:
        return None
    return (np.diff(cells.means, axis=-1) >= -1e-9).mean(axis=(1, 2, 3, 4))


def rise_and_fall(fit: Cells, read: Cells) -> np.ndarray | None:
    """Diagnosticity at the best ratio less that at the first and at the last, the least of both, of measures and tasks.

    The best ratio is chosen on other texts, of those between the first and the last.
    """
    at = [i for i, task in enumerate(read.tasks) if published_dataset(task) in SHORT]
    if not at or read.by_ratio is None or read.by_ratio.shape[-1] < 3:
        return None
    chosen, shown = (cells.by_ratio[:, at].mean(axis=2) for cells in (fit, read))  # (b, t, 2, r)
    best = chosen[..., 1:-1].argmax(axis=-1)[..., None] + 1

    def differences(curves: np.ndarray) -> np.ndarray:
        top = np.take_along_axis(curves, best, axis=-1)
        return (top - curves[..., [0, -1]]).reshape(len(curves), -1)

    return least_of(differences(chosen), differences(shown))


def soft_above_all_ratios(fit: Cells, read: Cells) -> np.ndarray | None:
    """The soft measure less the hard one at its best ratio, the least over measures and the tasks of long texts."""
    at = [i for i, t in enumerate(read.tasks) if published_dataset(t) in LONG and t != "snli"]  # which is not long
    if not at or read.by_ratio is None:
        return None
    hard = [cells.by_ratio[:, at].mean(axis=2) for cells in (fit, read)]  # (b, t, 2, r)
    best = hard[0].argmax(axis=-1)[..., None]

    def leads(cells: Cells, curves: np.ndarray) -> np.ndarray:
        soft = cells.values[:, at].mean(axis=2)[..., [SOFT_NC, SOFT_NS]]
        return (soft - np.take_along_axis(curves, best, axis=-1)[..., 0]).reshape(len(curves), -1)

    return least_of(leads(fit, hard[0]), leads(read, hard[1]))


@dataclass(frozen=True)
class Statement:
    """What a claim is decided by. exchanged: the names that decide nothing where there is nothing to find: those of
    `methods`, of `hard and soft` measures, of `comprehensiveness and sufficiency`, or of `tasks`."""

    statistic: Statistic
    exchanged: str
    chosen: bool = False


STATEMENTS: dict[str, Statement] = {
    "soft-nc-over-nc": Statement(mean_difference(SOFT_NC, NC), "hard and soft"),
    "soft-ns-over-ns": Statement(mean_difference(SOFT_NS, NS), "hard and soft"),
    "soft-in-16-of-18": Statement(share_of_cells, "hard and soft"),
    "comprehensiveness-over-sufficiency": Statement(
        _least(_comprehensiveness_leads), "comprehensiveness and sufficiency", True
    ),
    "soft-varies-less-over-methods": Statement(sd_over_methods_gap, "hard and soft", True),
    "tasks-matter-more-than-methods": Statement(tasks_over_methods, "tasks", True),
    "topics-trade-off": Statement(topic_trade_off, "tasks", True),
    "deeplift-first-by-soft-nc": Statement(deeplift_lead(SOFT_NC, "best"), "methods", True),
    "deeplift-low-by-nc": Statement(deeplift_lead(NC, "mean"), "methods"),
    "rises-with-ratio": Statement(rising_steps, "none"),
    "diagnosticity-falls-again": Statement(rise_and_fall, "none", True),
    "soft-above-all-ratios": Statement(soft_above_all_ratios, "none", True),
}
