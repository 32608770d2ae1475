"""How sure is a mean over instances? Percentile bootstrap, the same draws for whatever is compared."""

from __future__ import annotations

import numpy as np

from attreval.seeds import generator


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
    rng = generator("bootstrap", *names)
    counts = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=draws).astype(float)
    known = ~np.isnan(values)
    flat, weight = np.where(known, values, 0).reshape(len(values), -1), known.reshape(len(values), -1)
    with np.errstate(invalid="ignore"):
        means = (counts @ flat) / (counts @ weight)
        centre = flat.sum(axis=0) / weight.sum(axis=0)
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    shape = values.shape[1:]
    return centre.reshape(shape), low.reshape(shape), high.reshape(shape)
