"""How well does each faithfulness measure tell explanations from random scores, and what does that depend on?

Everything here is computed from the values that papers.zhao2023.erasure has measured; the model is not asked again.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.config import Profile
from attreval.core.bootstrap import bootstrap_mean
from attreval.explain import METHODS
from attreval.metrics.diagnosticity import average_cells, compare, wins
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import FAITHFULNESS, HARD_OF
from attreval.papers.zhao2023.erasure import RUN, list_changes
from attreval.workflow.step import Step

HARD = {"nc": "normalised_comprehensiveness", "ns": "normalised_sufficiency"}
PAIR = ["setting", *RUN, "instance", "method"]
SCALES = {  # whom a method meets, and how its scores become probabilities
    "main": "random scores, min-max",
    "permuted": "own scores permuted, min-max",
    "calibrated": "random scores, equal means",
    "rank": "random scores, ranks",
}


def protocol_of(profile: Profile, task: str, setting: str) -> Protocol:
    """By how much a method must win in a setting, and what a tie is."""
    changes = list_changes(profile, task)
    return changes[setting].apply(Protocol()) if setting in changes else Protocol()


def pair_with_rivals(values: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """One row a setting, instance and method that is judged softly: its values, and 1 or 0 for each metric it wins.

    values: of `erasing.evaluate_erasure`. The rival is the instance's random scores, or the method's own scores in a random
    order where the setting has those. Columns `win_nc`, ... beside the values; `rival_keep_rate`.
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
        protocol = protocol_of(profile, task, setting)
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
        mean, low, high = bootstrap_mean(wide, spec.draws, spec.level, "diagnosticity", task)
        rows += [(task, method, m, mean[i], low[i], high[i], len(wide)) for i, m in enumerate(FAITHFULNESS)]
    return pd.DataFrame(rows, columns=["task", "method", "metric", "diagnosticity", "low", "high", "instances"])


def column_per_metric(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells with a column a metric."""
    wide = cells.pivot_table(index=["task", "method"], columns="metric", values="diagnosticity", sort=False)
    return wide[[m for m in FAITHFULNESS if m in wide]].reset_index()


def summary_table(pairs: pd.DataFrame, step: Step, by: str, setting: str = "main") -> pd.DataFrame:
    """One row a metric and a value of `by` (Table 2 by method, Table 3 by task), and its average and sd.

    diagnosticity: mean of the cells. difference: to the hard published_dataset. rank_sum, paired: p of the two tests on the
    pairs that the row covers; NaN for hard metrics.
    """
    chosen = pairs[pairs.setting == setting]
    means = average_cells(column_per_metric(diagnosticity_cells(pairs, step, setting)), by)
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


def by_ratio(curves: pd.DataFrame, pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
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
            rows.append((task, metric, ratio, *interval(part.groupby("instance", sort=False).win.mean(), step, task)))
    for task, part in pairs[pairs.setting == "main"].groupby("task", sort=False):
        one = part.groupby("instance", sort=False)
        for metric in HARD_OF:
            rows.append((task, metric, np.nan, *interval(one[f"win_{metric}"].mean(), step, task)))
    return pd.DataFrame(rows, columns=["task", "metric", "ratio", "diagnosticity", "low", "high"])


def interval(values: pd.Series, step: Step, task: str) -> tuple[float, float, float]:
    """Mean of one value an instance, with its bounds."""
    spec = step.profile.bootstrap
    found = bootstrap_mean(values.to_numpy(), spec.draws, spec.level, "diagnosticity", task)
    return tuple(float(x) for x in found)


def mean_diagnosticity(pairs: pd.DataFrame) -> pd.Series:
    """Diagnosticity of each metric: mean over the methods of a task, then over tasks."""
    return pairs.groupby(["task", "method"])[[f"win_{m}" for m in FAITHFULNESS]].mean().groupby("task").mean().mean()


def changes_table(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a setting: the mean_diagnosticity numbers on the control instances, and how far they are from the main protocol's.

    A change that does not apply to every task is compared on the tasks that it applies to. low, high: of the change of
    each metric, over instances. Empty where the profile has no control instances.
    """
    titles = {
        name: change.title for task in step.profile.tasks for name, change in list_changes(step.profile, task).items()
    }
    base, rows = pairs[pairs.setting == "control"], []
    for setting, part in pairs[~pairs.setting.isin(["main", "control"])].groupby("setting", sort=False):
        keys = [*RUN, "instance", "method"]
        both = part.merge(base, on=keys, suffixes=("", "_base"), validate="one_to_one")
        same = both[[*keys, *(f"win_{m}_base" for m in FAITHFULNESS)]].rename(columns=lambda c: c.removesuffix("_base"))
        found, before = mean_diagnosticity(both), mean_diagnosticity(same)
        row = {"setting": setting, "title": titles[setting], "pairs": len(both), "tasks": both.task.nunique()}
        per = both.groupby(["task", "instance"], sort=False).mean(numeric_only=True)
        spec = step.profile.bootstrap
        moves = np.stack([per[f"win_{m}"] - per[f"win_{m}_base"] for m in FAITHFULNESS], axis=1)
        _, low, high = bootstrap_mean(moves, spec.draws, spec.level, "changes")
        for i, m in enumerate(FAITHFULNESS):
            row |= {m: found[f"win_{m}"], f"{m}_change": found[f"win_{m}"] - before[f"win_{m}"]}
            row |= {f"{m}_low": low[i], f"{m}_high": high[i]}
        rows.append(row)
    names = [name for m in FAITHFULNESS for name in (m, f"{m}_change", f"{m}_low", f"{m}_high")]
    return pd.DataFrame(rows, columns=["setting", "title", "pairs", "tasks", *names])


def keep_rate_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a setting and method: how much text its scores keep, how much its rival's do, and what decides pairs.

    keep_rate: mean share of entries that Soft-NS keeps. follows_ns: in how many of the pairs that are decided the side
    that keeps more wins Soft-NS. follows_nc: in how many the side that removes more wins Soft-NC. One half: unrelated.
    """
    rows = []
    for (setting, method), part in pairs.groupby(["setting", "method"], sort=False):
        more = np.sign(part.keep_rate - part.keep_rate_rival)
        row = {"setting": setting, "method": method, "keep_rate": part.keep_rate.mean()}
        row |= {"rival_keep_rate": part.keep_rate_rival.mean(), "pairs": len(part)}
        for metric in ("soft_nc", "soft_ns"):
            lead = np.sign(part[metric] - part[f"{metric}_rival"])
            decided = (more != 0) & (lead != 0)
            row[f"follows_{metric[-2:]}"] = float((more == lead)[decided].mean()) if decided.any() else np.nan
            row[metric] = part[f"win_{metric}"].mean()
        rows.append(row)
    return pd.DataFrame(rows)


def spread_over_draws(values: pd.DataFrame) -> pd.DataFrame:
    """One row a task and method: mean Soft-NC and Soft-NS by the main protocol, and their mean sd over draws."""
    main = values[(values.setting == "main") & values.soft_nc.notna()]
    columns = ["soft_nc", "soft_nc_sd", "soft_ns", "soft_ns_sd", "keep_rate"]
    return main.groupby(["task", "method"], sort=False)[columns].mean().reset_index()


def method_title(name: str) -> str:
    """A method as texts name it."""
    return METHODS[name].title if name in METHODS else name
