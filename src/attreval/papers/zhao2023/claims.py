"""Claims of Zhao & Aletras (2023): our value of each, with its interval over instances, and a verdict.

A claim is a function of the cells of their Table 6 (task, method, metric). The instances of each task are drawn anew,
the cells computed from them, and the function of the cells gives the interval.
Letters used for shapes: b draws and the sample itself, t tasks, m methods, k metrics, r ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.metrics.registry import FAITHFULNESS
from attreval.papers.common.claims import read_claims, score
from attreval.papers.zhao2023.tables import PUBLISHED_TASKS, published_dataset
from attreval.workflow.step import Step

NC, SOFT_NC, NS, SOFT_NS = range(len(FAITHFULNESS))


@dataclass(frozen=True)
class Cells:
    """values: (b, t, m, k) diagnosticity; its first row is the sample itself. tasks, methods: names along the axes."""

    values: np.ndarray
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    pairs: int

    def task(self, published: str) -> int | None:
        """Where the task stands that is, or stands in for, a published one."""
        fits = [i for i, name in enumerate(self.tasks) if published_dataset(name) == published]
        return fits[0] if fits else None

    def method(self, name: str) -> int | None:
        """Where a method stands."""
        return self.methods.index(name) if name in self.methods else None


def tasks_of_paper(tasks: list[str]) -> list[str]:
    """The tasks over which the paper's averages are taken: its own where there is one, else all."""
    return [task for task in tasks if task in PUBLISHED_TASKS] or list(tasks)


def _instance_weights(n: int, task: str, step: Step) -> np.ndarray:
    """(b, n) the share of each instance in the sample itself and in every bootstrap draw."""
    draws = draw_counts(generator("bootstrap", "claims", task), n, step.profile.bootstrap.draws)
    return np.concatenate([np.ones((1, n)), draws]) / n


def resample(pairs: pd.DataFrame, step: Step, setting: str = "main") -> Cells:
    """Cells of a setting on the sample and on every bootstrap draw, the same draws for whatever is compared."""
    part = pairs[pairs.setting == setting]
    tasks, methods = tasks_of_paper(list(dict.fromkeys(part.task))), list(dict.fromkeys(part.method))
    wins = [f"win_{name}" for name in FAITHFULNESS]
    out = []
    for task in tasks:
        mean = part[part.task == task].groupby(["instance", "method"], sort=False)[wins].mean()
        table = np.stack(
            [mean.xs(m, level="method").to_numpy() if m in mean.index.levels[1] else 0 for m in methods], 1
        )
        out.append(np.einsum("bi,imk->bmk", _instance_weights(len(table), task, step), table))
    return Cells(np.stack(out, axis=1), tuple(tasks), tuple(methods), len(part[part.task.isin(tasks)]))


def mean_difference(cells: Cells, soft: int, hard: int) -> np.ndarray:
    """(b,) mean of one metric less that of another."""
    return (cells.values[..., soft] - cells.values[..., hard]).mean(axis=(1, 2))


def _share_of_cells(cells: Cells) -> np.ndarray:
    """(b,) in how many of the means of Tables 2 and 3 the soft metric lies above its hard counterpart."""
    by_method, by_task = cells.values.mean(axis=1), cells.values.mean(axis=2)
    better = [
        (means[..., soft] > means[..., hard])
        for means in (by_method, by_task)
        for soft, hard in ((SOFT_NC, NC), (SOFT_NS, NS))
    ]
    return np.concatenate(better, axis=1).mean(axis=1)


def _comprehensiveness_lead(cells: Cells) -> np.ndarray:
    """(b,) the least of NC - NS and Soft-NC - Soft-NS over methods."""
    means = cells.values.mean(axis=1)
    return np.minimum(means[..., NC] - means[..., NS], means[..., SOFT_NC] - means[..., SOFT_NS]).min(axis=1)


def _sd_over_methods_gap(cells: Cells) -> np.ndarray:
    """(b,) sd over methods, hard less soft, the lesser of the two families of metrics."""
    sd = cells.values.mean(axis=1).std(axis=1)
    return np.minimum(sd[:, NC] - sd[:, SOFT_NC], sd[:, NS] - sd[:, SOFT_NS])


def _tasks_over_methods(cells: Cells) -> np.ndarray:
    """(b,) sd over tasks less sd over methods, the least of the four metrics."""
    return (cells.values.mean(axis=2).std(axis=1) - cells.values.mean(axis=1).std(axis=1)).min(axis=1)


def topic_trade_off(cells: Cells) -> np.ndarray | None:
    """(b,) by how much AG leads all other tasks in Soft-NC and trails them in Soft-NS, the lesser of the two."""
    at = cells.task("AG")
    if at is None or len(cells.tasks) < 2:
        return None
    means = cells.values.mean(axis=2)
    rest = np.delete(means, at, axis=1)
    over = means[:, at, SOFT_NC] - rest[..., SOFT_NC].max(axis=1)
    return np.minimum(over, rest[..., SOFT_NS].min(axis=1) - means[:, at, SOFT_NS])


def _deeplift_lead(metric: int, of: Callable) -> Callable[[Cells], np.ndarray | None]:
    """By how much DeepLIFT's mean of a metric is above what `of` (max, mean) gives for the other methods."""

    def difference(cells: Cells) -> np.ndarray | None:
        at = cells.method("deeplift")
        if at is None or len(cells.methods) < 2:
            return None
        means = cells.values.mean(axis=1)[..., metric]
        return means[:, at] - of(np.delete(means, at, axis=1), axis=1)

    return difference


OF_CELLS: dict[str, Callable[[Cells], np.ndarray | None]] = {
    "soft-nc-over-nc": lambda cells: mean_difference(cells, SOFT_NC, NC),
    "soft-ns-over-ns": lambda cells: mean_difference(cells, SOFT_NS, NS),
    "soft-in-16-of-18": _share_of_cells,
    "comprehensiveness-over-sufficiency": _comprehensiveness_lead,
    "soft-varies-less-over-methods": _sd_over_methods_gap,
    "tasks-matter-more-than-methods": _tasks_over_methods,
    "topics-trade-off": topic_trade_off,
    "deeplift-first-by-soft-nc": _deeplift_lead(SOFT_NC, np.max),
    "deeplift-low-by-nc": _deeplift_lead(NC, np.mean),
}


def _claim_values(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame, ratios: pd.DataFrame) -> dict[str, dict]:
    """By claim: value, low, high, and what they rest on. pairs, curves, ratios: see
    papers.zhao2023.diagnosticity and .erasure.

    A claim that this profile cannot test is left out.
    """
    cells = resample(pairs, step)
    basis = f"{', '.join(cells.tasks)}; {len(cells.methods)} methods; {cells.pairs:,} pairs"
    found = {name: with_interval(of(cells), step, basis) for name, of in OF_CELLS.items()}
    found["rises-with-ratio"] = _rising_steps(step, curves, list(cells.tasks), list(cells.methods))
    found |= _by_ratio_claims(ratios, list(cells.tasks))
    found["dropout-over-alternatives"] = _over_alternatives(step, pairs)
    return {name: values for name, values in found.items() if values is not None}


def with_interval(values: np.ndarray | None, step: Step, basis: str) -> dict | None:
    """The sample's value, and the percentile interval of the draws."""
    if values is None:
        return None
    low, high = percentile_interval(values[1:], step.profile.bootstrap.confidence)
    return {"value": float(values[0]), "low": float(low), "high": float(high), "basis": basis}


def _rising_steps(step: Step, curves: pd.DataFrame, tasks: list[str], methods: list[str]) -> dict | None:
    """In how many steps from one ratio to the next the mean NC or NS of a task and method does not fall."""
    names = ["normalised_comprehensiveness", "normalised_sufficiency"]
    part = curves[curves.task.isin(tasks) & curves.method.isin(methods)]
    ratios = part.ratio.nunique()
    if ratios < 2:
        return None
    rises = []
    for (task, _), cell in part.groupby(["task", "method"], sort=False):
        means = cell.groupby(["instance", "ratio"])[names].mean().unstack("ratio")  # columns: measure, then ratio
        values = means.to_numpy().reshape(-1, len(names), ratios)
        curve = np.einsum("bi,ikr->bkr", _instance_weights(len(values), task, step), values)
        rises.append(np.diff(curve, axis=2) >= -1e-9)
    steps = np.stack(rises, axis=1)  # (b, cells, measures, steps)
    return with_interval(steps.mean(axis=(1, 2, 3)), step, f"{steps[0].size} steps")


def _by_ratio_claims(ratios: pd.DataFrame, tasks: list[str]) -> dict[str, dict | None]:
    """Does diagnosticity rise and fall on the short tasks, and lie below the soft level on the long ones? By the means.

    The intervals are those of the single points that decide.
    """
    wide = {(t, m): part.set_index("ratio") for (t, m), part in ratios.groupby(["task", "metric"], sort=False)}
    falls, above = [], []
    for task in tasks:
        for hard, soft in (("nc", "soft_nc"), ("ns", "soft_ns")):
            line, level = wide[task, hard], wide[task, soft].iloc[0]
            last, top = line.iloc[-1], line.iloc[line.diagnosticity.to_numpy().argmax()]
            if published_dataset(task) in ("SST", "AG"):
                falls.append((top.diagnosticity - last.diagnosticity, top.low - last.high, top.high - last.low))
            if published_dataset(task) in ("MultiRC", "EvInf"):
                above.append((level.diagnosticity - top.diagnosticity, level.low - top.high, level.high - top.low))
    return {
        "diagnosticity-falls-again": smallest(falls, "the least fall from the best ratio to the last"),
        "soft-above-all-ratios": smallest(above, "the least lead over the best ratio"),
    }


def smallest(found: list[tuple[float, float, float]], basis: str) -> dict | None:
    """The least of several (value, low, high)."""
    if not found:
        return None
    value, low, high = min(found)
    return {"value": float(value), "low": float(low), "high": float(high), "basis": basis}


def _over_alternatives(step: Step, pairs: pd.DataFrame) -> dict | None:
    """By how much dropout's soft metrics lie above the best alternative's, the lesser of the two, on control texts."""
    settings = [s for s in dict.fromkeys(pairs.setting) if s.startswith(("noise_", "variance_", "attend"))]
    if not settings or not (pairs.setting == "control").any():
        return None
    base = resample(pairs, step, "control")
    others = np.stack([resample(pairs, step, setting).values.mean(axis=(1, 2)) for setting in settings])
    ours = base.values.mean(axis=(1, 2))
    leads = [ours[:, metric] - others[..., metric].max(axis=0) for metric in (SOFT_NC, SOFT_NS)]
    return with_interval(np.minimum(*leads), step, f"{len(settings)} alternatives; {base.pairs:,} pairs")


def faithfulness_claims(step: Step, pairs: pd.DataFrame, curves: pd.DataFrame, ratios: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of Zhao & Aletras 2023 with our value, its interval and a verdict."""
    return score(read_claims("zhao2023"), _claim_values(step, pairs, curves, ratios))
