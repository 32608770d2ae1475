"""Which explanation to choose for each model of the study, by the votes of attreval.evaluation.choice."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.evaluation.choice import MethodMeans, find_objections, gather_means, rank_methods
from attreval.methods import METHODS
from attreval.metrics.rank_correlation import Drawn
from compendium import corpora
from compendium.papers.joint.correlations import JointScores

OF_MODEL = ["task", "model"]
Measured = dict[tuple[str, str], MethodMeans]


def measured_models(scores: JointScores, costs: pd.DataFrame) -> Measured:
    """(task, model) -> what was measured on the task and on the texts made from it, of methods that all metrics know.

    costs: see joint.pareto.read_costs.
    """
    groups: dict[tuple[str, str], dict[str, Drawn]] = {}
    for (task, model, granularity), drawn in scores.runs.items():
        if granularity == "tokens":
            groups.setdefault((corpora.TASKS[task].trained_on or task, model), {})[task] = drawn
    out = {}
    for (base, model), tasks in groups.items():
        price = lambda method, tasks=tasks, model=model: _cost(costs, tasks, model, method)  # noqa: E731
        if found := gather_means(tasks, base, list(METHODS), price):
            out[base, model] = found
    return out


def _cost(costs: pd.DataFrame, tasks: dict[str, Drawn], model: str, method: str) -> float:
    """Evaluations requested for a text, the mean over the tasks; nothing for random scores that were not asked for."""
    found = [costs.requested.get((task, model, "tokens", method)) for task in tasks]
    found = [cost for cost in found if cost is not None]
    return float(np.mean(found)) if found else 0.0


def choice_table(measured: Measured, confidence: float) -> pd.DataFrame:
    """One row a task, model and method, the best first: see `rank_methods`."""
    columns = [*OF_MODEL, "method"]
    tables = [rank_methods(one, confidence).assign(task=task, model=model) for (task, model), one in measured.items()]
    if not tables:
        return pd.DataFrame(columns=columns)
    every = pd.concat(tables, ignore_index=True)
    return every[[*columns, *(name for name in every if name not in columns)]]


def objections_table(measured: Measured, choice: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """One row a task, model and metric: what it says of the recommended method, see `find_objections`."""
    chosen = choice[choice.recommended] if len(choice) else choice
    tables = []
    for one in chosen.itertuples():
        found = find_objections(measured[one.task, one.model], one.method, confidence)
        found.insert(0, "task", one.task)
        found.insert(1, "model", one.model)
        tables.append(found)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
