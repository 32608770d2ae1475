"""Curves of hard erasure by size of the rationale, and the area over them (AOPC; Zhao & Aletras 2023, section 3.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics import FAITHFULNESS, HARD_OF, METRICS
from compendium.papers.zhao2023.erasure import HARD_MEASURES, RUN, ErasureValues
from compendium.workflow.step import Step

EQUAL = {metric: METRICS[f"{metric}_equal"].stored for metric in HARD_OF}


def erasure_curves(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, model, seed, method, ratio and measure: the mean over instances with its interval.

    values: the curves of `erasure.evaluate_erasure`.
    """
    return _means(values, step, [*RUN, "method", "ratio"])


def area_over_curve(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """AOPC: each measure averaged over the ratios, then over instances, with its interval.

    Raises ArithmeticError where a mean is not a number.
    """
    keys = [*RUN, "method"]
    over_ratios = values.groupby([*keys, "instance"], sort=False)[list(HARD_MEASURES)].mean().reset_index()
    area = _means(over_ratios, step, keys)
    if not np.isfinite(area["mean"]).all():
        raise ArithmeticError("a mean of erasure measures is not a number; see the curves of the notebook")
    return area


def _means(values: pd.DataFrame, step: Step, keys: list[str]) -> pd.DataFrame:
    """Means over instances with bootstrap intervals, one row a combination of keys and a measure."""
    spec, rows = step.profile.bootstrap, []
    for key, part in values.groupby(keys, sort=False):
        mean, low, high = bootstrap_mean(
            part[list(HARD_MEASURES)].to_numpy(), spec.draws, spec.confidence, "erasure", *key[:3]
        )
        rows += [(*key, name, mean[i], low[i], high[i], len(part)) for i, name in enumerate(HARD_MEASURES)]
    return pd.DataFrame(rows, columns=[*keys, "measure", "mean", "low", "high", "instances"])


def best_methods(area: pd.DataFrame) -> pd.DataFrame:
    """One row a task and measure: the method that it puts first, over models and seeds, and what random scores get.

    Lower sufficiency is better. area: of `area_over_curve`.
    """
    rows = []
    for task, part in area.groupby("task", sort=False):
        for measure, best in (("comprehensiveness", "idxmax"), ("sufficiency", "idxmin")):
            means = part[part.measure == measure].groupby("method", sort=False)["mean"].mean()
            others = means.drop("random", errors="ignore")
            if not len(others):
                continue  # nothing but random scores explained
            method = getattr(others, best)()
            rows.append((task, measure, method, others[method], means.get("random", np.nan), part.instances.max()))
    return pd.DataFrame(rows, columns=["task", "measure", "method", "mean", "random", "instances"])


def values_by_instance(erased: ErasureValues, pairs: pd.DataFrame) -> pd.DataFrame:
    """One row an instance, method and measure by the main protocol: hard ones averaged over ratios, soft ones, wins;
    and soft ones with strengths of equal mean (`soft_nc_equal`, ...), where they were measured.

    pairs: of `diagnosticity.pair_with_rivals`.
    """
    keys = [*RUN, "instance", "method"]
    hard = erased.curves.groupby(keys, sort=False)[list(HARD_MEASURES)].mean().reset_index()
    own = erased.values[erased.values.role == "own"]
    soft, equal = (own[own.setting == setting] for setting in ("main", "equal_means"))
    equal = equal.rename(columns=EQUAL)
    won = pairs[pairs.setting == "main"]
    won_of = [f"win_{metric}" for metric in FAITHFULNESS]
    parts = ((hard, list(HARD_MEASURES)), (soft, list(HARD_OF)), (won, won_of), (equal, list(EQUAL.values())))
    return pd.concat([part.melt(keys, names, "measure") for part, names in parts], ignore_index=True)
