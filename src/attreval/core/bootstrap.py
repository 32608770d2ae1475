"""How sure is a mean over instances? Percentile bootstrap, the same draws for whatever is compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attreval.core.seeds import generator


def bootstrap_mean(
    values: np.ndarray, draws: int, level: float, *names: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis (NaN left out) with its lower and upper percentile bounds.

    values: (instances, ...). Instances are drawn with replacement; the draws derive from `names`.
    Raises ValueError for no instance or an infinite value.
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        raise ValueError("a mean needs at least one instance; got none")
    if np.isinf(values).any():
        raise ValueError(f"a mean needs finite values; got {int(np.isinf(values).sum())} infinite ones")
    centre, means = draw_means(values, draws, *names)
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    shape = values.shape[1:]
    return centre.reshape(shape), low.reshape(shape), high.reshape(shape)


def draw_means(values: np.ndarray, draws: int, *names: object) -> tuple[np.ndarray, np.ndarray]:
    """(p,) means over instances, NaN left out, and (draws, p) means of instances drawn with replacement."""
    rng = generator("bootstrap", *names)
    counts = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=draws).astype(float)
    known = ~np.isnan(values)
    flat, weight = np.where(known, values, 0).reshape(len(values), -1), known.reshape(len(values), -1)
    with np.errstate(invalid="ignore"):
        return flat.sum(axis=0) / weight.sum(axis=0), (counts @ flat) / (counts @ weight)


def bootstrap_statistic(
    values: np.ndarray, statistic: Callable[[np.ndarray], float], draws: int, level: float, *names: object
) -> tuple[float, float, float]:
    """A statistic of the means of (instances, p) values, with its lower and upper percentile bounds."""
    centre, means = draw_means(np.asarray(values, dtype=float), draws, *names)
    drawn = np.array([statistic(row) for row in means])
    known = drawn[~np.isnan(drawn)]
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
    return float(statistic(centre)), float(low), float(high)
