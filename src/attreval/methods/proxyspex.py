"""ProxySPEX (Butler et al. 2025): interactions of units, read off boosted trees.

Trees stand in for the model: they are fitted to the values of coalitions drawn uniformly; the
largest Fourier coefficients of the trees are fitted again to the values by ridge regression. A pair
scores its faithful Banzhaf interaction of order 2 (Tsai et al. 2023): the product's coefficient in
the quadratic polynomial that is nearest to the game over all coalitions. It needs the extra
`interactions`, and nothing of it is imported before a text is explained.
Letters used for shapes: N coalitions, n units.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from attreval.core.records import Tokens
from attreval.core.units import all_coalitions, find_units
from attreval.methods.method import Budget, Rng
from attreval.methods.shapley import ask_values, plays_coalitions
from attreval.methods.spans import find_spans, pair_scores
from attreval.models.questions import Conversation

REQUIRES = ("shapiq", "lightgbm")
_interactions = partial(
    plays_coalitions,
    evaluations="min(2^n, shapley_samples)",
    cost=lambda length, content, budget, layers=1: min(2**content, budget.units.shapley_samples),
    draws="uniform_coalitions",
    requires=REQUIRES,
    extra="interactions",
)
MOST_UNITS = 1023  # the sampler's weights add up to 2^n, which must be a float
# a unit is in half of them, and of such a half both halves must fill leaves, of 20 or more
FEWEST_COALITIONS = 79


class _AskedError(Exception):
    """Ends ProxySPEX where it asks its game for coalitions."""


def banzhaf_interactions(masks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n, n) faithful Banzhaf interactions of order 2 from values of all coalitions; diagonal 0.

    The polynomial of degree 2 nearest to a game over all coalitions is its Fourier series up to
    there (Hammer & Holzman 1992), in which the product of two units stands with four times their
    Fourier coefficient.

    Args:
        masks: (N, n) all coalitions.
        values: (N,).
    """
    signs = 1 - 2.0 * masks
    out = 4 * (signs.T * values) @ signs / len(values)
    np.fill_diagonal(out, 0.0)
    return out


def draw_uniform(n: int, samples: int, seed: int) -> np.ndarray:
    """(N, n) bool coalitions that ProxySPEX asks for, `samples` different ones."""
    drawn = []

    def keep(masks: np.ndarray) -> np.ndarray:
        drawn.append(masks)
        raise _AskedError

    try:
        _approximate(n, samples, seed, keep)
    except _AskedError:
        return drawn[0]
    raise RuntimeError("ProxySPEX has asked its game for nothing; attreval knows shapiq 1.4")


def fit_interactions(masks: np.ndarray, values: np.ndarray, seed: int) -> np.ndarray:
    """(n, n) estimates of the Banzhaf interactions; diagonal 0.

    They are 0 where trees cannot split twice: below FEWEST_COALITIONS, or in a game that no single
    unit moves.

    Args:
        masks: (N, n) the coalitions of `draw_uniform`.
        values: (N,).
        seed: The seed that drew them.
    """
    samples, n = masks.shape
    out = np.zeros((n, n))
    size = values.std()
    if samples < FEWEST_COALITIONS or np.ptp(values) == 0:
        return out

    def answer(asked: np.ndarray) -> np.ndarray:
        """The game at deviation 1: in float32, a sure model's probabilities are all equal.

        Its mean is 1, so that the constant is among the coefficients that stay: the ridge
        regression has no other.
        """
        if not np.array_equal(asked, masks):
            raise RuntimeError(
                "ProxySPEX draws other coalitions at the same seed; attreval knows shapiq 1.4"
            )
        return 1 + (values - values.mean()) / size

    try:
        found = _approximate(n, samples, seed, answer)
    except IndexError:  # shapiq finds no largest coefficients where the trees are a constant
        return out
    for members, value in found.dict_values.items():
        if len(members) == 2:
            first, second = members
            out[first, second] = size * value
            out[second, first] = size * value
    return out


def _approximate(n: int, samples: int, seed: int, game: Callable[[np.ndarray], np.ndarray]) -> Any:
    """shapiq's InteractionValues of a game: (N, n) coalitions -> (N,) values; by one thread.

    Raises:
        ValueError: The libraries, or theirs, are not installed.
    """
    try:
        import lightgbm  # noqa: F401 - its library may be there and lack one of the system's
        from shapiq.approximator import ProxySPEX
        from threadpoolctl import threadpool_limits
    except (ImportError, OSError) as error:
        needed = " and ".join(REQUIRES)
        raise ValueError(f"ProxySPEX needs {needed} ({error}): {proxyspex.install}") from error
    made = ProxySPEX(n=n, index="FBII", max_order=2, random_state=seed)
    # else LightGBM times two ways and takes the faster
    made.decoder_args |= {"deterministic": [True], "force_col_wise": [True]}
    with threadpool_limits(1), warnings.catch_warnings():
        # of names of LightGBM's settings, and of draws that take long
        warnings.simplefilter("ignore")
        return made.approximate(samples, game)


def _ask_interactions(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """The units and their (n, n) interactions: exact where the budget covers all coalitions."""
    units = find_units(tokens, budget.units.unit)
    samples = budget.units.shapley_samples
    n = len(units)
    seed = int(rng.integers(2**31))
    if n < 63 and 2**n <= samples:
        masks = all_coalitions(n)
        values = yield from ask_values(tokens, target, units, masks)
        return units, banzhaf_interactions(masks, values)
    if n > MOST_UNITS:
        raise ValueError(
            f"ProxySPEX draws coalitions of at most {MOST_UNITS} units, and this text has {n}; "
            "units of words (`unit: word`) or a smaller max_length make fewer"
        )
    masks = draw_uniform(n, samples, seed)
    values = yield from ask_values(tokens, target, units, masks, sampled=True)
    return units, fit_interactions(masks, values, seed)


@_interactions("ProxySPEX", source="Butler et al. 2025", order=45, level="pair")
def proxyspex(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs: their faithful Banzhaf interaction by ProxySPEX; 0 below 79 coalitions."""
    units, matrix = yield from _ask_interactions(tokens, target, budget, rng)
    return pair_scores(units, matrix)


@_interactions(
    "ProxySPEX, spans",
    source="Butler et al. 2025; Sun et al. 2024, appendix D",
    order=46,
    level="span",
)
def proxyspex_spans(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """Scores of pairs of spans by ProxySPEX."""
    units, matrix = yield from _ask_interactions(tokens, target, budget, rng)
    return find_spans(tokens, units, matrix, budget.units, rng)
