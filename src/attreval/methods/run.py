"""Explaining instances: all methods ask one ledger, so that what one has asked the others have for
free.
"""

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
    """One instance as the model read it, what it predicted, (K,) probabilities, and the
    attributions by method.
    """

    instance: Instance
    tokens: Tokens
    predicted: int
    probabilities: np.ndarray
    attributions: dict[str, Attribution]


def pick_methods(names: Sequence[str], family: str | None = None) -> list[str]:
    """The names, checked: one that is unknown, not installed, or not for a family of models is a
    ValueError.
    """
    for name in names:
        if name not in METHODS:
            raise ValueError(f"unknown method {name!r}; there are: {', '.join(METHODS)}")
        method = METHODS[name]
        if reason := method.missing():
            raise ValueError(f"the method {name!r} {reason}")
        if family is not None and family not in method.families:
            raise ValueError(
                f"the method {name!r} does not apply to {family} models, only to: "
                f"{', '.join(method.families)}; "
                f"{method.why_not(family)}; for these there are: {', '.join(methods_for(family))}"
            )
    return list(names)


def predict(scorer: Scorer, tokens: Sequence[Tokens]) -> np.ndarray:
    """(instances, K) class probabilities of the whole texts."""
    rows = [(one.ids, one.segments) for one in tokens]
    return softmax(scorer.logits(rows, account="prediction"))


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

    names: (experiment, task, model, ...), what the seeds derive from, together with instance and
        method.
    target: explain the `predicted` class or the `gold` one. group: how many instances share
        batches.
    notify: called with (instances done, of). Raises ValueError for an unknown method or target, a
    method that does not apply to the model, or an empty text.
    """
    if target not in ("predicted", "gold"):
        raise ValueError(f"target {target!r} is not known; there are: predicted, gold")
    methods = pick_methods(methods, scorer.model.family)
    out: list[Explained] = []
    for start in range(0, len(instances), group):
        part = instances[start : start + group]
        tokens = [scorer.model.tokens(one) for one in part]
        probabilities = predict(scorer, tokens)
        predicted = probabilities.argmax(axis=1).tolist()
        targets = [one.label for one in part] if target == "gold" else predicted
        if budget.path_baseline == "auto" and any(
            "path_steps" in METHODS[m].limits for m in methods
        ):
            begin = choose_start(scorer.model, tokens[0].pad_id, tokens[0].mask_id)
            budget = budget.changed(path_baseline=begin)
        scores: dict[tuple[int, str], Scores] = {}
        talks = {}
        for at, instance in enumerate(part):
            for name in methods:
                method = METHODS[name]
                if method.given:
                    scores[at, name] = method.given(instance, tokens[at], targets[at])
                    continue
                rng = generator(*names, instance.id, method.draws or name)
                talk = method.converse(tokens[at], targets[at], budget, rng)
                talks[at, name] = (f"{instance.id}\x1f{name}", talk)
        scores |= zip(talks, scorer.converse(talks.values()), strict=True)
        for at, instance in enumerate(part):
            made = {}
            for name in methods:
                cost = scorer.costs.pop(f"{instance.id}\x1f{name}", Cost())
                made[name] = attribution(
                    instance, tokens[at], name, targets[at], scores[at, name], cost
                )
            out.append(Explained(instance, tokens[at], predicted[at], probabilities[at], made))
        scorer.forget()
        if notify:
            notify(len(out), len(instances))
    return out


def attribution(
    instance: Instance, tokens: Tokens, method: str, target: int, scores: Scores, cost: Cost
) -> Attribution:
    """Scores as a record."""
    facts = dict(vars(scores))
    values = facts.pop("values")
    features = facts.pop("features")
    if features is None:
        features = tuple((position,) for position in tokens.content.tolist())
    level = METHODS[method].level
    return Attribution(instance.id, method, target, level, features, values, cost=cost, **facts)


def try_methods(model: Any) -> dict[str, str]:
    """Method -> why it does not explain the model, empty where it does, of every method of the
    model's family.

    Each is run on two short texts with the LEAST budget.
    """
    texts = []
    for number, words in enumerate(TEXTS):
        texts.append(Instance(str(number), (words,), 0, words_of((words,))))
    found = {}
    for name, method in METHODS.items():
        if model.family not in method.families:
            continue
        try:
            explain(Scorer(model), texts, [name], LEAST, ("check",))
            found[name] = ""
        except ValueError as error:
            found[name] = str(error)
            for text in texts:
                found[name] = found[name].removeprefix(f"{text.id}, {name}: ")
    return found
