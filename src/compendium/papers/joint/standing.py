"""How the methods stand: which beats most others, which is worth its price, which to choose.

Places are shares of the other methods that one beats (Borda 1784; ties half, random scores one of
the others), of token explanations, mean over the runs of a family of models. A method is on the
Pareto front where no other is as good for fewer evaluations. The choice for a model is that of
attreval.evaluation.choice. Letters used for shapes: m methods, d draws.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.evaluation.choice import MethodMeans, find_objections, gather_means, rank_methods
from attreval.methods import METHODS
from attreval.metrics.rank_correlation import Drawn, true_means
from compendium import corpora
from compendium.config import ModelSpec
from compendium.papers.common.contrasts import about_median
from compendium.papers.common.runs import TYPED, mean_costs, read_of_runs, read_shards
from compendium.papers.common.tables import put_together, table_of
from compendium.papers.joint.correlations import RUN, JointScores
from compendium.papers.joint.over_runs import pareto_front, widen
from compendium.papers.joint.values import JOINT, family_of
from compendium.workflow.step import Step

# difference of two means that anybody should care about; what is compared lies between 0 and 1
LEAST = 0.01
MEAN = "mean"  # over the metrics that a method was put before


Measured = dict[tuple[str, str], MethodMeans]  # by the task of training, and the model


def places_table(
    scores: JointScores, models: Mapping[str, ModelSpec], confidence: float
) -> pd.DataFrame:
    """One row a family, method and metric, and one for the mean over metrics; the best mean first.

    place: in [0, 1], one half where methods are alike, without the noise of texts; runs: how many
    are behind it; rank: among so many methods (`of`), the best 1. verdict: whether the interval
    leaves out one half.
    """
    table = _find_places(scores, models, confidence)
    groups = table.groupby(["family", "metric"]).place
    table["rank"] = groups.rank(ascending=False, method="min").astype("Int64")
    table["of"] = groups.transform("size").astype("Int64")
    sides = [table.low > 0.5, table.high < 0.5]
    table["verdict"] = np.select(sides, ["above", "below"], "cannot be told")
    key = ["family", "method"]
    means = table[table.metric == MEAN]
    means = means.sort_values(["family", "place"], ascending=False, kind="stable")
    at = means.set_index(key).index.get_indexer(table.set_index(key).index)
    return table.iloc[np.argsort(at, kind="stable")]


@table_of("family method metric place low high runs")
def _find_places(
    scores: JointScores, models: Mapping[str, ModelSpec], confidence: float
) -> Iterator[tuple]:
    """Means of (d,) drawn shares over the runs in which a metric compares at least two methods."""
    shares: dict[tuple[str, str, str], list[np.ndarray]] = defaultdict(list)
    for (task, model, granularity), found in scores.runs.items():
        for metric, means in found.means.items() if granularity == "tokens" else ():
            known = np.flatnonzero(found.counts[metric] > 0)
            if len(known) > 1:
                rng = generator("places", task, model, metric)
                drawn = found.drawn[metric][:, known]
                # draws of means without the noise of texts; means that are equal stay so
                scaled = true_means(means[known, None], drawn[..., None], rng)[..., 0]
                true = scaled * means[known].std()
                beaten = shares_beaten(np.where(np.isnan(true), means[known], true))
                for at, share in zip(known, beaten.T, strict=True):
                    shares[family_of(models[model]), found.methods[at], metric].append(share)
    families = dict.fromkeys(family for family, _, _ in shares)
    for family, method in product(families, METHODS):
        runs = {metric: shares[family, method, metric] for metric in JOINT}
        runs = {metric: found for metric, found in runs.items() if found}
        places = {metric: np.mean(found, axis=0) for metric, found in runs.items()}
        counts = {metric: len(found) for metric, found in runs.items()}
        if places:
            places = {MEAN: np.mean([*places.values()], axis=0), **places}
            counts[MEAN] = max(counts.values())
        for metric, drawn in places.items():
            place = np.clip(widen(drawn, counts[metric]), 0, 1)
            yield family, method, metric, *about_median(place, confidence), counts[metric]


def shares_beaten(values: np.ndarray) -> np.ndarray:
    """(..., m) share of the other methods that each beats; higher is better, ties count half."""
    difference = values[..., :, None] - values[..., None, :]
    won = np.where(np.abs(difference) < LEAST, 0.5, difference > 0)
    return (won.sum(axis=-1) - 0.5) / max(1, values.shape[-1] - 1)


def read_costs(step: Step) -> pd.DataFrame:
    """Evaluations requested and computed an instance, over seeds and shards.

    By task, model, granularity and method.
    """
    profile = step.profile
    parts = [
        (*run, part)
        for run in profile.explained_runs("diagnosis")
        for part in range(profile.diagnosis.parts)
    ]
    tokens = read_shards(step, "cost", profile.joint_runs()).assign(granularity="tokens")
    unified = read_of_runs(step, "cost", TYPED, parts).assign(granularity="unified")
    every = put_together([tokens, unified])
    every = every[every.method != "prediction"]
    return mean_costs(every, [*RUN, "method"])


def pareto_table(scores: JointScores, costs: pd.DataFrame) -> pd.DataFrame:
    """One row a run, metric and method: quality, price, and whether none is as good for less.

    undominated: by evaluations requested; undominated_unique: by those computed, which depend on
    who asked first. share: of the drawn samples in which it is undominated. single_evaluation:
    whether it requests at most one.
    """
    table = _find_fronts(scores, costs).dropna(subset="quality", ignore_index=True)
    return table.assign(single_evaluation=table.requested <= 1)


@table_of(
    f"{' '.join(RUN)} metric method quality requested unique undominated undominated_unique share"
)
def _find_fronts(scores: JointScores, costs: pd.DataFrame) -> Iterator[tuple]:
    for run, drawn in scores.runs.items():
        paid = costs.reindex([(*run, name) for name in drawn.methods])
        priced = paid.notna().all(axis=1) | (np.array(drawn.methods) == "random")
        kept = np.flatnonzero(priced)
        paid = paid.iloc[kept].fillna(0.0)  # random scores are free
        requested = paid.requested.to_numpy(float)
        unique = paid.unique.to_numpy(float)
        for metric, means in drawn.means.items():
            quality = means[kept]
            undominated = pareto_front(requested, quality)
            of_unique = pareto_front(unique, quality)
            share = pareto_front(requested, drawn.drawn[metric][:, kept]).mean(axis=0)
            columns = (quality, requested, unique, undominated, of_unique, share)
            for at, *row in zip(kept, *columns, strict=True):
                yield *run, metric, drawn.methods[at], *row


@table_of("metric title runs undominated")
def pareto_by_metric(table: pd.DataFrame) -> Iterator[tuple]:
    """One row a metric: the undominated methods but random, and in how many runs each is."""
    for metric in (name for name in JOINT if name in set(table.metric)):
        part = table[table.metric == metric]
        counts = _count_undominated(part)
        named = ", ".join(f"{METHODS[method].title} ({n})" for method, n in counts.items())
        yield metric, JOINT[metric].title, len(part.drop_duplicates(RUN)), named


def pareto_by_method(table: pd.DataFrame) -> pd.DataFrame:
    """One row a method but random: how often it is undominated, most often first."""
    return _count_undominated(table).rename_axis("method").reset_index(name="undominated")


def _count_undominated(table: pd.DataFrame) -> pd.Series:
    """Method -> the rows of it that are undominated, most first; random left out."""
    best = table[table.undominated.astype(bool) & (table.method != "random")]
    return best.method.value_counts(sort=False).sort_values(ascending=False, kind="stable")


def measured_models(scores: JointScores, costs: pd.DataFrame) -> Measured:
    """What was measured on a model's task and on texts made from it.

    Of methods that all metrics know. costs: of `read_costs`; a method costs the mean over the
    tasks, random scores that were not asked for nothing.
    """
    groups: dict[tuple[str, str], dict[str, Drawn]] = defaultdict(dict)
    for (task, model, granularity), drawn in scores.runs.items():
        if granularity == "tokens":
            groups[corpora.TASKS[task].trained_on or task, model][task] = drawn
    out = {}
    for (base, model), tasks in groups.items():
        prices = dict.fromkeys(METHODS, 0.0)
        for method in METHODS:
            keys = [(task, model, "tokens", method) for task in tasks]
            paid = [costs.requested[key] for key in keys if key in costs.index]
            if paid:
                prices[method] = float(np.mean(paid))
        if found := gather_means(tasks, base, list(METHODS), prices.__getitem__):
            out[base, model] = found
    return out


def recommendation_table(measured: Measured, confidence: float) -> pd.DataFrame:
    """One row a task, model and method, the best first: see `rank_methods`."""
    tables = [_of_model(rank_methods(one, confidence), *of) for of, one in measured.items()]
    nothing = pd.DataFrame(columns=["task", "model", "method"])
    return pd.concat(tables or [nothing], ignore_index=True)


def objections_table(measured: Measured, choice: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """One row a task, model and metric: what speaks against the recommended method."""
    tables = []
    for one in choice[choice.recommended].itertuples() if len(choice) else ():
        of = (one.task, one.model)
        tables.append(_of_model(find_objections(measured[of], one.method, confidence), *of))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _of_model(table: pd.DataFrame, task: str, model: str) -> pd.DataFrame:
    """The table under a task and model."""
    table.insert(0, "task", task)
    table.insert(1, "model", model)
    return table
