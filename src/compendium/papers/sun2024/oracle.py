"""Exact values of pairs on short inputs, where every coalition of units is asked (Shapley interaction index).

How close does each pair method come? There are two exact values: Bivariate Shapley (Masoomi et al. 2023) without
sampling, which includes half of each unit's own effect, and the Shapley interaction index (Grabisch & Roubens 1999),
which is 0 where effects of units are additive. Letters used for shapes: n units, N = 2^n coalitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.core.units import find_units
from attreval.methods import METHODS
from attreval.methods.bivariate_shapley import bivariate_values
from attreval.methods.coalitions import all_coalitions, ask_values, draw_coalitions
from attreval.methods.method import Budget
from attreval.methods.proxyspex import FEWEST_COALITIONS, banzhaf_interactions, draw_uniform, fit_interactions
from attreval.methods.spans import pair_scores
from attreval.methods.techniques import TECHNIQUES
from compendium import corpora
from compendium.papers.pipeline.explaining import open_scorer
from compendium.papers.sun2024.explanations import budget_of_types
from compendium.workflow.step import Step

LOOKED_THROUGH = 4000  # test instances among which short ones are looked for
ESTIMATE = ["estimate", "samples", "exact"]
MEASURES = ["spearman", "pearson", "error"]


def shapley_interactions(values: np.ndarray) -> np.ndarray:
    """(n, n) Shapley interaction indices from the (2^n,) values of all coalitions; diagonal 0."""
    n = int(np.log2(len(values)))
    sizes = all_coalitions(n).sum(axis=1)
    rows, out = np.arange(len(values)), np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            free = rows[(rows >> i & 1 == 0) & (rows >> j & 1 == 0)]
            both, one, other = free | 1 << i | 1 << j, free | 1 << i, free | 1 << j
            weight = np.array([1 / ((n - 1) * comb(n - 2, s)) for s in range(n - 1)])[sizes[free]]
            out[i, j] = out[j, i] = weight @ (values[both] - values[one] - values[other] + values[free])
    return out


def bivariate_from_values(values: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """(n, n) phi(i|j) from a sample of coalitions, whose (2^n,) values are looked up; exact for 2^n samples."""
    n = int(np.log2(len(values)))
    masks, weights = draw_coalitions(n, samples, rng)
    return bivariate_values(masks, weights, values[masks @ (1 << np.arange(n))], values[0], values[-1])


def proxyspex_from_values(values: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """(n, n) interactions by ProxySPEX from coalitions whose (2^n,) values are looked up; exact for 2^n samples."""
    n, seed = int(np.log2(len(values))), int(rng.integers(2**31))
    if len(values) <= samples:
        return banzhaf_interactions(all_coalitions(n), values)
    masks = draw_uniform(n, samples, seed)
    return fit_interactions(masks, values[masks @ (1 << np.arange(n))], seed)


def short_instances(task: str, model, unit: str, most: int, rows: int) -> list[Instance]:
    """The first test instances of at most so many units, at least two of them in each part."""
    found = []
    for instance in corpora.load(task, "test", LOOKED_THROUGH):
        if len(instance.words) <= most:
            units = find_units(model.tokens(instance), unit)
            if len(units) <= most and min(np.bincount(units.side, minlength=2)) >= 2:
                found.append(instance)
        if len(found) == rows:
            break
    return found


def compare_with_exact(step: Step) -> pd.DataFrame:
    """One row per instance, estimate and exact value: Spearman's and Pearson's correlation, mean absolute error.

    Estimates: Bivariate Shapley at each budget; ProxySPEX, if installed, at those that it can use; the pair methods of
    the other techniques. Exact: `bivariate` values, and the size of the `interaction` index, compared with the size of
    the estimates. Errors are given where estimate and exact value are the same quantity.
    """
    given, settings = step.parameters, step.profile.diagnosis
    rows: list[tuple] = []
    if settings.oracle.rows and not given.part:
        scorer, budget = open_scorer(step), budget_of_types(step.profile, given.task)
        others = [TECHNIQUES[t]["pair"] for t in settings.techniques if t != "shapley"]
        instances = short_instances(
            given.task, scorer.model, settings.units.unit, settings.oracle.units, settings.oracle.rows
        )
        show = step.progress("asking every coalition")
        for done, instance in enumerate(instances, start=1):
            rows += _compare(step, scorer, budget, others, instance)
            scorer.forget()
            show(done, len(instances))
    return pd.DataFrame(rows, columns=["instance", "units", *ESTIMATE, *MEASURES])


def _compare(step: Step, scorer, budget: Budget, others: list[str], instance: Instance) -> Iterator[tuple]:
    """The rows of one instance."""
    from attreval.methods.run import predict

    given, settings = step.parameters, step.profile.diagnosis
    tokens = scorer.model.tokens(instance)
    units = find_units(tokens, settings.units.unit)
    target = int(predict(scorer, [tokens])[0].argmax())
    rng = generator("oracle", given.task, given.model, given.seed, instance.id)
    talks = [("oracle", ask_values(tokens, target, units, all_coalitions(len(units))))]
    talks += [(m, METHODS[m].converse(tokens, target, budget, rng)) for m in others]
    values, *found = scorer.converse(talks)

    exact = pair_scores(units, bivariate_from_values(values, len(values), generator("every"))).values
    interaction = np.abs(pair_scores(units, shapley_interactions(values)).values)
    estimates = {}
    for samples in settings.oracle.samples:
        draws = ("oracle", instance.id, samples)
        sampled = bivariate_from_values(values, samples, generator(*draws))
        estimates["bivariate_shapley", samples] = pair_scores(units, sampled).values
        if samples >= FEWEST_COALITIONS and not METHODS["proxyspex"].missing():
            fitted = proxyspex_from_values(values, samples, generator(*draws))
            estimates["proxyspex", samples] = pair_scores(units, fitted).values
    estimates |= {(m, 0): scores.values for m, scores in zip(others, found, strict=True)}
    for (name, samples), guess in estimates.items():
        error = float(np.abs(guess - exact).mean()) if name == "bivariate_shapley" else float("nan")
        names = (instance.id, len(units), name, samples)
        yield (*names, "bivariate", *_correlations(guess, exact), error)
        yield (*names, "interaction", *_correlations(np.abs(guess), interaction), float("nan"))


def _correlations(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Spearman's and Pearson's correlation; NaN where one of them does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan"), float("nan")
    return float(spearmanr(a, b).statistic), float(np.corrcoef(a, b)[0, 1])


def mean_closeness(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Means of compare_with_exact over instances: one row per estimate, budget and exact value (and `by`)."""
    out = table.groupby([*by, *ESTIMATE], sort=False)[MEASURES].mean().reset_index()
    return out.assign(instances=table.instance.nunique())
