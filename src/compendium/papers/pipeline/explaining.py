"""Notebook 03: explain one shard of a task's test instances by every method, and say what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.records import Attribution, Cost, Instance
from attreval.core.tables import write_attributions
from attreval.core.token_tables import write_tokens
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.methods.run import Explained, explain
from attreval.models.placing import pick_precision
from attreval.models.scorer import Scorer
from compendium.papers.common.choices import FEW, other_choices, tried_run
from compendium.papers.common.sample import examples, marked_corpus, to_explain
from compendium.papers.common.trained_models import load_model
from compendium.workflow.step import Step

CHECKED = 3  # instances on which the faster precision is compared with the exact one


@dataclass(frozen=True)
class Shard:
    """cost: one row a method. example: one row a token of one instance, a column a method. instances: one row each.
    precision: how well sampled methods agree with themselves in the faster and in the exact precision."""

    cost: pd.DataFrame
    example: pd.DataFrame
    instances: pd.DataFrame
    precision: pd.DataFrame


def explain_shard(step: Step) -> Shard:
    """Explain the shard, write attributions and tokens, and give its tables; the first shard also does the examples."""
    given, spec = step.parameters, step.profile.explaining_of(step.parameters.task)
    scorer = open_scorer(step)
    names = ("explain", given.task, given.model, given.seed)
    instances = to_explain(step.profile, given.task, given.model, given.shard, given.instances)
    methods = given.methods or _applicable(spec.methods, scorer)
    explained = explain(scorer, instances, methods, spec, names, spec.target, notify=step.progress("explaining"))
    _write(step, given.run()[-1], explained)
    records = [a for e in explained for a in e.attributions.values()]
    check_gaps(records, spec)
    cost = sum_costs(records, scorer.costs.get("prediction", Cost()), len(instances))
    if given.shard == 0 and not (given.instances or given.methods):
        if wanted := examples(given.task, step.profile.tasks[given.task].examples):
            chosen = _applicable(spec.methods, scorer)
            _write(step, "examples", explain(scorer, wanted, chosen, spec, names, spec.target))
        _write_marked_tokens(step, scorer.model, instances)
        if tried_run(step.profile) == (given.task, given.model, given.seed):
            _write_other_choices(step, scorer, instances[:FEW], names)
    precision = precision_table(scorer, instances, methods, spec, names, spec.target)
    return Shard(cost, _scaled_scores(explained[0]), instance_table(explained), precision)


def open_scorer(step: Step) -> Scorer:
    """The ledger of the step's trained model, in the precision that the profile allows sampled methods."""
    given, spec = step.parameters, step.profile.explaining_of(step.parameters.task)
    model = load_model(step.results, step.profile, given.task, given.model, given.seed)
    return Scorer(model, spec.token_budget, sampled_precision=pick_precision(spec.perturbation_precision, model.device))


def _applicable(methods: Sequence[str], scorer: Scorer) -> list[str]:
    """Those of the methods that apply to the family of the scorer's model."""
    return [method for method in methods if scorer.model.family in METHODS[method].families]


def _write(step: Step, part: str, explained: list[Explained], with_tokens: bool = True) -> None:
    """Write the attributions of a shard, of the examples or of another choice, and the tokens that they speak of."""
    run = step.parameters.task, step.parameters.model, step.parameters.seed
    step.files.append(step.results.attributions(*run, part))
    write_attributions(step.files[-1], [a for e in explained for a in e.attributions.values()])
    if with_tokens:
        step.files.append(step.results.tokens(*run, part))
        write_tokens(step.files[-1], {e.instance.id: e.tokens for e in explained})


def _write_other_choices(step: Step, scorer: Scorer, instances: list[Instance], names: tuple) -> None:
    """Explain a few texts as the paper of the choices, or its code, would (papers.common.choices), and write that."""
    spec = step.profile.explaining_of(step.parameters.task)
    for choice in other_choices(spec):
        if chosen := [name for name in choice.methods if name in _applicable(spec.methods, scorer)]:
            _write(step, choice.part, explain(scorer, instances, chosen, choice.budget, names, spec.target), False)


def _write_marked_tokens(step: Step, model, instances: list[Instance]) -> None:
    """Write how the first model of the agreement judge reads all that people have marked of dev and test.

    How far people agree, in the model's tokens (notebook 05), is said of the whole corpus.
    """
    run = step.parameters.task, step.parameters.model, step.parameters.seed
    runs = [run for run in step.profile.explained_runs("agreement") if run[0] == step.parameters.task]
    if runs[:1] == [run] and any(len(instance.evidence.marks) for instance in instances):
        path = step.results.tokens(*run, "marked")
        write_tokens(path, {i.id: model.tokens(i) for i in marked_corpus(step.parameters.task)})
        step.files.append(path)


def check_gaps(records: list[Attribution], budget: Budget) -> None:
    """Raise ArithmeticError where integrated gradients, free to take more nodes, still miss the sum they owe."""
    if budget.path_steps_most < 2 * budget.path_steps:
        return  # a fixed number of nodes, as published: the gap is what it is, and is stored
    for record in records:
        owed = abs(record.scores.sum() - record.gap)
        if np.isfinite(record.gap) and abs(record.gap) > budget.gap_tolerance * max(1.0, owed):
            raise ArithmeticError(
                f"{record.method} on {record.instance!r}: its scores miss the sum they owe ({owed:.3g}) by "
                f"{record.gap:.3g}; raise explain.path_steps_most or explain.gap_tolerance in the profile"
            )


def sum_costs(records: list[Attribution], prediction: Cost, instances: int) -> pd.DataFrame:
    """One row a method, and one for the prediction itself: evaluations and tokens per instance."""
    totals = {"prediction": prediction}
    for record in records:
        totals[record.method] = totals.get(record.method, Cost()) + record.cost
    counts = ("requested", "unique", "reused", "requested_tokens", "unique_tokens", "gradients")
    rows = [
        {"method": name, "instances": instances} | {count: getattr(cost, count) / instances for count in counts}
        for name, cost in totals.items()
    ]
    return pd.DataFrame(rows)


def instance_table(explained: list[Explained]) -> pd.DataFrame:
    """One row an instance: what the model predicted, how sure, tokens read, what integrated gradients miss.

    gap: the largest completeness gap, in logits. gap_share: the same, as a share of the sum owed or of one logit.
    """
    rows = []
    for e in explained:
        owing = [a for a in e.attributions.values() if np.isfinite(a.gap)]
        rows.append(
            {
                "instance": e.instance.id,
                "label": e.instance.label,
                "predicted": e.predicted,
                "probability": float(e.probabilities[e.predicted]),
                "tokens": len(e.tokens),
                "dropped": e.tokens.dropped,
                "gap": max((abs(a.gap) for a in owing), default=0.0),
                "gap_share": max((abs(a.gap) / max(1.0, abs(a.scores.sum() - a.gap)) for a in owing), default=0.0),
            }
        )
    return pd.DataFrame(rows)


def precision_table(
    scorer: Scorer, instances: list[Instance], methods: Sequence[str], budget: Budget, names: tuple, target: str
) -> pd.DataFrame:
    """One row a method that asks in the faster precision: how its scores there correlate with those in float32."""
    checked, precision = instances[:CHECKED], scorer.sampled_precision
    chosen = [method for method in _applicable(methods, scorer) if METHODS[method].sampled]
    rows = [(m, precision, _correlate(scorer, checked, m, budget, names, target), len(checked)) for m in chosen]
    return pd.DataFrame(rows, columns=["method", "precision", "correlation", "instances"])


def _correlate(scorer: Scorer, instances: list[Instance], method: str, *asked) -> float:
    """Mean Pearson correlation of a method's scores in the faster and in the exact precision, same samples.

    Scores of spans are shared out over tokens, since other scores may make other spans. Texts with fewer than three
    scores, or with scores that are all the same, do not count; NaN where none counts. asked: what follows the methods
    in `explain`.
    """
    if scorer.sampled_precision == "float32":
        return 1.0
    scores = []
    for precision in (scorer.sampled_precision, "float32"):
        ledger = Scorer(scorer.model, scorer.token_budget, sampled_precision=precision)
        explained = explain(ledger, instances, [method], *asked)
        if METHODS[method].level == "span":
            scores.append([e.attributions[method].on_tokens(len(e.tokens))[e.tokens.content] for e in explained])
        else:
            scores.append([e.attributions[method].scores for e in explained])
    correlations = []
    for a, b in zip(*scores, strict=True):
        if len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0:
            correlations.append(np.corrcoef(a, b)[0, 1])
    return float(np.mean(correlations)) if correlations else float("nan")


def _scaled_scores(explained: Explained) -> pd.DataFrame:
    """The scores of one instance: a row a content token, a column a method, each scaled to a largest magnitude of 1."""
    tokens = explained.tokens
    columns = {"token": [tokens.texts[t] for t in tokens.content]}
    for name, record in explained.attributions.items():
        scores = record.on_tokens(len(tokens))[tokens.content]
        largest = np.abs(scores).max()
        columns[METHODS[name].title] = scores / (largest if largest > 0 else 1.0)
    return pd.DataFrame(columns)
