"""Explaining instances: all methods ask one ledger, so one's answers are free for the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from attreval.core.records import Attribution, Cost, Instance, Tokens
from attreval.core.seeds import generator
from attreval.methods import METHODS, methods_for
from attreval.methods.method import Budget, Scores, UnitSettings
from attreval.models.checks import TEXTS
from attreval.models.outputs import follow, outputs_of, why_not
from attreval.models.questions import choose_start
from attreval.models.scorer import Scorer
from attreval.texts.given import make_instances

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
    """One instance as the model read it.

    Attributes:
        instance: The text.
        tokens: What the model read of it.
        predicted: The predicted class.
        probabilities: (K,) class probabilities, or what else is followed of outputs.
        attributions: By method.
    """

    instance: Instance
    tokens: Tokens
    predicted: int
    probabilities: np.ndarray
    attributions: dict[str, Attribution]


def pick_methods(names: Sequence[str], family: str | None, outputs: str) -> list[str]:
    """The names, checked.

    Args:
        names: Names of methods.
        family: The family of models that they must apply to, if any.
        outputs: What the model's are.

    Raises:
        ValueError: A method is unknown, not installed, or not for this family or these outputs.
    """
    for name in names:
        if name not in METHODS:
            raise ValueError(f"unknown method {name!r}; there are: {', '.join(METHODS)}")
        method = METHODS[name]
        if reason := method.missing():
            raise ValueError(f"the method {name!r} {reason}")
        if reason := why_not(method.outputs, outputs):
            raise ValueError(f"the method {name!r} needs {reason}")
        if family is not None and family not in method.families:
            raise ValueError(
                f"the method {name!r} does not apply to {family} models, only to: "
                f"{', '.join(method.families)}; "
                f"{method.why_not(family)}; for these there are: {', '.join(methods_for(family))}"
            )
    return list(names)


def predict(scorer: Scorer, tokens: Sequence[Tokens]) -> np.ndarray:
    """(instances, K) class probabilities of whole texts, or what else is followed of outputs."""
    rows = [(one.ids, one.segments) for one in tokens]
    return follow(scorer.logits(rows, account="prediction"), outputs_of(scorer.model))


def explain_instances(
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

    Args:
        scorer: The ledger of the model.
        instances: The texts.
        methods: Names of methods.
        budget: What they may spend.
        names: (experiment, task, model, ...): seeds derive from these, the instance and the method.
        target: Explain the `predicted` class or the `gold` one.
        group: How many instances share batches.
        notify: Called with (instances done, of).

    Returns:
        An Explained for each instance, in order.

    Raises:
        ValueError: A method or the target is unknown, a method does not apply to the model, or a
            text is empty.
    """
    if target not in ("predicted", "gold"):
        raise ValueError(f"target {target!r} is not known; there are: predicted, gold")
    methods = pick_methods(methods, scorer.model.family, outputs_of(scorer.model))
    out = []
    for start in range(0, len(instances), group):
        part = instances[start : start + group]
        tokens = [scorer.model.tokens(one) for one in part]
        probabilities = predict(scorer, tokens)
        predicted = probabilities.argmax(axis=1).tolist()
        targets = [one.label for one in part] if target == "gold" else predicted
        if budget.path_baseline == "auto" and any(
            "path_steps" in METHODS[m].limits for m in methods
        ):
            begin = choose_start(scorer.model, tokens[0])
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


def count_texts(
    model: Any, instances: Sequence[Instance], methods: Sequence[str], budget: Budget
) -> int:
    """About how many texts methods ask at most, to explain instances; 0 where none are counted."""
    service = getattr(model, "service", None)
    total = 0
    for instance in instances if service and service.left < inf else ():
        tokens = model.tokens(instance)
        size = (len(tokens), len(tokens.content), budget)
        total += 1 + sum(METHODS[name].cost(*size) for name in methods)
    return total * getattr(service, "repeats", 1)


def attribution(
    instance: Instance, tokens: Tokens, method: str, target: int, scores: Scores, cost: Cost
) -> Attribution:
    """Scores as a record.

    Args:
        instance: The text that was explained.
        tokens: What the model read of it.
        method: The name of the method.
        target: The explained class.
        scores: What the method returned.
        cost: What it took.
    """
    facts = dict(vars(scores))
    values = facts.pop("values")
    features = facts.pop("features")
    if features is None:
        features = tuple((position,) for position in tokens.content.tolist())
    level = METHODS[method].level
    return Attribution(instance.id, method, target, level, features, values, cost=cost, **facts)


def records_of(explained: Sequence[Explained]) -> list[Attribution]:
    """The attributions of all texts and methods."""
    return [record for one in explained for record in one.attributions.values()]


def try_methods(model: Any, say: Callable[[str], None] | None = None) -> dict[str, str]:
    """Why each method of the model's family does not explain it; empty where it does.

    Each runs on two short texts with the LEAST budget.

    Args:
        model: The classifier.
        say: Is told which method is tried.
    """
    texts = make_instances([(text,) for text in TEXTS])
    found = {}
    for name, method in METHODS.items():
        if model.family not in method.families:
            continue
        if say:
            say(f"trying {name}")
        try:
            explain_instances(Scorer(model), texts, [name], LEAST, ("check",))
            found[name] = ""
        except ValueError as error:
            found[name] = str(error)
            for text in texts:
                found[name] = found[name].removeprefix(f"{text.id}, {name}: ")
    return found
