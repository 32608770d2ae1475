"""Where integrated gradients start: what each baseline moves in each metric.

The same texts are explained from padding, mask and unknown tokens, zero vectors and the mean of all word embeddings.
Random draws of metrics are the same for every baseline, so that differences are the baseline's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.methods.method import PathBaseline
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import tau_b
from compendium.config import Profile
from compendium.papers.common.runs import common_methods, load_records_once
from compendium.papers.common.sample import borrowed_evidence, to_explain, with_evidence
from compendium.papers.common.trained_models import load_model_once
from compendium.papers.joint.values import OF_TOKENS, ask_metrics, score_text
from compendium.project import Results
from compendium.workflow.step import Step, set_threads

METHOD = "integrated_gradients"
BASELINES = get_args(PathBaseline)
TOGETHER = 5  # instances that share batches
COLUMNS = ["task", "model", "instance", "baseline", "metric", "value"]
GAP = "gap"  # beside the metrics: how far scores are from the sum they owe


def measure_baselines(step: Step) -> pd.DataFrame:
    """One row a task, text, baseline and metric (COLUMNS): what the metric gives; it may be NaN."""
    jobs = []
    for task, rows in step.profile.joint.path_baselines.items():
        if run := step.profile.first_explained(task):
            end = min(rows, step.profile.rows_explained(*run[:2]))
            cuts = ((start, min(start + TOGETHER, end)) for start in range(0, end, TOGETHER))
            jobs += [(step.results, step.profile, *run, *cut) for cut in cuts]
    found = step.side_by_side(_measure_part, jobs, "baselines")
    return pd.DataFrame([row for rows in found for row in rows], columns=COLUMNS)


def _measure_part(results: Results, profile: Profile, task: str, model: str, seed: int, start: int, end: int):
    """The rows of the instances from `start` to `end`."""
    from attreval.methods.run import explain
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    loaded, run = load_model_once(results, profile, task, model, seed), (task, model, seed)
    budget, part = profile.explaining_of(task), to_explain(profile, task, model)[start:end]
    scorer = Scorer(loaded, budget.token_budget)
    made = {
        baseline: explain(scorer, part, [METHOD], budget.changed(path_baseline=baseline), run, budget.target)
        for baseline in BASELINES
    }
    records, borrowed = load_records_once(results, profile, *run), borrowed_evidence(task)
    others = [m for m in common_methods(records) if not m.startswith(METHOD)]
    pure = [metric for metric in OF_TOKENS if "model" not in metric.needs]
    rows = []
    for at, instance in enumerate(part):
        by = {baseline: explained[at].attributions[METHOD] for baseline, explained in made.items()}
        tokens, scores = made["pad"][at].tokens, {baseline: one.scores for baseline, one in by.items()}
        marked, target = with_evidence(instance, borrowed), next(iter(by.values())).target
        of_others = {m: records[instance.id][m].on_tokens(len(tokens))[tokens.content] for m in others}
        values = [(baseline, GAP, abs(one.gap)) for baseline, one in by.items()]
        values += [(baseline, "score_tau_b", float(tau_b(s, scores["pad"]))) for baseline, s in scores.items()]
        for baseline, own in scores.items():
            text = score_text(profile, run, marked, tokens, of_others | {METHOD: own}, target)
            (found,) = ask_metrics(scorer, [], [text], pure)
            values += [(baseline, metric, value) for method, metric, value in found if method == METHOD]
        text = score_text(profile, run, marked, tokens, scores, target)
        text = replace(text, draws=dict.fromkeys(scores, (*run, instance.id, METHOD)))
        (found,) = ask_metrics(scorer, [text], [text], [metric for metric in OF_TOKENS if metric not in pure])
        values += [value for value in found if value[0] != "random"]
        rows += [(task, model, instance.id, *value) for value in values]
    return rows


def baselines_table(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, metric and baseline: the mean, and its difference from padding on the same texts.

    low, high: bootstrap bounds over texts. moves: whether the difference's interval leaves out zero.
    """
    settings, rows = step.profile.bootstrap, []
    for (task, model, metric), part in values.groupby(["task", "model", "metric"], sort=False):
        by = part.pivot(index="instance", columns="baseline", values="value").dropna()
        title = METRICS[metric].title if metric in METRICS else "Missed of the sum owed"
        for baseline in BASELINES if len(by) else ():
            row = [task, model, metric, title, baseline]
            for numbers in (by[baseline], by[baseline] - by["pad"]):
                found = bootstrap_mean(numbers.to_numpy(), settings.draws, settings.confidence, METHOD, task)
                row += [float(x) for x in found]
            rows.append((*row, bool(np.prod(row[-2:]) > 0), len(by)))
    numbers = ["mean", "low", "high", "difference", "difference_low", "difference_high", "moves", "texts"]
    return pd.DataFrame(rows, columns=["task", "model", "metric", "title", "baseline", *numbers])
