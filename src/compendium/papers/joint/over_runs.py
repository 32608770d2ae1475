"""Rank correlations of metrics over several runs: what chance gives, their mean, and a verdict.

Chance: the methods of one metric exchange their names. An equal pair: a metric against itself on
other texts. Letters used for shapes: S seeds, N instances, m methods, d draws.
"""

from collections.abc import Sequence

import numpy as np

from attreval.core.bootstrap import mean_of_known
from attreval.metrics.rank_correlation import (
    FEWEST,
    TIED,
    Correlation,
    Drawn,
    shared_methods,
    tau_b,
)

SURE = ("agree", "contradict")
UNSURE = "cannot be told"
VERDICTS = (*SURE, UNSURE)  # of what is measured
SHARED = 0.02  # of the variance of a run's draws, by all runs


def exchange_methods(
    runs: Sequence[Drawn], a: str, b: str, names: Sequence[str], orders: np.ndarray
) -> np.ndarray:
    """(d,) mean tau-b of two judges over runs, the names of the second judge's methods permuted.

    names: M methods, among them all of the runs; orders: (d, M) permutations of them. Methods that
    a run lacks are skipped: the one behind them in the permutation's cycle takes their place, so
    that a method trades alike in all runs. NaN where no run has FEWEST shared methods.
    """
    names = list(names)
    draws = np.arange(len(orders))[:, None]
    found = []
    for run in runs:
        shared = np.flatnonzero(shared_methods(run, a, b))
        if len(shared) < FEWEST:
            continue
        at = np.array([names.index(run.methods[i]) for i in shared])
        # from a method's place among names to its place among the shared ones
        back = np.full(len(names), -1)
        back[at] = np.arange(len(at))
        sent = orders[:, at]  # (d, m)
        while (away := back[sent] < 0).any():
            sent = np.where(away, orders[draws, sent], sent)
        own = np.broadcast_to(run.means[a][shared], sent.shape)
        found.append(tau_b(own, run.means[b][shared][back[sent]]))
    return mean_of_known(np.stack(found)) if found else np.full(1, np.nan)


def p_of_names(tau: float, exchanged: np.ndarray) -> float:
    """The share of exchanged names, and of the true ones, with which tau-b is as far from 0 as
    `tau`; NaN for NaN.
    """
    known = exchanged[~np.isnan(exchanged)]
    if np.isnan(tau) or not len(known):
        return np.nan
    return (1 + (np.abs(known) >= abs(tau) - TIED).sum()) / (1 + len(known))


def against_itself(values: np.ndarray, splits: int, rng: np.random.Generator) -> float:
    """tau-b of a judge's means over two halves of the instances, mean over random halvings: what an
    equal pair gives.

    values: (S, N, m), NaN for what was not measured. NaN where methods or instances are fewer than
        FEWEST.
    """
    of_text = mean_of_known(values)  # (N, m)
    of_text = of_text[:, ~np.isnan(of_text).all(axis=0)]
    texts, methods = of_text.shape
    if texts < FEWEST or methods < FEWEST:
        return np.nan
    found = []
    for _ in range(splits):
        halves = np.split(rng.permutation(texts), [texts // 2])
        found.append(tau_b(*(mean_of_known(of_text[half]) for half in halves)))
    known = [tau for tau in found if not np.isnan(tau)]
    return float(np.mean(known)) if known else np.nan


def pool(found: Sequence[tuple[float, np.ndarray, int]]) -> Correlation:
    """The mean tau-b of several runs, which count alike; runs without one are left out."""
    known = [drawn for tau, drawn, _ in found if not np.isnan(tau)]
    if not known:
        return Correlation(np.nan, np.full(1, np.nan), 0)
    drawn = widen(mean_of_known(np.stack(known)), len(known))
    return Correlation(float(np.median(drawn)), np.clip(drawn, -1, 1), len(known))


def widen(drawn: np.ndarray, runs: int) -> np.ndarray:
    """(d,) draws of a mean over runs, as far apart as what subtracting noise misses in all of them
    alike makes them.

    The runs' own draws are independent: alone they would hold .85-.95 where .95 is asked.
    """
    middle = np.median(drawn)
    return middle + np.sqrt(1 + SHARED * (runs - 1)) * (drawn - middle)


def pareto_front(cost: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """(..., m) bool: no other method has at most the cost and at least the quality, and one of both
    strictly.

    cost: (m,); quality: (..., m), higher is better. Methods whose cost or quality is NaN are never
    on it, and dominate nobody. Raises ValueError for different numbers of methods.
    """
    cost = np.asarray(cost, dtype=float)
    quality = np.asarray(quality, dtype=float)
    if cost.shape != quality.shape[-1:]:
        raise ValueError(
            f"one cost a method is needed; got {cost.shape} costs for {quality.shape[-1:]} methods"
        )
    known = ~np.isnan(quality) & ~np.isnan(cost)
    as_cheap = cost[:, None] <= cost  # [i, j]: i against j
    cheaper = cost[:, None] < cost
    with np.errstate(invalid="ignore"):
        as_good = quality[..., :, None] >= quality[..., None, :]
        better = quality[..., :, None] > quality[..., None, :]
    beats = as_cheap & as_good & (cheaper | better) & known[..., :, None]
    return known & ~beats.any(axis=-2)


def verdict(low: float, high: float) -> str:
    """What an interval of a rank correlation says: one of VERDICTS."""
    if np.isnan(low) or np.isnan(high):
        return "not measured"
    return "contradict" if high < 0 else "agree" if low > 0 else UNSURE
