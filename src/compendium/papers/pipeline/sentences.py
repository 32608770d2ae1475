"""One sentence a section of notebook 03_overview."""

from __future__ import annotations

import pandas as pd

from compendium.papers.common.method_style import name_method
from compendium.papers.common.sentences import of_row, sentence
from compendium.papers.common.style import name_run, task_title


@sentence
def say_models(models: pd.DataFrame) -> str:
    """Which model knows its task best and which worst, and how many surely know more than the most frequent class."""
    best, worst = (models.loc[at(models.accuracy)] for at in (pd.Series.idxmax, pd.Series.idxmin))
    sure = (models.accuracy_low > models.majority).sum()
    shown = [f"{name_run(row)} at {of_row(row, 'accuracy', 'accuracy_low', 'accuracy_high')}" for row in (best, worst)]
    return (
        f"{sure} of {len(models)} models are surely more accurate than naming the most frequent class; accuracy is "
        f"highest for {shown[0]} and lowest for {shown[1]}."
    )


@sentence
def say_cost(cost: pd.DataFrame) -> str:
    """The dearest method of any task, and how many evaluations need not be computed, from task to task."""
    asked = cost[cost.requested > 0]
    if asked.empty:
        return "No method has asked the models anything."
    dearest = asked.loc[asked.requested.idxmax()]
    sums = asked.groupby("task", sort=False)[["requested", "reused"]].sum()
    shares = sums.reused / sums.requested
    return (
        f"The most expensive explanation is {name_method(dearest.method)} on {task_title(dearest.task)}, with "
        f"{dearest.requested:,.0f} evaluations per text; {100 * (sums.reused.sum() / sums.requested.sum()):.0f} % of "
        f"all evaluations asked for are already known ({100 * shares.min():.0f} % to {100 * shares.max():.0f} %, "
        f"depending on the task)."
    )
