"""Simulatability by agents of the model's own architecture (Sun et al. 2024, section 2.4).

After Pruthi et al. (2022).

Do explanations help an agent to predict what the model predicts? And do they leak it, that is, tell
the predicted class without their words? An agent that is shown where an explanation points learns
whatever these places reveal. The head of an attention explanation is chosen for the predicted
class, so its number alone, or the places it attends to, may give the class away. So a logistic
regression predicts the class from the shown places without any word: for what it can predict, no
agent needs the model's reasons. And do agents use what they are shown? One more agent is shown an
explanation that is planted to give the class away: where that does not help, neither could an
honest one, and gains say nothing. Letters used for shapes: N texts, F features.
"""

import shutil
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import Rng, generator
from attreval.core.units import Units, find_units
from attreval.methods import TECHNIQUES
from attreval.metrics.unified.faithfulness import Feature, units_in
from attreval.metrics.unified.simulatability import (
    agreement_f1,
    bootstrap_gain,
    inform,
    read_marks,
    weighted_f1,
)
from compendium import corpora
from compendium.config import BootstrapSpec, Profile, TrainingSpec
from compendium.papers.common.contrasts import with_bounds
from compendium.papers.common.runs import (
    RUN,
    load_typed_attributions,
    load_typed_tokens,
    one_by_one,
)
from compendium.papers.common.sentences import between
from compendium.papers.common.tables import table_of
from compendium.papers.common.trained_models import load_model
from compendium.papers.sun2024.properties import SHOWN_PAIRS, rank_types, shown_features
from compendium.papers.sun2024.tables import model_family, of_agents
from compendium.project import Results
from compendium.workflow.parallel import kept_or_made
from compendium.workflow.step import Step

Condition = tuple[str, str, str]  # technique, type of explanation, form
UNINFORMED = ("none", "none", "none")
PLANTED = ("planted", "token", "symbol")
CONDITION = ["technique", "type", "form"]
BINS = 6  # of the places in each part of the input
FOLDS = 5
NONE = "-"  # the head's choice of a technique that has no heads


@dataclass(frozen=True)
class Simulation:
    """What agents say of the model's predictions.

    agents: one row per condition: F1 on the model's predictions, gain over the uninformed agent in
    points of F1.

    predictions: one row per condition, seed of the agents and test instance: do they predict what
        the model predicts?
    uninformed: of the agents without explanations, the classes that the model (label) and the agent
        predicts, and the one that the agent with planted explanations does.
    """

    agents: pd.DataFrame
    predictions: pd.DataFrame
    uninformed: pd.DataFrame


class Sets(NamedTuple):
    """What an agent is trained on, chosen by, and tested on."""

    train: list
    dev: list
    test: list

    @classmethod
    def split(cls, every: list, shares: Sequence[float]) -> "Sets":
        """The three in order; shares: of the first two."""
        first, second = np.cumsum([round(share * len(every)) for share in shares[:2]])
        return cls(every[:first], every[first:second], every[second:])


def simulate(step: Step) -> Simulation:
    """Train agents with and without explanations, and test if they predict what the model does.

    An agent starts where the model started and is trained on the model's predictions for other test
    instances. Gains have bootstrap intervals over the instances that agents are tested on.
    ValueError for too few instances.
    """
    run = step.parameters.run()
    settings = step.profile.diagnosis.agents
    agents = []
    said = []
    planted: list[np.ndarray] = []
    if settings.rows_of(run[0]):
        inputs = {
            condition: Sets.split(told, settings.split)
            for condition, told in agent_inputs(step).items()
        }
        own = inputs[UNINFORMED]
        if not all(own):
            rows = sum(map(len, own))
            raise ValueError(
                f"{rows} instances cannot be split {settings.split} for agents; raise "
                "diagnosis.agents.rows"
            )
        predicted = _train_agents(step, inputs)
        planted = predicted.pop(PLANTED)
        labels = np.array([one.label for one in own.test])
        for condition, by_seed in predicted.items():
            points = [np.nan] * 3
            if condition != UNINFORMED:
                points = _gain(step, by_seed, predicted[UNINFORMED], labels)
            f1 = np.mean([agreement_f1(guesses, labels) for guesses in by_seed])
            agents.append((*run, *condition, f1, *points, len(own.train), len(own.test)))
            for agent, guesses in zip(settings.seeds, by_seed, strict=True):
                for one, guess in zip(own.test, guesses, strict=True):
                    said.append((*run, agent, one.id, *condition, one.label, guess))
    said = pd.DataFrame(
        said, columns=[*RUN, "agent_seed", "instance", *CONDITION, "label", "predicted"]
    )
    correct = (said.predicted == said.label).astype(float)
    uninformed = said[said.technique == UNINFORMED[0]]
    uninformed = uninformed.assign(planted=np.concatenate([*planted, []]).astype(int))
    return Simulation(
        pd.DataFrame(
            agents, columns=[*RUN, *CONDITION, "f1", "gain", "low", "high", "train", "tested"]
        ),
        said.assign(correct=correct).drop(columns=["label", "predicted"]),
        uninformed.drop(columns=CONDITION).reset_index(drop=True),
    )


def _gain(
    step: Step, informed: list[np.ndarray], uninformed: list[np.ndarray], labels: np.ndarray
) -> list[float]:
    """Gain over the uninformed agent of the same seed in points of F1, low and high.

    Means over seeds.
    """
    bootstrap = step.profile.bootstrap
    gains = []
    for own, other in zip(informed, uninformed, strict=True):
        rng = generator("gain", *step.parameters.run())
        gains.append(bootstrap_gain(own, other, labels, bootstrap.draws, bootstrap.confidence, rng))
    return (100 * np.mean(gains, axis=0)).tolist()


def agent_inputs(step: Step) -> dict[Condition, list]:
    """By condition, the instances as agents see them, the model's prediction as label."""
    from attreval.models.training import Prepared

    run = step.parameters.run()
    profile = step.profile
    settings = profile.diagnosis.agents
    model = load_model(step.results, profile, *run)
    # ranks to be written at most: as many as there are units in a few pairs of long spans
    marks = read_marks(getattr(model, "tokenizer", None), 200 * SHOWN_PAIRS)
    longest = getattr(model, "longest", model.max_length)
    records = load_typed_attributions(step.results, profile, *run)
    inputs = defaultdict(list)
    for instance in corpora.load_task(run[0], "test", settings.rows):
        tokens = model.tokens(instance)
        units = find_units(tokens, profile.diagnosis.units.unit)
        own = records[instance.id]
        target = next(iter(own.values())).target
        inputs[UNINFORMED].append(Prepared(instance.id, target, tokens))
        place = min(target, len(units.groups) - 1)  # of the unit that is quoted
        told = inform(tokens, units, [((place,), ())], marks, PLANTED[-1], longest)
        inputs[PLANTED].append(Prepared(instance.id, target, told))
        for technique in settings.techniques:
            shown = shown_features(rank_types(own, units, technique, (*run, instance.id)))
            for kind, form in product(settings.types, settings.forms):
                informed = inform(tokens, units, shown[kind], marks, form, longest)
                inputs[technique, kind, form].append(Prepared(instance.id, target, informed))
    return inputs


def _train_agents(step: Step, inputs: dict[Condition, Sets]) -> dict[Condition, list[np.ndarray]]:
    """What the agents of each condition predict for the test set: one array per seed."""
    seeds = step.profile.diagnosis.agents.seeds
    paths = iter(step.parts([("agent", condition, seed) for condition in inputs for seed in seeds]))
    predicted = {}
    for condition, sets in one_by_one(step, "training agents", [*inputs.items()]):
        predicted[condition] = [
            kept_or_made(next(paths), _train_agent, step, sets, condition, seed) for seed in seeds
        ]
    return predicted


def _train_agent(step: Step, sets: Sets, condition: Condition, seed: int) -> np.ndarray:
    """The classes that one agent predicts for the test set."""
    from attreval.models.loading import new_classifier
    from attreval.models.training import measure_performance, train

    given = step.parameters
    profile = step.profile
    agent = new_classifier(
        profile.models[given.model],
        corpora.TASKS[given.task].labels,
        # all agents of a model start from the same weights, so that they differ in what they are
        # shown
        ("agent", given.task, given.model, given.seed, seed),
        [],
        given.model,
        profile.device,
        corpora.resolve_weights,
    )
    own = profile.training_of(profile.read_by(given.task), given.model).model_dump()
    spec = TrainingSpec(**own | profile.diagnosis.agents.training)
    folder = step.results.agent(*given.run(), *condition, seed)
    train(
        agent,
        sets.train,
        sets.dev,
        spec,
        folder,
        ("agent", given.task, given.model, f"s{given.seed}", seed),
    )
    predicted = measure_performance(agent, sets.test).predicted
    shutil.rmtree(folder)  # agents are many, and only what they predict is of interest
    return predicted


def learned_table(step: Step) -> pd.DataFrame:
    """Whether the agents of every evaluated run have learned; see agents_learned."""
    return agents_learned(of_agents(step, "uninformed"), step.profile.bootstrap)


def majority_f1(labels: np.ndarray) -> float:
    """Macro F1 of always saying the most frequent class."""
    return agreement_f1(np.full(len(labels), np.bincount(labels).argmax()), labels)


def uniform_f1(labels: np.ndarray) -> float:
    """Expected macro F1 of drawing one of the K classes that occur.

    With shares p, the mean of 2 p / (K p + 1).
    """
    _, counts = np.unique(labels, return_counts=True)
    shares = counts / len(labels)
    return float(np.mean(2 * shares / (len(shares) * shares + 1)))


@table_of("task model f1 low high majority uniform chance planted± tested agents learned reason")
def agents_learned(uninformed: pd.DataFrame, settings: BootstrapSpec) -> Iterator[tuple]:
    """Whether agents have learned what they are to simulate: one row per task and model.

    `reason` is empty if so.

    uninformed: rows of Simulation.uninformed, of any runs. f1: macro F1 of the agents without
    explanations, mean over seeds of models and agents, with a percentile interval over test
    instances and these seeds. chance: the higher of always saying the most frequent class
    (majority) and drawing one of those that the model ever predicts (uniform). planted: what F1
    gains by planted explanations. Agents have learned where both intervals lie above chance and 0.
    """
    for (task, model), part in uninformed.groupby(["task", "model"], sort=False):
        runs = [
            run.set_index("instance") for _, run in part.groupby(["seed", "agent_seed"], sort=False)
        ]
        names = sorted(set.intersection(*(set(run.index) for run in runs)))
        runs = [run.loc[names] for run in runs]
        rng = generator("agents learned", task, model)
        counts = [
            np.vstack([np.ones(size), draw_counts(rng, size, settings.draws)])
            for size in (len(names), len(runs))
        ]
        f1 = _drawn_f1(runs, "predicted", *counts)
        gain = _drawn_f1(runs, "planted", *counts) - f1
        reached = with_bounds(f1, settings.confidence)
        gained = with_bounds(gain, settings.confidence)
        majority = np.mean([majority_f1(run.label.to_numpy()) for run in runs])
        uniform = np.mean([uniform_f1(run.label.to_numpy()) for run in runs])
        chance = max(majority, uniform)
        reason = ""
        if reached[1] <= chance:
            fault = "have not learned" if f1[0] <= chance else "are not surely better than chance"
            reason = f"agents {fault} (F1 {between(*reached)}, chance {chance:.2f})"
        elif gained[1] <= 0:
            reason = "agents do not use an explanation that gives the class away"
            reason += f" (F1 gains {between(*gained)})"
        levels = (majority, uniform, chance)
        yield task, model, *reached, *levels, *gained, len(names), len(runs), not reason, reason


def _drawn_f1(
    runs: Sequence[pd.DataFrame], column: str, texts: np.ndarray, of_runs: np.ndarray
) -> np.ndarray:
    """(1 + draws,) macro F1 of a column's classes, mean over runs: as they are, and as drawn.

    texts, of_runs: how often each is there, once in the first row.
    """
    scores = [weighted_f1(run[column].to_numpy(), run.label.to_numpy(), texts) for run in runs]
    return np.average(np.column_stack(scores), axis=1, weights=of_runs)


@table_of(
    "task model kind seed technique type head_choice instances majority lengths positions low "
    "high beyond_lengths "
    "beyond_low beyond_high head agents_gain"
)
def leak_table(step: Step, agents: pd.DataFrame) -> Iterator[dict]:
    """One row per run, technique and type: the macro F1 of telling the class without words.

    Of attention, one for each choice of the head.

    majority: always the most frequent class. lengths: from the numbers of units in both parts.
    positions: from these and the shown places, with its interval; beyond_lengths: what the places
        add. head: from the head's number alone.
    agents_gain: what agents gain that are shown the same explanation as symbols, in points of F1.
    NaN where nothing is known, or where fewer than two classes are predicted at least twice.
    agents: of `tables.of_agents`.
    """
    from compendium.papers.sun2024.explanations import HEAD_CHOICES

    profile = step.profile
    symbols = agents[agents.form == "symbol"]
    gains = symbols.groupby([*RUN, "technique", "type"]).gain.mean()
    for run in one_by_one(step, "measuring leaks", profile.explained_runs("diagnosis")):
        about = dict(zip(RUN, run, strict=True)) | {"kind": model_family(profile.models[run[1]])}
        for (technique, kind, choice), found in _leaks_of_run(step.results, profile, run):
            gain = (
                gains.get((*run, technique, kind), np.nan)
                if choice in (NONE, HEAD_CHOICES[0])
                else np.nan
            )
            yield (
                about
                | {"technique": technique, "type": kind, "head_choice": choice, "agents_gain": gain}
                | found
            )


def _leaks_of_run(
    results: Results, profile: Profile, run: tuple
) -> Iterator[tuple[tuple[str, str, str], dict]]:
    """For every explanation of a run its (technique, type, choice of head) and `measure_leak`."""
    from compendium.papers.sun2024.explanations import HEAD_CHOICES, load_head_attributions

    settings = profile.diagnosis
    bootstrap = profile.bootstrap
    tokens = load_typed_tokens(results, profile, *run)
    units = {name: find_units(own, settings.units.unit) for name, own in tokens.items()}
    stored = load_typed_attributions(results, profile, *run)
    heads: dict[str, pd.Series] = {}
    for technique in settings.techniques:
        own = {NONE: stored}
        if technique == "attention":
            heads, others = load_head_attributions(results, profile, *run)
            own = {HEAD_CHOICES[0]: stored} | others
        for choice, records in own.items():
            span = TECHNIQUES[technique]["span"]
            names = sorted(name for name, some in records.items() if span in some)
            if not names:
                continue
            shown = [
                shown_features(rank_types(records[i], units[i], technique, (*run, i)))
                for i in names
            ]
            classes = np.array([records[i][span].target for i in names])
            numbers = heads[choice].reindex(names).to_numpy() if choice in heads else None
            for kind in TECHNIQUES[technique]:
                places = np.array(
                    [
                        place_features(units[i], some[kind])
                        for i, some in zip(names, shown, strict=True)
                    ]
                )
                draws = (bootstrap.draws, bootstrap.confidence, generator("leaks", *run))
                yield (technique, kind, choice), measure_leak(places, classes, numbers, *draws)


def place_features(units: Units, shown: list[Feature]) -> np.ndarray:
    """(2 + 2 BINS,) the number of units in each part.

    Then for each bin of each part whether one of its units is shown.

    The u-th of m units of a part lies in bin floor(BINS u / m), so that places count by their share
    of the length.
    """
    held = list(units_in(shown))
    lengths = np.zeros(2)
    bins = np.zeros((2, BINS))
    for part, side in enumerate(np.unique(units.side)[:2]):
        own = np.flatnonzero(units.side == side)
        lengths[part] = len(own)
        bins[part, BINS * np.flatnonzero(np.isin(own, held)) // len(own)] = 1
    return np.concatenate([lengths, bins.ravel()])


def measure_leak(
    places: np.ndarray,
    classes: np.ndarray,
    heads: np.ndarray | None,
    draws: int,
    confidence: float,
    rng: Rng,
) -> dict[str, float]:
    """What `leak_table` says of one explanation, with percentile intervals over texts.

    places: (N, F) of place_features. classes: (N,) predicted. heads: (N,) numbers of the chosen
        heads, or None.
    """
    found = {"instances": len(classes), "majority": majority_f1(classes)}
    if (np.bincount(classes) > 1).sum() < 2:  # there is nothing to tell apart
        return found
    guessed = predict_class(places, classes)
    by_length = predict_class(places[:, :2], classes)
    weights = draw_counts(rng, len(classes), draws)
    drawn = weighted_f1(guessed, classes, weights)
    beyond = drawn - weighted_f1(by_length, classes, weights)
    found["positions"] = agreement_f1(guessed, classes)
    found["lengths"] = agreement_f1(by_length, classes)
    found["beyond_lengths"] = found["positions"] - found["lengths"]
    for name, of in (("", drawn), ("beyond_", beyond)):
        found[f"{name}low"], found[f"{name}high"] = map(float, percentile_interval(of, confidence))
    if heads is not None:
        one_hot = (heads[:, None] == np.unique(heads)).astype(float)
        found["head"] = agreement_f1(predict_class(one_hot, classes), classes)
    return found


def predict_class(features: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """(N,) classes predicted by a logistic regression that was fitted without the text's own fold.

    Folds are stratified and fixed. None where fewer than two classes have two texts: there is
    nothing to tell apart.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    second = np.sort(np.bincount(classes))[-2]
    folds = StratifiedKFold(min(FOLDS, second), shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        # it is then told by few, or by none
        warnings.filterwarnings("ignore", message="The least populated class")
        return cross_val_predict(model, features, classes, cv=folds)
