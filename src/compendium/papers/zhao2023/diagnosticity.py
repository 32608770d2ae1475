"""Tables of diagnosticity (Zhao & Aletras 2023, Tables 2 and 3): the metric itself is metrics.diagnosticity.

By method, task, size of the rationale and change of protocol; all from the values of papers.zhao2023.erasure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean, draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.metrics import FAITHFULNESS, HARD_OF
from attreval.metrics.diagnosticity import average_cells, compare, sign_flip_test, wins
from compendium.config import Profile
from compendium.papers.common.verdicts import adjust
from compendium.papers.zhao2023.datasets import compared_tasks
from compendium.papers.zhao2023.erasure import RUN
from compendium.papers.zhao2023.settings import list_settings
from compendium.workflow.step import Step

HARD = {"nc": "normalised_comprehensiveness", "ns": "normalised_sufficiency"}
SUMMARY = ["metric", "diagnosticity", "difference", "p", "q", "rank_sum", "paired", "pairs", "texts", "least"]
PAIR = ["setting", *RUN, "instance", "method"]
SCALES = {  # who the rival is, and how scores become probabilities
    "main": "random scores, min-max",
    "permuted": "own scores permuted, min-max",
    "equal_means": "random scores, equal means",
    "rank": "random scores, ranks",
}


def pair_with_rivals(values: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """One row a setting, instance and method that is judged softly: its values, and 1 or 0 for each metric it wins.

    values: of `erasure.evaluate_erasure`. The rival is the instance's random scores, or the method's own scores in a
    random order where the setting has those. Columns `win_nc`, ... beside the values; the rival's end in `_rival`.
    """
    return pair_values(values[values.soft_nc.notna()], profile, FAITHFULNESS)


def pair_values(soft: pd.DataFrame, profile: Profile, metrics: Sequence[str]) -> pd.DataFrame:
    """The pairs of these values, with the wins of these metrics; see `pair_with_rivals`."""
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
    settings = {task: list_settings(profile, task) for task in dict.fromkeys(pairs.task)}
    for (setting, task), part in pairs.groupby(["setting", "task"], sort=False):
        protocol = settings[task][setting].protocol
        for metric in metrics:
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

    diagnosticity: mean of the cells, over the tasks of `datasets.compared_tasks` where it is a mean over tasks.
    difference: to the hard counterpart; p: of the test over texts (`sign_flip_test`); q: p at which the row would be
    among the table's findings at that false discovery rate (Benjamini and Hochberg 1995). rank_sum, paired: p of the
    tests that take pairs as independent. All are NaN for hard metrics. texts: of the row; least: of its smallest task.
    """
    every = pairs[pairs.setting == setting]
    averaged = every[every.task.isin(compared_tasks(list(dict.fromkeys(every.task))))]
    chosen = averaged if by == "method" else every
    ends = average_cells(_wide_cells(averaged), by).loc[["average", "sd"]]
    means = pd.concat([_wide_cells(chosen).groupby(by, sort=False)[list(FAITHFULNESS)].mean(), ends])
    rows = []
    for metric in FAITHFULNESS:
        hard = HARD_OF.get(metric)
        for name, value in means[metric].items():
            part = averaged if name in ("average", "sd") else chosen[chosen[by] == name]
            texts = part.groupby("task").instance.nunique()
            row = {by: name, "metric": metric, "diagnosticity": value, "texts": texts.sum(), "least": texts.min()}
            if hard and name != "sd":
                test = compare(part[f"win_{metric}"], part[f"win_{hard}"])
                p = sign_flip_test(text_differences(part, metric, hard), generator("sign flips", metric, by, name))
                row |= {"difference": value - means.loc[name, hard], "p": p}
                row |= {"rank_sum": test.rank_sum, "paired": test.paired, "pairs": test.pairs}
            rows.append(row)
    return with_discovery_rate(pd.DataFrame(rows, columns=[by, *SUMMARY]))


def _wide_cells(pairs: pd.DataFrame) -> pd.DataFrame:
    """task, method and the mean wins of each metric; models and seeds of a text are averaged first."""
    columns = {f"win_{metric}": metric for metric in FAITHFULNESS}
    texts = pairs.groupby(["task", "method", "instance"], sort=False)[list(columns)].mean()
    return texts.groupby(["task", "method"], sort=False).mean().rename(columns=columns).reset_index()


def text_differences(pairs: pd.DataFrame, metric: str, other: str) -> list[np.ndarray]:
    """By task the (n,) differences of each text's share of wins by two metrics, over its methods, models and seeds."""
    lead = pairs[f"win_{metric}"] - pairs[f"win_{other}"]
    return text_means(pairs[["task", "instance"]].assign(lead=lead), "lead")


def text_means(pairs: pd.DataFrame, column: str) -> list[np.ndarray]:
    """By task the (n,) means of a column over each text's methods, models and seeds."""
    texts = pairs.groupby(["task", "instance"], sort=False)[column].mean()
    return [part.to_numpy() for _, part in texts.groupby("task", sort=False)]


def mean_with_interval(texts: Sequence[np.ndarray], step: Step, *names: object) -> tuple[float, float, float]:
    """Mean over tasks of the means over texts, and the bounds of the same number over texts drawn within each task.

    texts: for each task the (n,) numbers of its texts. names: what the draws derive from.
    """
    spec = step.profile.bootstrap
    drawn = [
        draw_counts(generator("bootstrap", *names, at), len(values), spec.draws) @ values / len(values)
        for at, values in enumerate(texts)
    ]
    low, high = percentile_interval(np.mean(drawn, axis=0), spec.confidence)
    return float(np.mean([values.mean() for values in texts])), float(low), float(high)


def with_discovery_rate(table: pd.DataFrame) -> pd.DataFrame:
    """The table with q: its column p adjusted over all its rows (Benjamini and Hochberg 1995), NaN where p is."""
    return table.assign(q=adjust(table.p.to_numpy(float)))


def diagnosticity_by_ratio(
    curves: pd.DataFrame, pairs: pd.DataFrame, step: Step, rival_curves: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row a task, hard metric and ratio: diagnosticity, mean over methods, with its interval (Figure 3).

    Soft metrics have one value a task: their rows have no ratio. rival_curves: of the methods' scores in another order,
    where the main run's rivals are those.
    """
    methods, rows = list(dict.fromkeys(pairs.method)), []
    keys, permuted = [*RUN, "instance", "ratio"], rival_curves is not None and len(rival_curves) > 0
    protocols = {task: list_settings(step.profile, task)["main"].protocol for task in dict.fromkeys(curves.task)}
    for metric, name in HARD.items():
        table = curves[[*keys, "method", name]].rename(columns={name: "value"})
        own, on = table[table.method.isin(methods)], [*keys, "method"] if permuted else keys
        rival = table[table.method == "random"].drop(columns="method")
        if permuted:
            rival = rival_curves[[*keys, "method", name]].rename(columns={name: "value"})
        both = own.merge(rival, on=on, suffixes=("", "_rival"))
        for (task, ratio), part in both.groupby(["task", "ratio"], sort=False):
            part = part.assign(win=wins(part.value, part.value_rival, protocols[task]))
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
