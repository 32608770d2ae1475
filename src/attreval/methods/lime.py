"""LIME (Ribeiro et al. 2016): a linear surrogate, fitted to the class probability of texts with masked tokens.

Over token ids, with the sampling, kernel and surrogate that Kamp et al. (2023) used:
positions are features, special tokens included; a removed one becomes the mask token, without decoding and tokenising.
Letters used for shapes: B samples, L tokens, n content tokens.
"""

from __future__ import annotations

import numpy as np

from attreval.core.records import Tokens
from attreval.methods.method import Budget, Rng, Scores, method
from attreval.models.questions import Conversation, Evaluate


def draw_masks(length: int, samples: int, rng: Rng) -> np.ndarray:
    """(B, L) bool, False where a token is removed: the first row is whole, the others lose 1..L random positions."""
    return remove_random(length, rng.integers(1, length, size=samples - 1, endpoint=True), rng)


def remove_random(length: int, removed: np.ndarray, rng: Rng) -> np.ndarray:
    """(B, L) bool: the first row is whole, the others lose so many random positions, (B - 1,) of 1..L."""
    ranks = rng.random((len(removed), length)).argsort(axis=1).argsort(axis=1)
    return np.concatenate([np.ones((1, length), bool), ranks >= removed[:, None]])


def sample_weights(masks: np.ndarray, width: float) -> np.ndarray:
    """(B,) kernel weights sqrt(exp(-D^2 / width^2)), D = 100 times the cosine distance to the whole text."""
    distance = 100 * (1 - np.sqrt(masks.mean(axis=1)))
    return np.sqrt(np.exp(-(distance**2) / width**2))


def fit_surrogate(masks: np.ndarray, probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(L,) coefficients of the weighted ridge regression (alpha 1, free intercept) of probabilities on masks."""
    from sklearn.linear_model import Ridge  # slow to import, and the list of methods is read by every command

    return Ridge(alpha=1.0, fit_intercept=True).fit(masks.astype(float), probabilities, sample_weight=weights).coef_


@method(
    "LIME",
    source="Ribeiro et al. 2016",
    kind="perturbation",
    evaluations="min(L^2, lime_samples)",
    order=9,
    sampled=True,
    limits=("lime_samples",),
    stochastic=True,
    in_papers={"kamp2023": (2, "LIME")},
)
def lime(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
    """(n,) LIME coefficients for the probability of the target class."""
    length = len(tokens)
    masks = draw_masks(length, max(2, min(length**2, budget.lime_samples)), rng)
    ids = np.where(masks, tokens.ids[None], tokens.mask_id)
    probabilities = yield Evaluate(ids, tokens.segments, sampled=True, of="probability")
    coefficients = fit_surrogate(masks, probabilities[:, target], sample_weights(masks, budget.lime_kernel_width))
    return Scores(coefficients[tokens.content])
