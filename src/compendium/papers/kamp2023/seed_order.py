"""How sure the order of training seeds by average pairwise difference is, given the texts that were explained.

Letters used for shapes: r runs, t texts, b draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from compendium.config import BootstrapSpec


def order_table(differences: np.ndarray, instances: Sequence[str], settings: BootstrapSpec, *names) -> pd.DataFrame:
    """One row a run: the interval of its excess over the least run, and how often it is the least itself.

    differences: (r, p) of `pairwise_difference.profile_differences`; instances: (p,) whose profile each is.
    low, high: of its difference over that of the run that is least here, less 1; texts are drawn with replacement.
    least: share of draws in which no run has less. chance: the mean distance of the largest over the least where in
    each text runs change names at random; p: share of such worlds, this one included, with at least ours.
    """
    sums, counts = sum_by_text(differences, instances)
    drawn = draw_counts(generator("order of runs", *names), len(counts), settings.draws)
    means = (drawn @ sums.T) / (drawn @ counts)[:, None]
    least = differences.mean(axis=1).argmin()
    low, high = percentile_interval(means / means[:, [least]] - 1, settings.confidence)
    first = np.bincount(means.argmin(axis=1), minlength=len(sums)) / len(means)
    spreads = exchanged_spreads(sums, settings.nulls, *names)
    p = (1 + (spreads >= spread(sums.sum(axis=1))).sum()) / (1 + len(spreads))
    return pd.DataFrame({"low": low, "high": high, "least": first, "chance": spreads.mean(), "p": p})


def sum_by_text(differences: np.ndarray, instances: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(r, t) sums over the profiles of each text, and (t,) how many it has; texts in the order of their names."""
    texts, at = np.unique(np.asarray(instances), return_inverse=True)
    of_text = np.arange(len(texts))[:, None] == at[None]
    return differences @ of_text.T, of_text.sum(axis=1)


def spread(apd: np.ndarray) -> float:
    """By which share of the least the largest exceeds it."""
    return apd.max() / apd.min() - 1


def exchanged_spreads(sums: np.ndarray, worlds: int, *names) -> np.ndarray:
    """(worlds,) spreads where in each text the runs' (r, t) sums change places at random."""
    rng = generator("exchanged runs", *names)
    return np.array([spread(rng.permuted(sums, axis=0).sum(axis=1)) for _ in range(worlds)])
