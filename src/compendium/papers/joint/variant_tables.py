"""What each change of `variants` moves: means of the same texts, their differences, and the orders
of methods.

Letters used for shapes: n texts, t twins, m methods, b the texts themselves and their draws, j
worlds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, compress
from typing import NamedTuple

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics import METRICS
from attreval.metrics.agreement import overlap_at_k
from attreval.metrics.rank_correlation import FEWEST, tau_b, true_means, true_tau_b
from compendium.config import BootstrapSpec
from compendium.papers.common.contrasts import (
    about_median,
    drawn_means,
    exchange_columns,
    mean_of_known,
    with_bounds,
)
from compendium.papers.common.tables import mean_low_high, spell, table_of
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust
from compendium.papers.joint.standing import TOO_FEW
from compendium.papers.joint.variants import ACCURACY, MASKED, METHOD, PLAIN, READINGS, STARTS
from compendium.workflow.step import Step

CUTS = 200  # random ones of the texts in two halves
STABLE = 0.9  # mean overlap of the top tokens from which on an answer counts as standing still
CELL = ["task", "erased", "metric"]


@table_of("task model method k budget requested instances to_largest± between±")
def overlap_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a run, method and budget: overlap of the top tokens, with its interval over texts.

    to_largest: with what the same seed gives at the largest budget; between: of two seeds at this
    budget, NaN for a method that draws nothing.
    """
    settings = step.profile.bootstrap
    k = step.profile.agreement.fixed_k
    for run, part in values.groupby(["task", "model", "method"], sort=False):
        scores = part.set_index(["budget", "seed", "instance"]).scores.to_dict()
        seeds = part.seed.unique()
        texts = part.instance.unique()
        counts = draw_counts(generator("budgets", *run), len(texts), settings.draws)
        largest = part.budget.max()
        for size in part.budget.unique():
            to_largest = [((size, seed), (largest, seed)) for seed in seeds]
            between = [((size, one), (size, other)) for one, other in combinations(seeds, 2)]
            numbers = []
            for pairs in (to_largest, between):
                of_text = np.full(len(texts), np.nan)
                for at, text in enumerate(texts if pairs else ()):
                    overlaps = [
                        overlap_at_k(scores[*a, text], scores[*b, text], k) for a, b in pairs
                    ]
                    of_text[at] = np.mean(overlaps)
                bounds = percentile_interval(counts @ of_text / len(texts), settings.confidence)
                numbers += [of_text.mean(), *map(float, bounds)]
            yield *run, k, size, part[part.budget == size].requested.mean(), len(texts), *numbers


@table_of("task model method stable_from seeds_agree_from threshold")
def stability_table(overlaps: pd.DataFrame) -> Iterator[tuple]:
    """One row a run and method: the budgets from which on its top tokens overlap by STABLE, in
    words.

    stable_from: with those of the largest budget, which itself cannot tell; seeds_agree_from: those
        of two seeds.
    """
    for (task, model, method), part in overlaps.groupby(["task", "model", "method"], sort=False):
        part = part.sort_values("budget")
        sizes = part.budget.to_numpy()
        stable_from = _lasting(sizes, part.to_largest.to_numpy()[:-1] >= STABLE)
        agree_from = "draws nothing"
        if METHODS[method].stochastic:
            agree_from = _lasting(sizes, part.between.to_numpy() >= STABLE)
        yield task, model, method, stable_from, agree_from, STABLE


def _lasting(sizes: np.ndarray, holds: np.ndarray) -> str:
    """The first of rising sizes from which on something holds to the end, in words; else `more
    than` the largest.
    """
    lasting = np.logical_and.accumulate(holds[::-1])[::-1]
    return f"{sizes[: len(holds)][lasting][0]:,}" if lasting.any() else f"more than {sizes[-1]:,}"


@table_of("task model measure method least greatest texts told exact raw± normalised±")
def limits_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, model, measure and method: mean limits over texts, mean area as it is and
    between the limits.

    exact: the share of texts whose limits are those of all orders. told: texts whose limits are
    apart. Texts are drawn alike for all models of a task.
    """
    settings = step.profile.bootstrap
    for cell, part in values.groupby(["task", "model", "measure"], sort=False):
        texts = part.instance.nunique()
        told = part[part.normalised.notna()].instance.nunique()
        means = part[["least", "greatest", "exact"]].mean()
        raw, placed = _drawn_places(part, settings)
        for method in raw:
            of_raw = with_bounds(raw[method].to_numpy(), settings.confidence)
            of_placed = with_bounds(placed[method].to_numpy(), settings.confidence)
            yield (
                *cell,
                method,
                means.least,
                means.greatest,
                texts,
                told,
                means.exact,
                *of_raw,
                *of_placed,
            )


@table_of("task model measure methods tau low high")
def methods_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, model and measure: how alike raw and normalised means rank methods (tau-b),
    random left out.
    """
    settings = step.profile.bootstrap
    for cell, part in values[values.method != "random"].groupby(
        ["task", "model", "measure"], sort=False
    ):
        drawn = np.stack([places.to_numpy() for places in _drawn_places(part, settings)], axis=-1)
        taus = true_tau_b(drawn[0], drawn[1:], generator("limits of true means", *cell))
        yield *cell, drawn.shape[1], *about_median(taus, settings.confidence)


@table_of("task measure method model_a model_b raw± normalised± turned")
def models_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, measure, method and pair of models: the difference of their means, raw and
    normalised.

    turned: whether the two name different models as more faithful; `surely` where both intervals
        leave out zero.
    """
    settings = step.profile.bootstrap
    for cell, part in values.groupby(["task", "measure"], sort=False):
        drawn = {
            model: _drawn_places(of, settings) for model, of in part.groupby("model", sort=False)
        }
        for a, b in combinations(drawn, 2):
            raw_gap = drawn[a].raw - drawn[b].raw
            placed_gap = drawn[a].normalised - drawn[b].normalised
            for method in (method for method in drawn[a].raw if method in drawn[b].raw):
                raw = with_bounds(raw_gap[method].to_numpy(), settings.confidence)
                placed = with_bounds(placed_gap[method].to_numpy(), settings.confidence)
                turned = ""
                if raw[0] * placed[0] < 0:
                    sure = raw[1] * raw[2] > 0 and placed[1] * placed[2] > 0
                    turned = "surely" if sure else "turned"
                yield *cell, method, a, b, *raw, *placed, turned


def turned_table(models: pd.DataFrame) -> pd.DataFrame:
    """One row a task, measure and pair of models: for how many methods the normalised means name
    the other model.
    """
    known = models.assign(any_turned=models.turned != "", sure=models.turned == "surely")
    by = known.groupby(["task", "measure", "model_a", "model_b"], sort=False)
    return by.agg(
        methods=("method", "size"), turned=("any_turned", "sum"), surely=("sure", "sum")
    ).reset_index()


class Places(NamedTuple):
    """Means over texts, as they are and between the limits: a row the texts themselves or a draw, a
    column a method.
    """

    raw: pd.DataFrame
    normalised: pd.DataFrame


def _drawn_places(part: pd.DataFrame, settings: BootstrapSpec) -> Places:
    """The means of one task's texts; the draws derive from the task."""
    out = []
    for name in Places._fields:
        wide = part.pivot(index="instance", columns="method", values=name)[part.method.unique()]
        drawn = drawn_means(wide.to_numpy(), settings.draws, "limits", part.task.iloc[0])
        out.append(pd.DataFrame(drawn, columns=wide.columns))
    return Places(*out)


@table_of("task model metric title baseline mean low high difference± moves texts")
def baselines_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, metric and baseline: the mean, and whether and how far it moves from that of
    padding.
    """
    settings = step.profile.bootstrap
    for (task, model, metric), part in values.groupby(["task", "model", "metric"], sort=False):
        by = part.pivot(index="instance", columns="baseline", values="value").dropna()
        title = METRICS[metric].title if metric in METRICS else "Missed of the sum owed"
        for start in STARTS if len(by) else ():
            own = mean_low_high(by[start], settings, METHOD, task)
            moved = mean_low_high(by[start] - by["pad"], settings, METHOD, task)
            moves = bool(moved[1] * moved[2] > 0)
            yield task, model, metric, title, start, *own, *moved, moves, len(by)


@dataclass(frozen=True)
class Twins:
    """values: (n, t, m) of texts that all twins have; masked: (t,) whether a twin is; methods:
    their names.
    """

    methods: list[str]
    masked: np.ndarray
    values: np.ndarray

    def by_kind(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(b, m) of (b, t, m): the mean of plain twins, and that of masked ones."""
        return means[:, ~self.masked].mean(axis=1), means[:, self.masked].mean(axis=1)

    def without_random(self) -> "Twins":
        """The same but for random scores."""
        others = [method != "random" for method in self.methods]
        return Twins(list(compress(self.methods, others)), self.masked, self.values[:, :, others])


def accuracy_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task and reading of its texts: mean accuracy of plain and of masked twins, and the
    difference.
    """
    found = _compared(values[values.metric == ACCURACY], step).rename(columns={"erased": "reading"})
    found = found.sort_values(
        "reading", key=lambda names: names.map(READINGS.index), kind="stable", ignore_index=True
    )
    return found.drop(columns=["metric", "method"])


def values_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, way to erase, metric and method: the mean of plain and of masked twins, and
    the difference.
    """
    found = _compared(values[values.metric != ACCURACY], step)
    found.insert(3, "title", [METRICS[metric].title for metric in found.metric])
    return found.drop(columns="models")


@table_of(f"task erased metric method models texts {PLAIN}± {MASKED}± difference±")
def _compared(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, way to erase, metric and method: the mean of plain and of masked twins, and
    the difference.
    """
    settings = step.profile.bootstrap
    for cell, twins in _cells(values):
        plain, masked = twins.by_kind(drawn_means(twins.values, settings.draws, "twins", cell[0]))
        for at, method in enumerate(twins.methods):
            numbers = []
            for means in (plain, masked, masked - plain):
                numbers += with_bounds(means[:, at], settings.confidence)
            yield *cell, method, len(twins.masked), len(twins.values), *numbers


MOVES = (
    "title models methods texts shift± across± within± lost± halves_within halves_across "
    "by_chance p"
)


def moves_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, way to erase and metric: how far it moves, and the ranking of methods by it,
    with masking.

    A ranking is not the same twice: not on other texts, nor of a model of another seed. shift:
    masked less plain, mean over methods. across: rank correlation of methods between a plain and a
    masked twin; within: between two of a kind;
    lost: the second less the first. halves_within, halves_across: the same between two halves of
    the texts. p: share of worlds with exchanged models that lose as much (where no kind has two
    twins: whose `across` is as low), by_chance: their mean; q: p over all rows. verdict: `moves`
    where that is rare. Random scores
        are left out.
    """
    settings = step.profile.bootstrap
    rows = []
    for cell, every in _cells(values[values.metric != ACCURACY]):
        twins = every.without_random()
        if len(twins.methods) < FEWEST:
            continue
        drawn = drawn_means(twins.values, settings.draws, "twins", cell[0])
        plain, masked = twins.by_kind(drawn)
        shift = (masked - plain).mean(axis=1)
        orders = true_means(drawn[0].T, drawn[1:].mT, generator("twins of true means", *cell)).mT
        found = rank_correlations(orders, orders, twins.masked)
        texts, models, methods = twins.values.shape
        row = [*cell, METRICS[cell[2]].title, models, methods, texts]
        row += with_bounds(shift, settings.confidence)
        for numbers in found:
            row += about_median(numbers, settings.confidence)
        row += halves(twins.values, twins.masked, generator("twins halved", *cell))
        row += _by_chance(drawn[:1], twins, settings.nulls, generator("twins exchanged", *cell))
        rows.append(row)
    table = pd.DataFrame(rows, columns=[*CELL, *spell(MOVES)])
    table["q"] = adjust(table.p.to_numpy())
    said = np.where(table.q <= 1 - settings.confidence + 1e-12, "moves", "no more than by chance")
    return table.assign(verdict=np.where(table.texts < LEAST_TEXTS, TOO_FEW, said))


def _by_chance(
    means: np.ndarray, twins: Twins, worlds: int, rng: np.random.Generator
) -> tuple[float, float]:
    """What worlds with exchanged models lose on average, or have across, and p; means: (1, t, m) of
    the twins.
    """
    exchanged = exchange_columns(twins.values, worlds, rng).mean(axis=1)
    across, _, lost = rank_correlations(exchanged, exchanged, twins.masked)
    (own,), _, (own_lost,) = rank_correlations(means, means, twins.masked)
    as_much = lost >= own_lost - 1e-12
    told = lost
    if np.isnan(own_lost):
        as_much = -across >= -own - 1e-12
        told = across
    p = (1 + int(as_much.sum())) / (1 + len(as_much))
    return float(mean_of_known(told)), p


def rank_correlations(
    one: np.ndarray, other: np.ndarray, masked: np.ndarray
) -> tuple[np.ndarray, ...]:
    """(b,) across, within and lost: mean tau-b of the methods' (b, t, m) means, of twins of two
    kinds and of one.

    one, other: means over the same texts, or over two halves of them. NaN for `within` where no
        kind has two twins.
    """
    apart = []
    alike = [np.full(len(one), np.nan)]
    for i, k in combinations(range(len(masked)), 2):
        forth = tau_b(one[:, i], other[:, k])
        back = tau_b(one[:, k], other[:, i])
        (alike if masked[i] == masked[k] else apart).append((forth + back) / 2)
    across = mean_of_known(np.stack(apart))
    within = mean_of_known(np.stack(alike))
    return across, within, within - across


def halves(array: np.ndarray, masked: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """(within, across) mean tau-b between two random halves of (n, t, m) texts: of one model, and
    of two kinds.
    """
    half = len(array) // 2
    if not half:
        return float("nan"), float("nan")
    orders = np.stack([rng.permutation(len(array)) for _ in range(CUTS)])
    one = array[orders[:, :half]].mean(axis=1)  # (cuts, t, m)
    other = array[orders[:, half : 2 * half]].mean(axis=1)
    within = mean_of_known(tau_b(one, other).ravel())
    across = mean_of_known(rank_correlations(one, other, masked)[0])
    return float(within), float(across)


def _cells(values: pd.DataFrame) -> Iterator[tuple[tuple, Twins]]:
    """(task, way to erase, metric), and what the twins have there."""
    for cell, part in values.groupby(CELL, sort=False):
        methods = list(part.method.unique())
        twins = part.drop_duplicates(["role", "model"])
        wide = part.pivot(index="instance", columns=["model", "method"], values="value")
        wide = wide[[(model, method) for model in twins.model for method in methods]].dropna()
        if len(wide):
            array = wide.to_numpy().reshape(len(wide), len(twins), len(methods))
            yield cell, Twins(methods, (twins.role == MASKED).to_numpy(), array)
