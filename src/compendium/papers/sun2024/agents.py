"""Simulatability by agents of the model's own architecture (Sun et al. 2024, section 2.4, after Pruthi et al. 2022).

Do explanations help an agent to predict what the model predicts? See metrics.unified.simulatability for their forms.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.records import Tokens
from attreval.core.seeds import generator
from attreval.core.units import find_units
from attreval.metrics.unified.simulatability import agreement_f1, bootstrap_gain, inform, read_marks, weighted_f1
from compendium import corpora
from compendium.config import BootstrapSpec, TrainingSpec
from compendium.papers.common.runs import RUN, load_typed_attributions
from compendium.papers.common.tables import table_of
from compendium.papers.common.trained_models import load_model
from compendium.papers.sun2024.properties import SHOWN_PAIRS, rank_types, shown_features
from compendium.papers.sun2024.tables import of_agents
from compendium.workflow.parallel import kept_or_made
from compendium.workflow.step import Step

Condition = tuple[str, str, str]  # technique, type of explanation, form
UNINFORMED = ("none", "none", "none")
CONDITION = ["technique", "type", "form"]


@dataclass(frozen=True)
class AgentInput:
    """One instance as agents see it: its label (the model's prediction) and its tokens, by condition."""

    id: str
    label: int
    tokens: dict[Condition, Tokens]


@dataclass(frozen=True)
class Simulation:
    """The agents of a run, and what they predict.

    agents: one row per condition: F1 on the model's predictions, gain over the uninformed agent in points of F1.
    predictions: one row per condition, seed of the agents and test instance: do they predict what the model predicts?
    uninformed: one row per test instance and seed of the agents without explanations: the class that the model predicts
    (label) and the one that the agent predicts (predicted).
    """

    agents: pd.DataFrame
    predictions: pd.DataFrame
    uninformed: pd.DataFrame


def simulate(step: Step) -> Simulation:
    """Train agents with and without explanations, and see how often they predict what the model predicts.

    An agent starts where the model started and is trained on the model's predictions for other test instances.
    Gains have bootstrap intervals over the instances that agents are tested on. ValueError for too few instances.
    """
    given, settings, bootstrap = step.parameters, step.profile.diagnosis.agents, step.profile.bootstrap
    run = (given.task, given.model, given.seed)
    agents, predictions, uninformed = [], [], []
    if settings.rows:
        inputs = agent_inputs(step)
        first, second = np.cumsum([round(share * len(inputs)) for share in settings.split[:2]])
        train, dev, test = parts = inputs[:first], inputs[first:second], inputs[second:]
        if not all(parts):
            said = f"{len(inputs)} instances cannot be split {settings.split} for agents"
            raise ValueError(f"{said}; raise diagnosis.agents.rows")
        predicted = _train_agents(step, (train, dev, test))
        labels = np.array([one.label for one in test])
        for condition, by_seed in predicted.items():
            gains = [
                bootstrap_gain(own, other, labels, bootstrap.draws, bootstrap.confidence, generator("gain", *run))
                for own, other in zip(by_seed, predicted[UNINFORMED], strict=True)
            ]
            points = [float("nan")] * 3 if condition == UNINFORMED else (100 * np.mean(gains, axis=0)).tolist()
            f1 = float(np.mean([agreement_f1(own, labels) for own in by_seed]))
            agents.append((*run, *condition, f1, *points, len(train), len(test)))
            for agent, own in zip(settings.seeds, by_seed, strict=True):
                right = zip(test, (own == labels).tolist(), strict=True)
                predictions += [(*run, agent, one.id, *condition, float(correct)) for one, correct in right]
        for agent, classes in zip(settings.seeds, predicted[UNINFORMED], strict=True):
            said = zip(test, labels.tolist(), classes.tolist(), strict=True)
            uninformed += [(*run, agent, one.id, label, own) for one, label, own in said]
    return Simulation(
        pd.DataFrame(agents, columns=[*RUN, *CONDITION, "f1", "gain", "low", "high", "train", "tested"]),
        pd.DataFrame(predictions, columns=[*RUN, "agent_seed", "instance", *CONDITION, "correct"]),
        pd.DataFrame(uninformed, columns=[*RUN, "agent_seed", "instance", "label", "predicted"]),
    )


def agent_inputs(step: Step) -> list[AgentInput]:
    """Each instance that agents see, without an explanation and with each technique, type and form."""
    given, profile = step.parameters, step.profile
    settings, run = profile.diagnosis.agents, (given.task, given.model, given.seed)
    model = load_model(step.results, profile, *run)
    # ranks to be written at most: as many as there are units in a few pairs of long spans
    marks = read_marks(model.tokenizer, 200 * SHOWN_PAIRS)
    longest = getattr(model, "longest", model.max_length)
    records = load_typed_attributions(step.results, profile, *run)
    out = []
    for instance in corpora.load(given.task, "test", settings.rows):
        tokens = model.tokens(instance)
        units = find_units(tokens, profile.diagnosis.units.unit)
        by_condition = {UNINFORMED: tokens}
        for technique in settings.techniques:
            rankings = rank_types(records[instance.id], units, technique, (*run, instance.id))
            shown = shown_features(rankings)
            for kind, form in product(settings.types, settings.forms):
                by_condition[technique, kind, form] = inform(tokens, units, shown[kind], marks, form, longest)
        target = next(iter(records[instance.id].values())).target
        out.append(AgentInput(instance.id, target, by_condition))
    return out


def _train_agents(step: Step, parts: tuple[list[AgentInput], ...]) -> dict[Condition, list[np.ndarray]]:
    """What the agents of each condition predict for the last part: one array per seed."""
    from attreval.models.training import Prepared

    show, conditions = step.progress("training agents"), list(parts[0][0].tokens)
    seeds, predicted = step.profile.diagnosis.agents.seeds, {}
    paths = iter(step.parts([("agent", condition, seed) for condition in conditions for seed in seeds]))
    for done, condition in enumerate(conditions, start=1):
        sets = [[Prepared(one.id, one.label, one.tokens[condition]) for one in part] for part in parts]
        predicted[condition] = [kept_or_made(next(paths), _train_agent, step, sets, condition, seed) for seed in seeds]
        show(done, len(conditions))
    return predicted


def _train_agent(step: Step, sets: list[list], condition: Condition, seed: int) -> np.ndarray:
    """The classes that one agent predicts for the last of three sets, after training on the first two."""
    from attreval.models.loading import new_classifier
    from attreval.models.training import evaluate, train

    given, profile = step.parameters, step.profile
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
    own = profile.training_of(profile.read_by(given.task), given.model).model_dump()
    spec = TrainingSpec(**own | profile.diagnosis.agents.training)
    folder = step.results.agent(*given.run(), *condition, seed)
    train(agent, sets[0], sets[1], spec, folder, ("agent", given.task, given.model, f"s{given.seed}", seed))
    predicted = evaluate(agent, sets[2]).predicted
    shutil.rmtree(folder)  # agents are many, and only what they predict is of interest
    return predicted


def learned_table(step: Step) -> pd.DataFrame:
    """Whether the agents of every evaluated run have learned; see agents_learned."""
    return agents_learned(of_agents(step, "uninformed"), step.profile.bootstrap)


@table_of("task model f1 low high majority uniform chance tested agents learned reason")
def agents_learned(uninformed: pd.DataFrame, settings: BootstrapSpec) -> Iterator[tuple]:
    """Whether agents have learned what they are to simulate: one row per task and model; `reason` is empty if so.

    uninformed: rows of Simulation.uninformed, of any runs. f1: macro F1 of the agents without explanations, mean over
    seeds of models and agents, with a percentile interval over test instances and these seeds. chance: the higher of
    always saying the most frequent class (majority) and drawing one of those that the model ever predicts (uniform).
    Agents have learned where the whole interval lies above chance.
    """
    for (task, model), part in uninformed.groupby(["task", "model"], sort=False):
        runs = [run.set_index("instance") for _, run in part.groupby(["seed", "agent_seed"], sort=False)]
        names = sorted(set.intersection(*(set(run.index) for run in runs)))
        said = [(run.predicted.loc[names].to_numpy(), run.label.loc[names].to_numpy()) for run in runs]
        f1 = float(np.mean([agreement_f1(own, labels) for own, labels in said]))
        rng = generator("agents learned", task, model)
        weights = draw_counts(rng, len(names), settings.draws)
        by_run = np.column_stack([weighted_f1(own, labels, weights) for own, labels in said])
        shares = draw_counts(rng, len(runs), settings.draws) / len(runs)  # 1 where there is but one run
        low, high = map(float, percentile_interval((by_run * shares).sum(axis=1), settings.confidence))
        most = [np.full(len(names), np.bincount(labels).argmax()) for _, labels in said]
        majority = float(np.mean([agreement_f1(own, labels) for own, (_, labels) in zip(most, said, strict=True)]))
        # of guessing uniformly among the K classes that occur, from expected counts: the mean of 2 p / (K p + 1)
        shares = [np.unique(labels, return_counts=True)[1] / len(labels) for _, labels in said]
        uniform = float(np.mean([np.mean(2 * p / (len(p) * p + 1)) for p in shares]))
        chance = max(majority, uniform)
        fault = "have not learned" if f1 <= chance else "are not surely better than chance"
        reason = "" if low > chance else f"agents {fault} (F1 {f1:.2f} [{low:.2f}, {high:.2f}], chance {chance:.2f})"
        yield task, model, f1, low, high, majority, uniform, chance, len(names), len(runs), not reason, reason
