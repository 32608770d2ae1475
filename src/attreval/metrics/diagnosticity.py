"""Diagnosticity: how often a metric prefers an explanation to random scores (Zhao & Aletras 2023, section 4.5).

Diagnosticity is the share of pairs (an explanation, random scores for the same text) in which the explanation wins. A
tie is a loss, as the published values far below one half imply; counted as half a win, chance is exactly one half.
Letters used for shapes: p pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.metrics.protocol import Protocol


def wins(own: np.ndarray, rival: np.ndarray, protocol: Protocol = Protocol()) -> np.ndarray:  # noqa: B008 - frozen
    """(p,) 1 where an explanation beats its rival, 0 where it does not, and what the protocol gives for a tie.

    A win takes a lead of `margin` at least; less in either direction is a tie. ValueError for values that are NaN.
    """
    lead = np.asarray(own, dtype=float) - np.asarray(rival, dtype=float)
    if np.isnan(lead).any():
        raise ValueError(f"pairs need two numbers each; {int(np.isnan(lead).sum())} of {lead.size} have NaN")
    tie = {"lose": 0.0, "half": 0.5, "win": 1.0}[protocol.ties]
    if protocol.margin == 0:
        return np.where(lead > 0, 1.0, np.where(lead == 0, tie, 0.0))
    # the released code's `u >= v + margin`
    return np.where(lead >= protocol.margin, 1.0, np.where(lead > -protocol.margin, tie, 0.0))


def diagnosticity(own: np.ndarray, rival: np.ndarray, protocol: Protocol = Protocol()) -> float:  # noqa: B008 - frozen
    """The share of (p,) pairs in which explanations beat their rivals, ties as the protocol says (section 4.5).

    own, rival: values of one metric, higher being better. ValueError as for `wins`.
    """
    return float(wins(own, rival, protocol).mean())


@dataclass(frozen=True)
class Comparison:
    """Does a soft measure win more often than its hard counterpart on the same pairs?

    rank_sum: p of the two-sided Wilcoxon rank-sum test, which the paper names, on the win indicators. paired: p of the
    exact McNemar test, which knows that pairs are matched; NaN where ties count half.
    """

    pairs: int
    difference: float
    rank_sum: float
    paired: float


def compare(soft: np.ndarray, hard: np.ndarray) -> Comparison:
    """Compare (p,) win indicators of two measures on the same pairs. ValueError for no pair or unequal numbers."""
    from scipy.stats import binomtest, ranksums

    soft, hard = np.asarray(soft, float), np.asarray(hard, float)
    if len(soft) != len(hard) or not len(soft):
        raise ValueError(f"the same pairs are compared; got {len(soft)} and {len(hard)}")
    paired = float("nan")
    if np.isin(np.concatenate([soft, hard]), (0, 1)).all():
        up, down = int((soft > hard).sum()), int((soft < hard).sum())
        paired = float(binomtest(up, up + down).pvalue) if up + down else 1.0
    return Comparison(len(soft), float(soft.mean() - hard.mean()), float(ranksums(soft, hard).pvalue), paired)


def average_cells(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """Means of cells (task, method, and a column a measure) over the other key, with mean and sd of the means below.

    by: `method` gives Table 2 of the paper, `task` Table 3. The sd is that of the means themselves (population), as in
    the paper. Index: the values of `by`, then `average` and `sd`.
    """
    means = cells.groupby(by, sort=False)[[name for name in cells if name not in ("task", "method")]].mean()
    bottom = pd.DataFrame({"average": means.mean(), "sd": means.std(ddof=0)}).T
    return pd.concat([means, bottom]).rename_axis(by)
