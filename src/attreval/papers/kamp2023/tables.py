"""The tables of Kamp et al. (2023) beside the published values."""

from __future__ import annotations

import pandas as pd

from attreval.explain import methods_in
from attreval.papers.common.published import reported

KAMP_METHODS = methods_in("kamp2023")  # the published tables' names, and ours


def beside_dynamic_k(ours: pd.DataFrame) -> pd.DataFrame:
    """Our mean dynamic k with the published mean and spread of the same method (Kamp et al. 2023, from its code)."""
    theirs = reported("kamp_dynamic_k_means")
    theirs = theirs.assign(voter=theirs.method.map(KAMP_METHODS))
    theirs = theirs.rename(columns={"mean_dynamic_k": "published_k", "sd": "published_sd"})
    return ours.merge(theirs[["voter", "published_k", "published_sd"]], on="voter", how="left")


def lay_out_table_1(ours: pd.DataFrame) -> pd.DataFrame:
    """Table 1 with a column for each k: a row a task and method, mean over runs, and the published rows."""
    parts = [(task, part) for task, part in ours.groupby("task", sort=False)]
    theirs = ours.dropna(subset="published").drop_duplicates(["method", "k"])
    parts.append(("published", theirs.assign(improvement=theirs.published)))
    rows = []
    for task, part in parts:
        for method, inside in part.groupby("method", sort=False):
            by_k = inside.groupby("k").improvement.mean()
            rows.append({"task": task, "method": method} | {f"k{k}": value for k, value in by_k.items()})
    return pd.DataFrame(rows)


def beside_table_1(ours: pd.DataFrame) -> pd.DataFrame:
    """Our improvements with the published ones; the paper prints the two methods that improve (Kamp et al. 2023)."""
    theirs = reported("kamp_table1")
    theirs = theirs.assign(method=theirs.method.map(KAMP_METHODS), published=theirs.improvement_over_fixed_k)
    return ours.merge(theirs[["method", "k", "published"]], on=["method", "k"], how="left")
