"""Separation: how often a metric puts the true importances first, where they are planted (after
Chan et al. 2022).

A metric separates two explainers as well as it puts the right one first on the same text: the share
of texts in which it does, a tie counting half. One that cannot tell the true importances from
random scores and from their reverse does not measure what it is read as.
"""

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean, mean_of_known
from attreval.metrics.metric import metric

TIED = 1e-9  # values closer than this are a tie
MUST = ("random", "reversed")  # what a metric must put behind the truth


def separation(values: pd.DataFrame, draws: int, confidence: float) -> pd.DataFrame:
    """One row a metric, world and explainer: how often the oracle comes first on the same text, a
    tie counting half.

    low, high: bootstrap bounds over texts; draws of one text are averaged. mean: of the metric's
    own values. gap: the explainer's mean less that of random scores; gap_low, gap_high hold for all
    metrics and worlds at once (Bonferroni).
    """
    from scipy.stats import t

    rows = []
    groups = values.groupby(["metric", "world"], sort=False)
    texts = max(1, values.text.nunique() // values.world.nunique() - 1)
    width = float(t.isf((1 - confidence) / 2 / len(groups), texts))
    for (measured, world), part in groups:
        wide = part.pivot(index="text", columns=["explainer", "draw"], values="value")
        names = wide.columns.get_level_values("explainer")
        table = wide.to_numpy(dtype=float)
        by = {explainer: table[:, names == explainer] for explainer in part.explainer.unique()}
        right = by["oracle"][:, :1]
        chance = mean_of_known(by["random"].T)
        leads = [part.sign.iloc[0] * (right - some) for some in by.values()]
        # (texts, explainers)
        won = np.stack([mean_of_known(won_by(lead).T) for lead in leads], axis=1)
        means, lows, highs = bootstrap_mean(won, draws, confidence, "meta", measured, world)
        for at, (explainer, some) in enumerate(by.items()):
            gaps = mean_of_known(some.T) - chance
            gaps = gaps[~np.isnan(gaps)]
            gap = mean_of_known(gaps)
            half = width * gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
            rows.append(
                {
                    "metric": measured,
                    "world": world,
                    "explainer": explainer,
                    "separation": means[at],
                    "low": lows[at],
                    "high": highs[at],
                    "mean": mean_of_known(some.ravel()),
                    "gap": gap,
                    "gap_low": gap - half,
                    "gap_high": gap + half,
                    "texts": np.isfinite(won[:, at]).sum(),
                }
            )
    return pd.DataFrame(rows)


def won_by(lead: np.ndarray) -> np.ndarray:
    """1 where a value leads, 0 where it does not, one half for a tie; NaN where there is none."""
    return np.where(np.isnan(lead), np.nan, np.where(np.abs(lead) <= TIED, 0.5, lead > 0))


def metric_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: in how many worlds the oracle comes before random scores and before its
    reverse, surely.

    passes: in all of them, by intervals above one half. fooled_by: the other explainers that the
    metric does not surely put behind the oracle, in any world. column a explainer: the mean
    separation over worlds.
    """
    rows = []
    for measured, part in table.groupby("metric", sort=False):
        others = part[part.explainer != "oracle"]
        sure = (others.low > 0.5).groupby(others.explainer, sort=False).all()
        unsure = list(sure.index[~sure])
        fooled = [name for name in unsure if name not in MUST]
        row = {"metric": measured, "passes": fooled == unsure, "fooled_by": ", ".join(fooled)}
        rows.append(row | others.groupby("explainer", sort=False).separation.mean().to_dict())
    return pd.DataFrame(rows)


SEPARATION = metric(
    "Separation",
    name="separation",
    judge="",
    source="after Chan et al. 2022",
    about="How often a metric puts the true importances before other scores, where the truth is "
    "planted.",
    needs=("metrics", "truth"),
    higher_is_better=True,
    order=83,
    notebook="09_planted",
)(separation)
