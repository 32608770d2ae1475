"""Do explanations help an agent to predict what the model predicts? Agents of the model's own architecture."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval import corpora
from attreval.config import TrainingSpec
from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.units import find_units
from attreval.explain.techniques import TECHNIQUES
from attreval.metrics.unified.ranking import Feature, rank_features, take_units
from attreval.metrics.unified.simulatability import agreement_f1, bootstrap_gain, inform, read_marks
from attreval.papers.common.runs import load_typed_attributions
from attreval.papers.sun2024.explanations import shown_to_agents
from attreval.workflow.step import Step

UNTOLD = ("none", "none", "none")


@dataclass(frozen=True)
class Told:
    """What agents see of one instance: its label (the model's prediction) and its tokens, by technique, type, form."""

    id: str
    label: int
    shown: dict[tuple[str, str, str], Tokens]


@dataclass(frozen=True)
class Simulated:
    """agents: one row each: F1 on the model's predictions, gain over the agent without explanations in points of F1.
    predictions: one row an agent and instance that it is tested on: whether it predicts what the model predicts."""

    agents: pd.DataFrame
    predictions: pd.DataFrame


def simulate(step: Step) -> Simulated:
    """Train agents with and without explanations, and see how often they predict what the model predicts.

    An agent starts where the model started and is trained on the model's predictions for other test instances
    (Sun et al. 2024, section 2.4). Gains have bootstrap intervals over the instances that agents are tested on.
    """
    from attreval.models.training import Prepared

    given, profile = step.parameters, step.profile
    settings = profile.diagnosis.agents
    columns = ["task", "model", "seed", "technique", "type", "form", "f1", "gain", "low", "high", "train", "tested"]
    by_instance = ["task", "model", "seed", "instance", "technique", "type", "form", "correct"]
    if not settings.rows:
        return Simulated(pd.DataFrame(columns=columns), pd.DataFrame(columns=by_instance))
    every = tell_all(step)
    ends = np.cumsum([round(share * len(every)) for share in settings.split[:2]])
    parts = every[: ends[0]], every[ends[0] : ends[1]], every[ends[1] :]
    if not all(parts):
        raise ValueError(
            f"{len(every)} instances cannot be split {settings.split} for agents; raise diagnosis.agents.rows"
        )
    labels = np.array([told.label for told in parts[2]])
    kinds = [UNTOLD, *(kind for kind in every[0].shown if kind != UNTOLD)]
    show = step.progress("training agents")
    predicted: dict[tuple, list[np.ndarray]] = {}
    for done, kind in enumerate(kinds, start=1):
        sets = [[Prepared(t.id, t.label, t.shown[kind]) for t in part] for part in parts]
        predicted[kind] = [train_agent(step, sets, kind, seed) for seed in settings.seeds]
        show(done, len(kinds))
    rows = []
    bootstrap = profile.bootstrap
    for kind in kinds:
        found = [
            bootstrap_gain(
                *(told, untold, labels, bootstrap.draws, bootstrap.level),
                generator("gain", given.task, given.model, given.seed),
            )
            for told, untold in zip(predicted[kind], predicted[UNTOLD], strict=True)
        ]
        f1 = float(np.mean([agreement_f1(told, labels) for told in predicted[kind]]))
        points = (100 * np.mean(found, axis=0)).tolist() if kind != UNTOLD else [float("nan")] * 3
        rows.append((given.task, given.model, given.seed, *kind, f1, *points, len(parts[0]), len(labels)))
    met = [
        (given.task, given.model, given.seed, told.id, *kind, float(np.mean([p[i] == told.label for p in some])))
        for kind, some in predicted.items()
        for i, told in enumerate(parts[2])
    ]
    return Simulated(pd.DataFrame(rows, columns=columns), pd.DataFrame(met, columns=by_instance))


def tell_all(step: Step) -> list[Told]:
    """What agents see of every instance."""
    from attreval.papers.common.trained_models import load_model

    given, profile = step.parameters, step.profile
    settings = profile.diagnosis.agents
    model = load_model(step.results, given.task, given.model, given.seed, profile)
    marks = read_marks(model.tokenizer, most_ranks(settings.pieces))
    longest = getattr(model, "longest", model.max_length)
    records = load_typed_attributions(step.results, profile, given.task, given.model, given.seed)
    out = []
    for instance in shown_to_agents(profile, given.task):
        tokens, shown = model.tokens(instance), {}
        units = find_units(tokens, profile.diagnosis.units.unit)
        for technique, kind, pieces in pieces_shown(instance, tokens, records[instance.id], profile, step.parameters):
            for form in settings.forms:
                shown[technique, kind, form] = inform(tokens, units, pieces, marks, form, longest)
        target = next(iter(records[instance.id].values())).target
        out.append(Told(instance.id, target, {UNTOLD: tokens} | shown))
    return out


def most_ranks(pieces: int) -> int:
    """How many ranks can be needed at most: as many as there are units in a few pairs of long spans."""
    return 200 * pieces


def pieces_shown(
    instance: Instance, tokens: Tokens, records: dict[str, Attribution], profile, given
) -> Iterator[tuple[str, str, list[Feature]]]:
    """(technique, type, pieces): the first pairs of spans, and of every type as many units as these hold."""
    settings = profile.diagnosis
    units = find_units(tokens, settings.units.unit)
    for technique in settings.agents.techniques:
        rankings = {
            kind: rank_features(
                records[method], units, generator("ties", given.task, given.model, given.seed, instance.id, method)
            )
            for kind, method in TECHNIQUES[technique].items()
        }
        size = len(rankings["span"].units(settings.agents.pieces))
        for kind in settings.agents.types:
            yield technique, kind, take_units(rankings[kind], size, rankings["token"])


def train_agent(step: Step, sets: list[list], kind: tuple[str, str, str], seed: int) -> np.ndarray:
    """The classes that an agent predicts for the last of three sets, after training on the first two."""
    from attreval.models.loading import new_classifier
    from attreval.models.training import evaluate, train

    given, profile = step.parameters, step.profile
    task = profile.read_by(given.task)
    agent = new_classifier(
        profile.models[given.model],
        corpora.TASKS[given.task].labels,
        # all agents of a model start from the same weights, so that they differ in what they are shown
        ("agent", given.task, given.model, given.seed, seed),
        [],
        given.model,
        profile.device,
        corpora.resolve_weights,
    )
    spec = TrainingSpec(**(profile.training_of(task, given.model).model_dump() | profile.diagnosis.agents.training))
    folder = step.results.agent(*given.run(), *kind, seed)
    train(agent, sets[0], sets[1], spec, folder, ("agent", given.task, given.model, f"s{given.seed}", seed))
    predicted = evaluate(agent, sets[2]).predicted
    shutil.rmtree(folder)  # agents are many, and only what they predict is of interest
    return predicted
