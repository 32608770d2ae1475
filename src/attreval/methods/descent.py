"""The descent by which LIMSSE fits its surrogate (Poerner et al. 2018, released code), for many texts in one loop.

A fit is a linear model over the tokens' presence in short substrings. A thousand steps on arrays of a few hundred
numbers spend their time in calls, so the fits of all texts and losses that are explained together take their steps
together. The presence of tokens never becomes a matrix: a substring's sum of weights is a difference of two running
sums, and the sum of what lies over a token is a running sum of what begins there less what has ended.
Letters used for shapes: F fits, n tokens of a fit, N of the longest, w substrings of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from attreval.models.questions import Computation

LONGEST = 6
RATE, MOMENTUM, PENALTY, SEED = 0.01, 0.9, 0.01, 12345  # of the released code
TOGETHER = 8192  # F * N of a loop, at most; measured: more gain nothing, and hold more memory


@dataclass(frozen=True)
class Descent(Computation):
    """Ask for (n,) weights by full-batch descent with Nesterov momentum.

    cuts: (w, 2) starts and ends, exclusive, of substrings of at most LONGEST of n tokens. values: (w,) what is fitted;
    the same for a substring that comes twice. What falls is the mean loss plus PENALTY times the sum of |weights|.
    classify: cross entropy on 0/1 values, else squared error. The start is Glorot uniform, as in the code, but drawn by
    NumPy: the code's own numbers come from Keras and are others, at the same seed.
    """

    cuts: np.ndarray
    n: int
    values: np.ndarray
    classify: bool
    epochs: int

    @staticmethod
    def together(asked: Sequence[Descent]) -> list[np.ndarray]:
        """The weights of each, those of like length and of one number of epochs in one loop."""
        found: dict[int, np.ndarray] = {}
        order = sorted(range(len(asked)), key=lambda i: (asked[i].epochs, asked[i].n))
        while order:
            part = [order.pop()]
            longest, epochs = asked[part[0]].n, asked[part[0]].epochs
            while order and asked[order[-1]].epochs == epochs and (len(part) + 1) * longest <= TOGETHER:
                part.append(order.pop())
            part.sort(key=lambda i: not asked[i].classify)
            found |= zip(part, _descend([asked[i] for i in part], epochs), strict=True)
        return [found[i] for i in range(len(asked))]


def _descend(fits: Sequence[Descent], epochs: int) -> list[np.ndarray]:
    """(n,) weights of each of F fits; those that classify come first."""
    size, shape = max(fit.n for fit in fits), (LONGEST, len(fits), max(fit.n for fit in fits))
    classes, values, shares = sum(fit.classify for fit in fits), np.zeros(shape), np.zeros(shape)
    weights, step = np.zeros(shape[1:]), np.zeros(shape[1:])
    for f, fit in enumerate(fits):
        at: Any = (fit.cuts[:, 1] - fit.cuts[:, 0] - 1, f, fit.cuts[:, 0])
        values[at] = fit.values
        np.add.at(shares, at, (1 if fit.classify else 2) / len(fit.cuts))  # 0 for a substring that is not there
        limit = np.sqrt(6 / (fit.n + 1))
        weights[f, : fit.n] = np.random.RandomState(SEED).uniform(-limit, limit, fit.n)
    # what a shorter text has behind its end moves too, but nothing that is read ever holds it
    running = np.zeros((len(fits), size + 1 + LONGEST))
    until = as_strided(running[:, 1:], shape, (running.strides[1], *running.strides))  # [l - 1, :, s] is s + l
    margin = np.zeros((LONGEST, len(fits), LONGEST + size))
    errors = margin[..., LONGEST:]
    row, one = margin.strides[1:]
    ended = as_strided(
        margin[:, :, LONGEST - 1 :], shape, (margin.strides[0] - one, row, one)
    )  # [l - 1, :, t] is t - l
    for _ in range(epochs):
        np.cumsum(weights, axis=1, out=running[:, 1 : size + 1])
        np.subtract(until, running[:, :size], out=errors)
        if classes:  # the logistic function, by the one form of it that NumPy has fast
            errors[:, :classes] = 0.5 * np.tanh(0.5 * errors[:, :classes]) + 0.5
        np.subtract(errors, values, out=errors)
        np.multiply(errors, shares, out=errors)
        slope = np.cumsum(errors.sum(axis=0) - ended.sum(axis=0), axis=1) + PENALTY * np.sign(weights)
        step = MOMENTUM * step - RATE * slope
        weights = weights + MOMENTUM * step - RATE * slope
    return [weights[f, : fit.n].copy() for f, fit in enumerate(fits)]
