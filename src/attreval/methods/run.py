"""Explaining instances: all methods ask one ledger, so that what one has asked the others have for free."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attreval.core.records import Attribution, Cost, Instance, Tokens
from attreval.core.seeds import generator
from attreval.methods import METHODS, methods_for
from attreval.methods.method import Budget, Scores, UnitSettings
from attreval.models.checks import TEXTS
from attreval.models.questions import choose_start, softmax
from attreval.models.scorer import Scorer
from attreval.texts.words import words_of

LEAST = Budget(  # next to none: whether a method explains a model at all
    path_steps=2,
    path_steps_most=2,
    lime_samples=8,
    shap_evaluations=8,
    riemann_steps=2,
    limsse_samples=8,
    limsse_epochs=2,
    units=UnitSettings(shapley_samples=8, attention_steps=2, attention_steps_most=2),
)


@dataclass(frozen=True)
class Explained:
    """One instance as the model read it, what it predicted, (K,) probabilities, and the attributions by method."""

    instance: Instance
    tokens: Tokens
    predicted: int
    probabilities: np.ndarray
    attributions: dict[str, Attribution]


def pick_methods(names: Sequence[str], family: str | None = None) -> list[str]:
    """The names, checked: one that is unknown, not installed, or not for a family of models is a ValueError."""
    for name in names:
        if name not in METHODS:
            raise ValueError(f"unknown method {name!r}; there are: {', '.join(METHODS)}")
        if reason := METHODS[name].missing():
            raise ValueError(f"the method {name!r} {reason}")
        if family is not None and family not in METHODS[name].families:
            raise ValueError(
                f"the method {name!r} does not apply to {family} models, only to: {', '.join(METHODS[name].families)}; "
                f"{METHODS[name].why_not(family)}; for these there are: {', '.join(methods_for(family))}"
            )
    return list(names)


def predict(scorer: Scorer, tokens: Sequence[Tokens]) -> np.ndarray:
    """(instances, K) class probabilities of the whole texts."""
    logits = scorer.logits([(t.ids, t.segments) for t in tokens], account="prediction")
    return softmax(logits)


def explain(
    scorer: Scorer,
    instances: Sequence[Instance],
    methods: Sequence[str],
    budget: Budget = Budget(),  # noqa: B008 - frozen
    names: Sequence[object] = (),
    target: str = "predicted",
    group: int = 8,
    notify: Callable[[int, int], None] | None = None,
) -> list[Explained]:
    """Explain each instance by each method.

    names: (experiment, task, model, ...), what the seeds derive from, together with instance and method.
    target: explain the `predicted` class or the `gold` one. group: how many instances share batches.
    notify: called with (instances done, of). Raises ValueError for an unknown method or target, a method
    that does not apply to the model, or an empty text.
    """
    if target not in ("predicted", "gold"):
        raise ValueError(f"target {target!r} is not known; there are: predicted, gold")
    names, methods = list(names), pick_methods(methods, scorer.model.family)
    out: list[Explained] = []
    for start in range(0, len(instances), group):
        part = instances[start : start + group]
        tokens = [scorer.model.tokens(i) for i in part]
        probabilities = predict(scorer, tokens)
        predicted = probabilities.argmax(axis=1)
        if budget.path_baseline == "auto" and any("path_steps" in METHODS[m].limits for m in methods):
            begin = choose_start(scorer.model, tokens[0].pad_id, tokens[0].mask_id)
            budget = budget.changed(path_baseline=begin)
        targets = [i.label if target == "gold" else int(k) for i, k in zip(part, predicted, strict=True)]
        asked = [(i, m) for i in range(len(part)) for m in methods if METHODS[m].given is None]
        answered = scorer.converse(
            (
                f"{part[i].id}\x1f{m}",
                METHODS[m].converse(
                    tokens[i], targets[i], budget, generator(*names, part[i].id, METHODS[m].draws or m)
                ),
            )
            for i, m in asked
        )
        scores = dict(zip(asked, answered, strict=True))
        for m in methods:
            if given := METHODS[m].given:
                scores |= {(i, m): given(part[i], tokens[i], targets[i]) for i in range(len(part))}
        costs = {(i, m): scorer.costs.pop(f"{part[i].id}\x1f{m}", Cost()) for i in range(len(part)) for m in methods}
        for i, instance in enumerate(part):
            made = {m: attribution(instance, tokens[i], m, targets[i], scores[i, m], costs[i, m]) for m in methods}
            out.append(Explained(instance, tokens[i], int(predicted[i]), probabilities[i], made))
        scorer.forget()
        if notify:
            notify(len(out), len(instances))
    return out


def attribution(
    instance: Instance, tokens: Tokens, method: str, target: int, scores: Scores, cost: Cost
) -> Attribution:
    """Scores as a record."""
    features = tuple((int(t),) for t in tokens.content) if scores.features is None else scores.features
    facts = {name: getattr(scores, name) for name in ("gap", "reliability", "special", "note")}
    return Attribution(instance.id, method, target, METHODS[method].level, features, scores.values, cost=cost, **facts)


def try_methods(model: Any) -> dict[str, str]:
    """Method -> why it does not explain the model, empty where it does, of every method of the model's family.

    Each is run on two short texts with the LEAST budget.
    """
    texts = [Instance(str(i), (text,), 0, words_of((text,))) for i, text in enumerate(TEXTS)]
    found = {}
    for name, method in METHODS.items():
        if model.family not in method.families:
            continue
        try:
            explain(Scorer(model), texts, [name], LEAST, ("check",))
            found[name] = ""
        except ValueError as error:
            found[name] = str(error).removeprefix(f"{texts[0].id}, {name}: ").removeprefix(f"{texts[1].id}, {name}: ")
    return found
