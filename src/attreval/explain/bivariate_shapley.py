"""How much does a unit add to the class probability, on average over all orders in which units come - and if another
one has come before it?

Kernel SHAP (Lundberg & Lee 2017): coalitions of units are masked into the text, and the values of the game follow from
one weighted least-squares fit. Bivariate Shapley (Masoomi et al. 2023): phi(i|j) is the Shapley value of i in the game
that pays only where j is present; it needs no further question. As Sun et al. (2024, appendix D) use both.
Letters used for shapes: N coalitions, n units, R games.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy.linalg import helmert

from attreval.core.units import Units, find_units, mask_units
from attreval.explain.method import Scores
from attreval.explain.spans import find_spans
from attreval.models.questions import Evaluate


def draw_coalitions(n: int, samples: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(N, n) bool coalitions, neither empty nor whole, and their (N,) weights: every one where `samples` suffices.

    Otherwise the sizes whose kernel weight asks for it are enumerated, smallest and largest first, and the others are
    drawn by their weight, each coalition with its complement (as the code of Lundberg & Lee and of Masoomi et al.).
    """
    if n < 2:
        return np.zeros((0, n), bool), np.zeros(0)
    enumerate_all = n < 63 and samples >= 2**n - 2
    sizes = np.arange(1, n // 2 + 1)  # a size stands for itself and its complement
    mirrored = np.where(2 * sizes == n, 1, 2)
    weight = mirrored * (n - 1) / (sizes * (n - sizes))
    weight /= weight.sum()
    rows, weights, left, rest = [], [], samples, 1.0
    for size, double, share in zip(sizes.tolist(), mirrored, weight, strict=True):
        count = comb(n, size) * int(double)
        if not enumerate_all and left * share / rest < count * (1 - 1e-8):
            break
        chosen = np.array(list(combinations(range(n), size)))
        block = np.zeros((len(chosen), n), bool)
        np.put_along_axis(block, chosen, True, axis=1)
        rows.append(np.concatenate([block, ~block]) if double == 2 else block)
        weights.append(np.full(count, share / count))
        left, rest = left - count, rest - share
        if size == sizes[-1]:
            return np.concatenate(rows), np.concatenate(weights)
    sizes, weight = sizes[len(rows) :], weight[len(rows) :]
    block, counts = draw_mirrored(n, max(1, left // 2), sizes, weight / weight.sum(), rng)
    return np.concatenate([*rows, block]), np.concatenate([*weights, rest * counts / counts.sum()])


def draw_mirrored(n: int, pairs: int, sizes: np.ndarray, chances: np.ndarray, rng: np.random.Generator):
    """(M, n) coalitions of random sizes, each beside its complement, and (M,) how often they were drawn.

    Draws go on until there are so many different pairs, or four times as many draws.
    """
    drawn = rng.choice(sizes, size=4 * pairs, p=chances)
    some = rng.random((len(drawn), n)).argsort(axis=1).argsort(axis=1) < drawn[:, None]
    some ^= some[:, :1]  # of a coalition and its complement, the one without the first unit stands for both
    _, first, which = np.unique(some, axis=0, return_index=True, return_inverse=True)
    end = np.sort(first)[pairs] if len(first) > pairs else len(some)
    counts = np.bincount(np.ravel(which)[:end], minlength=len(first))
    kept = some[first[counts > 0]]
    return np.concatenate([kept, ~kept]), np.tile(counts[counts > 0], 2)


def fit_values(masks: np.ndarray, weights: np.ndarray, targets: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """(n, R) values of R games: weighted least squares of (N, R) targets, each game's values summing to its total.

    The constraint is met by fitting in the n - 1 directions in which the sum does not change, so that no unit is
    eliminated before the others; where coalitions are too few to tell units apart, these share alike.
    """
    n = masks.shape[1]
    even = np.broadcast_to(np.asarray(totals, float) / n, (targets.shape[1],))
    if n == 1:
        return even[None].copy()
    basis, root = helmert(n).T, np.sqrt(weights)[:, None]  # (n, n - 1), orthonormal, columns sum to 0
    rest = targets - masks.sum(axis=1)[:, None] * even
    found = np.linalg.lstsq(root * (masks.astype(float) @ basis), root * rest, rcond=None)[0]
    return even + basis @ found


def shapley_values(masks, weights, values: np.ndarray, empty: float, full: float) -> np.ndarray:
    """(n,) Shapley values of the game that pays (N,) values, `empty` for nobody and `full` for all."""
    return fit_values(masks, weights, (values - empty)[:, None], np.array([full - empty]))[:, 0]


def bivariate_values(masks, weights, values: np.ndarray, empty: float, full: float) -> np.ndarray:
    """(n, n) values phi(i|j), row i, column j: the Shapley value of i in the game v(S) if j in S, else 0; diagonal 0.

    The empty coalition's value is taken off first. That moves no phi(i|j), since a unit other than j adds nothing to a
    constant paid where j is; and as every coalition is there with its complement, neither does the additive part of
    the game: it is fitted exactly, so that no control variate is needed for it.
    """
    out = fit_values(masks, weights, (values - empty)[:, None] * masks, np.full(masks.shape[1], full - empty))
    np.fill_diagonal(out, 0.0)
    return out


def ask_coalitions(tokens, target, budget, rng):
    """Ask for the class probability of coalitions: units, masks, weights, (N,) values, and those of nobody and all."""
    units = find_units(tokens, budget.units.unit)
    masks, weights = draw_coalitions(len(units), budget.units.shapley_samples, rng)
    ends = np.array([[False], [True]]).repeat(len(units), axis=1)
    rows = mask_units(tokens, units, np.concatenate([ends, masks]))
    # what is enumerated is exact, and exact questions are asked exactly
    sampled = len(masks) < 2 ** min(len(units), 62) - 2
    logits = yield Evaluate(rows, tokens.segments, sampled=sampled)
    p = np.exp(logits[:, target] - np.logaddexp.reduce(logits, axis=1))
    return units, masks, weights, p[2:], p[0], p[1]


def kernel_shap(tokens, target, budget, rng):
    """(n,) Shapley values of the class probability, masked units become the mask token (Lundberg & Lee 2017)."""
    units, *game = yield from ask_coalitions(tokens, target, budget, rng)
    return Scores(shapley_values(*game), features=units.groups)


def ask_bivariate(tokens, target, budget, rng):
    """The units and the (n, n) matrix of phi(i|j)."""
    units, *game = yield from ask_coalitions(tokens, target, budget, rng)
    return units, bivariate_values(*game)


def pair_scores(units: Units, matrix: np.ndarray) -> Scores:
    """Scores of pairs of units: the mean of both directions of an (n, n) matrix (Sun et al. 2024, appendix D)."""
    pairs = units.pairs()
    a, b = pairs.T
    features = tuple(tuple(sorted((*units.groups[i], *units.groups[j]))) for i, j in pairs.tolist())
    return Scores((matrix[a, b] + matrix[b, a]) / 2, features=features)


def bivariate_shapley(tokens, target, budget, rng):
    """Scores of pairs by Bivariate Shapley: the mean of phi(a|b) and phi(b|a) (Masoomi et al. 2023)."""
    return pair_scores(*(yield from ask_bivariate(tokens, target, budget, rng)))


def bivariate_shapley_spans(tokens, target, budget, rng):
    """Scores of pairs of spans by Bivariate Shapley."""
    units, matrix = yield from ask_bivariate(tokens, target, budget, rng)
    return find_spans(tokens, units, matrix, budget.units, rng)
