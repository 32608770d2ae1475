"""Kendall's tau-b of two metrics' orders of methods (Kendall 1945), bootstrapped over instances and seeds.

The same drawn instances and seeds go into the means of every judge, since all of them scored the same explanations.
Letters used for shapes: S seeds, N instances, m methods, d draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attreval.core.bootstrap import draw_counts
from attreval.core.seeds import generator

TIED = 1e-9  # means closer than this are equal: what is left of rounding orders nobody
FEWEST = 4  # methods that two judges must both have scored: of three, chance orders one pair in three alike
VERDICTS = ("agree", "contradict", "cannot be told", "not measured")


@dataclass(frozen=True)
class Drawn:
    """What the judges of one run say on average. means: judge -> (m,); drawn: judge -> (d, m) of drawn instances.

    counts: judge -> (m,) how many pairs of an instance and a seed stand behind a mean.
    """

    methods: tuple[str, ...]
    means: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]
    counts: dict[str, np.ndarray]


def tau_b(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(...,) Kendall's tau-b over the last axis of two (..., m) arrays (Kendall 1945).

    NaN where either holds NaN, or orders no two methods. Raises ValueError for different shapes.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"two judges of the same methods are compared; got shapes {a.shape} and {b.shape}")
    first, second = np.triu_indices(a.shape[-1], k=1)
    left, right = (order_of(x[..., first] - x[..., second]) for x in (a, b))
    room = np.sqrt((left**2).sum(axis=-1) * (right**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.where(room > 0, (left * right).sum(axis=-1) / room, np.nan)


def order_of(difference: np.ndarray) -> np.ndarray:
    """-1, 0 or 1 for each difference, NaN for NaN."""
    return np.where(np.abs(difference) <= TIED, 0.0, np.sign(difference))


def draw_judges(values: Mapping[str, np.ndarray], methods: Sequence[str], draws: int, *names: object) -> Drawn:
    """Means of every judge, and those of instances and seeds drawn with replacement; the draws derive from `names`.

    values: judge -> (S, N, m), NaN for what was not measured, and left out of every mean. Raises ValueError where the
    judges did not hear the same.
    """
    shapes = {np.shape(value) for value in values.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 3 or shape[2] != len(methods):
        raise ValueError(f"every judge needs (seeds, instances, {len(methods)} methods); got {sorted(shapes)}")
    seeds, instances, _ = shape
    rng = generator("judges", *names)
    of_seed, of_instance = draw_counts(rng, seeds, draws), draw_counts(rng, instances, draws)
    means, drawn, counts = {}, {}, {}
    for judge, value in values.items():
        known = ~np.isnan(value)
        filled = np.where(known, value, 0.0)
        total, weight = (np.einsum("ds,dn,snm->dm", of_seed, of_instance, x, optimize=True) for x in (filled, known))
        counts[judge] = known.sum(axis=(0, 1))
        with np.errstate(invalid="ignore"):
            means[judge], drawn[judge] = filled.sum(axis=(0, 1)) / counts[judge], total / weight
    return Drawn(tuple(methods), means, drawn, counts)


def correlate(run: Drawn, a: str, b: str, without: Sequence[str] = ("random",)) -> tuple[float, np.ndarray, int]:
    """tau-b of two judges of a run, (d,) of each draw, and over how many methods: those that both have scored.

    without: methods that are left out. NaN for fewer than FEWEST methods.
    """
    shared = ~np.isnan(run.means[a]) & ~np.isnan(run.means[b]) & ~np.isin(run.methods, without)
    if shared.sum() < FEWEST:
        return float("nan"), np.full(len(run.drawn[a]), np.nan), int(shared.sum())
    return (
        float(tau_b(run.means[a][shared], run.means[b][shared])),
        tau_b(run.drawn[a][:, shared], run.drawn[b][:, shared]),
        int(shared.sum()),
    )


def pool(found: Sequence[tuple[float, np.ndarray, int]]) -> tuple[float, np.ndarray, int]:
    """The mean of several runs' tau-b, each run alike, that of each draw, and how many runs have one."""
    known = [(tau, drawn) for tau, drawn, _ in found if not np.isnan(tau)]
    if not known:
        return float("nan"), np.full(1, np.nan), 0
    stacked = np.stack([drawn for _, drawn in known])
    there = ~np.isnan(stacked)
    with np.errstate(invalid="ignore"):
        drawn = np.where(there, stacked, 0).sum(axis=0) / there.sum(axis=0)
    return float(np.mean([tau for tau, _ in known])), drawn, len(known)


def verdict(low: float, high: float) -> str:
    """What an interval of a rank correlation says: one of VERDICTS."""
    if np.isnan(low) or np.isnan(high):
        return "not measured"
    return "contradict" if high < 0 else "agree" if low > 0 else "cannot be told"
