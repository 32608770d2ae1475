"""Which methods explain a model? Each is run on two short texts, with next to no budget."""

from __future__ import annotations

from typing import Any

from attreval.core.records import Instance
from attreval.methods import METHODS
from attreval.methods.method import Budget, UnitSettings

LEAST = Budget(
    path_steps=2,
    path_steps_most=2,
    lime_samples=8,
    shap_evaluations=8,
    riemann_steps=2,
    limsse_samples=8,
    limsse_epochs=2,
    units=UnitSettings(shapley_samples=8, attention_steps=2, attention_steps_most=2),
)


def try_methods(model: Any) -> dict[str, str]:
    """Method -> why it does not explain the model, empty where it does, of every method of the model's family."""
    from attreval.methods.run import explain
    from attreval.models.checks import TEXTS
    from attreval.models.scorer import Scorer
    from attreval.texts.words import words_of

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
