"""Slow twin of the decomposition: covariances of two columns text by text, and their means paper by
paper.
"""

from itertools import product

import numpy as np


def covariance(first, second):
    """Mean over two different texts of the covariance over methods; first, second: (m, n), NaN
    where there is none.
    """
    first = first - first.mean(axis=0)
    second = second - second.mean(axis=0)
    texts = product(range(first.shape[1]), range(second.shape[1]))
    found = [first[:, t] @ second[:, s] / (len(first) - 1) for t, s in texts if t != s]
    return np.nanmean(found)


def mean_by_paper(correlations, judges, a, b, level):
    """Mean correlation of two networks: under one `metric`, two of a `paper`, or of two papers
    (`neither`).
    """
    cells = {}
    for j, k in product(range(len(judges)), repeat=2):
        same = "metric" if j == k else "paper" if judges[j] == judges[k] else "neither"
        if same == level and not np.isnan(correlations[a, j, b, k]):
            cells.setdefault((judges[j], judges[k]), []).append(correlations[a, j, b, k])
    return np.mean([np.mean(cell) for cell in cells.values()]) if cells else np.nan
