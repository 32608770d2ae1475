"""Leaks: does an explanation tell the predicted class without its words? (after Pruthi et al. 2022, Sun et al. 2024)

An agent that is shown where an explanation points learns whatever these places reveal. The head of an attention
explanation is chosen for the predicted class, so its number alone, or the places it attends to, may give the class
away. Here a logistic regression predicts the class from the shown places without any word: for what it can predict, no
agent needs the model's reasons. Letters used for shapes: n units, N texts, K heads, F features.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.core.units import Units, find_units
from attreval.methods import TECHNIQUES
from attreval.metrics.unified.faithfulness import Feature, units_in
from attreval.metrics.unified.simulatability import agreement_f1, weighted_f1
from compendium.config import Profile
from compendium.papers.common.runs import load_typed_attributions, load_typed_tokens
from compendium.papers.common.tables import table_of
from compendium.papers.sun2024.explanations import HEAD_CHOICES, load_head_attributions
from compendium.papers.sun2024.properties import rank_types, shown_features
from compendium.papers.sun2024.tables import model_family
from compendium.project import Results
from compendium.workflow.step import Step

BINS = 6  # of the places in each part of the input
FOLDS = 5
NONE = "-"  # the head's choice of a technique that has no heads


@table_of(
    "task model kind seed technique type head_choice instances majority lengths positions low high beyond_lengths "
    "beyond_low beyond_high head agents_gain"
)
def leak_table(step: Step, agents: pd.DataFrame) -> Iterator[dict]:
    """One row per run, technique, type (and choice of the head): the macro F1 of telling the class without words.

    majority: always the most frequent class. lengths: from the numbers of units in both parts. positions: from these
    and the shown places, with its interval; beyond_lengths: what the places add. head: from the head's number alone.
    agents_gain: what agents gain that are shown the same explanation as symbols, in points of F1. NaN where nothing is
    known, or where fewer than two classes are predicted at least twice. agents: of `tables.of_agents`.
    """
    profile = step.profile
    symbols = agents[agents.form == "symbol"] if len(agents) else agents
    gains = symbols.groupby(["task", "model", "seed", "technique", "type"]).gain.mean() if len(symbols) else {}
    runs = profile.explained_runs("diagnosis")
    show = step.progress("measuring leaks")
    for done, run in enumerate(runs, start=1):
        for key, found in _leaks_of_run(step.results, profile, run):
            technique, kind, choice = key
            gain = gains.get((*run, technique, kind), np.nan) if choice in (NONE, HEAD_CHOICES[0]) else np.nan
            row = dict(zip(("task", "model", "seed", "technique", "type", "head_choice"), (*run, *key), strict=True))
            yield row | {"kind": model_family(profile.models[run[1]]), "agents_gain": gain} | found
        show(done, len(runs))


def _leaks_of_run(results: Results, profile: Profile, run: tuple) -> Iterator[tuple[tuple[str, str, str], dict]]:
    """Of every explanation of a run: (technique, type, choice of the head) and the result of `measure_leak`."""
    settings, bootstrap = profile.diagnosis, profile.bootstrap
    tokens = load_typed_tokens(results, profile, *run)
    units = {name: find_units(own, settings.units.unit) for name, own in tokens.items()}
    stored = {NONE: load_typed_attributions(results, profile, *run)}
    heads, others = load_head_attributions(results, profile, *run) if "attention" in settings.techniques else ({}, {})
    for technique in settings.techniques:
        own = {HEAD_CHOICES[0]: stored[NONE]} | others if technique == "attention" else stored
        for choice, records in own.items():
            by_text = {name: some for name, some in records.items() if TECHNIQUES[technique]["span"] in some}
            names = sorted(by_text)
            if not names:
                continue
            ranked = [rank_types(by_text[i], units[i], technique, (*run, i)) for i in names]
            shown = [shown_features(rankings) for rankings in ranked]
            classes = np.array([by_text[i][TECHNIQUES[technique]["span"]].target for i in names])
            numbers = heads[choice].reindex(names).to_numpy() if choice in heads else None
            for kind in TECHNIQUES[technique]:
                places = np.array([place_features(units[i], some[kind]) for i, some in zip(names, shown, strict=True)])
                draws = (bootstrap.draws, bootstrap.confidence, generator("leaks", *run))
                yield (technique, kind, choice), measure_leak(places, classes, numbers, *draws)


def place_features(units: Units, shown: list[Feature]) -> np.ndarray:
    """(2 + 2 BINS,) the number of units in each part; then for each bin of each part whether one of its units is shown.

    The u-th of m units of a part lies in bin floor(BINS u / m), so that places count by their share of the length.
    """
    held = units_in(shown)
    lengths, bins = np.zeros(2), np.zeros((2, BINS))
    for part, side in enumerate(np.unique(units.side)[:2]):
        own = np.flatnonzero(units.side == side)
        lengths[part] = len(own)
        for place, unit in enumerate(own.tolist()):
            if unit in held:
                bins[part, BINS * place // len(own)] = 1
    return np.concatenate([lengths, bins.ravel()])


def measure_leak(
    places: np.ndarray, classes: np.ndarray, heads: np.ndarray | None, draws: int, confidence: float, rng
) -> dict[str, float]:
    """What `leak_table` says of one explanation, with percentile intervals over texts.

    places: (N, F) of place_features. classes: (N,) predicted. heads: (N,) numbers of the chosen heads, or None.
    """
    majority = np.full(len(classes), np.bincount(classes).argmax())
    found = {"instances": len(classes), "majority": agreement_f1(majority, classes)}
    guessed = predict_class(places, classes)
    if guessed is None:
        return found
    by_length = predict_class(places[:, :2], classes)
    weights = draw_counts(rng, len(classes), draws)
    drawn = weighted_f1(guessed, classes, weights)
    beyond = drawn - weighted_f1(by_length, classes, weights)
    found |= {"positions": agreement_f1(guessed, classes), "lengths": agreement_f1(by_length, classes)}
    found["beyond_lengths"] = found["positions"] - found["lengths"]
    for name, of in (("", drawn), ("beyond_", beyond)):
        found[f"{name}low"], found[f"{name}high"] = map(float, percentile_interval(of, confidence))
    if heads is not None:
        one_hot = (heads[:, None] == np.unique(heads)).astype(float)
        found["head"] = agreement_f1(predict_class(one_hot, classes), classes)
    return found


def predict_class(features: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """(N,) classes predicted by a logistic regression that was fitted without the text's own fold.

    Folds are stratified and fixed. None where fewer than two classes have two texts: there is nothing to tell apart.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts = np.sort(np.bincount(classes))[::-1]
    if len(counts) < 2 or counts[1] < 2:
        return None
    folds = StratifiedKFold(min(FOLDS, int(counts[1])), shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # it is then told by few, or by none
        return cross_val_predict(model, features, classes, cv=folds)
