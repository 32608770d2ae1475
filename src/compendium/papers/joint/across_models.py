"""Does the order of methods carry from one model to another? Two models of a task, before the same metric and texts.

An order is not the same twice, not even of one model. So two models are compared on two halves of the texts, and beside
that stands what each gives with itself there. What is lost between the two is 0 on average where models do not differ;
how much chance makes of it is seen where the models are exchanged at random in each text. Random scores are left out.
Letters used for shapes: n texts, m methods, c cuts of the texts into halves, j worlds, b the texts and their draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics.rank_correlation import FEWEST, TIED, tau_b, true_tau_b
from compendium.papers.common.resampling import about_median, drawn_means, mean_of_known
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust
from compendium.papers.joint.correlations import JointScores
from compendium.papers.joint.standing import family_of
from compendium.papers.joint.values import JOINT

CUTS = 10  # of texts into halves
WORLDS = 999  # in which two models are exchanged
PAIR = ["task", "granularity", "model_a", "model_b"]
FOUND = ["methods", "texts", "tau", "low", "high", "within", "across", "lost", "p"]
DIFFER, BY_CHANCE, TOO_FEW = "differ", "no more than by chance", "too few texts"  # what two models may be found to do
MIXED = "one of each"  # family of a pair whose models are of two


def across_table(
    scores: JointScores, models: Mapping, draws: int, confidence: float, worlds: int = WORLDS
) -> pd.DataFrame:
    """One row a task, two of its models and a metric: how alike they order the methods, on texts that both have.

    models: name -> config.ModelSpec. tau: rank correlation (tau-b) of the two orders; low, high: of drawn texts.
    within, across: of one model and of two, on two halves of the texts; lost: the first less the second; p: how often
    exchanged models lose as much; q: over all rows. verdict: DIFFER, BY_CHANCE or TOO_FEW.
    """
    rows, values = [], scores.values[scores.values.method != "random"]
    for (task, granularity, metric), part in values.groupby(["task", "granularity", "metric"], sort=False):
        for a, b in combinations(dict.fromkeys(part.model), 2):
            methods, array = _same_texts(part, a, b)
            if len(methods) < FEWEST:
                continue
            drawn = drawn_means(array, draws, "across models", task)
            rng = generator("true means", task, granularity, metric, a, b)
            tau = about_median(true_tau_b(drawn[0].T, drawn[1:].mT, rng), confidence)
            chance = lost_between(array, worlds, generator("models exchanged", task, granularity, metric, a, b))
            families = {family_of(models[name]) for name in (a, b)}
            family = families.pop() if len(families) == 1 else MIXED
            about = (task, granularity, a, b, family, metric, JOINT[metric].title, len(methods), len(array))
            rows.append((*about, *tau, *chance))
    table = pd.DataFrame(rows, columns=[*PAIR, "family", "metric", "title", *FOUND]).dropna(subset="tau")
    table["q"] = adjust(table.p.to_numpy())
    said = np.where(table.q <= 1 - confidence + 1e-12, DIFFER, BY_CHANCE)
    return table.assign(verdict=np.where(table.texts < LEAST_TEXTS, TOO_FEW, said)).reset_index(drop=True)


def across_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a granularity and metric, means over pairs of models: the metric first whose orders carry best.

    pairs: how many there are; decided: of these with enough texts; differ: of these that differ.
    """
    found = _summary(table, ["granularity", "metric", "title"]).rename(columns={"rows": "pairs"})
    return found.sort_values("across", ascending=False, kind="stable").reset_index(drop=True)


def across_by_pair(table: pd.DataFrame) -> pd.DataFrame:
    """One row a pair of models of a task, means over metrics: how many there are, decided and different."""
    return _summary(table, [*PAIR, "family"]).rename(columns={"rows": "metrics"})


def lost_between(array: np.ndarray, worlds: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """(within, across, lost, p) of (n, 2, m) values of two models; see `across_table`. NaN for a single text."""
    if len(array) < 2:
        return (float("nan"),) * 4
    halves = cut_texts(len(array), rng)
    signs = np.where(rng.random((worlds, len(array))) < 0.5, -1.0, 1.0)
    within, across = halved(array, halves, np.concatenate([np.ones((1, len(array))), signs]))
    lost = within - across
    known = lost[~np.isnan(lost)]
    p = float((known >= lost[0] - TIED).mean()) if not np.isnan(lost[0]) else float("nan")
    return float(within[0]), float(across[0]), float(lost[0]), p


def cut_texts(n: int, rng: np.random.Generator) -> np.ndarray:
    """(c, 2, n) weights of texts in two random halves, each adding up to 1; of an odd number one text is left out."""
    half, weights = n // 2, np.zeros((CUTS, 2, n))
    for cut in weights:
        order = rng.permutation(n)
        cut[0, order[:half]] = cut[1, order[half : 2 * half]] = 1 / half
    return weights


def halved(array: np.ndarray, halves: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(j,) mean tau-b within a model and across two, between halves of texts, over cuts.

    array: (n, 2, m) values; halves: of `cut_texts`; signs: (j, n), -1 where the two models are exchanged in a text.
    """
    shared, apart = array.mean(axis=1), (array[:, 0] - array[:, 1]) / 2
    flat = halves.reshape(-1, len(array))  # (2c, n)
    middle = (flat @ shared).reshape(*halves.shape[:2], -1)  # (c, 2, m)
    moved = ((signs[:, None] * flat).reshape(-1, len(array)) @ apart).reshape(len(signs), *middle.shape)
    first, second = middle + moved, middle - moved  # (j, c, 2, m) of the one model, and of the other
    within = [tau_b(model[:, :, 0], model[:, :, 1]) for model in (first, second)]
    across = [tau_b(first[:, :, 0], second[:, :, 1]), tau_b(second[:, :, 0], first[:, :, 1])]
    return tuple(mean_of_known(np.concatenate(taus, axis=1).T) for taus in (within, across))


def _summary(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Means of what was found, and counts of verdicts, by these columns."""
    marked = table.assign(differ=table.verdict == DIFFER, decided=table.verdict != TOO_FEW)
    groups = marked.groupby(by, sort=False)
    found = groups[["tau", "within", "across", "lost"]].mean()
    found = found.join(groups.tau.agg(lowest="min", highest="max")).join(groups.texts.min())
    return found.join(groups[["decided", "differ"]].sum()).join(groups.size().rename("rows")).reset_index()


def _same_texts(part: pd.DataFrame, a: str, b: str) -> tuple[list[str], np.ndarray]:
    """Methods that both models have, and their (n, 2, m) values on texts where all are known; mean over seeds."""
    wide = part[part.model.isin([a, b])].pivot_table(index="instance", columns=["model", "method"], values="value")
    sides = [wide[model] if model in wide else pd.DataFrame() for model in (a, b)]
    methods = [method for method in sides[0] if method in sides[1]]
    if not methods:
        return [], np.empty((0, 2, 0))
    array = np.stack([side[methods].to_numpy() for side in sides], axis=1)
    known = ~np.isnan(array).any(axis=(1, 2))
    return (methods if known.any() else []), array[known]
