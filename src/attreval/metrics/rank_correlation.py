"""Kendall's tau-b of two metrics' orders of methods (Kendall 1945), without noise.

The same drawn instances and seeds go into the means of every judge, since all of them scored the
same explanations. Beside it what chance gives (the methods of one judge exchange their names), and
what an equal pair gives (a judge against itself on other texts). Letters used for shapes: S seeds,
N instances, m methods, d draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attreval.core.bootstrap import draw_counts
from attreval.core.seeds import Rng, generator
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import RANDOM, ScoredText, to_scale

TIED = 1e-9  # means closer than this are equal: what is left of rounding orders nobody
LEAST_SPREAD = 1e-4  # of true means, in variances of those seen
# methods that two judges must both have scored: of three, chance orders one pair in three alike
FEWEST = 4


@dataclass(frozen=True)
class Drawn:
    """What the judges of one run say on average.

    means: judge -> (m,). drawn: judge -> (d, m) of drawn instances. counts: judge -> (m,) how many
    pairs of an instance and a seed stand behind a mean.
    """

    methods: tuple[str, ...]
    means: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]
    counts: dict[str, np.ndarray]


class Correlation(NamedTuple):
    """tau-b without noise, (d,) draws of it, and over how many methods it is, or runs."""

    tau: float
    drawn: np.ndarray
    over: int


def tau_b(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(...,) Kendall's tau-b over the last axis of two (..., m) arrays (Kendall 1945).

    NaN where either holds NaN, or orders no two methods. Raises ValueError for different shapes.
    """
    a = np.asarray(a, dtype=float)
    b = np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise ValueError(
            f"two judges of the same methods are compared; got shapes {a.shape} and {b.shape}"
        )
    first, second = np.triu_indices(a.shape[-1], k=1)
    left = sign_of(a[..., first] - a[..., second])
    right = sign_of(b[..., first] - b[..., second])
    room = np.sqrt((left**2).sum(axis=-1) * (right**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.where(room > 0, (left * right).sum(axis=-1) / room, np.nan)


def sign_of(difference: np.ndarray) -> np.ndarray:
    """-1, 0 or 1 for each difference, NaN for NaN."""
    return np.where(np.abs(difference) <= TIED, 0.0, np.sign(difference))


def draw_judges(
    values: Mapping[str, np.ndarray], methods: Sequence[str], draws: int, *names: object
) -> Drawn:
    """Means of every judge, and those of instances and seeds drawn with replacement.

    Args:
        values: judge -> (S, N, m), NaN for what was not measured, and left out of every mean.
        methods: the m methods.
        draws: how many.
        names: what the draws derive from.

    Raises:
        ValueError: the judges did not score the same.
    """
    shapes = sorted({np.shape(value) for value in values.values()})
    if len(shapes) != 1 or len(shapes[0]) != 3 or shapes[0][2] != len(methods):
        raise ValueError(
            f"every judge needs (seeds, instances, {len(methods)} methods); got {shapes}"
        )
    seeds, instances, _ = shapes[0]
    rng = generator("judges", *names)
    of_seed = draw_counts(rng, seeds, draws)
    of_instance = draw_counts(rng, instances, draws)

    def draw(cells: np.ndarray) -> np.ndarray:
        return np.einsum("ds,dn,snm->dm", of_seed, of_instance, cells, optimize=True)

    found = Drawn(tuple(methods), {}, {}, {})
    for judge, value in values.items():
        known = ~np.isnan(value)
        filled = np.where(known, value, 0.0)
        count = known.sum(axis=(0, 1))
        found.counts[judge] = count
        with np.errstate(invalid="ignore"):
            found.means[judge] = filled.sum(axis=(0, 1)) / count
            found.drawn[judge] = draw(filled) / draw(known)
    return found


def true_means(means: np.ndarray, drawn: np.ndarray, rng: Rng) -> np.ndarray:
    """(..., d, m, j) draws of what j judges' means of m methods are without noise.

    Noise makes orders of means less alike, and drawing texts adds it once more. So the covariance
    of the methods is drawn from an inverse Wishart, the mean noise is subtracted, and true means
    are drawn given those seen, each shrunk by its own noise.

    Args:
        means: (..., m, j); NaN and equal ones stay unknown.
        drawn: (..., d, m, j) of drawn texts and seeds.
        rng: draws.
    """
    judges = means.shape[-1]
    deviation = means.std(axis=-2, keepdims=True)[..., None, :, :]
    known = deviation > TIED
    scale = np.where(known, deviation, 1.0)
    means = np.nan_to_num(means)
    seen = (means - means.mean(axis=-2, keepdims=True))[..., None, :, :] / scale
    noise = np.nan_to_num(drawn - means[..., None, :, :]) / scale
    noise -= noise.mean(axis=-2, keepdims=True)  # what all methods share orders none
    own = (noise[..., None, :].mT @ noise[..., None, :]).mean(axis=-4, keepdims=True)
    normal = rng.normal(size=(*drawn.shape[:-2], max(drawn.shape[-2] - 1, judges + 1), judges))
    root = np.linalg.cholesky(seen.mT @ seen + TIED * np.eye(judges))
    spread = root @ np.linalg.inv(normal.mT @ normal) @ root.mT - own.mean(axis=-3)
    sizes, axes = np.linalg.eigh(spread)
    root = axes * np.sqrt(np.maximum(sizes, LEAST_SPREAD))[..., None, :]
    spread = (root @ root.mT)[..., None, :, :]
    start = rng.normal(size=drawn.shape) @ root.mT
    step = spread @ np.linalg.solve(spread + own, (seen - start - noise)[..., None])
    return np.where(known, start + step[..., 0], np.nan)


def true_tau_b(means: np.ndarray, drawn: np.ndarray, rng: Rng) -> np.ndarray:
    """(..., d) draws of the tau-b of the `true_means` of two judges."""
    return tau_b(*np.moveaxis(true_means(means, drawn, rng), -1, 0))


def correlate_means(run: Drawn, a: str, b: str, names: Sequence[object] = ()) -> Correlation:
    """tau-b of two judges of a run without noise, over the methods that both have scored.

    Args:
        run: the judges' means.
        a, b: the two judges.
        names: what the draws derive from, beside the judges.

    Returns:
        NaN for fewer than FEWEST methods.
    """
    shared = shared_methods(run, a, b)
    count = int(shared.sum())
    if count < FEWEST:
        return Correlation(np.nan, np.full(len(run.drawn[a]), np.nan), count)
    means = np.stack([run.means[a][shared], run.means[b][shared]], axis=-1)
    drawn = np.stack([run.drawn[a][:, shared], run.drawn[b][:, shared]], axis=-1)
    taus = true_tau_b(means, drawn, generator("true means", a, b, *names))
    return Correlation(float(np.median(taus)), taus, count)


def shared_methods(run: Drawn, a: str, b: str) -> np.ndarray:
    """(m,) Which methods both judges of a run have scored, random scores left out."""
    return ~np.isnan(run.means[a]) & ~np.isnan(run.means[b]) & ~np.isin(run.methods, RANDOM)


@metric(
    "Rank correlation of scores",
    judge="",
    source="Kendall 1945; after Neely et al. 2021",
    needs=("scores", "rivals"),
    range=(-1.0, 1.0),
    higher_is_better=True,
    order=81,
    also=("rank_correlation",),
    planted=False,
)
def score_tau_b(text: ScoredText, method: str) -> float:
    """How far two methods put the tokens of a text in the same order.

    Scores that differ by less than a billionth of the largest are equal.
    """

    def compare(a: str, b: str) -> float:
        return float(tau_b(to_scale(text.scores[a]), to_scale(text.scores[b])))

    return text.over_rivals(method, "tau of two", compare)


TAU_B = metric(
    "Rank correlation",
    name="tau_b",
    judge="",
    source="Kendall 1945",
    about="How far two metrics put methods in the same order.",
    needs=("metrics",),
    range=(-1.0, 1.0),
    higher_is_better=None,
    order=82,
    notebook="08_joint",
)(tau_b)
