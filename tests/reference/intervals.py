"""Percentile bootstrap, one resample after another."""

import numpy as np


def bootstrap_mean(values, counts, level):
    """Mean and bounds of one column; counts: (draws, instances), how often each draw takes each
    instance.
    """
    known = [v for v in values if v == v]
    means = []
    for row in counts:
        drawn = [v for v, times in zip(values, row, strict=True) for _ in range(times) if v == v]
        if drawn:
            means.append(sum(drawn) / len(drawn))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return sum(known) / len(known), low, high
