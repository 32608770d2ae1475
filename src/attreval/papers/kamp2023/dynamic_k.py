"""Does a k of each profile's own bring methods, and people, closer together than one k for all? (Kamp et al. 2023)"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.papers.kamp2023.agreement import (
    mean_with_interval,
)
from attreval.papers.kamp2023.readings import PEOPLE, read_run, voter_title, voters

COMPARED = 10  # the largest fixed k that dynamic k is compared with
IMPROVED = 5  # and the largest of the paper's Table 1


def compare_table(step) -> pd.DataFrame:
    """One row a run, pair of voters (methods, people) and fixed k: agreement at dynamic k, at that k, the difference.

    difference: dynamic minus fixed, over the instances where dynamic agreement is defined; undefined counts the others,
    where neither voter has a peak. Instances that nobody marked do not count for people.
    """
    spec, rows = step.profile.agreement, []
    runs = step.profile.explained_runs("agreement")
    show = step.progress("comparing with dynamic k")
    for done, run in enumerate(runs):
        readings = read_run(step, run)
        marked = [r for r in readings if r.marked]
        for a, b in combinations([*voters(readings), *([PEOPLE] if marked else [])], 2):
            used = marked if b == PEOPLE else readings
            dynamic = np.array([r.agreement_at_peaks((a, b), spec) for r in used])
            fixed = np.array([[r.agreement_at_k((a, b), k, spec) for k in range(1, COMPARED + 1)] for r in used])
            mean, low, high = mean_with_interval(step, np.column_stack([dynamic, dynamic[:, None] - fixed]), run)
            undefined = int(np.isnan(dynamic).sum())
            for k in range(1, COMPARED + 1):
                known = (*run, a, b, k, mean[0], low[0], high[0], fixed[:, k - 1].mean(), mean[k], low[k], high[k])
                rows.append((*known, len(used), undefined))
        show(done + 1, len(runs))
    columns = ["task", "model", "seed", "a", "b", "k", "dynamic", "low", "high", "fixed"]
    columns += ["difference", "difference_low", "difference_high", "instances", "undefined"]
    return pd.DataFrame(rows, columns=columns)


def improve_table(step, compared: pd.DataFrame) -> pd.DataFrame:
    """One row a run, method and fixed k: what dynamic k improves over the method's pairs (Kamp et al. 2023, Table 1).

    The released code ends before its last step; `agreement.improvement` names what is done with a method's pairs.
    """
    pairs = compared[(compared.b != PEOPLE) & (compared.k <= IMPROVED)]
    add = {
        "positive": lambda differences: differences.clip(lower=0).sum(),
        "signed": lambda differences: differences.sum(),
        "mean": lambda differences: differences.mean(),
    }[step.profile.agreement.improvement]
    rows = []
    for run, part in pairs.groupby(["task", "model", "seed"], sort=False):
        for method in dict.fromkeys([*part.a, *part.b]):
            for k, inside in part[(part.a == method) | (part.b == method)].groupby("k"):
                rows.append((*run, method, k, add(inside.difference), inside.difference.min(), inside.difference.max()))
    return pd.DataFrame(rows, columns=["task", "model", "seed", "method", "k", "improvement", "least", "most"])


def peak_table(step) -> pd.DataFrame:
    """One row a run and voter: mean and spread of dynamic k, and the share of instances without any peak."""
    spec, rows = step.profile.agreement, []
    for run in step.profile.explained_runs("agreement"):
        readings = read_run(step, run)
        marked = [r for r in readings if r.marked]
        for voter in [*voters(readings), *([PEOPLE] if marked else [])]:
            used = marked if voter == PEOPLE else readings
            counts = np.array([r.peaks(voter, spec).sum() for r in used])
            mean, low, high = mean_with_interval(step, counts, run)
            found = (float(mean), float(low), float(high), counts.std(), (counts == 0).mean(), len(used))
            rows.append((*run, voter, *found))
    columns = ["task", "model", "seed", "voter", "k", "low", "high", "sd", "without", "instances"]
    return pd.DataFrame(rows, columns=columns)


def mixed_matrices(compared: pd.DataFrame, k: int) -> dict[str, pd.DataFrame]:
    """By task, voters by voters: agreement at dynamic k below the diagonal, its difference from a fixed k above."""
    out = {}
    for task, part in compared[compared.k == min(k, compared.k.max())].groupby("task", sort=False):
        names = list(dict.fromkeys([*part.a, *part.b]))
        matrix = pd.DataFrame(np.nan, index=names, columns=names)
        for (a, b), pair in part.groupby(["a", "b"], sort=False):
            matrix.loc[b, a], matrix.loc[a, b] = pair.dynamic.mean(), pair.difference.mean()
        out[task] = matrix.rename(index=voter_title, columns=voter_title)
    return out


def note_dynamic(step, compared: pd.DataFrame, peaks: pd.DataFrame) -> None:
    """Keep the dynamic k of each method, and how many pairs it brings closer together."""
    k = step.profile.agreement.fixed_k
    step.number("dynamic.fixed_k", k)
    step.number("dynamic.rule", step.profile.agreement.peaks)
    for task, part in peaks.groupby("task", sort=False):
        for voter, row in part.groupby("voter", sort=False)[["k", "sd", "without"]].mean().iterrows():
            step.number(f"dynamic.{task}.{voter}.k", float(row.k), 1)
            step.number(f"dynamic.{task}.{voter}.sd", float(row.sd), 1)
        means = part[part.voter != PEOPLE].groupby("voter", sort=False).k.mean()
        for word, voter in (("most", means.idxmax()), ("fewest", means.idxmin())):
            step.number(f"dynamic.{task}.{word}", voter_title(voter))
            step.number(f"dynamic.{task}.{word}_k", float(means[voter]), 1)
    for task, part in compared[compared.k == min(k, COMPARED)].groupby("task", sort=False):
        pairs = part[part.b != PEOPLE].groupby(["a", "b"], sort=False)[["difference", "dynamic", "fixed"]].mean()
        step.number(f"dynamic.{task}.pairs", len(pairs))
        step.number(f"dynamic.{task}.closer", int((pairs.difference > 0).sum()))
        step.number(f"dynamic.{task}.spread_fixed", float(np.ptp(pairs.fixed)), 2)
        step.number(f"dynamic.{task}.spread_dynamic", float(np.ptp(pairs.dynamic)), 2)
