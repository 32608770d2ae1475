"""Does erasing what a method found important change the prediction, and leaving only that keep it?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from attreval.config import Profile
from attreval.explain import METHODS
from attreval.judge.faithfulness import erase
from attreval.judge.intervals import bootstrap_mean
from attreval.parallel import map_side_by_side
from attreval.project import Results
from attreval.seeds import generator
from attreval.step import Step, set_threads
from attreval.study.agreeing import common_methods, load_attributions
from attreval.study.explaining import load_model
from attreval.study.sample import to_explain

TOGETHER = 10  # instances that share batches
MEASURES = ("comprehensiveness", "sufficiency", "normalised_comprehensiveness", "normalised_sufficiency")


def erasure_values(step: Step) -> pd.DataFrame:
    """One row a task, model, seed, instance, method and ratio, with the four measures."""
    profile = step.profile
    jobs = [
        (step.results, profile, *run, start)
        for run in profile.explained_runs("faithfulness")
        for start in range(0, profile.rows_explained(*run[:2]), TOGETHER)
    ]
    parts = map_side_by_side(erase_some, jobs, profile.workers, step.progress(f"erasing, {TOGETHER} instances a part"))
    costs: dict[str, dict[str, int]] = {}
    for (_, _, task, *_), (_, spent) in zip(jobs, parts, strict=True):
        for name, cost in spent.items():
            of = costs.setdefault(f"{task}.{name}", {"requested": 0, "unique": 0})
            of["requested"] += cost.requested
            of["unique"] += cost.unique
    step.notes["evaluations"] = costs
    return pd.concat([values for values, _ in parts], ignore_index=True)


def erase_some(results: Results, profile: Profile, task: str, model: str, seed: int, start: int):
    """The measures of the instances from `start`, and what they cost by method."""
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    loaded = load_model_once(results, task, model, seed, profile.model_dump_json())
    scorer = Scorer(loaded, profile.explain.token_budget)
    records = load_attributions(results, profile, task, model, seed)
    part, ratios = to_explain(profile, task, model)[start : start + TOGETHER], profile.faithfulness.ratios
    tokens = {i.id: scorer.model.tokens(i) for i in part}
    asked = [(i.id, m) for i in part for m in common_methods(records)]
    found = scorer.converse(
        (m, erase(tokens[i], records[i][m].scores, ratios, generator("ties", task, model, seed, i, m)))
        for i, m in asked
    )
    rows = [
        (task, model, seed, i, m, ratio, *(getattr(erasure, name)[r] for name in MEASURES))
        for (i, m), erasure in zip(asked, found, strict=True)
        for r, ratio in enumerate(ratios)
    ]
    columns = ["task", "model", "seed", "instance", "method", "ratio", *MEASURES]
    return pd.DataFrame(rows, columns=columns), scorer.costs


@lru_cache(maxsize=1)
def load_model_once(results: Results, task: str, model: str, seed: int, profile_text: str):
    """The model of a run; the parts that a process erases one after the other mostly share it."""
    return load_model(results, task, model, seed, Profile.model_validate_json(profile_text))


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
