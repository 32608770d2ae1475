"""Shapley values and their kin by brute force: over every order, or every coalition, one
at a time.
"""

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np


def play(values, members):
    """What a coalition is paid: values is indexed by the sum of 2^i over its members."""
    return values[sum(1 << i for i in members)]


def shapley(values, n):
    """(n,) mean gain of each unit over all orders in which units come."""
    out = np.zeros(n)
    for order in permutations(range(n)):
        for place, i in enumerate(order):
            out[i] += play(values, order[: place + 1]) - play(values, order[:place])
    return out / factorial(n)


def shapley_by_subsets(values, n):
    """The same by the weight of each coalition that a unit joins: n 2^(n - 1) terms in place of n!
    orders.
    """
    out = np.zeros(n)
    for i in range(n):
        for code in range(2**n):
            if not code >> i & 1:
                size = code.bit_count()
                share = factorial(size) * factorial(n - size - 1) / factorial(n)
                out[i] += share * (values[code | 1 << i] - values[code])
    return out


def bivariate(values, n):
    """(n, n) the same where unit j came before unit i; diagonal 0."""
    out = np.zeros((n, n))
    for i in range(n):
        rest = [k for k in range(n) if k != i]
        for size in range(n):
            for before in combinations(rest, size):  # so many orders begin with these and then i
                share = factorial(size) * factorial(n - size - 1) / factorial(n)
                gain = share * (play(values, (*before, i)) - play(values, before))
                for j in rest:
                    out[i, j] += gain * (j in before)
    return out


def interactions(values, n):
    """(n, n) Shapley interaction index by its definition."""
    out = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        rest = [k for k in range(n) if k not in (i, j)]
        for size in range(n - 1):
            for s in combinations(rest, size):
                mixed = (
                    play(values, (*s, i, j))
                    - play(values, (*s, i))
                    - play(values, (*s, j))
                    + play(values, s)
                )
                out[i, j] += mixed / ((n - 1) * comb(n - 2, size))
    return out + out.T


def kernel(n):
    """Every proper coalition with its kernel weight (Lundberg & Lee 2017, theorem 2)."""
    for size in range(1, n):
        for members in combinations(range(n), size):
            yield members, (n - 1) / (comb(n, size) * size * (n - size))


def faithful_banzhaf(values, n):
    """(n, n) coefficients of products in the quadratic polynomial nearest to the game over all
    coalitions.
    """
    pairs = list(combinations(range(n), 2))
    rows = []
    for code in range(2**n):
        x = [code >> i & 1 for i in range(n)]
        rows.append([1, *x, *(x[i] * x[j] for i, j in pairs)])
    fit = np.linalg.lstsq(np.array(rows, dtype=float), values, rcond=None)[0]
    out = np.zeros((n, n))
    for (i, j), value in zip(pairs, fit[1 + n :], strict=True):
        out[i, j] = out[j, i] = value
    return out
