"""Separation: how often a metric puts the true importances first, where they are planted (after Chan et al. 2022).

A metric separates two explainers as well as it puts the right one first on the same text: the share of texts in which
it does, a tie counting half. One that cannot tell the true importances from random scores and from their reverse does
not measure what it is read as.
"""

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean, mean_of_known
from attreval.metrics.metric import metric

TIED = 1e-9  # values closer than this are a tie


def separation(values: pd.DataFrame, draws: int, confidence: float) -> pd.DataFrame:
    """One row a metric, world and explainer: how often the oracle comes first on the same text, a tie counting half.

    low, high: bootstrap bounds over texts; draws of one text are averaged. mean: of the metric's own values. gap: the
    explainer's mean less that of random scores; gap_low, gap_high hold for all metrics and worlds at once (Bonferroni).
    """
    from scipy.stats import t

    rows, groups = [], values.groupby(["metric", "world"], sort=False)
    texts = max(1, values.text.nunique() // values.world.nunique() - 1)
    width = float(t.isf((1 - confidence) / 2 / len(groups), texts))
    for (measured, world), part in groups:
        wide = part.pivot(index="text", columns=["explainer", "draw"], values="value")
        held, sign = list(dict.fromkeys(part.explainer)), part.sign.iloc[0]
        names, table = wide.columns.get_level_values("explainer"), wide.to_numpy(dtype=float)
        by = {explainer: table[:, names == explainer] for explainer in held}
        right, chance = by["oracle"][:, :1], mean_of_known(by["random"].T)
        leads = {explainer: sign * (right - some) for explainer, some in by.items()}
        won = np.stack([mean_of_known(won_by(lead).T) for lead in leads.values()], axis=1)  # (texts, explainers)
        means, lows, highs = bootstrap_mean(won, draws, confidence, "meta", measured, world)
        for at, (explainer, some) in enumerate(by.items()):
            gap = mean_of_known(some.T) - chance
            gap = gap[~np.isnan(gap)]
            half = width * gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            gap = gap.mean() if len(gap) else np.nan
            row = [measured, world, explainer, float(means[at]), float(lows[at]), float(highs[at])]
            known = int(np.isfinite(won[:, at]).sum())
            mean = float(mean_of_known(some.ravel()))
            rows.append((*row, mean, gap, gap - half, gap + half, known))
    numbers = ["separation", "low", "high", "mean", "gap", "gap_low", "gap_high", "texts"]
    return pd.DataFrame(rows, columns=["metric", "world", "explainer", *numbers])


def won_by(lead: np.ndarray) -> np.ndarray:
    """1 where a value leads, 0 where it does not, one half for a tie; NaN where there is none."""
    return np.where(np.isnan(lead), np.nan, np.where(np.abs(lead) <= TIED, 0.5, lead > 0))


def metric_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: in how many worlds the oracle comes before random scores and before its reverse, surely.

    passes: in all of them, by intervals above one half. fooled_by: the other explainers that the metric does not
    surely put behind the oracle, in any world. column a explainer: the mean separation over worlds.
    """
    rows = []
    for measured, part in table.groupby("metric", sort=False):
        means = part.groupby("explainer", sort=False).separation.mean()
        sure = {explainer: bool((some.low > 0.5).all()) for explainer, some in part.groupby("explainer", sort=False)}
        passes = all(sure[name] for name in ("random", "reversed") if name in sure)
        fooled = [name for name in sure if name not in ("oracle", "random", "reversed") and not sure[name]]
        row = {"metric": measured, "passes": passes, "fooled_by": ", ".join(fooled)}
        rows.append(row | {name: means[name] for name in means.index if name != "oracle"})
    return pd.DataFrame(rows)


SEPARATION = metric(
    "Separation",
    name="separation",
    judge="",
    source="after Chan et al. 2022",
    about="How often a metric puts the true importances before other scores, where the truth is planted.",
    needs=("metrics", "truth"),
    higher_is_better=True,
    order=83,
    notebook="09_planted",
)(separation)
