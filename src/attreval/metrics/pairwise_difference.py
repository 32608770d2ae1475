"""Average pairwise difference: how far explanations move when only the training seed changes.

Kamp et al. (2023, appendix A) train one model ten times and explain with the one whose attributions differ least from
the others'. Letters used for shapes: r runs, i instances, m methods, n longest text in tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.metrics.metric import metric


def to_shares(scores: np.ndarray) -> np.ndarray:
    """Scores divided by the sum of their sizes; zeros stay zeros."""
    scores = np.asarray(scores, dtype=float)
    total = np.abs(scores).sum()
    return scores / total if total > 0 else scores


def profile_matrix(profiles: Sequence[np.ndarray], longest: int) -> np.ndarray:
    """(i * m, n) matrix of one run: a normalised profile a row, padded with zeros at the end."""
    matrix = np.zeros((len(profiles), longest))
    for row, scores in zip(matrix, profiles, strict=True):
        row[: len(scores)] = to_shares(scores)
    return matrix


def profile_differences(matrices: Sequence[np.ndarray], itself: bool = True) -> np.ndarray:
    """(r, i * m) mean absolute difference of each profile of a run from those of the runs, all of one shape.

    itself: average over all runs, the run itself (a zero) included, as the released code does; else over the others.
    Padding counts as cells, so the size depends on the lengths. ValueError: fewer than two runs, or other shapes.
    """
    if len(matrices) < 2:
        raise ValueError(f"a pairwise difference needs at least two runs; got {len(matrices)}")
    if len({m.shape for m in matrices}) > 1:
        raise ValueError(f"runs explain the same instances by the same methods; got {[m.shape for m in matrices]}")
    sums = [sum(np.abs(a - b).mean(axis=1) for b in matrices) for a in matrices]
    return np.array(sums) / (len(matrices) - (not itself))


def average_pairwise_difference(matrices: Sequence[np.ndarray], itself: bool = True) -> np.ndarray:
    """(r,) mean absolute difference of each run's matrix from those of the runs; see `profile_differences`."""
    return profile_differences(matrices, itself).mean(axis=1)


APD = metric(
    "Average pairwise difference",
    judge="agreement",
    source="Kamp et al. 2023, appendix A",
    about="How far explanations move with the training seed.",
    needs=("scores", "models"),
    range=(0.0, 2.0),
    higher_is_better=False,
    order=27,
    notebook="05_kamp2023_seeds",
)(average_pairwise_difference)
