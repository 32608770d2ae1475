"""Does erasing what a method found important change the prediction, and leaving only that keep it?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.explain import METHODS
from attreval.judge.faithfulness import erase
from attreval.judge.intervals import bootstrap_mean
from attreval.seeds import generator
from attreval.step import Step
from attreval.study.agreeing import load_attributions
from attreval.study.explaining import load_model
from attreval.study.sample import to_explain
from attreval.study.summing import runs_of

MEASURES = ("comprehensiveness", "sufficiency", "normalised_comprehensiveness", "normalised_sufficiency")


def erasure_values(step: Step, group: int = 16) -> pd.DataFrame:
    """One row a task, model, seed, instance, method and ratio, with the four measures."""
    from attreval.models.scorer import Scorer

    profile, rows = step.profile, []
    ratios = profile.faithfulness.ratios
    runs = runs_of(profile)
    total = sum(profile.tasks[t].explain_rows for t, _, _ in runs)
    show, done, costs = step.progress("erasing"), 0, {}
    for task, model, seed in runs:
        records = load_attributions(step.results, profile, task, model, seed)
        scorer = Scorer(load_model(step.results, task, model, seed, profile), profile.explain.token_budget)
        instances = to_explain(profile, task)
        for start in range(0, len(instances), group):
            part = instances[start : start + group]
            tokens = {i.id: scorer.model.tokens(i) for i in part}
            asked = [(i.id, m) for i in part for m in profile.explain.methods]
            found = scorer.converse(
                (m, erase(tokens[i], records[i][m].scores, ratios, generator("ties", task, model, seed, i, m)))
                for i, m in asked
            )
            for (i, m), erasure in zip(asked, found, strict=True):
                for r, ratio in enumerate(ratios):
                    values = (getattr(erasure, name)[r] for name in MEASURES)
                    rows.append((task, model, seed, i, m, ratio, *values))
            scorer.forget()
            done += len(part)
            show(done, total)
        costs[task] = scorer.costs
    step.notes["evaluations"] = {
        task: {m: {"requested": c.requested, "unique": c.unique} for m, c in by.items()} for task, by in costs.items()
    }
    return pd.DataFrame(rows, columns=["task", "model", "seed", "instance", "method", "ratio", *MEASURES])


def erasure_curves(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, model, seed, method, ratio and measure: the mean over instances with its interval."""
    return summarise(values, step, ["task", "model", "seed", "method", "ratio"])


def area_over_curve(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """AOPC: each measure averaged over the ratios, then over instances, with its interval."""
    keys = ["task", "model", "seed", "method"]
    by_instance = values.groupby([*keys, "instance"], sort=False)[list(MEASURES)].mean().reset_index()
    return summarise(by_instance, step, keys)


def summarise(values: pd.DataFrame, step: Step, keys: list[str]) -> pd.DataFrame:
    """Means over instances with bootstrap intervals, one row a combination of keys and a measure."""
    rows = []
    for key, part in values.groupby(keys, sort=False):
        mean, low, high = bootstrap_mean(
            part[list(MEASURES)].to_numpy(),
            step.profile.bootstrap.draws,
            step.profile.bootstrap.level,
            "erasure",
            *key[:3],
        )
        rows += [(*key, name, mean[i], low[i], high[i], len(part)) for i, name in enumerate(MEASURES)]
    return pd.DataFrame(rows, columns=[*keys, "measure", "mean", "low", "high", "instances"])


def note_best(step: Step, area: pd.DataFrame) -> None:
    """Keep which method each measure puts first, and what random scores."""
    for task, part in area.groupby("task", sort=False):
        step.number(f"faithfulness.{task}.instances", int(part.instances.max()))
        for measure, highest in (("comprehensiveness", True), ("sufficiency", False)):
            means = part[part.measure == measure].groupby("method", sort=False)["mean"].mean()
            if "random" in means:
                step.number(f"faithfulness.{task}.random_{measure}", float(means["random"]), 3)
            means = means.drop("random", errors="ignore")
            best = means.idxmax() if highest else means.idxmin()
            step.number(f"faithfulness.{task}.best_{measure}_method", METHODS[best].title)
            step.number(f"faithfulness.{task}.best_{measure}", float(means[best]), 3)
    step.number("faithfulness.ratios", ", ".join(f"{r:g}" for r in step.profile.faithfulness.ratios))
    assert np.isfinite(area["mean"]).all()
