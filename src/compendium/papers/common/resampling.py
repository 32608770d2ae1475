"""Resampling of texts and seeds: the bootstrap, cross-fitted extremes, and exchanged names (Efron 1979; Stone 1974).

A statistic takes the means twice. A plain average reads the second; a choice (the best of many, the least of several)
is made on the first and its value read from the second. The first are means over the texts outside a fold, the second
over those inside, and the folds are averaged, so that no choice is rewarded for the noise that it was made by.
Letters used for shapes: n texts (rows), p numbers a text, b the sample itself and its draws,
j null worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, mean_of_known, percentile_interval
from attreval.core.seeds import generator

FOLDS = 5
Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (b, ...) means to choose by, (b, ...) to read -> (b,)


@dataclass(frozen=True)
class Sample:
    """weights: (b, n) of rows, the first row those of the sample itself. folds: (n,) which fold a row is in."""

    weights: np.ndarray
    folds: np.ndarray


@dataclass(frozen=True)
class Draws:
    """How often each text and each seed is drawn; what is compared shares them."""

    texts: pd.Index
    seeds: pd.Index
    text_counts: np.ndarray
    seed_counts: np.ndarray
    folds: np.ndarray

    def sample(self, texts: Sequence, seeds: Sequence) -> Sample:
        """The weights of rows that belong to these texts and seeds."""
        at_text, at_seed = self.texts.get_indexer(texts), self.seeds.get_indexer(seeds)
        return Sample(self.text_counts[:, at_text] * self.seed_counts[:, at_seed], self.folds[at_text])


def draw(texts: Sequence, seeds: Sequence, draws: int, *names: object) -> Draws:
    """Draw texts, and seeds where there are several, with replacement; the draws derive from `names`."""
    texts, seeds = pd.Index(pd.unique(pd.Series(texts))), pd.Index(pd.unique(pd.Series(seeds)))
    counts = [
        np.concatenate([np.ones((1, len(of))), draw_counts(generator("resample", what, *names), len(of), draws)])
        for what, of in (("texts", texts), ("seeds", seeds))
    ]
    folds = generator("folds", *names).permutation(len(texts)) % FOLDS
    return Draws(texts, seeds, *counts, folds)


def means(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(b, p) means of (n, p) values by (b, n) weights, NaN left out; (j, p) of (j, n, p) by one row of them."""
    known = ~np.isnan(values)
    filled = values if known.all() else np.where(known, values, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        if values.ndim == 3:
            total = weights.sum() if filled is values else np.einsum("n,jnp->jp", weights, known.astype(float))
            return np.einsum("n,jnp->jp", weights, filled) / total
        total = weights.sum(axis=1, keepdims=True) if filled is values else weights @ known
        return (weights @ filled) / total


def drawn_means(values: np.ndarray, draws: int, *names: object) -> np.ndarray:
    """(1 + draws, ...) means of (n, ...) values over texts, NaN left out: of all of them first, then of drawn ones."""
    counts = draw_counts(generator(*names), len(values), draws)
    weights = np.concatenate([np.ones((1, len(values))), counts])
    return means(weights, values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])


def with_bounds(drawn: np.ndarray, confidence: float) -> list[float]:
    """Value, lower and upper bound of (b,) numbers: the first is that of the sample itself, the others are drawn."""
    return [float(drawn[0]), *(float(bound) for bound in percentile_interval(drawn[1:], confidence))]


def about_median(drawn: np.ndarray, confidence: float) -> list[float]:
    """Median, lower and upper bound of (b,) numbers."""
    return [float(bound) for part in (0, confidence) for bound in percentile_interval(drawn, part)][1:]


def evaluate(sample: Sample, values: np.ndarray, statistic: Statistic, chosen: bool) -> np.ndarray:
    """(b,) values of a statistic; its first is that of the sample itself.

    values: (n, p), or (j, n, p) for as many null worlds, each of which is one sample: (j,). chosen: whether it chooses
    anything, and so is cross-fitted. A draw that leaves nothing in a fold says nothing of that fold.
    """
    weights = sample.weights[0] if values.ndim == 3 else sample.weights
    if not chosen:
        mean = means(weights, values)
        return statistic(mean, mean)
    folds = np.unique(sample.folds)
    if len(folds) < 2:
        mean = means(weights, values)
        return np.full(np.shape(statistic(mean, mean)), np.nan)
    found = []
    for fold in folds:
        inside = sample.folds == fold
        found.append(statistic(means(weights * ~inside, values), means(weights * inside, values)))
    return mean_of_known(np.stack(found))


def best_of(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b,) what is read where the fit is highest, of (b, c) candidates; NaN is never chosen."""
    return _at(np.where(np.isnan(fit), -np.inf, fit).argmax(axis=1), read)


def least_of(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b,) what is read where the fit is lowest, of (b, c) candidates."""
    return _at(np.where(np.isnan(fit), np.inf, fit).argmin(axis=1), read)


def _at(chosen: np.ndarray, read: np.ndarray) -> np.ndarray:
    return np.take_along_axis(read, chosen[:, None], axis=1)[:, 0]


def spread(fit: np.ndarray, read: np.ndarray) -> np.ndarray:
    """(b, ...) signed sd of true means over axis 1, by the covariance of two independent estimates of them.

    The sd of noisy means is too high by their noise; that of independent ones is right on average, and 0 for equals.
    """
    product = (fit - fit.mean(axis=1, keepdims=True)) * (read - read.mean(axis=1, keepdims=True))
    variance = product.mean(axis=1)
    return np.sign(variance) * np.sqrt(np.abs(variance))


def exchange_names(
    values: np.ndarray, worlds: int, rng: np.random.Generator, at: Sequence[int] | None = None
) -> np.ndarray:
    """(j, n, m, ...) values of (n, m, ...) with the m names exchanged at random in each text of each world.

    at: the names that are exchanged, where the others keep their places.
    """
    moved = values if at is None else values[:, list(at)]
    n, m = moved.shape[:2]
    order = rng.random((worlds, n, m)).argsort(axis=2)
    moved = moved[np.arange(n)[None, :, None], order]
    if at is None:
        return moved
    out = np.repeat(values[None], worlds, axis=0)
    out[:, :, list(at)] = moved
    return out
