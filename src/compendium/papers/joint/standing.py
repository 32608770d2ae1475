"""How the methods stand: which share of the others each beats, which none beats for the price,
which to choose.

Places are shares of the other methods that one beats (Borda 1784; ties half, random scores one of
the others), of token explanations, mean over the runs of a family of models. A method is on the
Pareto front where no other is as good for fewer evaluations. The choice for a model is that of
attreval.evaluation.choice.

Does the order of methods carry from one model to another? An order is not the same twice, not even
of one model. So two models are compared on two halves of the texts, and beside that stands what
each gives with itself there. What is lost between the two is 0 on average where models do not
differ; how much chance makes of it is seen where the models are exchanged at random in each text.
Random scores are left out. Letters used for shapes: n texts, m methods, c cuts of the texts into
halves, j worlds, b the texts and their draws.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, product

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.evaluation.choice import MethodMeans, find_objections, gather_means, rank_methods
from attreval.methods import METHODS
from attreval.metrics.rank_correlation import (
    FEWEST,
    TIED,
    Drawn,
    tau_b,
    true_means,
    true_tau_b,
)
from compendium import corpora
from compendium.config import ModelSpec
from compendium.papers.common.contrasts import about_median, drawn_means, mean_of_known
from compendium.papers.common.tables import spell, table_of
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust
from compendium.papers.joint.correlations import RUN, JointScores
from compendium.papers.joint.over_runs import pareto_front, widen
from compendium.papers.joint.values import JOINT, joint_runs
from compendium.workflow.step import Step

ATTENTIVE = ("transformer", "encoder_decoder")  # architectures
TRANSFORMERS = "transformers"  # the two families
WORDS = "recurrent and convolutional networks"
# difference of two means that anybody should care about; what is compared lies between 0 and 1
LEAST = 0.01
MEAN = "mean"  # over the metrics that a method was put before
Measured = dict[tuple[str, str], MethodMeans]


def places_table(scores: JointScores, models: Mapping, confidence: float) -> pd.DataFrame:
    """One row a family, method and metric, and one for the mean over metrics; the best mean first.

    models: name -> config.ModelSpec. place: in [0, 1], one half where methods are alike, without
        the noise of texts;
    runs: how many are behind it; rank: among so many methods (`of`), the best 1. verdict: whether
    the interval leaves out one half.
    """
    rows = []
    shares = _shares_by_family(scores, models)
    families = dict.fromkeys(family for family, _, _ in shares)
    for family, method in product(families, METHODS):
        means = {}
        counts = {}
        for metric in JOINT:
            if runs := shares.get((family, method, metric)):
                means[metric] = np.mean(runs, axis=0)
                counts[metric] = len(runs)
        if not means:
            continue
        means = {MEAN: np.mean([*means.values()], axis=0), **means}
        counts[MEAN] = max(counts.values())
        for metric, drawn in means.items():
            places = np.clip(widen(drawn, counts[metric]), 0, 1)
            rows.append((family, method, metric, *about_median(places, confidence), counts[metric]))
    table = pd.DataFrame(
        rows, columns=["family", "method", "metric", "place", "low", "high", "runs"]
    )
    groups = table.groupby(["family", "metric"], sort=False).place
    table["rank"] = groups.rank(ascending=False, method="min").astype("Int64")
    table["of"] = groups.transform("size").astype("Int64")
    table["verdict"] = np.select(
        [table.low > 0.5, table.high < 0.5], ["above", "below"], "cannot be told"
    )
    key = ["family", "method"]
    order = table[table.metric == MEAN].sort_values(
        ["family", "place"], ascending=False, kind="stable"
    )
    at = order.set_index(key).index.get_indexer(table.set_index(key).index)
    return table.iloc[np.argsort(at, kind="stable")]


def shares_beaten(values: np.ndarray) -> np.ndarray:
    """(..., m) share of the other methods that each beats in (..., m) values, higher is better;
    ties count half.
    """
    difference = values[..., :, None] - values[..., None, :]
    won = np.where(np.abs(difference) < LEAST, 0.5, difference > 0)
    return (won.sum(axis=-1) - 0.5) / max(1, values.shape[-1] - 1)


def drawn_shares(means: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(d, m) draws of the shares that (m,) means beat without the noise of texts; drawn: (d, m), of
    drawn texts.
    """
    scaled = true_means(means[:, None], drawn[..., None], rng)[..., 0]
    true = scaled * means.std()
    return shares_beaten(np.where(np.isnan(true), means, true))  # means that are equal stay so


def family_of(model: ModelSpec) -> str:
    """The family of models that one belongs to: TRANSFORMERS or WORDS."""
    return TRANSFORMERS if model.architecture in ATTENTIVE else WORDS


def shared_family(first: ModelSpec, second: ModelSpec) -> str:
    """The family of two models, or MIXED where they are of two."""
    return family_of(first) if family_of(first) == family_of(second) else MIXED


def _shares_by_family(
    scores: JointScores, models: Mapping
) -> dict[tuple[str, str, str], list[np.ndarray]]:
    """(family, method, metric) -> (d,) drawn shares of each run, where a metric compares at least
    two methods.
    """
    out = defaultdict(list)
    for (task, model, granularity), found in scores.runs.items():
        if granularity != "tokens":
            continue
        family = family_of(models[model])
        for metric, means in found.means.items():
            known = np.flatnonzero(found.counts[metric] > 0)
            if len(known) < 2:
                continue
            rng = generator("places", task, model, metric)
            shares = drawn_shares(means[known], found.drawn[metric][:, known], rng)
            for at, share in zip(known, shares.T, strict=True):
                out[family, found.methods[at], metric].append(share)
    return out


def read_costs(step: Step) -> pd.DataFrame:
    """Evaluations requested and computed an instance, by (task, model, granularity, method), over
    seeds and shards.
    """
    profile = step.profile
    parts = [
        ("tokens", "03_explain", run, profile.explaining_of(run[0]).shards)
        for run in joint_runs(profile)
    ]
    for run in profile.explained_runs("diagnosis"):
        parts.append(("unified", "07_sun2024_explanations", run, profile.diagnosis.parts))
    found = []
    for granularity, notebook, run, count in parts:
        for at in range(count):
            cost = step.results.read_table("cost", notebook, *run, at)
            found.append(cost.assign(task=run[0], model=run[1], granularity=granularity))
    every = pd.concat(found, ignore_index=True)
    every = every[every.method != "prediction"]
    asked = ["requested", "unique"]
    every[asked] = every[asked].mul(every.instances, axis=0)
    sums = every.groupby([*RUN, "method"], sort=False)[[*asked, "instances"]].sum()
    return sums[asked].div(sums.instances, axis=0)


PARETO = [
    "metric",
    "method",
    "quality",
    "requested",
    "unique",
    "undominated",
    "undominated_unique",
    "share",
]


def pareto_table(scores: JointScores, costs: pd.DataFrame) -> pd.DataFrame:
    """One row a run, metric and method: its quality, what it costs, and whether no other is as good
    for less.

    undominated: by evaluations requested; undominated_unique: by those computed, which depend on
        who asked first.
    share: of the drawn samples in which it is undominated. single_evaluation: whether it requests
        at most one.
    """
    rows = []
    for run, drawn in scores.runs.items():
        methods = [
            name for name in drawn.methods if name == "random" or (*run, name) in costs.index
        ]
        kept = [drawn.methods.index(name) for name in methods]
        paid = costs.reindex([(*run, name) for name in methods]).fillna(
            0.0
        )  # random scores are free
        requested = paid.requested.to_numpy(float)
        unique = paid.unique.to_numpy(float)
        for metric, means in drawn.means.items():
            quality = means[kept]
            share = pareto_front(requested, drawn.drawn[metric][:, kept]).mean(axis=0)
            undominated = pareto_front(requested, quality)
            columns = (
                quality,
                requested,
                unique,
                undominated,
                pareto_front(unique, quality),
                share,
            )
            rows += [(*run, metric, *row) for row in zip(methods, *columns, strict=True)]
    table = pd.DataFrame(rows, columns=[*RUN, *PARETO]).dropna(subset="quality", ignore_index=True)
    return table.assign(single_evaluation=table.requested <= 1)


@table_of("metric title runs undominated")
def pareto_by_metric(table: pd.DataFrame) -> Iterator[tuple]:
    """One row a metric: the undominated methods, random left out, with the number of runs in which
    each is.
    """
    for metric in (name for name in JOINT if name in set(table.metric)):
        part = table[table.metric == metric]
        named = ", ".join(f"{METHODS[m].title} ({n})" for m, n in _count_undominated(part).items())
        yield metric, JOINT[metric].title, len(part.drop_duplicates(RUN)), named


def pareto_by_method(table: pd.DataFrame) -> pd.DataFrame:
    """One row a method but random: in how many combinations of a metric and a run it is
    undominated, most first.
    """
    return _count_undominated(table).rename_axis("method").reset_index(name="undominated")


def _count_undominated(table: pd.DataFrame) -> pd.Series:
    """Method -> the rows of it that are undominated, most first; random left out."""
    best = table[table.undominated.astype(bool) & (table.method != "random")]
    return best.method.value_counts(sort=False).sort_values(ascending=False, kind="stable")


def measured_models(scores: JointScores, costs: pd.DataFrame) -> Measured:
    """(task, model) -> what was measured on the task and on the texts made from it, of methods that
    all metrics know.

    costs: of `read_costs`; a method costs the mean over the tasks, random scores that were not
        asked for nothing.
    """
    groups: dict[tuple[str, str], dict[str, Drawn]] = {}
    for (task, model, granularity), drawn in scores.runs.items():
        if granularity == "tokens":
            groups.setdefault((corpora.TASKS[task].trained_on or task, model), {})[task] = drawn
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


def choice_table(measured: Measured, confidence: float) -> pd.DataFrame:
    """One row a task, model and method, the best first: see `rank_methods`."""
    tables = [pd.DataFrame(columns=["task", "model", "method"])]
    for (task, model), one in measured.items():
        tables.append(_of_model(rank_methods(one, confidence), task, model))
    return pd.concat(tables[-len(measured) :], ignore_index=True)


def objections_table(measured: Measured, choice: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """One row a task, model and metric: what it says of the recommended method, see
    `find_objections`.
    """
    tables = []
    for one in choice[choice.recommended].itertuples() if len(choice) else ():
        found = find_objections(measured[one.task, one.model], one.method, confidence)
        tables.append(_of_model(found, one.task, one.model))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _of_model(table: pd.DataFrame, task: str, model: str) -> pd.DataFrame:
    """The table under a task and model."""
    table.insert(0, "task", task)
    table.insert(1, "model", model)
    return table


CUTS = 10  # of texts into halves
WORLDS = 999  # in which two models are exchanged
PAIR = ["task", "granularity", "model_a", "model_b"]
ACROSS = "family metric title methods texts tau low high within across lost p"
DIFFER = "differ"  # what two models may be found to do
BY_CHANCE = "no more than by chance"
TOO_FEW = "too few texts"
MIXED = "one of each"  # family of a pair whose models are of two


def across_table(
    scores: pd.DataFrame, models: Mapping, draws: int, confidence: float, worlds: int = WORLDS
) -> pd.DataFrame:
    """One row a task, two of its models and a metric: how alike they order the methods, on texts
    that both have.

    scores: of `values.read_scores`. models: name -> config.ModelSpec. tau: rank correlation (tau-b)
        of the two orders; low, high: of drawn texts.
    within, across: of one model and of two, on two halves of the texts; lost: the first less the
    second; p: how often exchanged models lose as much; q: over all rows. verdict: DIFFER, BY_CHANCE
    or TOO_FEW.
    """
    rows = []
    values = scores[scores.method != "random"]
    for cell, part in values.groupby(["task", "granularity", "metric"], sort=False):
        task, granularity, metric = cell
        for a, b in combinations(dict.fromkeys(part.model), 2):
            array = _same_texts(part, a, b)
            texts, _, methods = array.shape
            if methods < FEWEST:
                continue
            drawn = drawn_means(array, draws, "across models", task)
            taus = true_tau_b(drawn[0].T, drawn[1:].mT, generator("true means", *cell, a, b))
            chance = lost_between(array, worlds, generator("models exchanged", *cell, a, b))
            family = shared_family(models[a], models[b])
            about = (task, granularity, a, b, family, metric, JOINT[metric].title, methods, texts)
            rows.append((*about, *about_median(taus, confidence), *chance))
    table = pd.DataFrame(rows, columns=[*PAIR, *spell(ACROSS)]).dropna(subset="tau")
    table["q"] = adjust(table.p.to_numpy())
    said = np.where(table.q <= 1 - confidence + 1e-12, DIFFER, BY_CHANCE)
    return table.assign(verdict=np.where(table.texts < LEAST_TEXTS, TOO_FEW, said)).reset_index(
        drop=True
    )


def across_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a granularity and metric, over `pairs` of models: the metric first whose orders carry
    best.
    """
    found = _summary(table, ["granularity", "metric", "title"], "pairs")
    return found.sort_values("across", ascending=False, kind="stable").reset_index(drop=True)


def across_by_pair(table: pd.DataFrame) -> pd.DataFrame:
    """One row a pair of models of a task, over `metrics`."""
    return _summary(table, [*PAIR, "family"], "metrics")


def lost_between(
    array: np.ndarray, worlds: int, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """(within, across, lost, p) of (n, 2, m) values of two models; see `across_table`. NaN for a
    single text.
    """
    if len(array) < 2:
        return (float("nan"),) * 4
    halves = cut_texts(len(array), rng)
    exchanged = np.where(rng.random((worlds, len(array))) < 0.5, -1.0, 1.0)
    as_it_is = np.ones((1, len(array)))
    within, across = halved(array, halves, np.concatenate([as_it_is, exchanged]))
    lost = within - across
    p = float("nan")
    if not np.isnan(lost[0]):
        known = lost[~np.isnan(lost)]
        p = float((known >= lost[0] - TIED).mean())
    return float(within[0]), float(across[0]), float(lost[0]), p


def cut_texts(n: int, rng: np.random.Generator) -> np.ndarray:
    """(c, 2, n) weights of texts in two random halves, each adding up to 1; of an odd number one
    text is left out.
    """
    half = n // 2
    weights = np.zeros((CUTS, 2, n))
    for first, second in weights:
        order = rng.permutation(n)
        first[order[:half]] = 1 / half
        second[order[half : 2 * half]] = 1 / half
    return weights


def halved(
    array: np.ndarray, halves: np.ndarray, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(j,) mean tau-b within a model and across two, between halves of texts, over cuts.

    array: (n, 2, m) values; halves: of `cut_texts`; signs: (j, n), -1 where the two models are
        exchanged in a text.
    """
    shared = array.mean(axis=1)
    apart = (array[:, 0] - array[:, 1]) / 2
    flat = halves.reshape(-1, len(array))  # (2c, n)
    middle = (flat @ shared).reshape(*halves.shape[:2], -1)  # (c, 2, m)
    signed = (signs[:, None] * flat).reshape(-1, len(array))
    moved = (signed @ apart).reshape(len(signs), *middle.shape)
    first = middle + moved  # (j, c, 2, m) of the one model
    second = middle - moved

    def mean_tau(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        taus = [tau_b(one[:, :, 0], other[:, :, 1]) for one, other in pairs]
        return mean_of_known(np.concatenate(taus, axis=1).T)

    within = mean_tau([(first, first), (second, second)])
    across = mean_tau([(first, second), (second, first)])
    return within, across


def _summary(table: pd.DataFrame, by: list[str], counted: str) -> pd.DataFrame:
    """Means by these columns, how many rows have enough texts (`decided`), and how many of these
    `differ`.
    """
    told = table.assign(differ=table.verdict == DIFFER, decided=table.verdict != TOO_FEW)
    found = told.groupby(by, sort=False).agg(
        tau=("tau", "mean"),
        within=("within", "mean"),
        across=("across", "mean"),
        lost=("lost", "mean"),
        lowest=("tau", "min"),
        highest=("tau", "max"),
        texts=("texts", "min"),
        decided=("decided", "sum"),
        differ=("differ", "sum"),
        **{counted: ("tau", "size")},
    )
    return found.reset_index()


def _same_texts(part: pd.DataFrame, a: str, b: str) -> np.ndarray:
    """(n, 2, m) values of methods that both models have, of texts where all are known; mean over
    seeds.

    Of no methods where there is no such text.
    """
    here = part[part.model.isin([a, b])]
    wide = here.pivot_table(index="instance", columns=["model", "method"], values="value")
    if not {a, b} <= {*wide.columns.get_level_values("model")}:
        return np.empty((0, 2, 0))
    methods = [method for method in wide[a] if method in wide[b]]
    sides = [wide[model][methods].to_numpy() for model in (a, b)]
    array = np.stack(sides, axis=1)
    known = ~np.isnan(array).any(axis=(1, 2))
    return array[known] if known.any() else np.empty((0, 2, 0))
