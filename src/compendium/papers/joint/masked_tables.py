"""How far measures of erasure, and rankings of methods by them, move when models have learned from masked texts.

A ranking is not the same twice: not on other texts, nor of a model of another seed. So rank correlations of plain and
masked twins stand beside those of twins of one kind, those of two halves of the texts, and those of worlds in which the
models are exchanged at random in each text. Random scores are left out of rankings.
Letters used for shapes: n texts, t twins, m methods, b the texts themselves and their draws, j worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import FEWEST, tau_b
from compendium.papers.common.resampling import exchange_names, mean_of_known, means
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust
from compendium.papers.joint.across_models import TOO_FEW
from compendium.papers.joint.masked import READINGS, ROLES
from compendium.workflow.step import Step

CUTS = 200  # random ones of the texts in two halves
CELL = ["task", "erased", "metric"]
ENDS = ("", "_low", "_high")
COMPARED = [f"{name}{end}" for name in (*ROLES, "difference") for end in ENDS]
MOVED = [f"{name}{end}" for name in ("shift", "across", "within", "lost") for end in ENDS]


def accuracy_table(tested: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task and reading of its texts: mean accuracy of plain and of masked twins, and the difference."""
    rows = []
    for reading in READINGS:
        for task, part in tested[tested.reading == reading].groupby("task", sort=False):
            wide = part.pivot(index="instance", columns=["role", "model"], values="correct")
            masked = wide.columns.get_level_values("role") == "masked"
            compared = _compare(wide.to_numpy()[:, :, None], masked, task, step)[0]
            rows.append((task, reading, wide.shape[1], len(wide), *compared))
    return pd.DataFrame(rows, columns=["task", "reading", "models", "texts", *COMPARED])


def values_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, way to erase, metric and method: the mean of plain and of masked twins, and the difference."""
    rows = []
    for cell, methods, masked, array in _cells(values):
        compared = _compare(array, masked, cell[0], step)
        title = METRICS[cell[2]].title
        rows += [(*cell, title, m, len(array), *row) for m, row in zip(methods, compared, strict=True)]
    return pd.DataFrame(rows, columns=[*CELL, "title", "method", "texts", *COMPARED])


def moves_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, way to erase and metric: how far it moves, and the ranking of methods by it, with masking.

    shift: masked less plain, mean over methods. across: rank correlation of methods between a plain and a masked twin;
    within: between two of a kind; lost: the second less the first. halves_within, halves_across: the same between two
    halves of the texts. p: share of worlds with exchanged models that lose as much (where no kind has two twins: whose
    `across` is as low), by_chance: their mean; q: p over all rows. verdict: `moves` where that is rare.
    """
    settings, rows = step.profile.bootstrap, []
    for cell, methods, masked, every in _cells(values):
        array = every[:, :, [m != "random" for m in methods]]
        if array.shape[2] < FEWEST:
            continue
        drawn = _drawn(array, cell[0], step)
        row = [*cell, METRICS[cell[2]].title, array.shape[1], array.shape[2], len(array)]
        shift = (drawn[:, masked].mean(axis=1) - drawn[:, ~masked].mean(axis=1)).mean(axis=1)
        for numbers in (shift, *rank_correlations(drawn, drawn, masked)):
            row += [float(numbers[0]), *_interval(numbers[1:], step)]
        row += [*halves(array, masked, generator("twins halved", *cell))]
        worlds = exchange_names(array, settings.nulls, generator("twins exchanged", *cell)).mean(axis=1)
        rows.append((*row, *_by_chance(rank_correlations(drawn[:1], drawn[:1], masked), worlds, masked)))
    counts = ["title", "models", "methods", "texts"]
    table = pd.DataFrame(rows, columns=[*CELL, *counts, *MOVED, "halves_within", "halves_across", "by_chance", "p"])
    table["q"] = adjust(table.p.to_numpy())
    said = np.where(table.q <= 1 - settings.confidence + 1e-12, "moves", "no more than by chance")
    return table.assign(verdict=np.where(table.texts < LEAST_TEXTS, TOO_FEW, said))


def rank_correlations(one: np.ndarray, other: np.ndarray, masked: np.ndarray) -> tuple[np.ndarray, ...]:
    """(b,) across, within and lost: mean tau-b of the methods' (b, t, m) means, of twins of two kinds and of one.

    one, other: means over the same texts, or over two halves of them. NaN for `within` where no kind has two twins.
    """
    pairs = list(combinations(range(len(masked)), 2))
    taus = [(tau_b(one[:, i], other[:, k]) + tau_b(one[:, k], other[:, i])) / 2 for i, k in pairs]
    apart = np.array([masked[i] != masked[k] for i, k in pairs])
    found = np.stack(taus)
    across = mean_of_known(found[apart])
    within = mean_of_known(found[~apart]) if (~apart).any() else np.full(len(one), np.nan)
    return across, within, within - across


def halves(array: np.ndarray, masked: np.ndarray, rng: np.random.Generator, cuts: int = CUTS) -> tuple[float, float]:
    """(within, across) mean tau-b between two random halves of (n, t, m) texts: of one model, and of two kinds.

    Of an odd number one text is left out. NaN for fewer than two.
    """
    half = len(array) // 2
    if not half:
        return float("nan"), float("nan")
    cut = np.stack([rng.permutation(len(array))[: 2 * half] for _ in range(cuts)])
    one, other = (array[part].mean(axis=1) for part in (cut[:, :half], cut[:, half:]))  # (cuts, t, m)
    own = mean_of_known(tau_b(one, other).ravel())
    return float(own), float(mean_of_known(rank_correlations(one, other, masked)[0]))


def _by_chance(found: tuple[np.ndarray, ...], worlds: np.ndarray, masked: np.ndarray) -> tuple[float, float]:
    """(mean of the exchanged worlds, p): of what is lost, or of low correlations where no kind has two twins."""
    across, _, lost = (numbers[0] for numbers in found)
    of_worlds = rank_correlations(worlds, worlds, masked)
    chance, ours = (-of_worlds[0], -across) if np.isnan(lost) else (of_worlds[2], lost)
    p = (1 + int((chance >= ours - 1e-12).sum())) / (1 + len(chance))
    return float(mean_of_known(of_worlds[0 if np.isnan(lost) else 2])), p


def _cells(values: pd.DataFrame) -> Iterator[tuple[tuple, list[str], np.ndarray, np.ndarray]]:
    """(task, way to erase, metric), methods, (t,) whether a twin is masked, (n, t, m) values of texts that all have."""
    for cell, part in values.groupby(CELL, sort=False):
        methods, twins = list(dict.fromkeys(part.method)), part.drop_duplicates(["role", "model"])
        wide = part.pivot(index="instance", columns=["model", "method"], values="value")
        wide = wide[[(model, m) for model in twins.model for m in methods]].dropna()
        if len(wide):
            yield cell, methods, (twins.role == "masked").to_numpy(), wide.to_numpy().reshape(len(wide), len(twins), -1)


def _compare(array: np.ndarray, masked: np.ndarray, task: str, step: Step) -> list[list[float]]:
    """(m, COMPARED) of (n, t, m) values."""
    drawn = _drawn(array, task, step)
    plain, other = drawn[:, ~masked].mean(axis=1), drawn[:, masked].mean(axis=1)
    every = np.stack([plain, other, other - plain], axis=1)  # (b, 3, m)
    low, high = percentile_interval(every[1:], step.profile.bootstrap.confidence)
    return np.stack([every[0], low, high]).transpose(2, 1, 0).reshape(array.shape[2], -1).tolist()


def _drawn(array: np.ndarray, task: str, step: Step) -> np.ndarray:
    """(b, t, m) means over texts, the same draws for all that has as many texts of a task."""
    counts = draw_counts(generator("twins", task), len(array), step.profile.bootstrap.draws)
    weights = np.concatenate([np.ones((1, len(array))), counts])
    return means(weights, array.reshape(len(array), -1)).reshape(-1, *array.shape[1:])


def _interval(drawn: np.ndarray, step: Step) -> list[float]:
    """The lower and upper bound of drawn numbers."""
    return [float(bound) for bound in percentile_interval(drawn, step.profile.bootstrap.confidence)]
