"""Where should integrated gradients start? The same texts explained from every baseline."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import pandas as pd

from attreval.methods.method import PathBaseline
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import tau_b
from compendium.papers.common import runs
from compendium.papers.common.sentences import lowest, of_row, sentence
from compendium.papers.common.tables import mean_low_high, spell, table_of
from compendium.papers.joint.values import OF_TOKENS, ask_metrics, score_text, stored_scores
from compendium.papers.joint.variants import OpenRun, Part, first_parts, measure_variants
from compendium.workflow.step import Step

COLUMNS = spell("task model instance baseline metric value")
METHOD = "integrated_gradients"
BASELINES = get_args(PathBaseline)
REFERENCE = "pad"  # which baseline the others are compared with
GAP = "gap"  # among the metrics of baselines: how far scores are from the sum they owe
OF_SCORES = [metric for metric in OF_TOKENS if "model" not in metric.needs]
OF_MODEL = [metric for metric in OF_TOKENS if "model" in metric.needs]


def measure_baselines(step: Step) -> pd.DataFrame:
    """One row a text, baseline of integrated gradients and metric; the value may be NaN."""
    jobs = []
    for task, rows in step.profile.joint.path_baselines.items():
        if run := step.profile.first_explained(task):
            explained = step.profile.rows_explained(*run[:2])
            jobs += [(run, part) for part in first_parts(min(rows, explained))]
    return measure_variants(step, "baselines", _explain_from_each, jobs, COLUMNS)


def _explain_from_each(opened: OpenRun, part: Part) -> Iterator[tuple]:
    """What metrics say of a few texts that are explained from every baseline."""
    profile = opened.profile
    run = opened.run
    texts = runs.to_explain(profile, *run[:2])[slice(*part)]
    explained = {}
    for baseline in BASELINES:
        budget = opened.budget.changed(path_baseline=baseline)
        explained[baseline] = opened.explain(texts, [METHOD], budget, run, budget.target)
    records = runs.load_records_once(opened.results, profile, *run)
    borrowed = runs.borrowed_evidence(run[0])
    others = [method for method in runs.common_methods(records) if not method.startswith(METHOD)]
    for at, instance in enumerate(texts):
        tokens = explained[REFERENCE][at].tokens
        own = {baseline: found[at].attributions[METHOD] for baseline, found in explained.items()}
        scores = {baseline: record.scores for baseline, record in own.items()}
        marked = runs.with_evidence(instance, borrowed)
        of_others = stored_scores(records[instance.id], others, tokens)
        target = own[REFERENCE].target
        for baseline, record in own.items():
            yield instance.id, baseline, GAP, abs(record.gap)
            likeness = float(tau_b(record.scores, scores[REFERENCE]))
            yield instance.id, baseline, "score_tau_b", likeness
            # metrics that compare methods: one baseline at a time stands among the other methods
            beside = of_others | {METHOD: record.scores}
            text = score_text(profile, run, marked, tokens, beside, target)
            (found,) = ask_metrics(opened.scorer, [], [text], OF_SCORES)
            for method, metric, value in found:
                if method == METHOD:
                    yield instance.id, baseline, metric, value
        # metrics that ask the model: each baseline stands as a method of its own
        draws = dict.fromkeys(scores, (*run, instance.id, METHOD))
        text = replace(score_text(profile, run, marked, tokens, scores, target), draws=draws)
        (found,) = ask_metrics(opened.scorer, [text], [text], OF_MODEL)
        for baseline, metric, value in found:
            if baseline != "random":
                yield instance.id, baseline, metric, value


@table_of("task model metric title baseline mean low high difference± moves texts")
def baselines_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, metric and baseline: the mean, and how far it moves from that of padding."""
    settings = step.profile.bootstrap
    for (task, model, metric), part in values.groupby(["task", "model", "metric"], sort=False):
        by = part.pivot(index="instance", columns="baseline", values="value").dropna()
        title = METRICS[metric].title if metric in METRICS else "Missed of the sum owed"
        for baseline in BASELINES if len(by) else ():
            own = mean_low_high(by[baseline], settings, METHOD, task)
            moved = mean_low_high(by[baseline] - by[REFERENCE], settings, METHOD, task)
            moves = moved[1] * moved[2] > 0
            yield task, model, metric, title, baseline, *own, *moved, moves, len(by)


@sentence
def say_baselines(table: pd.DataFrame) -> str:
    """How many metrics a baseline moves, and how like the scores stay."""
    others = table[table.baseline != REFERENCE]
    likeness = others.metric == "score_tau_b"
    moved = others[~likeness]
    said = f"Another baseline surely moves {moved.moves.sum()} of {len(moved)} metric values"
    ranks = others[likeness]
    if len(ranks):
        least = lowest(ranks, "mean")
        said += f"; scores change most from {least.baseline} (rank correlation with those from pad "
        said += f"{of_row(least, 'mean')})"
    return said
