"""What do units, pairs and spans of a text count for its prediction, by each technique? Explain and keep the scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval import corpora
from attreval.config import Profile
from attreval.core.records import Instance
from attreval.core.tables import write_attributions
from attreval.core.token_tables import write_tokens
from attreval.explain import METHODS
from attreval.explain.method import Budget
from attreval.explain.techniques import TECHNIQUES
from attreval.papers.pipeline.explaining import open_scorer, precision_table, sum_costs
from attreval.workflow.step import Step


@dataclass(frozen=True)
class Levels:
    """cost: one row a method. instances: one row each: what the model predicted, how many units, pieces by method.
    example: the first pieces of one instance, a row each. precision: of pipeline.explaining.precision_table."""

    cost: pd.DataFrame
    precision: pd.DataFrame
    instances: pd.DataFrame
    example: pd.DataFrame


def diagnosis_budget(profile: Profile, task: str) -> Budget:
    """What methods of units, pairs and spans may spend on a task."""
    return profile.explaining_of(task).changed(units=profile.diagnosis.units)


def shown_to_agents(profile: Profile, task: str) -> list[Instance]:
    """The test instances that agents learn from and are tested on."""
    return corpora.load(task, "test", profile.diagnosis.agents.rows) if profile.diagnosis.agents.rows else []


def methods_of(techniques) -> list[str]:
    """The methods of techniques, at all levels."""
    return [method for technique in techniques for method in TECHNIQUES[technique].values()]


def explain_types(step: Step) -> Levels:
    """Explain one part of the instances and write the attributions.

    The instances under diagnosis are explained by every technique, those that only agents see by the agents' ones.
    """
    from attreval.explain.run import explain

    given, profile = step.parameters, step.profile
    settings = profile.diagnosis
    if given.part >= settings.parts:
        raise ValueError(f"there is no part {given.part}; profile {profile.name!r} has {settings.parts}, from 0")
    scorer = open_scorer(step)
    every = corpora.load(given.task, "test", max(settings.rows, settings.agents.rows))
    names, budget = ("levels", given.task, given.model, given.seed), diagnosis_budget(profile, given.task)
    jobs = (
        (every[: settings.rows], settings.techniques, "explaining"),
        (every[settings.rows : settings.agents.rows], settings.agents.techniques, "explaining for agents"),
    )
    explained = []
    for instances, techniques, words in jobs:
        chosen = instances[given.part :: settings.parts]
        if chosen:
            show = step.progress(words)
            explained += explain(scorer, chosen, methods_of(techniques), budget, names, notify=show)
    records = [a for e in explained for a in e.attributions.values()]
    path = step.results.typed_attributions(given.task, given.model, given.seed, given.part)
    write_attributions(path, records)
    tokens_path = step.results.typed_tokens(given.task, given.model, given.seed, given.part)
    write_tokens(tokens_path, {e.instance.id: e.tokens for e in explained})
    step.files += [path, tokens_path]
    fully = [e for e in explained if len(e.attributions) == len(methods_of(settings.techniques))]
    cost = sum_costs([a for e in fully for a in e.attributions.values()], scorer.costs["prediction"], len(fully))
    checked = every[: settings.rows][given.part :: settings.parts]
    precision = precision_table(scorer, checked, methods_of(settings.techniques), budget, names, "predicted")
    return Levels(cost[cost.method != "prediction"], precision, list_levels(explained), lay_out_pieces(fully[0]))


def list_levels(explained: list) -> pd.DataFrame:
    """One row an instance and method: the prediction, how many pieces, and the completeness gap where there is one."""
    rows = [
        (e.instance.id, e.instance.label, e.predicted, len(e.tokens.content), m, len(a.scores), abs(a.gap))
        for e in explained
        for m, a in e.attributions.items()
    ]
    return pd.DataFrame(rows, columns=["instance", "label", "predicted", "tokens", "method", "pieces", "gap"])


def lay_out_pieces(explained, first: int = 3) -> pd.DataFrame:
    """The first pieces of every method on one instance, as texts."""
    rows = []
    tokens = explained.tokens
    for method, record in explained.attributions.items():
        order = np.argsort(-record.scores, kind="stable")[:first]
        for rank, i in enumerate(order, start=1):
            sides = {}
            for p in record.features[i]:
                sides.setdefault(int(tokens.offsets[p, 0]), []).append(tokens.texts[p])
            shown = " | ".join(" ".join(side) for side in sides.values())
            rows.append((METHODS[method].title, rank, shown, float(record.scores[i])))
    return pd.DataFrame(rows, columns=["method", "rank", "piece", "score"])
