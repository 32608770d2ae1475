"""Has a model learned its task? What follows a model that has not is no evidence for or against an explanation."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from compendium.config import Run
from compendium.workflow.step import Step

RUN = ["task", "model", "seed"]
COLUMNS = [*RUN, "accuracy", "accuracy_low", "accuracy_high", "majority"]


def unlearned_table(step: Step, runs: Iterable[Run]) -> pd.DataFrame:
    """One row a run whose model is not surely more often right on test than the name of the most frequent class.

    runs: (task, model, seed), each read by the model of `profile.read_by(task)`.
    """
    rows = []
    for task, model, seed in runs:
        found = step.results.read_table("accuracy", "02_train", step.profile.read_by(task), model, seed).iloc[0]
        if not found.accuracy_low > found.majority:
            rows.append((task, model, seed, *found[COLUMNS[len(RUN) :]]))
    return pd.DataFrame(rows, columns=COLUMNS)


def drop_unlearned(frame: pd.DataFrame, unlearned: pd.DataFrame) -> pd.DataFrame:
    """A table without the rows of these runs; the whole table where no other run is left."""
    out = set(unlearned[RUN].itertuples(index=False, name=None))
    kept = frame[[run not in out for run in frame[RUN].itertuples(index=False, name=None)]]
    return kept if len(kept) else frame
