"""Pareto front of quality and price: which methods does no other beat for at most as many model evaluations?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from attreval.metrics.pareto import pareto_front
from compendium.papers.joint.correlations import RUN, JointScores
from compendium.papers.joint.values import JOINT, joint_runs
from compendium.workflow.step import Step


def read_costs(step: Step) -> pd.DataFrame:
    """Evaluations requested and computed an instance, by (task, model, granularity, method), over seeds and shards."""
    profile, found = step.profile, []
    for task, model, seed in joint_runs(profile):
        for shard in range(profile.explaining_of(task).shards):
            cost = step.results.read_table("cost", "03_explain", task, model, seed, shard)
            found.append(cost.assign(task=task, model=model, granularity="tokens"))
    for task, model, seed in profile.explained_runs("diagnosis"):
        for part in range(profile.diagnosis.parts):
            cost = step.results.read_table("cost", "07_sun2024_explanations", task, model, seed, part)
            found.append(cost.assign(task=task, model=model, granularity="unified"))
    every = pd.concat(found, ignore_index=True)
    every = every[every.method != "prediction"]
    for name in ("requested", "unique"):
        every[name] *= every.instances
    sums = every.groupby([*RUN, "method"], sort=False)[["requested", "unique", "instances"]].sum()
    return sums[["requested", "unique"]].div(sums.instances, axis=0)


def pareto_table(scores: JointScores, costs: pd.DataFrame) -> pd.DataFrame:
    """One row a run, metric and method: its quality, what it costs, and whether no other is as good for less.

    undominated: by evaluations requested; undominated_unique: by those computed, which depend on who asked first.
    share: of the drawn samples in which it is undominated. single_evaluation: whether it requests at most one.
    """
    rows = []
    free = pd.Series({"requested": 0.0, "unique": 0.0})  # random scores
    for run, drawn in scores.runs.items():
        kept = [i for i, m in enumerate(drawn.methods) if m == "random" or (*run, m) in costs.index]
        methods = [drawn.methods[i] for i in kept]
        paid = [costs.loc[(*run, m)] if (*run, m) in costs.index else free for m in methods]
        requested = np.array([cost["requested"] for cost in paid], dtype=float)
        unique = np.array([cost["unique"] for cost in paid], dtype=float)
        for metric in drawn.means:
            quality = drawn.means[metric][kept]
            front, front_unique = pareto_front(requested, quality), pareto_front(unique, quality)
            share = pareto_front(requested, drawn.drawn[metric][:, kept]).mean(axis=0)
            rows += [
                (*run, metric, m, quality[i], requested[i], unique[i], front[i], front_unique[i], share[i])
                for i, m in enumerate(methods)
                if not np.isnan(quality[i])
            ]
    columns = ["metric", "method", "quality", "requested", "unique", "undominated", "undominated_unique", "share"]
    table = pd.DataFrame(rows, columns=[*RUN, *columns])
    return table.assign(single_evaluation=table.requested <= 1)


def pareto_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: the undominated methods, random left out, with the number of runs in which each is."""
    rows = []
    for metric in (name for name in JOINT if name in set(table.metric)):
        part = table[table.metric == metric]
        counts = _count_undominated(part)
        named = ", ".join(f"{METHODS[m].title} ({n})" for m, n in counts.items())
        rows.append((metric, JOINT[metric].title, len(part.drop_duplicates(RUN)), named))
    return pd.DataFrame(rows, columns=["metric", "title", "runs", "undominated"])


def pareto_by_method(table: pd.DataFrame) -> pd.DataFrame:
    """One row a method but random: in how many combinations of a metric and a run it is undominated, most first."""
    return _count_undominated(table).rename_axis("method").reset_index(name="undominated")


def _count_undominated(table: pd.DataFrame) -> pd.Series:
    """Method -> the rows of it that are undominated, most first; random left out."""
    best = table[table.undominated.astype(bool) & (table.method != "random")]
    return best.method.value_counts(sort=False).sort_values(ascending=False, kind="stable")
