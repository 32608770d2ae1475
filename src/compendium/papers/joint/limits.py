"""What a text allows: comprehensiveness and sufficiency between the least and the greatest of any order of its tokens.

After Edin et al. (2025), who found that rankings of models change when areas are placed between these limits, and
rankings of methods hardly do. Short texts are explained anew, the same ones for every model of a task.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics.normalised_aopc import MEASURES, areas_in_limits
from attreval.metrics.rank_correlation import tau_b
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.resampling import means
from compendium.papers.common.runs import RUN
from compendium.papers.common.trained_models import load_model_once
from compendium.papers.zhao2023.settings import main_protocol, query_segment
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

TOGETHER = 5  # instances that share batches
PLACES = ("raw", "normalised")
COLUMNS = [*RUN, "instance", "exact", "method", "measure", "raw", "least", "greatest", "normalised"]


def measure_limits(step: Step) -> pd.DataFrame:
    """One row a run, text, method and measure: the area, the limits of the text, and the area placed between them."""
    runs = step.profile.first_runs(step.profile.joint.limits.tasks)
    texts = {task: short_texts(step.profile, task) for task in dict.fromkeys(run[0] for run in runs)}
    jobs = [
        (step.results, step.profile, *run, texts[run[0]][start : start + TOGETHER])
        for run in runs
        for start in range(0, len(texts[run[0]]), TOGETHER)
    ]
    found = step.side_by_side(_measure_part, jobs, "limits")
    return pd.DataFrame([row for rows in found for row in rows], columns=COLUMNS)


def short_texts(profile: Profile, task: str) -> list[Instance]:
    """The first test instances of a task that are short enough."""
    spec = profile.joint.limits
    return [i for i in corpora.load(task, "test") if len(i.words) <= spec.words][: spec.tasks[task]]


def _measure_part(
    results: Results, profile: Profile, task: str, model: str, seed: int, part: list[Instance]
) -> list[tuple]:
    """The rows of a few instances."""
    from attreval.methods.run import explain
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    loaded, spec, budget = load_model_once(results, profile, task, model, seed), *_settings(profile, task)
    scorer = Scorer(loaded, budget.token_budget)
    methods = [name for name in spec.methods if loaded.family in METHODS[name].families]
    explained = explain(scorer, part, methods, budget, ("limits", task, model, seed))
    protocol, query = main_protocol(profile, task), query_segment(task)
    talks = [
        areas_in_limits(
            one.tokens,
            [one.attributions[m].scores for m in methods],
            rngs=[generator("ties", task, model, seed, one.instance.id, m) for m in methods],
            protocol=protocol,
            query=query,
            beam=spec.beam,
            exact=spec.exact,
        )
        for one in explained
    ]
    rows = []
    for one, (limits, areas) in zip(explained, scorer.converse(("limits", talk) for talk in talks), strict=True):
        for method, of_method in zip(methods, areas, strict=True):
            for measure, area in zip(MEASURES, of_method, strict=True):
                least, greatest = (float(bound) for bound in getattr(limits, measure))
                placed = limits.place(measure, area)
                texts = (task, model, seed, one.instance.id, limits.exact)
                rows.append((*texts, method, measure, float(area), least, greatest, placed))
    return rows


def _settings(profile: Profile, task: str):
    """What a profile says of limits, and of explaining a task by tokens."""
    explaining = profile.explaining_of(task)
    return profile.joint.limits, explaining.changed(units=explaining.units.changed(unit="subword"))


def limits_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, model, measure and method: mean limits over texts, mean area as it is and between the limits.

    low, high: bootstrap bounds over texts, the same draws for all models of a task. exact: the share of texts whose
    limits are those of all orders. told: texts whose limits are apart.
    """
    rows = []
    for (task, model, measure), part in values.groupby(["task", "model", "measure"], sort=False):
        drawn = _drawn_means(part, step)
        told, exact = part[part.normalised.notna()].instance.nunique(), part.exact.mean()
        ends = part.least.mean(), part.greatest.mean(), part.instance.nunique(), told, exact
        for at, method in enumerate(dict.fromkeys(part.method)):
            row = [task, model, measure, method, *ends]
            for of in drawn.values():
                row += [of[0, at], *_interval(of[1:, at], step)]
            rows.append(row)
    numbers = [f"{name}{end}" for name in PLACES for end in ("", "_low", "_high")]
    first = ["task", "model", "measure", "method", "least", "greatest", "texts", "told", "exact"]
    return pd.DataFrame(rows, columns=[*first, *numbers])


def methods_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, model and measure: how alike methods are ranked by raw and by normalised means (tau-b).

    Random scores are left out.
    """
    rows = []
    for (task, model, measure), part in values[values.method != "random"].groupby(
        ["task", "model", "measure"], sort=False
    ):
        raw, placed = _drawn_means(part, step).values()
        tau = tau_b(raw, placed)
        rows.append((task, model, measure, part.method.nunique(), tau[0], *_interval(tau[1:], step)))
    return pd.DataFrame(rows, columns=["task", "model", "measure", "methods", "tau", "low", "high"])


def models_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, measure, method and pair of models: the difference of their means, raw and normalised.

    turned: whether the two differences name different models as the more faithful one; `surely` where both intervals
    leave out zero as well.
    """
    rows = []
    for (task, measure), part in values.groupby(["task", "measure"], sort=False):
        drawn = {model: _drawn_means(of, step) for model, of in part.groupby("model", sort=False)}
        methods = {model: list(dict.fromkeys(of.method)) for model, of in part.groupby("model", sort=False)}
        for a, b in combinations(drawn, 2):
            for method in (m for m in methods[a] if m in methods[b]):
                row = [task, measure, method, a, b]
                for name in PLACES:
                    gap = drawn[a][name][:, methods[a].index(method)] - drawn[b][name][:, methods[b].index(method)]
                    row += [gap[0], *_interval(gap[1:], step)]
                rows.append(row)
    numbers = [f"{name}{end}" for name in PLACES for end in ("", "_low", "_high")]
    table = pd.DataFrame(rows, columns=["task", "measure", "method", "model_a", "model_b", *numbers])
    sure = ((table.raw_low * table.raw_high) > 0) & ((table.normalised_low * table.normalised_high) > 0)
    turned = table.raw * table.normalised < 0
    return table.assign(turned=np.where(turned & sure, "surely", np.where(turned, "turned", "")))


def turned_table(models: pd.DataFrame) -> pd.DataFrame:
    """One row a task, measure and pair of models: for how many methods the normalised means name the other model."""
    known = models.assign(any_turned=models.turned != "", sure=models.turned == "surely")
    by = known.groupby(["task", "measure", "model_a", "model_b"], sort=False)
    return by.agg(methods=("method", "size"), turned=("any_turned", "sum"), surely=("sure", "sum")).reset_index()


def _drawn_means(part: pd.DataFrame, step: Step) -> dict[str, np.ndarray]:
    """Of PLACES the (1 + draws, methods) means over texts: of the texts themselves, then of drawn ones."""
    texts, task = sorted(set(part.instance)), part.task.iloc[0]
    counts = draw_counts(generator("limits", task), len(texts), step.profile.bootstrap.draws)
    weights = np.concatenate([np.ones((1, len(texts))), counts])
    methods = list(dict.fromkeys(part.method))
    wide = {name: part.pivot(index="instance", columns="method", values=name) for name in PLACES}
    return {name: means(weights, frame.loc[texts, methods].to_numpy()) for name, frame in wide.items()}


def _interval(drawn: np.ndarray, step: Step) -> list[float]:
    """The lower and upper bound of drawn numbers."""
    return [float(bound) for bound in percentile_interval(drawn, step.profile.bootstrap.confidence)]
