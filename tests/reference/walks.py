"""Walks along a text's tokens, one erased text at a time, and what is read off them."""

import itertools

import numpy as np

from reference.faithfulness import probability


def walk(network, tokens, order, k, deleting):
    """Shares of tokens and p(k), from no token taken to all, the first of the order at first."""
    content = [int(p) for p in tokens.content]
    shares = []
    values = []
    for size in range(len(order) + 1):
        taken = {content[i] for i in order[:size]}
        gone = taken if deleting else set(content) - taken
        shares.append(size / len(order))
        values.append(probability(network, tokens, gone, k))
    return shares, values


def area(shares, values):
    """Area by trapezoids."""
    return sum(
        (b - a) * (u + v) / 2
        for a, b, u, v in zip(shares, shares[1:], values, values[1:], strict=False)
    )


def flip(shares, predicted):
    """The first share at which another class than the first is predicted, 1 where none is."""
    return next(
        (share for share, k in zip(shares, predicted, strict=True) if k != predicted[0]), 1.0
    )


def complexity(shares, values, full):
    """The least share that keeps the probability within a tenth."""
    return next(share for share, value in zip(shares, values, strict=True) if full - value <= 0.1)


def monotone(values):
    """The share of steps, from the erased text to the whole one, at which the probability does not
    fall.
    """
    back = values[::-1]
    return sum(b >= a - 1e-7 for a, b in itertools.pairwise(back)) / (len(back) - 1)


def singles(network, tokens, k):
    """What each content token alone takes from p(k)."""
    full = probability(network, tokens, set(), k)
    return np.array([full - probability(network, tokens, {int(p)}, k) for p in tokens.content])


def pearson(a, b):
    """Correlation of two lists of numbers."""
    a = [x - sum(a) / len(a) for x in a]
    b = [x - sum(b) / len(b) for x in b]
    return (
        sum(x * y for x, y in zip(a, b, strict=True))
        / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    )


def infidelity(sums, drops):
    """The least mean squared difference over many factors of 0 or more."""
    guess = sum(s * d for s, d in zip(sums, drops, strict=True)) / max(
        sum(s * s for s in sums), 1e-300
    )
    factors = [0.0, *(max(0.0, guess) * (1 + step / 1000) for step in range(-5, 6))]
    return min(
        sum((f * s - d) ** 2 for s, d in zip(sums, drops, strict=True)) / len(sums) for f in factors
    )
