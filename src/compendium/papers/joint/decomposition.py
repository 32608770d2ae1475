"""Judges or models: how much of an order of methods belongs to the methods, to the judge, to the model, or to both?

What a metric gives each method on one model is a column of numbers, scaled to mean 0 and variance 1 over the methods;
the variance that the texts make of it is taken off. Two columns share what they have in common. The correlation of two
models under one metric holds what is the methods' own and what is particular to the judge; that of two judges on one
model, the methods' own and what is particular to the model; where both differ, the methods' own alone is left. So three
mean correlations are the variance components of the crossed design methods x judges x models (generalizability theory,
Cronbach et al. 1972), with no need of balance. Two judges are two papers: metrics of one paper share their definition.
Two models are two networks: of two families, of one family, or of one specification and two seeds, where the model's
share is what training anew makes of an order. Letters used for shapes: a, b networks, j, k metrics, m methods, p pairs
of networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from scipy.stats import norm

from attreval.core.bootstrap import percentile_interval
from attreval.core.seeds import generator
from attreval.metrics.rank_correlation import FEWEST, TIED
from compendium.papers.common.sentences import sentence
from compendium.papers.common.style import draw_nothing, task_title, use_style
from compendium.papers.joint.standing import MIXED, TRANSFORMERS, WORDS, shared_family
from compendium.papers.joint.values import JOINT

LEAST_TOLD = 0.5  # of a column's variance: where the texts make more than the rest of it, the column is left out
EXCHANGES = 999  # worlds in which models, or judges, exchange their names
DEPENDABLE = 0.8  # the generalizability that is usually asked for
READINGS = {
    "all": (),
    "right": ("agreement", "agreement_dynamic", "simplicity"),
}  # left out: these do not ask what is right
CORRELATIONS = ("same_judge", "same_model", "neither")
SHARES = ("methods", "judge", "model", "both", "lead")
SEEDS = "one network, trained anew"
KINDS = {
    SEEDS: "one network, trained anew",
    WORDS: "two recurrent or convolutional networks",
    TRANSFORMERS: "two transformers",
    MIXED: "one network of each family",
}
LEGIBLE = 0.07  # of a bar that has room for its number
PARTS = {  # of a bar: label, colour
    "methods": ("the methods alone", "#4477aa"),
    "judge": ("with the judge", "#ee8866"),
    "model": ("with the model", "#44bb99"),
    "both": ("with both", "#bbbbbb"),
}


def decomposition_table(summary: pd.DataFrame, models: Mapping, draws: int, confidence: float) -> pd.DataFrame:
    """One row a task, kind of two models and reading of the metrics: what an order of methods is made of.

    Parameters
    ----------
    summary : DataFrame
        Of `correlations.summary_table`: mean, low and high of each run, metric and method; random scores are left out.
        With a column `seed`, a model has a network of each seed.
    models : mapping
        Name -> config.ModelSpec.
    draws, confidence
        Of the intervals: models are drawn with replacement, and means by the noise of their texts.

    Returns
    -------
    DataFrame
        kind: SEEDS, the family of two models, or that they are one of each; models: their networks. same_judge,
        same_model, neither: mean correlation of two networks under one metric, of two judges on one network, of two
        judges on two networks. methods, judge, model, both: shares of the variance with the sum 1. lead: the judge's
        share less the model's. `_low`, `_high`: their intervals. p_judge, p_model: how often names exchanged at random
        give as large a share. needed: orders of different judges on different models whose mean is dependable
        (Spearman-Brown); infinite where nothing is shared.
    """
    rows = []
    told = summary[(summary.granularity == "tokens") & (summary.method != "random")]
    told = told.assign(seed=told.get("seed", 1))
    for task, part in told.groupby("task", sort=False):
        for reading, left_out in READINGS.items():
            names, metrics, means, noise = _columns(part[~part.metric.isin(left_out)], confidence)
            judges = np.array([JOINT[metric].judge for metric in metrics])
            pairs = list(combinations(range(len(names)), 2))
            of_model = np.unique([model for model, _ in names], return_inverse=True)[1]
            kinds = np.array([_kind_of(names[a][0], names[b][0], models) for a, b in pairs])
            for kind in dict.fromkeys(kinds) if means.shape[-1] >= FEWEST and len(set(judges)) > 1 else ():
                chosen = np.array(pairs)[kinds == kind]  # (p, 2)
                rng = generator("decomposition", task, reading, kind)
                same = of_model if kind == SEEDS else np.zeros_like(of_model)
                found = _decompose(means, noise, judges, chosen, (of_model, same), rng, draws, confidence)
                about = {"models": len(np.unique(chosen)), "metrics": len(metrics), "methods": means.shape[-1]}
                rows.append({"task": task, "reading": reading, "kind": kind, **about, **found})
    return pd.DataFrame(rows)


def _kind_of(first: str, second: str, models: Mapping) -> str:
    """What the networks of two models have in common: all but the seed, the family, or nothing."""
    return SEEDS if first == second else shared_family(models[first], models[second])


def share_variance(columns: np.ndarray, judges: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(3,) mean correlations: of one judge and two models, of one model and two judges, of two of both.

    columns: (a, j, m), scaled; NaN where a column tells too little. weights: (p,) of pairs of models. Judges and pairs
    of judges count alike, however many metrics they have.
    """
    flat = np.nan_to_num(columns).reshape(-1, columns.shape[-1])
    grams = (flat @ flat.T / flat.shape[-1]).reshape(2 * columns.shape[:2]).transpose(0, 2, 1, 3)  # (a, b, j, k)
    known = ~np.isnan(columns[..., 0])
    there = known[:, None, :, None] & known[None, :, None, :]
    size = np.array([(judges == judge).sum() for judge in judges])
    apart = (judges[:, None] != judges) / np.outer(size, size)  # (j, k)
    same = np.diag(1 / size)
    a, b = pairs.T

    def mean(first, second, weight):
        held = there[first, second] * weight * weights[:, None, None]
        return (grams[first, second] * held).sum() / held.sum() if held.any() else np.nan

    return np.array([mean(a, b, same), (mean(a, a, apart) + mean(b, b, apart)) / 2, mean(a, b, apart)])


def _decompose(means, noise, judges, pairs, groups, rng, draws: int, confidence: float) -> dict[str, float]:
    """The numbers of one row: see `decomposition_table`. means, noise: (a, j, m), of scaled columns; pairs: (p, 2).

    groups: of each network its model, all of whose seeds are drawn with it, and the group in which names are exchanged.
    """
    every, (of_model, exchanged) = np.ones(len(pairs)), groups
    found = share_variance(means, judges, pairs, every)
    drawn = np.full((draws, len(found)), np.nan)
    for at in range(draws):
        if (weights := _draw_pairs(pairs, of_model, rng)).any():
            drawn[at] = share_variance(means + noise * rng.standard_normal(means.shape), judges, pairs, weights)
    shares, bounds = _shares(found), percentile_interval(_shares(drawn), confidence)
    out = dict(zip((*CORRELATIONS, *SHARES), map(float, (*found, *shares)), strict=True))
    for side, bound in zip(("low", "high"), bounds, strict=True):
        out |= {f"{name}_{side}": float(value) for name, value in zip(SHARES, bound, strict=True)}
    for axis, name in enumerate(("model", "judge")):
        at = SHARES.index(name)
        worlds = [
            _shares(share_variance(_exchange(means, axis, pairs, exchanged, rng), judges, pairs, every))
            for _ in range(EXCHANGES)
        ]
        p = np.mean([shares[at] - TIED <= world[at] for world in [*worlds, shares]])
        out[f"p_{name}"] = float(p) if np.isfinite(shares[at]) else float("nan")
    own = out["methods"]
    return out | {"needed": DEPENDABLE * (1 - own) / ((1 - DEPENDABLE) * own) if own > 0 else float("inf")}


def _shares(found: np.ndarray) -> np.ndarray:
    """(..., 5) of SHARES from (..., 3) mean correlations."""
    same_judge, same_model, neither = np.moveaxis(found, -1, 0)
    judge, model = same_judge - neither, same_model - neither
    return np.stack([neither, judge, model, 1 - neither - judge - model, judge - model], axis=-1)


def _draw_pairs(pairs: np.ndarray, of_model: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(p,) how often each pair is there where models are drawn with replacement, and of each of them its seeds.

    Two seeds of one model are there as often as it is.
    """
    members = np.unique(pairs)
    models = np.unique(of_model[members])
    of_models = np.bincount(rng.choice(models, len(models)), minlength=of_model.max() + 1)
    times = np.zeros(of_model.shape, int)
    for model in models:
        seeds = members[of_model[members] == model]
        drawn = rng.choice(seeds, len(seeds)) if len(seeds) > 1 else seeds
        times += np.bincount(drawn, minlength=len(times))
    a, b = of_model[pairs].T
    return times[pairs].prod(axis=1) * of_models[a] * np.where(a == b, 1, of_models[b])


def _exchange(columns, axis: int, pairs: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The columns where networks of a group exchange names under each metric (axis 0), or metrics on each network (1).

    groups: (a,); only networks of the pairs exchange anything.
    """
    out = columns.copy()
    members = np.unique(pairs)
    for group in np.unique(groups[members]):
        moving = members[groups[members] == group]
        a, j = len(moving), columns.shape[1]
        at, metric = np.repeat(np.arange(a)[:, None], j, axis=1), np.repeat(np.arange(j)[None], a, axis=0)
        if axis == 0:
            at = rng.permuted(at, axis=0)
        else:
            metric = rng.permuted(metric, axis=1)
        out[moving] = columns[moving][at, metric]
    return out


def _columns(part: pd.DataFrame, confidence: float) -> tuple[list[tuple], list[str], np.ndarray, np.ndarray]:
    """Networks (model, seed), metrics, (a, j, m) scaled means of the methods that all have, and standard errors.

    These are on the same scale. A column whose texts make more of its variance than LEAST_TOLD is NaN.
    """
    wide = part.pivot(index="method", columns=["model", "seed", "metric"], values=["mean", "low", "high"]).dropna()
    names, metrics = list(dict.fromkeys(zip(part.model, part.seed, strict=True))), list(dict.fromkeys(part.metric))
    full = pd.MultiIndex.from_tuples(
        [(value, *name, metric) for value in ("mean", "low", "high") for name in names for metric in metrics]
    )
    mean, low, high = wide.reindex(columns=full).to_numpy().T.reshape(3, len(names), len(metrics), len(wide))
    error = (high - low) / (2 * norm.ppf((1 + confidence) / 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.nanvar(mean, axis=-1, keepdims=True)
        true = spread - np.mean(error**2, axis=-1, keepdims=True) if len(wide) else spread
        scale = np.sqrt(np.where(true > LEAST_TOLD * spread, true, np.nan))
        return names, metrics, (mean - mean.mean(axis=-1, keepdims=True)) / scale, error / scale


def draw_decomposition(table: pd.DataFrame):
    """Bars of the shares of the variance, a panel a kind of two networks, a row a task; beside them the lead."""
    if table.empty:
        return draw_nothing("No two models of a task went before two judges in this run.")
    use_style()
    rows = table[table.reading == "all"]
    kinds = sorted(dict.fromkeys(rows.kind), key=lambda kind: (_nearness(pd.Series([kind]))[0], kind))
    sizes = [int((rows.kind == kind).sum()) for kind in kinds]
    figure, panels = plt.subplots(
        *(len(kinds), 2),
        **{"figsize": (8, 0.34 * sum(sizes) + 0.5 * len(kinds) + 0.9), "sharex": "col", "sharey": "row"},
        **{
            "squeeze": False,
            "layout": "constrained",
            "width_ratios": (3, 1.3),
            "height_ratios": [1 + n for n in sizes],
        },
    )
    for (left, right), kind in zip(panels, kinds, strict=True):
        part = rows[rows.kind == kind]
        tasks, start = [task_title(task) for task in part.task], np.zeros(len(part))
        for name, (label, colour) in PARTS.items():
            width = part[name].clip(lower=0).to_numpy()
            bars = left.barh(tasks, width, left=start, color=colour, label=label)
            shown = [f"{share:.2f}" if share >= LEGIBLE else "" for share in width]
            left.bar_label(bars, shown, label_type="center", fontsize=9)
            start += width
        left.set_title(KINDS[kind], loc="left", fontsize=10)
        error = [part.lead - part.lead_low, part.lead_high - part.lead]
        right.errorbar(part.lead, tasks, xerr=error, fmt="o", color="black", markersize=4)
        right.axvline(0, color="0.6", linewidth=1)
        left.invert_yaxis()
    panels[-1, 0].set(xlabel="share of the variance")
    panels[-1, 1].set(xlabel="judge less model")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside upper center", frameon=False)
    sns.despine(figure)
    return panels[0, 0]


def _nearness(kinds: pd.Series) -> pd.Series:
    """0 for one network trained anew, 1 for two models of a family, 2 for one of each."""
    return kinds.map({SEEDS: 0, MIXED: 2}).fillna(1)


@sentence
def say_decomposition(table: pd.DataFrame) -> str:
    """Whether judges or models make more of an order of methods: of one network, a family of models, and two."""
    rows = table[table.reading == "all"]
    said = []
    places = (
        "where one network is trained anew",
        "within a family of models",
        "from one family of models to the other",
    )
    for near, part in rows.groupby(_nearness(rows.kind)):
        where = places[int(near)]
        said.append(
            f"{where} the judge makes {_span(part.judge)} of the variance of an order of methods and the model "
            f"{_span(part.model)} ({(part.lead_low > 0).sum()} of {len(part)} comparisons surely more by the judge, "
            f"{(part.lead_high < 0).sum()} surely more by the model)"
        )
    return "; ".join(said)


def _span(values: pd.Series) -> str:
    """`0.20`, or `0.19 to 0.55`."""
    ends = [f"{max(value, 0):.2f}" for value in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))
