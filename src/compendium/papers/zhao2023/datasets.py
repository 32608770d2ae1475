"""The paper's data sets, the tasks that are or stand in for them, and how many texts of a task say anything."""

from __future__ import annotations

import pandas as pd

from compendium.papers.common.verdicts import LEAST_TEXTS

PUBLISHED_TASKS = {"sst2": "SST", "evidence_inference": "EvInf", "ag_news": "AG", "multirc": "MultiRC"}
STAND_INS = {"rotten_tomatoes": "SST", "bbc": "AG", "imdb": "EvInf", "snli": "MultiRC"}


def published_dataset(task: str) -> str | None:
    """The data set of the paper that a task is, or stands in for."""
    return PUBLISHED_TASKS.get(task) or STAND_INS.get(task)


def compared_tasks(tasks: list[str]) -> list[str]:
    """The tasks that averages beside the published ones are taken over: the paper's own where there are any."""
    return [task for task in tasks if task in PUBLISHED_TASKS] or list(tasks)


def texts_by_task(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a task: its texts in the main run, how many it needs at least, and whether it has them.

    pairs: of `diagnosticity.pair_with_rivals`.
    """
    texts = pairs[pairs.setting == "main"].groupby("task", sort=False).instance.nunique()
    found = texts.rename("texts").reset_index().assign(least=LEAST_TEXTS)
    return found.assign(enough=found.texts >= LEAST_TEXTS, averaged=found.task.isin(compared_tasks(list(texts.index))))
