"""Diagnosticity: how often a metric prefers an explanation to random scores (Zhao & Aletras 2023, section 4.5).

By method, task, size of the rationale and change of protocol; all from the values of papers.zhao2023.erasure.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.config import Profile
from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.diagnosticity import average_cells, compare, wins
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import FAITHFULNESS, HARD_OF
from attreval.papers.zhao2023.erasure import RUN, list_changes
from attreval.workflow.step import Step

HARD = {"nc": "normalised_comprehensiveness", "ns": "normalised_sufficiency"}
PAIR = ["setting", *RUN, "instance", "method"]
SCALES = {  # who the rival is, and how scores become probabilities
    "main": "random scores, min-max",
    "permuted": "own scores permuted, min-max",
    "calibrated": "random scores, equal means",
    "rank": "random scores, ranks",
}


def _winning_rule(profile: Profile, task: str, setting: str) -> Protocol:
    """By how much a method must win in a setting, and what a tie is."""
    changes = list_changes(profile, task)
    return changes[setting].apply(Protocol()) if setting in changes else Protocol()


def pair_with_rivals(values: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """One row a setting, instance and method that is judged softly: its values, and 1 or 0 for each metric it wins.

    values: of `erasure.evaluate_erasure`. The rival is the instance's random scores, or the method's own scores in a
    random order where the setting has those. Columns `win_nc`, ... beside the values; `rival_keep_rate`.
    """
    soft = values[values.soft_nc.notna()]
    own = soft[(soft.role == "own") & (soft.method != "random")]
    random = soft[(soft.role == "own") & (soft.method == "random")].drop(columns="method")
    permuted = soft[soft.role == "permuted"]
    rivalled = set(permuted.setting)
    keys = PAIR[:-1]
    parts = [
        own[~own.setting.isin(rivalled)].merge(random, on=keys, suffixes=("", "_rival"), validate="many_to_one"),
        own[own.setting.isin(rivalled)].merge(permuted, on=PAIR, suffixes=("", "_rival"), validate="one_to_one"),
    ]
    pairs = pd.concat(parts, ignore_index=True)
    for (setting, task), part in pairs.groupby(["setting", "task"], sort=False):
        protocol = _winning_rule(profile, task, setting)
        for metric in FAITHFULNESS:
            pairs.loc[part.index, f"win_{metric}"] = wins(part[metric], part[f"{metric}_rival"], protocol)
    return pairs


def methods_of(pairs: pd.DataFrame) -> list[str]:
    """The methods of the pairs, and random scores."""
    return [*dict.fromkeys(pairs.method), "random"]


def diagnosticity_cells(pairs: pd.DataFrame, step: Step, setting: str = "main") -> pd.DataFrame:
    """One row a task, method and metric: diagnosticity with its interval, over all models and seeds (Table 6)."""
    part = pairs[pairs.setting == setting]
    rows = []
    for (task, method), cell in part.groupby(["task", "method"], sort=False):
        # models and seeds of one instance are averaged first: the interval is over instances
        wide = cell.groupby("instance", sort=False)[[f"win_{m}" for m in FAITHFULNESS]].mean().to_numpy()
        spec = step.profile.bootstrap
        mean, low, high = bootstrap_mean(wide, spec.draws, spec.confidence, "diagnosticity", task)
        rows += [(task, method, m, mean[i], low[i], high[i], len(wide)) for i, m in enumerate(FAITHFULNESS)]
    return pd.DataFrame(rows, columns=["task", "method", "metric", "diagnosticity", "low", "high", "instances"])


def summary_table(pairs: pd.DataFrame, step: Step, by: str, setting: str = "main") -> pd.DataFrame:
    """One row a metric and a value of `by` (Table 2 by method, Table 3 by task), and its average and sd.

    diagnosticity: mean of the cells. difference: to the hard counterpart. rank_sum, paired: p of the two tests on the
    pairs that the row covers; NaN for hard metrics.
    """
    chosen = pairs[pairs.setting == setting]
    cells = diagnosticity_cells(pairs, step, setting)
    wide = cells.pivot_table(index=["task", "method"], columns="metric", values="diagnosticity", sort=False)
    means = average_cells(wide[list(FAITHFULNESS)].reset_index(), by)
    rows = []
    for metric in FAITHFULNESS:
        hard = HARD_OF.get(metric)
        for name, value in means[metric].items():
            row = {by: name, "metric": metric, "diagnosticity": value}
            if hard and name != "sd":
                part = chosen if name == "average" else chosen[chosen[by] == name]
                test = compare(part[f"win_{metric}"], part[f"win_{hard}"])
                row |= {"difference": value - means.loc[name, hard], "rank_sum": test.rank_sum, "paired": test.paired}
                row["pairs"] = test.pairs
            rows.append(row)
    return pd.DataFrame(rows, columns=[by, "metric", "diagnosticity", "difference", "rank_sum", "paired", "pairs"])


def diagnosticity_by_ratio(curves: pd.DataFrame, pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, hard metric and ratio: diagnosticity, mean over methods, with its interval (Figure 3).

    Soft metrics have one value a task: their rows have no ratio.
    """
    methods = list(dict.fromkeys(pairs.method))
    keys = [*RUN, "instance", "ratio"]
    hard = {metric: curves[[*keys, "method", name]].rename(columns={name: "value"}) for metric, name in HARD.items()}
    rows = []
    for metric, table in hard.items():
        rival = table[table.method == "random"].drop(columns="method")
        both = table[table.method.isin(methods)].merge(rival, on=keys, suffixes=("", "_rival"))
        both = both.assign(win=wins(both.value, both.value_rival))
        for (task, ratio), part in both.groupby(["task", "ratio"], sort=False):
            won = part.groupby("instance", sort=False).win.mean()
            rows.append((task, metric, ratio, *_mean_with_interval(won, step, task)))
    for task, part in pairs[pairs.setting == "main"].groupby("task", sort=False):
        one = part.groupby("instance", sort=False)
        for metric in HARD_OF:
            rows.append((task, metric, np.nan, *_mean_with_interval(one[f"win_{metric}"].mean(), step, task)))
    return pd.DataFrame(rows, columns=["task", "metric", "ratio", "diagnosticity", "low", "high"])


def _mean_with_interval(values: pd.Series, step: Step, task: str) -> tuple[float, float, float]:
    """Mean of one value an instance, with its bounds."""
    spec = step.profile.bootstrap
    found = bootstrap_mean(values.to_numpy(), spec.draws, spec.confidence, "diagnosticity", task)
    return tuple(float(x) for x in found)


def mean_diagnosticity(pairs: pd.DataFrame) -> pd.Series:
    """Diagnosticity of each metric: mean over the methods of a task, then over tasks."""
    return pairs.groupby(["task", "method"])[[f"win_{m}" for m in FAITHFULNESS]].mean().groupby("task").mean().mean()


def spread_over_draws(values: pd.DataFrame) -> pd.DataFrame:
    """One row a task and method: mean Soft-NC and Soft-NS by the main protocol, and their mean sd over draws."""
    main = values[(values.setting == "main") & values.soft_nc.notna()]
    columns = ["soft_nc", "soft_nc_sd", "soft_ns", "soft_ns_sd", "keep_rate"]
    return main.groupby(["task", "method"], sort=False)[columns].mean().reset_index()
