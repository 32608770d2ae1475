"""Percentile bootstrap over instances (Efron 1979), the same draws for whatever is compared."""

import numpy as np

from attreval.core.seeds import Rng, generator

LEAST_TEXTS = 30  # fewer decide nothing, whatever their interval says


def draw_counts(rng: Rng, n: int, draws: int) -> np.ndarray:
    """(draws, n) how often each of n instances is drawn, n times with replacement.

    Args:
        rng: Draws.
        n: Number of instances.
        draws: How often.
    """
    return rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(float)


def mean_of_known(values: np.ndarray) -> np.ndarray:
    """Means over the first axis, NaN left out and without a warning where there is nothing else."""
    known = ~np.isnan(values)
    totals = np.where(known, values, 0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return totals / known.sum(axis=0)


def percentile_interval(drawn: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds over the first axis, NaN left out; NaN where nothing is known.

    Args:
        drawn: (draws, ...).
        confidence: Of the interval.
    """
    drawn = np.asarray(drawn, dtype=float)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    bounds = np.full((2, *drawn.shape[1:]), np.nan)
    known = ~np.isnan(drawn).all(axis=0)
    if known.any():
        bounds[:, known] = np.nanquantile(drawn[:, known], ends, axis=0)
    low, high = bounds
    return low, high


def bootstrap_mean(
    values: np.ndarray, draws: int, confidence: float, *names: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis (NaN left out) with its percentile bounds.

    Args:
        values: (instances, ...). Instances are drawn with replacement.
        draws: How often.
        confidence: Of the interval.
        names: What the draws derive from.

    Returns:
        Mean, lower and upper bounds, of the shape of one instance's values.

    Raises:
        ValueError: There is no instance, or an infinite value.
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        raise ValueError("a mean needs at least one instance; got none")
    if np.isinf(values).any():
        raise ValueError(
            f"a mean needs finite values; got {int(np.isinf(values).sum())} infinite ones"
        )
    counts = draw_counts(generator("bootstrap", *names), len(values), draws)
    known = ~np.isnan(values)
    flat = np.where(known, values, 0).reshape(len(values), -1)
    weight = known.reshape(len(values), -1)
    with np.errstate(invalid="ignore"):
        mean = flat.sum(axis=0) / weight.sum(axis=0)
        drawn = (counts @ flat) / (counts @ weight)
    low, high = percentile_interval(drawn, confidence)
    shape = values.shape[1:]
    return mean.reshape(shape), low.reshape(shape), high.reshape(shape)
