"""How do the hard erasure measures of each method move with the size of the rationale, and which method leads?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.explain import METHODS
from attreval.metrics.registry import FAITHFULNESS
from attreval.papers.zhao2023.erasure import HARD_MEASURES, RUN
from attreval.workflow.step import Step

SOFT = ("soft_nc", "soft_ns")


def erasure_curves(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, model, seed, method, ratio and measure: the mean over instances with its interval.

    values: the curves of `erasing.evaluate_erasure`.
    """
    return summarise(values, step, [*RUN, "method", "ratio"])


def area_over_curve(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """AOPC: each measure averaged over the ratios, then over instances, with its interval."""
    keys = [*RUN, "method"]
    by_instance = values.groupby([*keys, "instance"], sort=False)[list(HARD_MEASURES)].mean().reset_index()
    return summarise(by_instance, step, keys)


def summarise(values: pd.DataFrame, step: Step, keys: list[str]) -> pd.DataFrame:
    """Means over instances with bootstrap intervals, one row a combination of keys and a measure."""
    rows = []
    for key, part in values.groupby(keys, sort=False):
        mean, low, high = bootstrap_mean(
            part[list(HARD_MEASURES)].to_numpy(),
            step.profile.bootstrap.draws,
            step.profile.bootstrap.level,
            "erasure",
            *key[:3],
        )
        rows += [(*key, name, mean[i], low[i], high[i], len(part)) for i, name in enumerate(HARD_MEASURES)]
    return pd.DataFrame(rows, columns=[*keys, "measure", "mean", "low", "high", "instances"])


def by_instance(measured, pairs: pd.DataFrame) -> pd.DataFrame:
    """What the main protocol says of single instances: measures averaged over ratios, soft ones, and wins of pairs.

    measured: `erasing.ErasureValues`. pairs: of `beating_random.pair_with_rivals`. A row an instance, method and measure.
    """
    keys = [*RUN, "instance", "method"]
    hard = measured.curves.groupby(keys, sort=False)[list(HARD_MEASURES)].mean().reset_index()
    soft = measured.values[(measured.values.setting == "main") & (measured.values.role == "own")]
    won = pairs[pairs.setting == "main"]
    parts = ((hard, list(HARD_MEASURES)), (soft, list(SOFT)), (won, [f"win_{metric}" for metric in FAITHFULNESS]))
    return pd.concat([part.melt(keys, names, "measure") for part, names in parts], ignore_index=True)


def note_best(step: Step, area: pd.DataFrame) -> None:
    """Keep which method each measure puts first, and what random scores."""
    for task, part in area.groupby("task", sort=False):
        step.number(f"faithfulness.{task}.instances", int(part.instances.max()))
        for measure, highest in (("comprehensiveness", True), ("sufficiency", False)):
            means = part[part.measure == measure].groupby("method", sort=False)["mean"].mean()
            if "random" in means:
                step.number(f"faithfulness.{task}.random_{measure}", float(means["random"]), 3)
            means = means.drop("random", errors="ignore")
            best = means.idxmax() if highest else means.idxmin()
            step.number(f"faithfulness.{task}.best_{measure}_method", METHODS[best].title)
            step.number(f"faithfulness.{task}.best_{measure}", float(means[best]), 3)
    step.number("faithfulness.ratios", ", ".join(f"{r:g}" for r in step.profile.faithfulness.ratios))
    if not np.isfinite(area["mean"]).all():
        raise ArithmeticError("a mean of erasure measures is no number; see the table of the notebook")
