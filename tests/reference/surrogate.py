"""LIME as loops and normal equations."""

import math

import numpy as np


def weights(masks, width):
    """Kernel weights of rows, from the cosine to the row of ones."""
    out = []
    for row in masks:
        norm = math.sqrt(sum(row)) * math.sqrt(len(row))
        distance = 100 * (1 - (sum(row) / norm if norm else 0))
        out.append(math.sqrt(math.exp(-(distance**2) / width**2)))
    return np.array(out)


def ridge(masks, values, weight):
    """Coefficients of (X'WX + P) b = X'Wy, with the intercept in front and not penalised."""
    x = np.column_stack([np.ones(len(masks)), np.asarray(masks, float)])
    penalty = np.eye(x.shape[1])
    penalty[0, 0] = 0
    left = penalty
    right = np.zeros(x.shape[1])
    for row, value, w in zip(x, values, weight, strict=True):
        left = left + w * np.outer(row, row)
        right = right + w * value * row
    return np.linalg.solve(left, right)[1:]
