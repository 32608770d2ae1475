"""What each change of `variants` moves: means of the same texts, their differences, and the orders of methods.

Letters used for shapes: n texts, t twins, m methods, b the texts themselves and their draws, j worlds.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics import METRICS
from attreval.metrics.agreement import overlap_at_k
from attreval.metrics.rank_correlation import FEWEST, tau_b, true_means, true_tau_b
from compendium.config import BootstrapSpec
from compendium.papers.common.contrasts import about_median, drawn_means, exchange_names, mean_of_known, with_bounds
from compendium.papers.common.tables import mean_low_high, spell, table_of
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust
from compendium.papers.joint.standing import TOO_FEW
from compendium.papers.joint.variants import ACCURACY, MASKED, METHOD, PLAIN, READINGS, STARTS
from compendium.workflow.step import Step

CUTS = 200  # random ones of the texts in two halves
STABLE = 0.9  # mean overlap of the top tokens from which on an answer counts as standing still
PLACES = ("raw", "normalised")
CELL = ["task", "erased", "metric"]


@table_of("task model method k budget requested instances to_largest± between±")
def overlap_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a run, method and budget: overlap of the top tokens, with its interval over texts.

    to_largest: with what the same seed gives at the largest budget; between: of two seeds at this budget, NaN for a
    method that draws nothing.
    """
    settings, k = step.profile.bootstrap, step.profile.agreement.fixed_k
    for (task, model, method), part in values.groupby(["task", "model", "method"], sort=False):
        by = part.set_index(["budget", "seed", "instance"]).scores.to_dict()
        sizes, seeds, ids = (list(part[name].unique()) for name in ("budget", "seed", "instance"))
        counts = draw_counts(generator("budgets", task, model, method), len(ids), settings.draws)
        for size in sizes:
            ends = [[overlap_at_k(by[size, s, i], by[max(sizes), s, i], k) for s in seeds] for i in ids]
            pairs = [[overlap_at_k(by[size, a, i], by[size, b, i], k) for a, b in combinations(seeds, 2)] for i in ids]
            numbers = []
            for overlaps in (ends, pairs if pairs[0] else [[np.nan]] * len(ids)):
                of_text = np.mean(overlaps, axis=1)
                bounds = percentile_interval(counts @ of_text / len(ids), settings.confidence)
                numbers += [of_text.mean(), *map(float, bounds)]
            yield task, model, method, k, size, part[part.budget == size].requested.mean(), len(ids), *numbers


@table_of("task model method stable_from seeds_agree_from threshold")
def stability_table(overlaps: pd.DataFrame) -> Iterator[tuple]:
    """One row a run and method: the budgets from which on its top tokens overlap by STABLE, in words.

    stable_from: with those of the largest budget, which itself cannot tell; seeds_agree_from: those of two seeds.
    """
    for (task, model, method), part in overlaps.groupby(["task", "model", "method"], sort=False):
        part = part.sort_values("budget")
        sizes, stable, agree = (part[name].to_numpy() for name in ("budget", "to_largest", "between"))
        agree_from = _lasting(sizes, agree >= STABLE) if METHODS[method].stochastic else "draws nothing"
        yield task, model, method, _lasting(sizes, stable[:-1] >= STABLE), agree_from, STABLE


def _lasting(sizes: np.ndarray, holds: np.ndarray) -> str:
    """The first of rising sizes from which on something holds to the end, in words; else `more than` the largest."""
    lasting = np.logical_and.accumulate(holds[::-1])[::-1]
    return f"{sizes[: len(holds)][lasting][0]:,}" if lasting.any() else f"more than {sizes[-1]:,}"


@table_of("task model measure method least greatest texts told exact raw± normalised±")
def limits_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, model, measure and method: mean limits over texts, mean area as it is and between the limits.

    exact: the share of texts whose limits are those of all orders. told: texts whose limits are apart. Texts are drawn
    alike for all models of a task.
    """
    for cell, part in values.groupby(["task", "model", "measure"], sort=False):
        told = part[part.normalised.notna()].instance.nunique()
        of_texts = (part.least.mean(), part.greatest.mean(), part.instance.nunique(), told, part.exact.mean())
        drawn = _drawn_places(part, step.profile.bootstrap)
        for method in drawn["raw"]:
            numbers = [with_bounds(of[method], step.profile.bootstrap.confidence) for of in drawn.values()]
            yield *cell, method, *of_texts, *np.ravel(numbers)


@table_of("task model measure methods tau low high")
def methods_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, model and measure: how alike raw and normalised means rank methods (tau-b), but random."""
    for cell, part in values[values.method != "random"].groupby(["task", "model", "measure"], sort=False):
        raw, placed = (np.stack([*of.values()], axis=1) for of in _drawn_places(part, step.profile.bootstrap).values())
        drawn = np.stack([raw, placed], axis=-1)
        taus = true_tau_b(drawn[0], drawn[1:], generator("limits of true means", *cell))
        yield *cell, raw.shape[1], *about_median(taus, step.profile.bootstrap.confidence)


@table_of("task measure method model_a model_b raw± normalised± turned")
def models_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, measure, method and pair of models: the difference of their means, raw and normalised.

    turned: whether the two name different models as more faithful; `surely` where both intervals leave out zero.
    """
    settings = step.profile.bootstrap
    for (task, measure), part in values.groupby(["task", "measure"], sort=False):
        drawn = {model: _drawn_places(of, settings) for model, of in part.groupby("model", sort=False)}
        for a, b in combinations(drawn, 2):
            for method in (m for m in drawn[a]["raw"] if m in drawn[b]["raw"]):
                gaps = [drawn[a][name][method] - drawn[b][name][method] for name in PLACES]
                raw, placed = (with_bounds(gap, settings.confidence) for gap in gaps)
                sure = raw[1] * raw[2] > 0 and placed[1] * placed[2] > 0
                turned = ("surely" if sure else "turned") if raw[0] * placed[0] < 0 else ""
                yield task, measure, method, a, b, *raw, *placed, turned


def turned_table(models: pd.DataFrame) -> pd.DataFrame:
    """One row a task, measure and pair of models: for how many methods the normalised means name the other model."""
    known = models.assign(any_turned=models.turned != "", sure=models.turned == "surely")
    by = known.groupby(["task", "measure", "model_a", "model_b"], sort=False)
    return by.agg(methods=("method", "size"), turned=("any_turned", "sum"), surely=("sure", "sum")).reset_index()


def _drawn_places(part: pd.DataFrame, settings: BootstrapSpec) -> dict[str, dict[str, np.ndarray]]:
    """Of PLACES, by method, the (b,) means over texts."""
    out = {}
    for name in PLACES:
        wide = part.pivot(index="instance", columns="method", values=name)[part.method.unique()]
        drawn = drawn_means(wide.to_numpy(), settings.draws, "limits", part.task.iloc[0])
        out[name] = dict(zip(wide, drawn.T, strict=True))
    return out


@table_of("task model metric title baseline mean low high difference± moves texts")
def baselines_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, metric and baseline: the mean, and whether and how far it moves from that of padding."""
    for (task, model, metric), part in values.groupby(["task", "model", "metric"], sort=False):
        by = part.pivot(index="instance", columns="baseline", values="value").dropna()
        title = METRICS[metric].title if metric in METRICS else "Missed of the sum owed"
        for start in STARTS if len(by) else ():
            both = (by[start], by[start] - by["pad"])
            own, moved = (mean_low_high(numbers, step.profile.bootstrap, METHOD, task) for numbers in both)
            yield task, model, metric, title, start, *own, *moved, bool(np.prod(moved[1:]) > 0), len(by)


def accuracy_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task and reading of its texts: mean accuracy of plain and of masked twins, and the difference."""
    found = _compared(values[values.metric == ACCURACY], step).rename(columns={"erased": "reading"})
    found = found.sort_values("reading", key=lambda names: names.map(READINGS.index), kind="stable", ignore_index=True)
    return found.drop(columns=["metric", "method"])


def values_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, way to erase, metric and method: the mean of plain and of masked twins, and the difference."""
    found = _compared(values[values.metric != ACCURACY], step)
    found.insert(3, "title", [METRICS[metric].title for metric in found.metric])
    return found.drop(columns="models")


@table_of(f"task erased metric method models texts {PLAIN}± {MASKED}± difference±")
def _compared(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, way to erase, metric and method: the mean of plain and of masked twins, and the difference."""
    settings = step.profile.bootstrap
    for cell, methods, masked, array in _cells(values):
        drawn = drawn_means(array, settings.draws, "twins", cell[0])
        plain, other = drawn[:, ~masked].mean(axis=1), drawn[:, masked].mean(axis=1)
        for at, method in enumerate(methods):
            of_method = (plain[:, at], other[:, at], (other - plain)[:, at])
            numbers = np.ravel([with_bounds(some, settings.confidence) for some in of_method])
            yield *cell, method, len(masked), len(array), *numbers


def moves_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, way to erase and metric: how far it moves, and the ranking of methods by it, with masking.

    A ranking is not the same twice: not on other texts, nor of a model of another seed. shift: masked less plain, mean
    over methods. across: rank correlation of methods between a plain and a masked twin; within: between two of a kind;
    lost: the second less the first. halves_within, halves_across: the same between two halves of the texts. p: share
    of worlds with exchanged models that lose as much (where no kind has two twins: whose `across` is as low),
    by_chance: their mean; q: p over all rows. verdict: `moves` where that is rare. Random scores are left out.
    """
    settings, rows = step.profile.bootstrap, []
    for cell, methods, masked, every in _cells(values[values.metric != ACCURACY]):
        array = every[:, :, [m != "random" for m in methods]]
        if array.shape[2] < FEWEST:
            continue
        drawn = drawn_means(array, settings.draws, "twins", cell[0])
        shift = (drawn[:, masked].mean(axis=1) - drawn[:, ~masked].mean(axis=1)).mean(axis=1)
        orders = true_means(drawn[0].T, drawn[1:].mT, generator("twins of true means", *cell)).mT
        found = rank_correlations(orders, orders, masked)
        row = [*cell, METRICS[cell[2]].title, *array.shape[1:], len(array)]
        row += with_bounds(shift, settings.confidence)
        row += [number for one in found for number in about_median(one, settings.confidence)]
        row += halves(array, masked, generator("twins halved", *cell))
        worlds = exchange_names(array, settings.nulls, generator("twins exchanged", *cell)).mean(axis=1)
        (across,), _, (lost,) = rank_correlations(drawn[:1], drawn[:1], masked)
        low, _, losses = rank_correlations(worlds, worlds, masked)
        chance, ours, found = (-low, -across, low) if np.isnan(lost) else (losses, lost, losses)
        p = (1 + int((chance >= ours - 1e-12).sum())) / (1 + len(chance))
        rows.append((*row, float(mean_of_known(found)), p))
    columns = "title models methods texts shift± across± within± lost± halves_within halves_across by_chance p"
    table = pd.DataFrame(rows, columns=[*CELL, *spell(columns)])
    table["q"] = adjust(table.p.to_numpy())
    said = np.where(table.q <= 1 - settings.confidence + 1e-12, "moves", "no more than by chance")
    return table.assign(verdict=np.where(table.texts < LEAST_TEXTS, TOO_FEW, said))


def rank_correlations(one: np.ndarray, other: np.ndarray, masked: np.ndarray) -> tuple[np.ndarray, ...]:
    """(b,) across, within and lost: mean tau-b of the methods' (b, t, m) means, of twins of two kinds and of one.

    one, other: means over the same texts, or over two halves of them. NaN for `within` where no kind has two twins.
    """
    pairs = list(combinations(range(len(masked)), 2))
    taus = np.stack([(tau_b(one[:, i], other[:, k]) + tau_b(one[:, k], other[:, i])) / 2 for i, k in pairs])
    apart = np.array([masked[i] != masked[k] for i, k in pairs])
    across = mean_of_known(taus[apart])
    within = mean_of_known(taus[~apart]) if (~apart).any() else np.full(len(one), np.nan)
    return across, within, within - across


def halves(array: np.ndarray, masked: np.ndarray, rng: np.random.Generator, cuts: int = CUTS) -> tuple[float, float]:
    """(within, across) mean tau-b between two random halves of (n, t, m) texts: of one model, and of two kinds."""
    half = len(array) // 2
    if not half:
        return float("nan"), float("nan")
    cut = np.stack([rng.permutation(len(array))[: 2 * half] for _ in range(cuts)])
    one, other = (array[part].mean(axis=1) for part in (cut[:, :half], cut[:, half:]))  # (cuts, t, m)
    own = mean_of_known(tau_b(one, other).ravel())
    return float(own), float(mean_of_known(rank_correlations(one, other, masked)[0]))


def _cells(values: pd.DataFrame) -> Iterator[tuple[tuple, list[str], np.ndarray, np.ndarray]]:
    """(task, way to erase, metric), methods, (t,) whether a twin is masked, (n, t, m) values of texts that all have."""
    for cell, part in values.groupby(CELL, sort=False):
        methods, twins = list(part.method.unique()), part.drop_duplicates(["role", "model"])
        wide = part.pivot(index="instance", columns=["model", "method"], values="value")
        wide = wide[[(model, m) for model in twins.model for m in methods]].dropna()
        if len(wide):
            yield cell, methods, (twins.role == MASKED).to_numpy(), wide.to_numpy().reshape(len(wide), len(twins), -1)
