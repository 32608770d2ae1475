"""LIME (Ribeiro et al. 2016): a linear surrogate of the class probability of masked texts.

It works on token ids, with the sampling, kernel and surrogate that Kamp et al. (2023) used:
positions are features, special tokens included; a removed one becomes the mask token, without
decoding and tokenising.

`lime_gaussian_process` has the same limit, a weighted regression over all masked texts, from fewer
texts. Masks are drawn as often as LIME's kernel weighs them, so that every text counts alike
(importance sampling), and a Gaussian process (Rasmussen & Williams 2006, chapter 2) over masks,
exp(-c * Hamming distance) and linear, stands for the model on the masks that were not read:
Bayesian quadrature (O'Hagan 1991) of the regression. It says how sure the scores are, and sampling
stops there.
Letters used for shapes: B samples, L tokens, n content tokens, Q masks that the process is asked
for.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.models.questions import Conversation, Evaluate

FIRST = 64  # texts of the first round; each further one doubles what was read
QUERIES = 10_000  # masks of which the process's mean makes the scores
SURE = 1_000  # those of them whose covariance makes the certainty of the scores
NOISE = 1e-4  # of the variance between texts: it keeps the covariance of the texts invertible


def draw_masks(length: int, samples: int, rng: Rng) -> np.ndarray:
    """(B, L) bool, False where removed: the first row is whole, others lose 1 to L at random."""
    return remove_random(length, rng.integers(1, length, size=samples - 1, endpoint=True), rng)


def remove_random(length: int, removed: np.ndarray, rng: Rng) -> np.ndarray:
    """Masks of random positions.

    Args:
        length: L, the number of positions.
        removed: (B - 1,) how many each row but the first loses, 1 to L.
        rng: Draws them.

    Returns:
        (B, L) bool; the first row is whole.
    """
    ranks = rng.random((len(removed), length)).argsort(axis=1).argsort(axis=1)
    whole = np.ones((1, length), bool)
    return np.concatenate([whole, ranks >= removed[:, None]])


def sample_weights(masks: np.ndarray, width: float) -> np.ndarray:
    """(B,) weights sqrt(exp(-D^2 / width^2)), D = 100 * cosine distance to the whole text."""
    distance = 100 * (1 - np.sqrt(masks.mean(axis=1)))
    return np.sqrt(np.exp(-(distance**2) / width**2))


def fit_surrogate(masks: np.ndarray, probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Coefficients of a weighted ridge regression (alpha 1, free intercept).

    Args:
        masks: (B, L) bool.
        probabilities: (B,) of the masked texts.
        weights: (B,) of the masked texts.

    Returns:
        (L,) coefficients.
    """
    # slow to import, and the list of methods is read by every command
    from sklearn.linear_model import Ridge

    ridge = Ridge(alpha=1.0, fit_intercept=True)
    ridge.fit(masks.astype(float), probabilities, sample_weight=weights)
    return ridge.coef_


def _most_texts(length: int, content: int, budget: Budget, layers: int = 1) -> int:
    """How many masked texts are read at most."""
    return max(2, min(length**2, budget.lime_samples))


_surrogate = partial(
    method,
    kind="perturbation",
    of="probability",
    cost=_most_texts,
    sampled=True,
    limits=("lime_samples",),
    stochastic=True,
)


def _ask_masked(tokens: Tokens, target: int, masks: np.ndarray) -> Conversation:
    """Ask for the (B,) class probability of (B, L) masked texts."""
    ids = np.where(masks, tokens.ids, tokens.mask_id)
    probabilities = yield Evaluate(ids, tokens.segments, sampled=True, of="probability")
    return probabilities[:, target]


@_surrogate(
    "LIME",
    source="Ribeiro et al. 2016",
    evaluations="max(2, min(L^2, lime_samples))",
    order=9,
    in_papers={"kamp2023": (2, "LIME")},
)
def lime(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) LIME coefficients for the probability of the target class."""
    length = len(tokens)
    masks = draw_masks(length, _most_texts(length, length, budget), rng)
    values = yield from _ask_masked(tokens, target, masks)
    weights = sample_weights(masks, budget.lime_kernel_width)
    coefficients = fit_surrogate(masks, values, weights)
    return Scores(coefficients[tokens.content])


def draw_weighted(length: int, samples: int, width: float, rng: Rng) -> np.ndarray:
    """(B, L) bool masks, drawn as often as LIME's kernel weighs them; the first is the whole text.

    Args:
        length: L, the number of tokens.
        samples: B, how many.
        width: Of the kernel.
        rng: Draws them.
    """
    removed = np.arange(1, length + 1)
    sizes = np.arange(length)[None] >= removed[:, None]
    chances = sample_weights(sizes, width)
    drawn = rng.choice(removed, samples - 1, p=chances / chances.sum())
    return remove_random(length, drawn, rng)


def distinct(masks: np.ndarray, most: int) -> np.ndarray:
    """The first `most` different rows, in their order."""
    _, first = np.unique(masks, axis=0, return_index=True)
    return masks[np.sort(first)[:most]]


def fit_process(masks: np.ndarray, values: np.ndarray, before: Any = None) -> Any:
    """A Gaussian process of masks, its kernel chosen by marginal likelihood.

    Args:
        masks: (B, L) bool.
        values: (B,) class probabilities.
        before: The kernel to start from.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

    length = masks.shape[1]
    # the squared distance of two masks is their Hamming distance
    near = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(np.sqrt(length / 8), (0.3, 100.0))
    linear = ConstantKernel(1 / length, (1e-6, 10.0)) * DotProduct(1.0, "fixed")
    process = GaussianProcessRegressor(before or near + linear, alpha=NOISE, normalize_y=True)
    with warnings.catch_warnings():
        # a length scale at its bound: as good as linear
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(masks.astype(float), values)


def read_process(
    process: Any, queries: np.ndarray, content: np.ndarray
) -> tuple[np.ndarray, float]:
    """(n,) LIME coefficients of a process's mean, and their reliability, in [0, 1].

    The reliability is the share of the variance between scores that is not the process's own doubt:
    the squared correlation to expect with the scores of all masked texts.

    Args:
        process: As `fit_process` gives it.
        queries: (Q, L) masks that it is asked for.
        content: (n,) positions that are scored.
    """
    mean = process.predict(queries.astype(float))
    scores = fit_surrogate(queries, mean, np.ones(len(queries)))[content]
    some = queries[:SURE].astype(float)
    _, covariance = process.predict(some, return_cov=True)
    centred = some - some.mean(axis=0)
    gram = centred.T @ centred + np.eye(some.shape[1])
    regression = np.linalg.solve(gram, centred.T)[content]
    regression = regression - regression.mean(axis=0)  # what all scores share decides no order
    deviations = scores - scores.mean()
    spread = float((deviations**2).sum())
    if not spread:
        return scores, 1.0
    doubt = float(np.einsum("nq,qr,nr->", regression, covariance, regression))
    return scores, spread / (spread + max(0.0, doubt))


@_surrogate(
    "LIME (Gaussian process)",
    source="ours: the limit of Ribeiro et al. 2016 by Bayesian quadrature",
    evaluations="64 to max(2, min(L^2, lime_samples))",
    order=10,
)
def lime_gaussian_process(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) LIME coefficients for the class probability, as reliable as `lime_reliability` asks."""
    length = len(tokens)
    width = budget.lime_kernel_width
    most = _most_texts(length, length, budget)
    masks = distinct(draw_weighted(length, 2 * most, width, rng), most)
    queries = draw_weighted(length, QUERIES, width, rng)
    values = np.zeros(0)
    kernel = None
    size = FIRST
    while True:
        more = yield from _ask_masked(tokens, target, masks[len(values) : size])
        values = np.concatenate([values, more])
        scores = np.zeros(len(tokens.content))
        reliability = 1.0
        if np.ptp(values):
            process = fit_process(masks[: len(values)], values, kernel)
            scores, reliability = read_process(process, queries, tokens.content)
            kernel = process.kernel_
        if len(values) == len(masks) or reliability >= budget.lime_reliability:
            return Scores(scores, reliability=reliability)
        size *= 2
