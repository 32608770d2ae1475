"""Slow twin of the variance components: expected mean squares of a balanced crossed design (Brennan 2001)."""

import numpy as np


def expected_mean_squares(columns):
    """(method, method x model, method x judge, rest) of (a, j, m) columns whose means over methods are 0."""
    a, j, m = columns.shape
    own = columns.mean(axis=(0, 1))
    models, judges = columns.mean(axis=1) - own, columns.mean(axis=0) - own
    rest = columns - own - models[:, None] - judges[None]
    of_method = a * j * (own**2).sum() / (m - 1)
    of_model = j * (models**2).sum() / ((m - 1) * (a - 1))
    of_judge = a * (judges**2).sum() / ((m - 1) * (j - 1))
    of_rest = np.sum(rest**2) / ((m - 1) * (a - 1) * (j - 1))
    method = (of_method - of_model - of_judge + of_rest) / (a * j)
    return method, (of_model - of_rest) / j, (of_judge - of_rest) / a, of_rest
