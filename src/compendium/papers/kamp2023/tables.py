"""The tables of Kamp et al. (2023) by their own numbers, beside the published values."""

from __future__ import annotations

import pandas as pd

from attreval.methods import methods_in
from compendium.papers.common.runs import reported

KAMP_METHODS = methods_in("kamp2023")  # the published tables' names, and ours


def table_1(improvement: pd.DataFrame) -> pd.DataFrame:
    """Table 1, what dynamic k adds to agreement@k: a row a task and method, mean over runs, and the published rows.

    improvement: as `with_published_improvement` makes it. Columns: task, method, k1, k2, ...
    """
    parts = [(task, part) for task, part in improvement.groupby("task", sort=False)]
    theirs = improvement.dropna(subset="published").drop_duplicates(["method", "k"])
    parts.append(("published", theirs.assign(improvement=theirs.published)))
    rows = []
    for task, part in parts:
        for method, inside in part.groupby("method", sort=False):
            by_k = inside.groupby("k").improvement.mean()
            rows.append({"task": task, "method": method} | {f"k{k}": value for k, value in by_k.items()})
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["task", "method"])  # a table without columns is no csv


def with_published_improvement(improvement: pd.DataFrame) -> pd.DataFrame:
    """Our improvements with those of Table 1, which prints the two methods that improve."""
    theirs = reported("kamp_table1")
    theirs = theirs.assign(method=theirs.method.map(KAMP_METHODS), published=theirs.improvement_over_fixed_k)
    return improvement.merge(theirs[["method", "k", "published"]], on=["method", "k"], how="left")


def with_published_k(dynamic_k: pd.DataFrame) -> pd.DataFrame:
    """Our mean dynamic k with the mean and spread that the released code notes for the same method."""
    theirs = reported("kamp_dynamic_k_means")
    theirs = theirs.assign(voter=theirs.method.map(KAMP_METHODS))
    theirs = theirs.rename(columns={"mean_dynamic_k": "published_k", "sd": "published_sd"})
    return dynamic_k.merge(theirs[["voter", "published_k", "published_sd"]], on="voter", how="left")


def table_2(apd: pd.DataFrame) -> pd.DataFrame:
    """Table 2, average pairwise difference of ten runs: ours beside the published, each in the order of its size.

    apd: as seeds.apd_table makes it. Runs have no counterparts, so rows are matched by rank alone.
    """
    ours = apd.sort_values(["task", "model", "apd"])
    ours = ours.assign(rank=ours.groupby(["task", "model"]).cumcount() + 1)
    theirs = reported("kamp_table2_apd").sort_values("apd").reset_index(drop=True)
    theirs = theirs.assign(rank=theirs.index + 1).rename(columns={"run": "published_run", "apd": "published_apd"})
    return ours.merge(theirs[["rank", "published_run", "published_apd"]], on="rank", how="left")
