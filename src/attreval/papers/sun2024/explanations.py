"""Token, token-pair and span-pair explanations (Sun et al. 2024, section 3.2): made, stored, and read again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attreval import corpora
from attreval.config import Profile
from attreval.core.project import Results
from attreval.core.records import Attribution, Instance
from attreval.core.tables import read_by_instance, write_attributions
from attreval.explain import METHODS
from attreval.explain.method import Budget, Pieces
from attreval.explain.techniques import TECHNIQUES
from attreval.papers.common.runs import budget_of, load_model
from attreval.papers.pipeline.explaining import sum_costs
from attreval.workflow.step import Step


@dataclass(frozen=True)
class TypedExplanations:
    """cost: one row a method. instances: one row an instance and method: prediction, units, number of features.
    example: the first features of one instance, a row each."""

    cost: pd.DataFrame
    instances: pd.DataFrame
    example: pd.DataFrame


def budget_of_types(profile: Profile, task: str) -> Budget:
    """What methods of units, pairs and spans may ask of a model of a task."""
    pieces = Pieces(**profile.diagnosis.pieces.model_dump())
    return replace(budget_of(profile.explaining_of(task)), pieces=pieces)


def evaluated_instances(profile: Profile, task: str) -> list[Instance]:
    """The test instances whose explanations are evaluated by all properties."""
    return corpora.load(task, "test", profile.diagnosis.rows)


def explain_types(step: Step) -> TypedExplanations:
    """Explain one part of the instances and write the attributions.

    Evaluated instances are explained by every technique, those that only agents see by the agents' techniques.
    """
    from attreval.explain.run import explain

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
    step.files.append(path)
    fully = [e for e in explained if len(e.attributions) == len(_methods_of(settings.techniques))]
    cost = sum_costs([a for e in fully for a in e.attributions.values()], scorer.costs["prediction"], len(fully))
    return TypedExplanations(cost[cost.method != "prediction"], _list_instances(explained), _first_features(fully[0]))


def _methods_of(techniques) -> list[str]:
    """The methods of techniques, of all types."""
    return [method for technique in techniques for method in TECHNIQUES[technique].values()]


def open_scorer(step: Step):
    """The ledger of the step's model."""
    from attreval.models.scorer import Scorer
    from attreval.models.transformer import pick_precision

    given, spec = step.parameters, step.profile.explaining_of(step.parameters.task)
    model = load_model(step.results, given.task, given.model, given.seed, step.profile)
    return Scorer(model, spec.token_budget, sampled_precision=pick_precision(spec.perturbation_precision, model.device))


def _list_instances(explained: list) -> pd.DataFrame:
    """One row an instance and method: prediction, number of features, and the completeness gap where there is one."""
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


def load_typed_attributions(
    results: Results, profile: Profile, task: str, model: str, seed: int
) -> dict[str, dict[str, Attribution]]:
    """Attributions of all parts: instance id -> method -> record. FileNotFoundError that says what to run."""
    paths = [results.typed_attributions(task, model, seed, part) for part in range(profile.diagnosis.parts)]
    if missing := [path for path in paths if not path.exists()]:
        how = f"run notebook 07_sun2024_explanations, or `attreval run --profile {profile.name}`"
        raise FileNotFoundError(f"no explanations at {missing[0]}: {how}")
    return read_by_instance(*paths)
