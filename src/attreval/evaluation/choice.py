"""Which explanation to choose for a model, by effect sizes and what difference would matter.

On each metric random scores have 0 and the method farthest from them 1, or -1 where it is worse; a
method's score is the weighted mean over metrics. The metrics of one judge share its vote, and each
counts by its reliability: MARGIN squared over itself and the error variance of a difference of two
methods, which does not depend on who wins. A metric has no vote where, in most worlds whose truth
is known (`attreval.trial`), it does not surely put the truth first. Agreement with other methods
and simplicity have no vote either: they do not say whether an explanation is right. The bootstrap
draws texts, the same ones for every metric of a task. Letters used for shapes: m methods, d draws.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student

from attreval.core.bootstrap import LEAST_TEXTS, percentile_interval
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import TIED, Drawn

OF_VALUES = ("comprehensiveness",)  # votes where an output is a value: the others have none
VOTES = {
    "pointing": ("pointing",),
    "people": ("people_dynamic",),
    "faithfulness": ("nc", "ns", "soft_nc_equal", "soft_ns_equal", *OF_VALUES),
}
VOTING = tuple(metric for metrics in VOTES.values() for metric in metrics)
MOST_WORLDS = 0.5
# of the distance between random scores and the best: a smaller difference does not matter
MARGIN = 0.1
# what our own metrics came to in the worlds whose truth is known; see board/README.md
BOARD = "attreval.jsonl"


@cache
def _shares_sure() -> dict[str, float]:
    package = Path(__file__).resolve().parents[1]
    of_wheel = package / "trial" / BOARD
    place = of_wheel if of_wheel.exists() else package.parents[1] / "board" / BOARD
    table = pd.read_json(place, lines=True)
    return (table.low > 0.5).groupby(table.metric).mean().to_dict()


def share_sure(metric: str) -> float:
    """The share of worlds in which a metric surely puts the truth before random scores.

    1 where it compares with people, whom no made-up world has.
    """
    return _shares_sure().get(metric, 1.0)


@dataclass(frozen=True)
class MethodMeans:
    """What the metrics say of a model's methods on a task; higher is better.

    means: metric -> (m,). drawn: metric -> (d, m) of drawn texts. texts: metric -> how many. costs:
    (m,) evaluations requested for a text, NaN where that is not known. unfit: methods that are not
    recommended whatever metrics say.
    """

    methods: tuple[str, ...]
    means: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]
    texts: dict[str, int]
    costs: np.ndarray
    unfit: frozenset[str] = frozenset()


def gather_means(
    tasks: Mapping[str, Drawn], base: str, methods: Sequence[str], cost: Callable[[str], float]
) -> MethodMeans | None:
    """What was measured of the methods that every voting metric knows.

    Args:
        tasks: the metrics' means on the task and on those made from it, by the task's name.
        base: the name of the task itself, whose means go before those of the others.
        methods: the order that methods stand in.
        cost: evaluations that a method requests for a text.

    Returns:
        None where fewer than two methods are known to every metric with a vote.
    """
    of_metric = {metric: drawn for drawn in tasks.values() for metric in drawn.means}
    if base in tasks:
        of_metric |= dict.fromkeys(tasks[base].means, tasks[base])
    shared = list(methods)
    voting = [metric for metric in VOTING if metric in of_metric]
    for metric in voting:
        found = of_metric[metric]
        known = np.array(found.methods)[found.counts[metric] > 0]
        shared = [method for method in shared if method in known]
    if len(shared) < 2 or not voting:
        return None
    costs = np.array([cost(method) for method in shared])
    gathered = MethodMeans(tuple(shared), {}, {}, {}, costs)
    for metric, found in of_metric.items():
        if set(shared) <= set(found.methods):
            at = [found.methods.index(method) for method in shared]
            gathered.means[metric] = found.means[metric][at]
            gathered.drawn[metric] = found.drawn[metric][:, at]
            gathered.texts[metric] = int(found.counts[metric][at].max())
    return gathered


def weigh_metrics(measured: MethodMeans) -> pd.DataFrame:
    """How much each metric with a vote counts.

    Returns:
        A row a metric. zero: the mean of random scores, or of the worst method where there are
        none. unit: the largest distance from it. error: the standard error of the difference of two
        methods, in units. reliability: see above. trial: the share of worlds in which the metric
        surely puts the truth first. weight: with the sum 1; 0 for fewer than LEAST_TEXTS texts,
        unless all have fewer.

    Raises:
        ValueError: no metric has a vote.
    """
    rows = []
    for judge, metrics in VOTES.items():
        for metric in metrics:
            if metric not in measured.means or share_sure(metric) <= MOST_WORLDS:
                continue
            drawn = measured.drawn[metric]
            zero, unit = _scale(measured, metric)
            spread = np.nanvar(drawn - drawn.mean(axis=1, keepdims=True), axis=0)
            error = np.sqrt(2 * spread.sum() / max(1, len(spread) - 1)) / max(unit, TIED)
            told = MARGIN**2 / (MARGIN**2 + error**2) if unit > TIED else 0.0
            rows.append(
                {
                    "metric": metric,
                    "judge": judge,
                    "zero": zero,
                    "unit": unit,
                    "error": error,
                    "reliability": told,
                    "trial": share_sure(metric),
                    "texts": measured.texts[metric],
                }
            )
    if not rows:
        raise ValueError(f"no metric with a vote was measured; these have one: {', '.join(VOTING)}")
    table = pd.DataFrame(rows).set_index("metric")
    table["weight"] = table.reliability / table.groupby("judge").reliability.transform("size")
    enough = table.texts >= LEAST_TEXTS
    if enough.any():
        table["weight"] = table.weight.where(enough, 0.0)
    if not table.weight.any():
        table["weight"] = 1.0
    return table.assign(weight=table.weight / table.weight.sum())


def _scale(measured: MethodMeans, metric: str) -> tuple[float, float]:
    """The mean of random scores, or of the worst method, and the largest distance from it."""
    means = measured.means[metric]
    zero = np.nanmin(means)
    if "random" in measured.methods:
        zero = means[measured.methods.index("random")]
    return float(zero), float(np.nanmax(np.abs(means - zero)))


def total_scores(values: Mapping[str, np.ndarray], weights: pd.DataFrame) -> np.ndarray:
    """(..., m) mean of the metrics' (..., m) values, in units, by weights of `weigh_metrics`."""
    total = 0.0
    for metric, row in weights.iterrows():
        total = total + row.weight * (values[metric] - row.zero) / max(row.unit, TIED)
    return total / max(weights.weight.sum(), TIED)


def rank_methods(measured: MethodMeans, confidence: float) -> pd.DataFrame:
    """Order methods by their score, and say which might be the best.

    Returns:
        A row a method, the best first, with its score, an interval, and its share of draws in which
        it is the `best`. shortfall: by how much it misses the best in `confidence` of the draws.
        equal: by MARGIN at most, so that it is surely as good as any. leading: equal, or not surely
        below the highest score. above_random: in `confidence` of the draws. settled: all that lead
        are equal, on LEAST_TEXTS texts at least. recommended: the cheapest of the equal ones then,
        the highest score otherwise; of the `sound` ones, not `unfit`, where there is one. growth:
        how many times as many texts would settle it, if effects and variances stayed as they are.
        requested: evaluations for a text. Besides, a column for each judge that was asked.
    """
    names = np.array(measured.methods)
    sound = ~np.isin(names, [*measured.unfit])
    real = names != "random"
    fit = real & sound if (real & sound).any() else real
    weights = weigh_metrics(measured)
    voting = weights[weights.weight > 0]
    texts = max(2, voting.texts.max())
    score = total_scores(measured.means, weights)
    drawn = total_scores(measured.drawn, voting)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]  # in some draws a metric may have no text
    low, high = percentile_interval(drawn, confidence)
    best_of_draw = np.where(fit, drawn, -np.inf).max(axis=1, keepdims=True)
    gaps = best_of_draw - drawn
    shortfall = np.quantile(gaps, confidence, axis=0)
    tops = fit & (gaps <= TIED)
    fewest = voting.texts.clip(lower=2).min()
    lead, least = _compare_with_first(score, drawn, fit, fewest, confidence)
    equal = fit & (shortfall <= MARGIN + TIED)
    near = fit & (least <= TIED)
    settled = bool((equal >= near).all()) and texts >= LEAST_TEXTS
    # errors fall with the root of texts
    growth = _error_shares(lead, least, shortfall)[near & ~equal].max(initial=1.0) ** 2
    # of equal scores the cheaper comes first, an unknown cost last
    order = np.lexsort((measured.costs, -np.where(fit, score.round(9), -np.inf)))
    chosen = np.lexsort((-score, measured.costs, ~equal))[0] if settled else order[0]
    found = {
        "method": names,
        "score": score,
        "low": low,
        "high": high,
        "best": (tops / tops.sum(axis=1, keepdims=True)).mean(axis=0),
        "shortfall": shortfall,
        "equal": equal,
        "leading": equal | near,
        "above_random": _above_random(drawn, measured.methods, confidence),
        "recommended": np.arange(len(score)) == chosen,
        "settled": settled,
        "growth": max(growth, LEAST_TEXTS / texts),
        "texts": texts,
        "sound": sound,
        "requested": measured.costs,
    }
    for judge, own in weights.groupby("judge", sort=False):
        shares = own if own.weight.any() else own.assign(weight=1.0)
        found[judge] = total_scores(measured.means, shares)
    return pd.DataFrame(found).iloc[order].reset_index(drop=True)


def _compare_with_first(
    score: np.ndarray, drawn: np.ndarray, fit: np.ndarray, texts: int, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """(m,) by how much the highest score among those that fit is ahead of each method, and the
    least that this might be, by a t interval on so many texts.

    In the tails it is steadier than the quantiles of draws.
    """
    first = np.where(fit, score, -np.inf).argmax()
    lead = score[first] - score
    deviation = (drawn[:, [first]] - drawn).std(axis=0)
    width = student.ppf((1 + confidence) / 2, texts - 1)
    return lead, lead - width * deviation * np.sqrt(texts / (texts - 1))


def _error_shares(lead: np.ndarray, least: np.ndarray, shortfall: np.ndarray) -> np.ndarray:
    """(m,) how many times too large errors are to settle whether a method is as good as the first.

    It is as good once its shortfall, which is its distance and an error, is at most MARGIN; it is
    behind once the error of the lead is no more than the lead.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        to_be_equal = (shortfall - lead) / (MARGIN - lead)
        to_be_equal[lead >= MARGIN] = np.inf
        to_be_behind = (lead - least) / lead
    return np.fmin(to_be_equal, to_be_behind)


def _above_random(drawn: np.ndarray, methods: tuple[str, ...], confidence: float) -> np.ndarray:
    """(m,) whether each method has more than random scores in `confidence` of draws, or all."""
    if "random" not in methods:
        return np.ones(len(methods), bool)
    lead = drawn - drawn[:, [methods.index("random")]]
    return np.quantile(lead, 1 - confidence, axis=0) > TIED


def find_objections(measured: MethodMeans, method: str, confidence: float) -> pd.DataFrame:
    """What each metric says of the recommended method, and who is better there.

    Returns:
        A row a metric. mean, low, high: of the method. random: of random scores. rival: the best
        other method, with `rival_mean`. rank: of the method among all. surely: the rival is better
        in `confidence` of draws, by MARGIN of the largest distance from random scores.
        below_random: the method is not surely above random scores. votes: the metric has one.
    """
    names = np.array(measured.methods)
    at = measured.methods.index(method)
    others = ~np.isin(names, [method, "random"])
    rows = []
    for metric, means in measured.means.items():
        drawn = measured.drawn[metric]
        own = drawn[:, at]
        low, high = percentile_interval(own, confidence)
        rival = at
        if others.any():
            rival = int(np.where(others & ~np.isnan(means), means, -np.inf).argmax())
        lead = np.nanquantile(drawn[:, rival] - own, 1 - confidence)
        _, unit = _scale(measured, metric)
        random = over_chance = np.nan
        if "random" in names:
            chance = measured.methods.index("random")
            random = means[chance]
            over_chance = np.nanquantile(own - drawn[:, chance], 1 - confidence)
        rows.append(
            {
                "method": method,
                "metric": metric,
                "title": METRICS[metric].title,
                "votes": metric in VOTING,
                "mean": means[at],
                "low": low,
                "high": high,
                "random": random,
                "rank": 1 + int((means[others] > means[at] + TIED).sum()),
                "of": 1 + int(others.sum()),
                "rival": measured.methods[rival],
                "rival_mean": means[rival],
                "surely": bool(lead >= max(MARGIN * unit, TIED)),
                "below_random": bool(over_chance <= TIED),
                "texts": measured.texts[metric],
            }
        )
    return pd.DataFrame(rows)
