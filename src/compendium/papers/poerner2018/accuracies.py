"""How good are the models that point, and how many texts are discarded, beside what Poerner et al. (2018) report?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from compendium.papers.common.runs import reported
from compendium.papers.poerner2018.hits import architecture_names
from compendium.papers.poerner2018.tables import TASKS_OF
from compendium.workflow.step import Step

TRAINED_ON = {  # their experiment -> the task of their models, as the table of accuracies has it
    "yelp hybrid": "yelp",
    "20newsgroups hybrid": "20newsgroups",
    "20newsgroups manual": "20newsgroups",
    "morphosyntactic agreement": "morphosyntactic_agreement",
}
COLUMNS = ["task", "experiment", "trained_on", "model", "architecture", "accuracy", "published", "ours_less_published"]
COLUMNS += ["discarded", "published_low", "published_high"]


def accuracy_beside_published(step: Step, summary: pd.DataFrame) -> pd.DataFrame:
    """One row an explained task and model: test accuracy and share of discarded texts, ours and theirs.

    accuracy: of the trained model on its own test split, mean over seeds; discarded: of the explained texts.
    published_low, published_high: the published range of discards, over models. NaN where the paper has no such cell.
    summary: of hits.accuracy_table.
    """
    profile, rows = step.profile, []
    accuracy = reported("poerner_task_accuracy").set_index("task")
    discards = reported("poerner_discards").set_index("experiment")
    experiments = {task: name for name, tasks in TASKS_OF.items() for task in tasks}
    for task, model in dict.fromkeys((task, model) for task, model, _ in profile.explained_runs("pointing")):
        if task not in experiments:
            continue
        experiment, architecture = experiments[task], architecture_names(profile, task)[model]
        trained_on = profile.read_by(task)
        seeds = profile.tasks[task].seeds
        found = [step.results.read_table("accuracy", "02_train", trained_on, model, seed) for seed in seeds]
        own = float(np.mean([table.accuracy.iloc[0] for table in found]))
        theirs = accuracy.loc[TRAINED_ON[experiment]].get(architecture, np.nan)
        part = summary[(summary.task == task) & (summary.model == model) & (summary.condition == "all")]
        known = experiment in discards.index
        ends = discards.loc[experiment, ["low", "high"]].tolist() if known else [np.nan, np.nan]
        discarded = part.discarded.mean() if len(part) else np.nan
        row = (task, experiment, trained_on, model, architecture, own, theirs, own - theirs, discarded, *ends)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)
