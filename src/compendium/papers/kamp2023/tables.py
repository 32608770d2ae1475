"""The tables of Kamp et al. (2023) by their own numbers, their data and their models, beside the published values."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.methods import methods_in
from compendium import corpora
from compendium.papers.common.runs import reported
from compendium.workflow.step import Step

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


TASK = "esnli"
TITLES = {
    "train_rows_raw": "training pairs, as distributed",
    "train_rows_after_drop": "training pairs used",
    "dev_rows": "dev pairs",
    "test_rows": "test pairs",
    "words_min": "words of a pair, least",
    "words_max": "words of a pair, most",
    "words_mean": "words of a pair, mean",
    "max_len_subtokens": "tokens that the model reads at most",
    "highlighted_tokens_train_mean": "words highlighted in a training pair, mean",
    "highlighted_tokens_train_sd": "words highlighted in a training pair, sd",
    "macro_f1_dev": "macro F1, dev",
    "macro_f1_test": "macro F1, test",
}
ELSEWHERE = "its training pairs are not read"
NO_TASK = "e-SNLI is not in this profile"


def dataset_table(step: Step) -> pd.DataFrame:
    """One row a published quantity that no other table has: published, ours, and why ours is missing.

    Ours: sizes and lengths of all of dev and test, words parted by white space; training pairs and F1 of the models
    that read e-SNLI here (mean over runs), which are trained on SNLI. Columns quantity, title, published, source, ours,
    reason; ours has three decimals.
    """
    theirs = reported("kamp_dataset_stats")
    theirs = theirs[theirs.quantity.isin(TITLES)]
    runs = [run for run in step.profile.explained_runs("agreement") if run[0] == TASK]
    ours = _measure(step, runs) if runs else {}
    rows = [
        (row.quantity, TITLES[row.quantity], row.value, row.source, ours.get(row.quantity, np.nan))
        for row in theirs.itertuples()
    ]
    table = pd.DataFrame(rows, columns=["quantity", "title", "published", "source", "ours"]).round({"ours": 3})
    missing = ELSEWHERE if runs else NO_TASK
    return table.assign(reason=["" if known else missing for known in table.ours.notna()])


def _measure(step: Step, runs: list[tuple[str, str, int]]) -> dict[str, float]:
    """Our value of each quantity that can be measured."""
    splits = {name: corpora.load(TASK, name) for name in ("dev", "test")}
    words = [len(" ".join(one.segments).split()) for some in splits.values() for one in some]
    trained_on = step.profile.read_by(TASK)
    trained = [step.results.read_table("accuracy", "02_train", trained_on, *run[1:]) for run in runs]
    found = {f"{name}_rows": float(len(some)) for name, some in splits.items()}
    found |= {"words_min": min(words), "words_max": max(words), "words_mean": float(np.mean(words))}
    found["max_len_subtokens"] = max(step.profile.models[run[1]].max_length for run in runs)
    found["train_rows_after_drop"] = float(np.mean([table.train_rows.iloc[0] for table in trained]))
    found["macro_f1_test"] = float(np.mean([table.macro_f1.iloc[0] for table in trained]))
    return found
