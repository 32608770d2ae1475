"""A Gaussian process and what LIME reads off it, as loops and whole matrices."""

import math

import numpy as np


def kernel(a, b, near, scale, linear):
    """Covariance of two masks: by Hamming distance, and linear."""
    hamming = sum(x != y for x, y in zip(a, b, strict=True))
    return near * math.exp(-hamming / (2 * scale**2)) + linear * (
        1 + sum(x and y for x, y in zip(a, b, strict=True))
    )


def posterior(masks, values, queries, hyper, noise):
    """Mean and covariance at the queries, of values brought to mean 0 and deviation 1."""
    mean = np.mean(values)
    deviation = np.std(values)
    k = np.array([[kernel(a, b, *hyper) for b in masks] for a in masks]) + noise * np.eye(
        len(masks)
    )
    cross = np.array([[kernel(q, b, *hyper) for b in masks] for q in queries])
    own = np.array([[kernel(p, q, *hyper) for q in queries] for p in queries])
    inverse = np.linalg.inv(k)
    standard = (np.asarray(values) - mean) / deviation
    return mean + deviation * cross @ inverse @ standard, deviation**2 * (
        own - cross @ inverse @ cross.T
    )
