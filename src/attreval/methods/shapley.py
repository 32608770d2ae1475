"""Kernel SHAP (Lundberg & Lee 2017) and Bivariate Shapley (Masoomi et al. 2023).

Both ask the same questions: coalitions of units are masked into the text, and the values of the
game follow from one weighted least-squares fit (as Sun et al. 2024, appendix D, use it). A Shapley
value is what a unit adds to the class probability, on average over all orders in which units come;
phi(i|j) of Bivariate Shapley is that of i in a game whose value is zero without j.
Letters used for shapes: N coalitions, n units, R games.
"""

from functools import partial
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from attreval.core.records import Tokens
from attreval.core.units import Units, find_units, mask_units
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.methods.spans import find_spans, pair_scores
from attreval.models.questions import Conversation, Evaluate

plays_coalitions = partial(  # what is known of every method that plays games of coalitions
    method,
    kind="perturbation",
    of="probability",
    sampled=True,
    limits=("units.shapley_samples",),
    stochastic=True,
)
_shapley = partial(
    plays_coalitions,
    evaluations="min(2^n, shapley_samples + 2)",
    cost=lambda length, content, budget, layers=1: min(
        2**content, budget.units.shapley_samples + 2
    ),
    draws="coalitions",
)


class CoalitionGame(NamedTuple):
    """Coalitions of units and what they are worth.

    Attributes:
        masks: (N, n) bool, a coalition per row.
        weights: (N,) of the fit.
        values: (N,) what each coalition is worth.
        empty, full: What no unit and all units are worth.
    """

    masks: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    empty: float
    full: float


def draw_coalitions(n: int, samples: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Coalitions, neither empty nor whole, and their weights: every one where `samples` suffices.

    Otherwise the sizes whose kernel weight asks for it are enumerated, smallest and largest first,
    and the others are drawn by their weight, each coalition with its complement (as in the code of
    Lundberg & Lee and of Masoomi et al.).

    Args:
        n: Number of units.
        samples: Coalitions, at most.
        rng: Draws them.

    Returns:
        (N, n) bool coalitions and their (N,) weights.
    """
    if n < 2:
        return np.zeros((0, n), bool), np.zeros(0)
    enumerate_all = n < 63 and samples >= 2**n - 2
    sizes = np.arange(1, n // 2 + 1)  # a size stands for itself and its complement
    mirrored = np.where(2 * sizes == n, 1, 2)
    weight = mirrored * (n - 1) / (sizes * (n - sizes))
    weight /= weight.sum()
    rows = []
    weights = []
    left = samples
    rest = 1.0
    for size, double, share in zip(sizes.tolist(), mirrored, weight, strict=True):
        count = comb(n, size) * int(double)
        if not enumerate_all and left * share / rest < count * (1 - 1e-8):
            break
        chosen = np.array(list(combinations(range(n), size)))
        block = np.zeros((len(chosen), n), bool)
        np.put_along_axis(block, chosen, True, axis=1)
        rows.append(np.concatenate([block, ~block]) if double == 2 else block)
        weights.append(np.full(count, share / count))
        left -= count
        rest -= share
        if size == sizes[-1]:
            return np.concatenate(rows), np.concatenate(weights)
    sizes = sizes[len(rows) :]
    weight = weight[len(rows) :]
    block, counts = _draw_mirrored(n, max(1, left // 2), sizes, weight / weight.sum(), rng)
    rows.append(block)
    weights.append(rest * counts / counts.sum())
    return np.concatenate(rows), np.concatenate(weights)


def _draw_mirrored(
    n: int, pairs: int, sizes: np.ndarray, chances: np.ndarray, rng: Rng
) -> tuple[np.ndarray, np.ndarray]:
    """(M, n) random coalitions beside their complements, and (M,) how often each was drawn.

    Draws go on until there are `pairs` different pairs, or four times as many draws.
    """
    drawn = rng.choice(sizes, size=4 * pairs, p=chances)
    ranks = rng.random((len(drawn), n)).argsort(axis=1).argsort(axis=1)
    some = ranks < drawn[:, None]
    # of a coalition and its complement, the one without the first unit stands for both
    some ^= some[:, :1]
    _, first, which = np.unique(some, axis=0, return_index=True, return_inverse=True)
    end = np.sort(first)[pairs] if len(first) > pairs else len(some)
    counts = np.bincount(np.ravel(which)[:end], minlength=len(first))
    met = counts > 0
    kept = some[first[met]]
    return np.concatenate([kept, ~kept]), np.tile(counts[met], 2)


def fit_values(
    masks: np.ndarray, weights: np.ndarray, targets: np.ndarray, total: float
) -> np.ndarray:
    """Values of games by weighted least squares; each game's values sum to its total.

    The constraint is met by fitting in the n - 1 directions in which the sum does not change, so
    that no unit is eliminated before the others; where coalitions are too few to tell units apart,
    these share alike.

    Args:
        masks: (N, n) bool coalitions.
        weights: (N,) of the coalitions.
        targets: (N, R) what coalitions are worth in each game.
        total: The sum of each game's values.

    Returns:
        (n, R) values.
    """
    n = masks.shape[1]
    even = total / n
    if n == 1:
        return np.full((1, targets.shape[1]), even)
    basis = helmert(n).T  # (n, n - 1), orthonormal, columns sum to 0
    root = np.sqrt(weights)[:, None]
    design = masks.astype(float) @ basis
    rest = targets - masks.sum(axis=1)[:, None] * even
    found, *_ = np.linalg.lstsq(root * design, root * rest, rcond=None)
    return even + basis @ found


def ask_values(
    tokens: Tokens, target: int, units: Units, masks: np.ndarray, sampled: bool = False
) -> Conversation:
    """Ask for the class probability of coalitions of units.

    Args:
        tokens: The text.
        target: The explained class.
        units: Its units.
        masks: (N, n) bool coalitions.
        sampled: See questions.Evaluate.

    Returns:
        (N,) probabilities.
    """
    rows = mask_units(tokens, units, masks)
    probabilities = yield Evaluate(rows, tokens.segments, sampled=sampled, of="probability")
    return probabilities[:, target]


def ask_game(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Ask for the class probability of coalitions: the units, and the game."""
    units = find_units(tokens, budget.units.unit)
    masks, weights = draw_coalitions(len(units), budget.units.shapley_samples, rng)
    ends = np.array([[False], [True]]).repeat(len(units), axis=1)
    # what is enumerated is exact, and exact questions are asked exactly
    sampled = len(masks) < 2 ** min(len(units), 62) - 2
    values = yield from ask_values(tokens, target, units, np.concatenate([ends, masks]), sampled)
    empty, full = values[:2]
    return units, CoalitionGame(masks, weights, values[2:], empty, full)


def shapley_values(game: CoalitionGame) -> np.ndarray:
    """(n,) Shapley values of a game."""
    gains = (game.values - game.empty)[:, None]
    return fit_values(game.masks, game.weights, gains, game.full - game.empty)[:, 0]


@_shapley(
    "Kernel SHAP",
    source="Lundberg & Lee 2017",
    order=42,
    in_papers={"sun2024": (1, "shapley token")},
)
def kernel_shap(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) Shapley values of the class probability; masked units become the mask token."""
    units, game = yield from ask_game(tokens, target, budget, rng)
    return Scores(shapley_values(game), features=units.groups)


def bivariate_values(game: CoalitionGame) -> np.ndarray:
    """(n, n) phi(i|j): the Shapley value of i in the game v(S) if j in S, else 0; diagonal 0.

    The empty coalition's value is taken off first. That moves no phi(i|j), since a unit other than
    j adds nothing to a constant paid where j is; and as every coalition is there with its
    complement, neither does the additive part of the game: it is fitted exactly, so no control
    variate is needed.
    """
    gains = (game.values - game.empty)[:, None] * game.masks
    out = fit_values(game.masks, game.weights, gains, game.full - game.empty)
    np.fill_diagonal(out, 0.0)
    return out


def _ask_bivariate(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """The units and the (n, n) matrix of phi(i|j)."""
    units, game = yield from ask_game(tokens, target, budget, rng)
    return units, bivariate_values(game)


@_shapley(
    "Bivariate Shapley",
    source="Masoomi et al. 2023",
    order=43,
    level="pair",
    in_papers={"sun2024": (2, "shapley pair")},
)
def bivariate_shapley(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs: the mean of phi(a|b) and phi(b|a) (Masoomi et al. 2023)."""
    units, matrix = yield from _ask_bivariate(tokens, target, budget, rng)
    return pair_scores(units, matrix)


@_shapley(
    "Bivariate Shapley, spans",
    source="Sun et al. 2024, appendix D",
    order=44,
    level="span",
    in_papers={"sun2024": (3, "shapley span")},
)
def bivariate_shapley_spans(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs of spans by Bivariate Shapley."""
    units, matrix = yield from _ask_bivariate(tokens, target, budget, rng)
    return find_spans(tokens, units, matrix, budget.units, rng)
