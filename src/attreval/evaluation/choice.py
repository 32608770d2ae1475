"""Which explanation to choose for a model: one vote a judge, how sure the choice is, its price, what speaks against it.

On a metric a method gets the share of the other methods that it beats there, ties at half (Borda 1784); random scores
are one of the others, and less than a hundredth of a metric's range is a tie. Metrics of one judge share its vote.
Agreement with other methods and simplicity have none: they do not say whether an explanation is right. What is drawn
are texts, the same ones for every metric of a task.
Letters used for shapes: m methods, d draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.bootstrap import LEAST_TEXTS, mean_of_known
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import TIED, Drawn

VOTES = {
    "pointing": ("pointing",),
    "people": ("people",),
    "faithfulness": ("nc", "ns", "soft_nc_equal", "soft_ns_equal"),
}
VOTING = tuple(metric for metrics in VOTES.values() for metric in metrics)
LEAST = 0.01  # difference of two means that anybody should care about; what votes lies between 0 and 1
NEAR = 0.05  # a score that far below the best is as good as the best


@dataclass(frozen=True)
class MethodMeans:
    """What the metrics say of a model's methods, on a task and on the texts made from it; higher is better.

    means: metric -> (m,); drawn: metric -> (d, m) of drawn texts; texts: metric -> how many; costs: (m,) evaluations
    requested for a text.
    """

    methods: tuple[str, ...]
    means: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]
    texts: dict[str, int]
    costs: np.ndarray


def gather_means(
    tasks: Mapping[str, Drawn], base: str, methods: Sequence[str], cost: Callable[[str], float]
) -> MethodMeans | None:
    """What was measured on a task and on the texts made from it, of the methods that every voting metric knows.

    Args:
        tasks: the metrics' means of the task and of the tasks made from it; those of the task itself come first.
        base: the name of the task.
        methods: the order that methods stand in.
        cost: evaluations that a method requests for a text.

    Returns:
        None where fewer than two methods are known to every metric with a vote.
    """
    of_metric = {metric: drawn for drawn in tasks.values() for metric in drawn.means}
    if base in tasks:
        of_metric |= dict.fromkeys(tasks[base].means, tasks[base])
    voting = [metric for metric in VOTING if metric in of_metric]
    known = [{m for m, n in zip(of_metric[x].methods, of_metric[x].counts[x], strict=True) if n} for x in voting]
    shared = tuple(m for m in methods if known and all(m in some for some in known))
    if len(shared) < 2:
        return None
    means, drawn, texts = {}, {}, {}
    for metric, found in of_metric.items():
        if set(shared) <= set(found.methods):
            at = [found.methods.index(m) for m in shared]
            means[metric], drawn[metric] = found.means[metric][at], found.drawn[metric][:, at]
            texts[metric] = int(found.counts[metric][at].max())
    return MethodMeans(shared, means, drawn, texts, np.array([cost(m) for m in shared]))


def shares_beaten(values: np.ndarray) -> np.ndarray:
    """(..., m) share of the other methods that each beats in (..., m) values, higher is better; ties count half.

    Where a metric has no value for a method, as in a draw without a text that people marked, NaN for all.
    """
    difference = values[..., :, None] - values[..., None, :]
    won = np.where(np.abs(difference) < LEAST, 0.5, difference > 0)
    shares = (won.sum(axis=-1) - 0.5) / max(1, values.shape[-1] - 1)
    return np.where(np.isnan(values).any(axis=-1, keepdims=True), np.nan, shares)


def scores_by_judge(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Judge -> (..., m) mean share of methods beaten over its metrics; judges without a metric are left out."""
    of_judge = {judge: [shares_beaten(values[x]) for x in metrics if x in values] for judge, metrics in VOTES.items()}
    return {judge: mean_of_known(np.array(shares)) for judge, shares in of_judge.items() if shares}


def total_scores(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """(..., m) mean over the judges that have a value there; ValueError where no metric with a vote was measured."""
    by_judge = scores_by_judge(values)
    if not by_judge:
        raise ValueError(f"no metric with a vote was measured; these have one: {', '.join(VOTING)}")
    return mean_of_known(np.array(list(by_judge.values())))


def rank_methods(measured: MethodMeans, confidence: float) -> pd.DataFrame:
    """One row a method, the best first: score, interval, share of draws in which it is the best.

    shortfall: by how much it misses the best in `confidence` of the draws. leading: the best, and what is not surely
    below it. above_random: in `confidence` of the draws. recommended: the highest score, the cheaper of equal ones.
    settled: at least LEAST_TEXTS texts, and a shortfall of at most NEAR. requested: evaluations for a text. One column
    a judge that voted.
    """
    real = np.array([m != "random" for m in measured.methods])
    score, drawn = total_scores(measured.means), total_scores(measured.drawn)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]  # in some draws no judge may have a text
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    best_drawn = np.where(real, drawn, -np.inf).max(axis=1, keepdims=True)
    shortfall = np.quantile(best_drawn - drawn, confidence, axis=0)
    tops = np.where(real, drawn >= best_drawn - TIED, False)
    order = np.lexsort((measured.costs, -np.where(real, score.round(9), -np.inf)))
    first = order[0]
    not_below = np.quantile(drawn - drawn[:, [first]], confidence, axis=0) >= -TIED
    texts = min(n for metric, n in measured.texts.items() if metric in VOTING)
    found = {
        "method": measured.methods,
        "score": score,
        "low": low,
        "high": high,
        "best": (tops / tops.sum(axis=1, keepdims=True)).mean(axis=0),
        "shortfall": shortfall,
        "leading": not_below & real,
        "above_random": _above_random(drawn, measured.methods, confidence),
        "recommended": np.arange(len(score)) == first,
        "settled": (texts >= LEAST_TEXTS) and bool(shortfall[first] <= NEAR + TIED),
        "texts": texts,
        "requested": measured.costs,
    }
    return pd.DataFrame(found | scores_by_judge(measured.means)).iloc[order].reset_index(drop=True)


def _above_random(drawn: np.ndarray, methods: tuple[str, ...], confidence: float) -> np.ndarray:
    """(m,) whether each method has a higher score than random ones in `confidence` of the draws; all where none are."""
    if "random" not in methods:
        return np.ones(len(methods), bool)
    return np.quantile(drawn - drawn[:, [methods.index("random")]], 1 - confidence, axis=0) > TIED


def find_objections(measured: MethodMeans, method: str, confidence: float) -> pd.DataFrame:
    """One row a metric: what it says of the recommended method, and who is better there.

    mean, low, high: of the recommended method; random: of random scores. rival: the best other method there, with
    rival_mean; rank: of the recommended one among the methods; surely: the rival is better by LEAST in `confidence` of
    draws; below_random: whether the recommended method is not surely above random scores. votes: whether the metric has
    one.
    """
    at, rows = measured.methods.index(method), []
    others = np.array([m not in (method, "random") for m in measured.methods])
    zero = measured.methods.index("random") if "random" in measured.methods else None
    for metric, means in measured.means.items():
        drawn = measured.drawn[metric]
        low, high = np.nanquantile(drawn[:, at], [(1 - confidence) / 2, (1 + confidence) / 2])
        rival = int(np.where(others & ~np.isnan(means), means, -np.inf).argmax()) if others.any() else at
        lead = drawn[:, rival] - drawn[:, at]
        over_chance = np.nan if zero is None else np.nanquantile(drawn[:, at] - drawn[:, zero], 1 - confidence)
        rows.append(
            {
                "method": method,
                "metric": metric,
                "title": METRICS[metric].title,
                "votes": metric in VOTING,
                "mean": means[at],
                "low": low,
                "high": high,
                "random": np.nan if zero is None else means[zero],
                "rank": 1 + int((means[others] > means[at] + TIED).sum()),
                "of": 1 + int(others.sum()),
                "rival": measured.methods[rival],
                "rival_mean": means[rival],
                "surely": bool(np.nanquantile(lead, 1 - confidence) >= LEAST),
                "below_random": bool(over_chance <= TIED),
                "texts": measured.texts[metric],
            }
        )
    return pd.DataFrame(rows)
