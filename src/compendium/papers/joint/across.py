"""Does the order of methods carry from one model to another?

An order is not the same twice, not even of one model. So two models are compared on two halves of
the texts, and beside that stands what each gives with itself there. What is lost between the two is
0 on average where models do not differ; how much chance makes of it is seen where the models are
exchanged at random in each text. Random scores are left out. Letters used for shapes: n texts, m
methods, c cuts of the texts into halves, j worlds, b the texts and their draws.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from attreval.core.seeds import Rng, generator
from attreval.metrics.rank_correlation import FEWEST, TIED, tau_b, true_tau_b
from compendium.config import BootstrapSpec, ModelSpec
from compendium.papers.common import style
from compendium.papers.common.contrasts import about_median, drawn_means, mean_of_known
from compendium.papers.common.sentences import highest, lowest, sentence
from compendium.papers.common.tables import table_of
from compendium.papers.joint.values import (
    JOINT,
    TOO_FEW,
    TRANSFORMERS,
    judge_chance,
    shared_family,
)

CUTS = 10  # of texts into halves
WORLDS = 999  # in which two models are exchanged
PAIR = ["task", "granularity", "model_a", "model_b"]
DIFFER = "differ"  # what two models may be found to do


def across_table(
    scores: pd.DataFrame, models: Mapping[str, ModelSpec], settings: BootstrapSpec
) -> pd.DataFrame:
    """How alike two models of a task order the methods: one row a pair of models and metric.

    scores: of `values.read_scores`; of texts that both have. tau: rank correlation (tau-b) of the
    two orders; low, high: of drawn texts. within, across: of one model and of two, on two halves of
    the texts; lost: the first less the second; p: how often exchanged models lose as much; q: over
    all rows. verdict: DIFFER, BY_CHANCE or TOO_FEW.
    """
    table = _compare_models(scores[scores.method != "random"], models, settings)
    known = table.dropna(subset="tau").reset_index(drop=True)
    return judge_chance(known, settings.confidence, DIFFER)


@table_of(f"{' '.join(PAIR)} family metric title methods texts tau low high within across lost p")
def _compare_models(
    scores: pd.DataFrame, models: Mapping[str, ModelSpec], settings: BootstrapSpec
) -> Iterator[tuple]:
    for cell, part in scores.groupby(["task", "granularity", "metric"], sort=False):
        task, granularity, metric = cell
        for a, b in combinations(part.model.unique(), 2):
            array = _same_texts(part, a, b)
            texts, _, methods = array.shape
            if methods < FEWEST:
                continue
            drawn = drawn_means(array, settings.draws, "across models", task)
            observed = drawn[0]
            draws = drawn[1:]
            taus = true_tau_b(observed.T, draws.mT, generator("true means", *cell, a, b))
            chance = lost_between(array, generator("models exchanged", *cell, a, b))
            family = shared_family(models[a], models[b])
            about = (task, granularity, a, b, family, metric, JOINT[metric].title, methods, texts)
            yield *about, *about_median(taus, settings.confidence), *chance


def _same_texts(part: pd.DataFrame, a: str, b: str) -> np.ndarray:
    """(n, 2, m) values of texts and methods that both models have, mean over seeds.

    Of no methods where there is no such text.
    """
    here = part[part.model.isin([a, b])]
    wide = here.pivot_table(index="instance", columns=["model", "method"], values="value")
    nothing = np.empty((0, 2, 0))
    if not {a, b} <= {*wide.columns.get_level_values("model")}:
        return nothing
    methods = [method for method in wide[a] if method in wide[b]]
    array = np.stack([wide[model][methods] for model in (a, b)], axis=1)
    known = ~np.isnan(array).any(axis=(1, 2))
    return array[known] if known.any() else nothing


def lost_between(array: np.ndarray, rng: Rng) -> tuple[float, ...]:
    """Mean tau-b within a model and across two, what is lost, and how often by chance.

    Of (n, 2, m) values of two models; see `across_table`. NaN for a single text.
    """
    texts = len(array)
    if texts < 2:
        return (np.nan,) * 4
    halves = cut_texts(texts, rng)
    exchanged = np.where(rng.random((WORLDS, texts)) < 0.5, -1.0, 1.0)
    as_it_is = np.ones((1, texts))
    signs = np.concatenate([as_it_is, exchanged])  # the data first: so p counts them, too
    within, across = tau_within_and_across(array, halves, signs)
    lost = within - across
    p = np.nan
    if not np.isnan(lost[0]):
        known = lost[~np.isnan(lost)]
        p = (known >= lost[0] - TIED).mean()
    return within[0], across[0], lost[0], p


def cut_texts(n: int, rng: Rng, cuts: int = CUTS) -> np.ndarray:
    """(c, 2, n) weights of texts in two random halves, each adding up to 1.

    Of an odd number one text is left out.
    """
    half = n // 2
    weights = np.zeros((cuts, 2, n))
    for first, second in weights:
        order = rng.permutation(n)
        first[order[:half]] = 1 / half
        second[order[half : 2 * half]] = 1 / half
    return weights


def tau_within_and_across(
    array: np.ndarray, halves: np.ndarray, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(j,) mean tau-b within a model and across two, between halves of texts, over cuts.

    One model is what both share plus what sets them apart, the other is the difference; a sign of
    -1 exchanges them.

    array: (n, 2, m) values; halves: of `cut_texts`; signs: (j, n), -1 where the two models are
    exchanged in a text.
    """
    shared = array.mean(axis=1)
    apart = (array[:, 0] - array[:, 1]) / 2
    flat = halves.reshape(-1, len(array))  # (2c, n)
    shared_means = (flat @ shared).reshape(*halves.shape[:2], -1)  # (c, 2, m)
    signed = (signs[:, None] * flat).reshape(-1, len(array))
    apart_means = (signed @ apart).reshape(len(signs), *shared_means.shape)
    means_a = shared_means + apart_means  # (j, c, 2, m)
    means_b = shared_means - apart_means

    def mean_tau(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        taus = [tau_b(one[:, :, 0], other[:, :, 1]) for one, other in pairs]
        return mean_of_known(np.concatenate(taus, axis=1).T)

    within = mean_tau([(means_a, means_a), (means_b, means_b)])
    across = mean_tau([(means_a, means_b), (means_b, means_a)])
    return within, across


def across_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a granularity and metric over `pairs` of models; what carries best comes first."""
    found = _average(table, ["granularity", "metric", "title"], "pairs")
    return found.sort_values("across", ascending=False, kind="stable", ignore_index=True)


def across_by_pair(table: pd.DataFrame) -> pd.DataFrame:
    """One row a pair of models of a task, over `metrics`."""
    return _average(table, [*PAIR, "family"], "metrics")


def _average(table: pd.DataFrame, by: list[str], counted: str) -> pd.DataFrame:
    """Means by these columns, and counts.

    decided: rows with enough texts; differ: of these, those in which the models differ.
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


def draw_across(table: pd.DataFrame) -> Axes:
    """Pairs of models by metrics: tau-b of the two orders of methods, in hundredths.

    table: of `across_table`. Bold: models that differ; pale: too few texts to say.
    """
    part = table[table.granularity == "tokens"]
    if part.empty:
        return style.draw_nothing(
            "No two models of a task went before the same metric in this run."
        )
    style.use_style()
    pair = ["family", "task", "model_a", "model_b"]
    pairs = sorted(part.groupby(pair, sort=False).groups, key=lambda one: one[0] != TRANSFORMERS)
    names = [name for name in JOINT if name in set(part.metric)]
    wide = part.pivot(index=pair, columns="metric", values=["tau", "verdict"]).loc[pairs]
    verdicts = wide["verdict"][names].to_numpy()
    size = (0.5 * len(names) + 4.2, 0.25 * len(pairs) + 2.4)
    _, axes = plt.subplots(figsize=size, layout="constrained")
    colours = "RdBu"  # through white, which the colour-blind see
    titles = [JOINT[name].title for name in names]
    rows = [
        f"{style.task_title(task)}: {style.model_title(a)}, {style.model_title(b)}"
        for _, task, a, b in pairs
    ]
    pale = np.where(verdicts == TOO_FEW, 0.3, 1.0)
    taus = wide["tau"][names].to_numpy(float)
    style.heat_map(
        axes, taus, verdicts == DIFFER, colours, (-1, 1), 0.7, rows, titles, pale, turn=40
    )
    label = "rank correlation of methods, in hundredths"
    style.colour_bar(axes, colours, (-100, 100), label, shrink=0.6, pad=0.01)
    return axes


@sentence
def say_across(across: pd.DataFrame, by_metric: pd.DataFrame) -> str:
    """How often two models order the methods differently, and where an order carries best."""
    decided = across[across.verdict != TOO_FEW]
    best = highest(by_metric, "across")
    worst = lowest(by_metric, "across")
    return (
        f"Of {len(decided)} comparisons of two models by a metric that rest on enough texts, "
        f"{(decided.verdict == DIFFER).sum()} find another order of methods than chance "
        f"explains; orders carry best by {best.title} (rank correlation {best.across:.2f} across "
        f"models and {best.within:.2f} within one, on other texts) and worst by {worst.title} "
        f"({worst.across:.2f} and {worst.within:.2f})."
    )
