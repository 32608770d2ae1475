"""The data and the models of Kamp et al. (2023, section 4 and released code) beside ours: sizes, lengths, F1."""

from __future__ import annotations

import numpy as np
import pandas as pd

from compendium import corpora
from compendium.papers.common.runs import reported
from compendium.workflow.step import Step

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
