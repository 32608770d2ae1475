"""Makes and stores token, token-pair and span-pair explanations (Sun et al. 2024, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.records import Attribution
from attreval.core.seeds import generator
from attreval.core.tables import read_by_instance, write_attributions
from attreval.core.token_tables import write_tokens
from attreval.methods import METHODS
from attreval.methods.attention_attribution import choose_head
from attreval.methods.method import Budget
from attreval.methods.run import attribution
from attreval.methods.techniques import TECHNIQUES
from compendium import corpora
from compendium.config import Profile
from compendium.papers.pipeline.explaining import open_scorer, precision_table, sum_costs
from compendium.project import Results
from compendium.workflow.step import Step

HEAD_CHOICES = ("per_class", "class_mean", "one_for_all")  # the first is the paper's


@dataclass(frozen=True)
class TypedExplanations:
    """The tables of one part.

    cost: one row per method. precision: see pipeline.explaining.precision_table. instances: one row per instance and
    method: prediction, units, number of features. example: the first features of one instance, one per row.
    heads: the head that attention is taken from, one row per instance and choice.
    """

    cost: pd.DataFrame
    precision: pd.DataFrame
    instances: pd.DataFrame
    example: pd.DataFrame
    heads: pd.DataFrame


def budget_of_types(profile: Profile, task: str) -> Budget:
    """The budget of methods of units, pairs and spans on a task."""
    return profile.explaining_of(task).changed(units=profile.diagnosis.units)


def explain_types(step: Step) -> TypedExplanations:
    """Explain one part of the instances and write the attributions.

    Evaluated instances are explained by every technique, those that only agents see by the agents' techniques.
    """
    from attreval.methods.run import explain

    given, profile = step.parameters, step.profile
    settings = profile.diagnosis
    if given.part >= settings.parts:
        raise ValueError(f"there is no part {given.part}; profile {profile.name!r} has {settings.parts}, from 0")
    scorer = open_scorer(step)
    every = corpora.load(given.task, "test", max(settings.rows, settings.agents.rows))
    names, budget = ("levels", given.task, given.model, given.seed), budget_of_types(profile, given.task)
    jobs = (
        (every[: settings.rows], settings.techniques, "explaining"),
        (every[settings.rows : settings.agents.rows], settings.agents.techniques, "explaining for agents"),
    )
    explained = []
    for instances, techniques, words in jobs:
        if chosen := instances[given.part :: settings.parts]:
            show = step.progress(words)
            explained += explain(scorer, chosen, _methods_of(techniques), budget, names, notify=show)
    path = step.results.typed_attributions(given.task, given.model, given.seed, given.part)
    write_attributions(path, [a for e in explained for a in e.attributions.values()])
    tokens_path = step.results.typed_tokens(given.task, given.model, given.seed, given.part)
    write_tokens(tokens_path, {e.instance.id: e.tokens for e in explained})
    step.files += [path, tokens_path]
    methods = _methods_of(settings.techniques)
    fully = [e for e in explained if len(e.attributions) == len(methods)]
    cost = sum_costs([a for e in fully for a in e.attributions.values()], scorer.costs["prediction"], len(fully))
    checked = every[: settings.rows][given.part :: settings.parts]
    precision = precision_table(scorer, checked, methods, budget, names, "predicted")
    instances, example = _list_instances(explained), _first_features(fully[0])
    heads = _explain_by_other_heads(step, scorer, explained, budget, names)
    return TypedExplanations(cost[cost.method != "prediction"], precision, instances, example, heads)


def _explain_by_other_heads(step: Step, scorer, explained: list, budget: Budget, names: tuple) -> pd.DataFrame:
    """Write attention explanations by heads that are chosen otherwise than for the class, and list all chosen heads.

    They share the attention weights: a text costs one pass for these and one for each choice.
    """
    given, methods, rows = step.parameters, TECHNIQUES["attention"].values(), []
    by_head = [e for e in explained if all(method in e.attributions for method in methods)]
    made: dict[str, list[Attribution]] = {choice: [] for choice in HEAD_CHOICES[1:]}
    show = step.progress("explaining by other heads")
    for start in range(0, len(by_head), 8):
        part = by_head[start : start + 8]
        for choice in HEAD_CHOICES:
            own = budget.changed(units=budget.units.changed(head_choice=choice))
            asked = [("heads", choose_head(e.tokens, e.predicted, own.units)) for e in part]
            rows += [(e.instance.id, choice, head) for e, head in zip(part, scorer.converse(asked), strict=True)]
            if choice in made:
                made[choice] += _attend(scorer, part, own, names)
        scorer.forget()
        show(start + len(part), len(by_head))
    for choice, records in made.items() if by_head else ():
        path = step.results.typed_attributions(given.task, given.model, given.seed, f"{given.part}-{choice}")
        write_attributions(path, records)
        step.files.append(path)
    return pd.DataFrame(rows, columns=["instance", "head_choice", "head"])


def _attend(scorer, part: list, budget: Budget, names: tuple) -> list[Attribution]:
    """Attention explanations of all types, for the predicted class, of instances that have been explained."""
    jobs = [(e, method) for e in part for method in TECHNIQUES["attention"].values()]
    answers = scorer.converse(
        (
            f"{e.instance.id}\x1f{method}",
            METHODS[method].converse(
                e.tokens, e.predicted, budget, generator(*names, e.instance.id, METHODS[method].draws or method)
            ),
        )
        for e, method in jobs
    )
    costs = [scorer.costs.pop(f"{e.instance.id}\x1f{method}") for e, method in jobs]
    return [
        attribution(e.instance, e.tokens, method, e.predicted, scores, cost)
        for (e, method), scores, cost in zip(jobs, answers, costs, strict=True)
    ]


def load_head_attributions(
    results: Results, profile: Profile, task: str, model: str, seed: int
) -> tuple[dict[str, pd.Series], dict[str, dict[str, dict[str, Attribution]]]]:
    """(choice -> head of each instance, choice -> instance id -> method -> record); records of the paper's choice are
    those of load_typed_attributions. FileNotFoundError: 07_sun2024_explanations has not run; it says how it does."""
    parts, where = range(profile.diagnosis.parts), "07_sun2024_explanations"
    heads = pd.concat([results.read_table("heads", where, task, model, seed, part) for part in parts])
    others = {}
    for choice in HEAD_CHOICES[1:]:
        paths = [results.typed_attributions(task, model, seed, f"{part}-{choice}") for part in parts]
        others[choice] = read_by_instance(*(results.existing(path, where) for path in paths))
    return {choice: own.set_index("instance")["head"] for choice, own in heads.groupby("head_choice")}, others


def _methods_of(techniques) -> list[str]:
    """The methods of techniques, of all types."""
    return [method for technique in techniques for method in TECHNIQUES[technique].values()]


def _list_instances(explained: list) -> pd.DataFrame:
    """One row per instance and method: prediction, number of features, and the completeness gap where there is one."""
    rows = [
        (e.instance.id, e.instance.label, e.predicted, len(e.tokens.content), m, len(a.scores), abs(a.gap))
        for e in explained
        for m, a in e.attributions.items()
    ]
    return pd.DataFrame(rows, columns=["instance", "label", "predicted", "tokens", "method", "pieces", "gap"])


def _first_features(explained, first: int = 3) -> pd.DataFrame:
    """The first features of every method on one instance, as texts."""
    rows, tokens = [], explained.tokens
    for method, record in explained.attributions.items():
        for rank, i in enumerate(np.argsort(-record.scores, kind="stable")[:first], start=1):
            sides: dict[int, list[str]] = {}
            for p in record.features[i]:
                sides.setdefault(int(tokens.offsets[p, 0]), []).append(tokens.texts[p])
            text = " | ".join(" ".join(side) for side in sides.values())
            rows.append((METHODS[method].title, rank, text, float(record.scores[i])))
    return pd.DataFrame(rows, columns=["method", "rank", "piece", "score"])
