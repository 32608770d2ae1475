"""Stability of sampled explanations: from which budget on do the tokens that a method puts first no longer change?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics.pareto import overlap_at_k
from compendium.config import Profile
from compendium.papers.common.sample import to_explain
from compendium.papers.common.trained_models import load_model_once
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

BUDGET_COLUMNS = ["task", "model", "method", "budget", "seed", "instance", "requested"]
OVERLAPS = ("to_largest", "between")


def budget_jobs(step: Step) -> list[tuple]:
    """What `explain_at_budgets` is to be called with: the first run of each task of the study, a method each."""
    profile, jobs = step.profile, []
    for task, methods in profile.joint.budgets.tasks.items():
        run = profile.first_explained(task)
        jobs += [(step.results, profile, *run, method) for method in methods if run]
    return jobs


def explain_at_budgets(results: Results, profile: Profile, task: str, model: str, seed: int, method: str):
    """(rows, scores) of one method at growing budgets, with several seeds of its draws.

    rows: one a budget, seed and instance, with the evaluations requested (BUDGET_COLUMNS); scores: (n,) of each row.
    """
    from attreval.methods.run import explain
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    loaded = load_model_once(results, profile, task, model, seed)
    spec, explaining = profile.joint.budgets, profile.explaining_of(task)
    if loaded.family not in METHODS[method].families:
        return [], []
    scorer = Scorer(loaded, explaining.token_budget)
    start = explaining.changed(units=explaining.units.changed(unit="subword"))  # single tokens, whatever the profile's
    instances = to_explain(profile, task, model)[: spec.rows]
    rows, scores = [], []
    for size in spec.sizes_of.get(task, spec.sizes):
        for draw in range(1, spec.seeds + 1 if METHODS[method].stochastic else 2):
            budget = METHODS[method].limited(start, size).changed(limsse_draw=draw - 1)
            names = ("budgets", task, model, seed, draw)
            for e in explain(scorer, instances, [method], budget, names, explaining.target):
                record = e.attributions[method]
                rows.append((task, model, method, size, draw, e.instance.id, record.cost.requested))
                scores.append(record.on_tokens(len(e.tokens))[e.tokens.content])
    return rows, scores


def overlap_table(step: Step, rows: pd.DataFrame, scores: list[np.ndarray]) -> pd.DataFrame:
    """One row a run, method and budget: overlap of the top tokens, with its bootstrap interval over instances.

    to_largest: with what the same seed gives at the largest budget; between: of two seeds at this budget, NaN for a
    method that draws nothing. rows, scores: of `explain_at_budgets`.
    """
    settings, k, out = step.profile.bootstrap, step.profile.agreement.fixed_k, []
    for (task, model, method), part in rows.groupby(["task", "model", "method"], sort=False):
        by = {(r.budget, r.seed, r.instance): scores[at] for at, r in zip(part.index, part.itertuples(), strict=True)}
        sizes, seeds, ids = (list(dict.fromkeys(part[name])) for name in ("budget", "seed", "instance"))
        counts = draw_counts(generator("budgets", task, model, method), len(ids), settings.draws)
        for size in sizes:
            ends = [[overlap_at_k(by[size, s, i], by[max(sizes), s, i], k) for s in seeds] for i in ids]
            pairs = [[overlap_at_k(by[size, a, i], by[size, b, i], k) for a, b in combinations(seeds, 2)] for i in ids]
            row = [task, model, method, k, size, part[part.budget == size].requested.mean(), len(ids)]
            for values in (np.mean(ends, axis=1), np.mean(pairs, axis=1) if pairs[0] else np.full(len(ids), np.nan)):
                low, high = percentile_interval(counts @ values / len(ids), settings.confidence)
                row += [values.mean(), float(low), float(high)]
            out.append(row)
    overlaps = [f"{name}{end}" for name in OVERLAPS for end in ("", "_low", "_high")]
    return pd.DataFrame(out, columns=["task", "model", "method", "k", "budget", "requested", "instances", *overlaps])


def stability_table(overlaps: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """One row a run and method: the budgets from which on its top tokens overlap by `threshold`, in words.

    stable_from: with those of the largest budget, which itself cannot tell; seeds_agree_from: those of two seeds.
    `more than` the largest budget where none of those tried is enough.
    """
    rows = []
    for (task, model, method), part in overlaps.groupby(["task", "model", "method"], sort=False):
        part = part.sort_values("budget")
        sizes = part.budget.to_numpy()
        stable_from = first_lasting(sizes[:-1], part.to_largest.to_numpy()[:-1] >= threshold)
        agree_from = first_lasting(sizes, part.between.to_numpy() >= threshold)
        words = [
            f"more than {sizes[-1]:,}" if np.isnan(size) else f"{int(size):,}" for size in (stable_from, agree_from)
        ]
        if not METHODS[method].stochastic:
            words[1] = "draws nothing"
        rows.append((task, model, method, *words, threshold))
    return pd.DataFrame(rows, columns=["task", "model", "method", "stable_from", "seeds_agree_from", "threshold"])


def first_lasting(sizes: np.ndarray, holds: np.ndarray) -> float:
    """The first of rising sizes from which on something holds to the end; NaN where it does not hold at the end."""
    lasting = np.logical_and.accumulate(holds[::-1])[::-1]
    return float(sizes[lasting][0]) if lasting.any() else float("nan")
