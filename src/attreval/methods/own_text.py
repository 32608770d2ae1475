"""Your own model on your own text: one call from strings to scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from attreval.core.records import Instance
from attreval.methods import methods_for
from attreval.methods.method import Budget, UnitSettings


def explain_text(
    model: str, segments: Sequence[str], methods: Sequence[str] | None = None, samples: int = 1000
) -> tuple[str, float, pd.DataFrame]:
    """The predicted label, its probability, and a table with a row a token and a column a method.

    model: a folder that holds a sequence classifier and its tokenizer, or a hub name. segments: one text or two.
    Methods of pairs and spans share each score out over their tokens.
    Raises ValueError for an unknown method or a text without tokens.
    """
    from attreval.corpora.words import words_of
    from attreval.methods.run import explain, pick_methods
    from attreval.models.loading import load_classifier
    from attreval.models.scorer import Scorer

    folder = Path(model) if Path(model).exists() else model
    if folder == model and (Path(model).is_absolute() or model.startswith((".", "~"))):
        raise FileNotFoundError(
            f"no folder {model}; give one that transformers can load a classifier from, or a hub name"
        )
    pick_methods(methods or [])  # a wrong name is told before a model is loaded
    classifier = load_classifier(folder, max_length=512)
    names = pick_methods(methods or methods_for(classifier.family), classifier.family)
    instance = Instance("text", tuple(segments), 0, words_of(segments))
    budget = Budget(lime_samples=samples, units=UnitSettings(shapley_samples=samples))
    (found,) = explain(Scorer(classifier), [instance], names, budget, ("own",))
    frame = pd.DataFrame({"token": [found.tokens.texts[t] for t in found.tokens.content]})
    for name in names:
        frame[name] = found.attributions[name].on_tokens(len(found.tokens))[found.tokens.content]
    if found.tokens.dropped:
        frame.attrs["dropped"] = found.tokens.dropped
    return classifier.labels[found.predicted], float(found.probabilities[found.predicted]), frame
