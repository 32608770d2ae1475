"""Notebook 03: explain one shard of a task's test instances by every method, and at what cost."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.records import Attribution, Cost, Instance
from attreval.core.tables import write_attributions, write_tokens
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.methods.run import Explained, explain_instances, records_of
from attreval.metrics.scored_text import to_scale
from attreval.models.classifier import Classifier
from attreval.models.placing import pick_precision
from attreval.models.scorer import Scorer
from compendium.corpora.written import printed_instances
from compendium.papers.common.runs import COSTS, OtherChoice, examples, marked_corpus, to_explain
from compendium.papers.common.tables import table_of
from compendium.papers.common.trained_models import load_model
from compendium.workflow.step import Step

CHECKED = 3  # instances on which the faster precision is compared with the exact one


@dataclass(frozen=True)
class Shard:
    """cost: one row a method. example: one row a token of one instance, a column a method.

    instances: one row each. precision: how well sampled methods agree with themselves in the faster
    and in the exact precision.
    """

    cost: pd.DataFrame
    example: pd.DataFrame
    instances: pd.DataFrame
    precision: pd.DataFrame


def explain_shard(step: Step, choices: Iterable[OtherChoice] = ()) -> Shard:
    """Explain the shard, write attributions and tokens, and give its tables.

    The first shard also explains the examples, printed texts, and a few under every other choice.
    """
    given = step.parameters
    spec = step.profile.explaining_of(given.task)
    scorer = open_scorer(step)
    *run, shard = given.run()
    every = [method for method in spec.methods if scorer.model.family in METHODS[method].families]
    methods = given.methods or every
    how = (("explain", *run), spec.target)
    instances = to_explain(step.profile, given.task, given.model, given.shard, given.instances)
    explained = explain_instances(
        scorer, instances, methods, spec, *how, notify=step.progress("explaining")
    )
    _write(step, shard, explained)
    records = records_of(explained)
    check_gaps(records, spec)
    cost = sum_costs(records, scorer.costs.get("prediction", Cost()), len(instances))
    if given.shard == 0 and not (given.instances or given.methods):
        if wanted := examples(given.task, step.profile.tasks[given.task].examples):
            _write(step, "examples", explain_instances(scorer, wanted, every, spec, *how))
        if printed := printed_instances(given.task, step.profile.tasks[given.task].printed):
            shown = explain_instances(scorer, printed, every, spec, how[0], "gold")
            _write(step, "printed", shown)
            step.table("printed", instance_table(shown))
        _write_marked_tokens(step, scorer.model, instances)
        for choice in choices:
            chosen = [method for method in choice.methods if method in every]
            if chosen:
                part = explain_instances(
                    scorer, instances[: choice.texts], chosen, choice.budget, *how
                )
                _write(step, choice.part, part, with_tokens=False)
    precision = precision_table(scorer, instances, methods, spec, *how)
    return Shard(cost, _scaled_scores(explained[0]), instance_table(explained), precision)


def open_scorer(step: Step) -> Scorer:
    """The ledger of the step's trained model, in the precision allowed for sampled methods."""
    given = step.parameters
    spec = step.profile.explaining_of(given.task)
    model = load_model(step.results, step.profile, *given.run()[:3])
    return Scorer(
        model,
        spec.token_budget,
        sampled_precision=pick_precision(spec.perturbation_precision, model.device),
    )


def _write(step: Step, part: str, explained: list[Explained], with_tokens: bool = True) -> None:
    """Write the attributions of a shard, of the examples or of another choice, and their tokens."""
    *run, _ = step.parameters.run()
    step.files.append(step.results.attributions(*run, part))
    write_attributions(step.files[-1], records_of(explained))
    if with_tokens:
        step.files.append(step.results.tokens(*run, part))
        write_tokens(step.files[-1], {one.instance.id: one.tokens for one in explained})


def _write_marked_tokens(step: Step, model: Classifier, instances: list[Instance]) -> None:
    """Write how the agreement judge's first model reads all that people marked.

    Notebook 05 says how they agree.
    """
    task, model_name, seed, _ = step.parameters.run()
    runs = step.profile.explained_runs("agreement")
    first = next((one for one in runs if one[0] == task), None)
    is_first = first == (task, model_name, seed)
    if is_first and any(len(instance.evidence.marks) for instance in instances):
        step.files.append(step.results.tokens(task, model_name, seed, "marked"))
        write_tokens(step.files[-1], {i.id: model.tokens(i) for i in marked_corpus(task)})


def check_gaps(records: list[Attribution], budget: Budget) -> None:
    """Raise ArithmeticError where integrated gradients still miss the sum they owe.

    Only where they are free to take more nodes.
    """
    if budget.path_steps_most < 2 * budget.path_steps:
        return  # a fixed number of nodes, as published: the gap is what it is, and is stored
    for record in records:
        owed = abs(record.scores.sum() - record.gap)
        if np.isfinite(record.gap) and abs(record.gap) > budget.gap_tolerance * max(1.0, owed):
            raise ArithmeticError(
                f"{record.method} on {record.instance!r}: its scores miss the sum they owe "
                f"({owed:.3g}) by {record.gap:.3g}; raise explain.path_steps_most or "
                "explain.gap_tolerance in the profile"
            )


@table_of(f"method instances {' '.join(COSTS)}")
def sum_costs(records: list[Attribution], prediction: Cost, instances: int) -> Iterator[tuple]:
    """One row a method, and one for the prediction itself: evaluations and tokens per instance."""
    totals = {"prediction": prediction}
    for record in records:
        totals[record.method] = totals.get(record.method, Cost()) + record.cost
    for method, cost in totals.items():
        means = [getattr(cost, count) / instances for count in COSTS]
        yield method, instances, *means


@table_of("instance label predicted probability tokens dropped gap gap_share")
def instance_table(explained: list[Explained]) -> Iterator[tuple]:
    """One row an instance: its prediction, tokens, and what integrated gradients miss.

    gap: the largest completeness gap, in logits. gap_share: the same, as a share of the sum owed or
        of one logit.
    """
    for one in explained:
        gaps = [0.0]
        shares = [0.0]
        for record in one.attributions.values():
            if np.isfinite(record.gap):
                owed = abs(record.scores.sum() - record.gap)
                gaps.append(abs(record.gap))
                shares.append(abs(record.gap) / max(1.0, owed))
        said = (one.predicted, float(one.probabilities[one.predicted]))
        read = (len(one.tokens), one.tokens.dropped)
        yield one.instance.id, one.instance.label, *said, *read, max(gaps), max(shares)


@table_of("method precision correlation instances")
def precision_table(
    scorer: Scorer, instances: list[Instance], methods: Iterable[str], *asked: Any
) -> Iterator[tuple]:
    """One row a sampled method: how its scores correlate with those in float32.

    asked: what follows the methods in `explain_instances`.
    """
    checked = instances[:CHECKED]
    for method in methods:
        if METHODS[method].sampled and scorer.model.family in METHODS[method].families:
            correlation = _correlate(scorer, checked, method, *asked)
            yield method, scorer.sampled_precision, correlation, len(checked)


def _correlate(scorer: Scorer, instances: list[Instance], method: str, *asked: Any) -> float:
    """Mean Pearson correlation of a method's scores in the faster and in the exact precision.

    Both draw the same samples.

    Scores of spans are shared out over tokens, since other scores may make other spans. Texts with
    fewer than three scores, or with scores that are all the same, do not count; NaN where none
    counts. asked: what follows the methods in `explain`.
    """
    if scorer.sampled_precision == "float32":
        return 1.0
    scores = []
    for precision in (scorer.sampled_precision, "float32"):
        ledger = Scorer(scorer.model, scorer.token_budget, sampled_precision=precision)
        made = []
        for one in explain_instances(ledger, instances, [method], *asked):
            record = one.attributions[method]
            found = record.scores
            if METHODS[method].level == "span":
                found = record.on_content(one.tokens)
            made.append(found)
        scores.append(made)
    correlations = [
        np.corrcoef(faster, exact)[0, 1]
        for faster, exact in zip(*scores, strict=True)
        if len(faster) > 2 and np.ptp(faster) > 0 and np.ptp(exact) > 0
    ]
    return float(np.mean(correlations)) if correlations else np.nan


def _scaled_scores(explained: Explained) -> pd.DataFrame:
    """The scores of one instance: a row a token, a column a method, the largest being 1."""
    tokens = explained.tokens
    shown = pd.DataFrame({"token": [tokens.texts[t] for t in tokens.content]})
    for name, record in explained.attributions.items():
        shown[METHODS[name].title] = to_scale(record.on_content(tokens))
    return shown
