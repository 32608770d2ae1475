"""How the methods stand: which share of the others each beats, which none beats for the price, which to choose.

Places are shares of the other methods that one beats (Borda 1784; ties half, random scores one of the others), of token
explanations, mean over the runs of a family of models. A method is on the Pareto front where no other is as good for
fewer evaluations. The choice for a model is that of attreval.evaluation.choice.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attreval.evaluation.choice import MethodMeans, find_objections, gather_means, rank_methods
from attreval.methods import METHODS
from attreval.metrics.pareto import pareto_front
from attreval.metrics.rank_correlation import Drawn
from compendium import corpora
from compendium.config import ModelSpec
from compendium.papers.common.resampling import with_bounds
from compendium.papers.joint.correlations import RUN, JointScores
from compendium.papers.joint.values import JOINT, joint_runs
from compendium.workflow.step import Step

ATTENTIVE = ("transformer", "encoder_decoder")  # architectures
TRANSFORMERS, WORDS = "transformers", "recurrent and convolutional networks"  # families
LEAST = 0.01  # difference of two means that anybody should care about; what is compared lies between 0 and 1
MEAN = "mean"  # over the metrics that a method was put before
Measured = dict[tuple[str, str], MethodMeans]


def places_table(scores: JointScores, models: Mapping, confidence: float) -> pd.DataFrame:
    """One row a family, method and metric, and one for the mean over metrics; the best mean first.

    models: name -> config.ModelSpec. place: in [0, 1], one half where methods are alike; low, high: of drawn texts;
    runs: how many are behind it; rank: among so many methods (`of`), the best 1. verdict: `above` or `below` one half
    where the interval says so.
    """
    rows = []
    for family, cells in _shares_by_family(scores, models).items():
        for method in (m for m in METHODS if m in cells):
            means = {metric: _mean_share(cells[method][metric]) for metric in JOINT if metric in cells[method]}
            runs = {metric: len(cells[method][metric]) for metric in means}
            for metric, share in ({MEAN: _mean_share([*means.values()])} | means).items():
                behind = runs.get(metric, max(runs.values()))
                rows.append((family, method, metric, *with_bounds(share, confidence), behind))
    table = pd.DataFrame(rows, columns=["family", "method", "metric", "place", "low", "high", "runs"])
    groups = table.groupby(["family", "metric"], sort=False).place
    table["rank"] = groups.rank(ascending=False, method="min").astype("Int64")
    table["of"] = groups.transform("size").astype("Int64")
    table["verdict"] = np.select([table.low > 0.5, table.high < 0.5], ["above", "below"], "cannot be told")
    order = table[table.metric == MEAN].sort_values(["family", "place"], ascending=[False, False], kind="stable")
    order, key = order.set_index(["family", "method"]).index, table.set_index(["family", "method"]).index
    return table.iloc[np.argsort(order.get_indexer(key), kind="stable")]


def shares_beaten(values: np.ndarray) -> np.ndarray:
    """(..., m) share of the other methods that each beats in (..., m) values, higher is better; ties count half.

    Where a metric has no value for a method, as in a draw without a text that people marked, NaN for all.
    """
    difference = values[..., :, None] - values[..., None, :]
    won = np.where(np.abs(difference) < LEAST, 0.5, difference > 0)
    shares = (won.sum(axis=-1) - 0.5) / max(1, values.shape[-1] - 1)
    return np.where(np.isnan(values).any(axis=-1, keepdims=True), np.nan, shares)


def family_of(model: ModelSpec) -> str:
    """The family of models that one belongs to: TRANSFORMERS or WORDS."""
    return TRANSFORMERS if model.architecture in ATTENTIVE else WORDS


def _shares_by_family(scores: JointScores, models: Mapping) -> dict[str, dict[str, dict[str, list[np.ndarray]]]]:
    """Family -> method -> metric -> (1 + d,) shares of each run, of its texts and of drawn ones.

    Only of metrics that compare two methods at least.
    """
    out: dict[str, dict[str, dict[str, list[np.ndarray]]]] = {}
    for (_, model, granularity), found in scores.runs.items():
        for metric, means in found.means.items():
            known = np.flatnonzero(found.counts[metric] > 0)
            if granularity == "tokens" and len(known) >= 2:
                shares = shares_beaten(np.vstack([means, found.drawn[metric]])[:, known])
                of_family = out.setdefault(family_of(models[model]), {})
                for at, share in zip(known, shares.T, strict=True):
                    of_family.setdefault(found.methods[at], {}).setdefault(metric, []).append(share)
    return out


def _mean_share(shares: list[np.ndarray]) -> np.ndarray:
    """(1 + d,) means of several."""
    return np.append(np.mean([share[0] for share in shares]), np.mean([share[1:] for share in shares], axis=0))


def read_costs(step: Step) -> pd.DataFrame:
    """Evaluations requested and computed an instance, by (task, model, granularity, method), over seeds and shards."""
    profile = step.profile
    explained = [
        ("tokens", "03_explain", run, shard)
        for run in joint_runs(profile)
        for shard in range(profile.explaining_of(run[0]).shards)
    ]
    explained += [
        ("unified", "07_sun2024_explanations", run, part)
        for run in profile.explained_runs("diagnosis")
        for part in range(profile.diagnosis.parts)
    ]
    found = [
        step.results.read_table("cost", notebook, *run, part).assign(task=run[0], model=run[1], granularity=granularity)
        for granularity, notebook, run, part in explained
    ]
    every = pd.concat(found, ignore_index=True)
    every = every[every.method != "prediction"]
    asked = ["requested", "unique"]
    every[asked] = every[asked].mul(every.instances, axis=0)
    sums = every.groupby([*RUN, "method"], sort=False)[[*asked, "instances"]].sum()
    return sums[asked].div(sums.instances, axis=0)


def pareto_table(scores: JointScores, costs: pd.DataFrame) -> pd.DataFrame:
    """One row a run, metric and method: its quality, what it costs, and whether no other is as good for less.

    undominated: by evaluations requested; undominated_unique: by those computed, which depend on who asked first.
    share: of the drawn samples in which it is undominated. single_evaluation: whether it requests at most one.
    """
    rows = []
    for run, drawn in scores.runs.items():
        kept = [i for i, m in enumerate(drawn.methods) if m == "random" or (*run, m) in costs.index]
        methods = [drawn.methods[i] for i in kept]
        paid = costs.reindex([(*run, m) for m in methods]).fillna(0.0)  # random scores are free
        requested, unique = paid.requested.to_numpy(float), paid.unique.to_numpy(float)
        for metric, means in drawn.means.items():
            quality = means[kept]
            share = pareto_front(requested, drawn.drawn[metric][:, kept]).mean(axis=0)
            found = (quality, requested, unique, pareto_front(requested, quality), pareto_front(unique, quality), share)
            rows += [(*run, metric, *row) for row in zip(methods, *found, strict=True) if not np.isnan(row[1])]
    columns = ["metric", "method", "quality", "requested", "unique", "undominated", "undominated_unique", "share"]
    table = pd.DataFrame(rows, columns=[*RUN, *columns])
    return table.assign(single_evaluation=table.requested <= 1)


def pareto_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: the undominated methods, random left out, with the number of runs in which each is."""
    rows = []
    for metric in (name for name in JOINT if name in set(table.metric)):
        part = table[table.metric == metric]
        named = ", ".join(f"{METHODS[m].title} ({n})" for m, n in _count_undominated(part).items())
        rows.append((metric, JOINT[metric].title, len(part.drop_duplicates(RUN)), named))
    return pd.DataFrame(rows, columns=["metric", "title", "runs", "undominated"])


def pareto_by_method(table: pd.DataFrame) -> pd.DataFrame:
    """One row a method but random: in how many combinations of a metric and a run it is undominated, most first."""
    return _count_undominated(table).rename_axis("method").reset_index(name="undominated")


def _count_undominated(table: pd.DataFrame) -> pd.Series:
    """Method -> the rows of it that are undominated, most first; random left out."""
    best = table[table.undominated.astype(bool) & (table.method != "random")]
    return best.method.value_counts(sort=False).sort_values(ascending=False, kind="stable")


def measured_models(scores: JointScores, costs: pd.DataFrame) -> Measured:
    """(task, model) -> what was measured on the task and on the texts made from it, of methods that all metrics know.

    costs: of `read_costs`; a method costs the mean over the tasks, random scores that were not asked for nothing.
    """
    groups: dict[tuple[str, str], dict[str, Drawn]] = {}
    for (task, model, granularity), drawn in scores.runs.items():
        if granularity == "tokens":
            groups.setdefault((corpora.TASKS[task].trained_on or task, model), {})[task] = drawn
    out = {}
    for (base, model), tasks in groups.items():
        keys = {method: [(task, model, "tokens", method) for task in tasks] for method in METHODS}
        paid = {m: [costs.requested[key] for key in of_method if key in costs.index] for m, of_method in keys.items()}
        price = {method: float(np.mean(of_method)) if of_method else 0.0 for method, of_method in paid.items()}
        if found := gather_means(tasks, base, list(METHODS), price.__getitem__):
            out[base, model] = found
    return out


def choice_table(measured: Measured, confidence: float) -> pd.DataFrame:
    """One row a task, model and method, the best first: see `rank_methods`."""
    tables = [rank_methods(one, confidence).assign(task=task, model=model) for (task, model), one in measured.items()]
    every = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["task", "model", "method"])
    return every[["task", "model", *every.columns.drop(["task", "model"])]]


def objections_table(measured: Measured, choice: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """One row a task, model and metric: what it says of the recommended method, see `find_objections`."""
    tables = []
    for one in choice[choice.recommended].itertuples() if len(choice) else ():
        found = find_objections(measured[one.task, one.model], one.method, confidence)
        tables.append(found.assign(task=one.task, model=one.model)[["task", "model", *found]])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
