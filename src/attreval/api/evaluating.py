"""`evaluate`: what metrics say of explanations, with intervals, beside what they say of random scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attreval.api.explanation import RANDOM, Explanation
from attreval.api.explanations import Explanations
from attreval.api.loading import check_model
from attreval.api.measures import PURE, Heard, ask_model, find_metrics
from attreval.core.bootstrap import bootstrap_mean
from attreval.core.seeds import generator
from attreval.metrics.registry import METRICS
from attreval.models.classifier import Classifier
from attreval.models.scorer import Scorer
from attreval.texts.marks import mark_instance

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("method", "metric", "mean", "low", "high", "direction", "n")
TEXT_COLUMNS = ("text", "method", "metric", "value")
DIRECTIONS = {1: "higher", -1: "lower", 0: "neither"}
TOGETHER = 5  # texts that share batches


def evaluate(
    model: Classifier,
    explanations: Explanations,
    metrics: str | Sequence[str] | None = None,
    marks: Sequence | None = None,
    *,
    k: int = 4,
    draws: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    each_text: bool = False,
) -> pd.DataFrame:
    """A table of COLUMNS: of each metric and method the mean over texts, and a percentile bootstrap interval of it.

    model: the one that was explained. metrics: names of METRICS (`attreval list metrics`); None takes all that can be
    asked. marks: what people marked, one item a text: numbers, one a word of the text; a 2-d array, a row a person; or
    stretches of characters, (start, end) or (segment, start, end); None for a text that nobody looked at.
    k: tokens that agreement selects where their number is fixed. draws: of the bootstrap, the same texts for all that
    is compared. seed: of these, of random scores, ties and masks. each_text: a table of TEXT_COLUMNS instead, a row a
    text (by its place), method and metric, NaN where there is no value.

    `random`, scores without meaning, is always among the methods. Agreement is the mean over the other methods, random
    scores not among them. direction: what is better. n: texts with a value; erasure has none where another class than
    the predicted one is explained. Raises ValueError for metrics that need what is not given, marks that do not fit,
    and a model that predicts other classes than the explanations say.
    """
    import pandas as pd

    check_model(model)
    if not len(explanations):
        raise ValueError("there is no explanation to evaluate")
    if k < 1 or draws < 1 or not 0 < confidence < 1:
        raise ValueError(f"k and draws are 1 or more, confidence between 0 and 1; got {k}, {draws}, {confidence}")
    if marks is not None and len(marks := list(marks)) != len(explanations):
        raise ValueError(f"marks are given of each of {len(explanations)} texts, None for none; got {len(marks)}")
    methods = [m for m in explanations.methods if m != RANDOM]
    if not methods:
        raise ValueError("no method explained every text, so there is nothing to compare with random scores")
    contrast = any(one.against for one in explanations)
    wanted = find_metrics(metrics, methods, marks is not None, contrast)
    texts = [
        _hear(one, explanations, mark_instance(one.instance, marks[at] if marks else None, at), k, seed)
        for at, one in enumerate(explanations)
    ]
    order = [*methods, RANDOM]
    by_metric = {name: np.full((len(texts), len(order)), np.nan) for name in wanted}
    for name in (name for name in wanted if name in PURE):
        for at, text in enumerate(texts):
            values = PURE[name](text)
            by_metric[name][at] = [values.get(m, np.nan) for m in order]
    asked = [name for name in wanted if name not in PURE]
    _ask_erasure(model, explanations, texts, asked, order, by_metric, named=metrics is not None)
    if each_text:
        places = pd.MultiIndex.from_product([range(len(texts)), order], names=TEXT_COLUMNS[:2])
        wide = pd.DataFrame({name: values.ravel() for name, values in by_metric.items()}, index=places)
        long = wide.melt(ignore_index=False, var_name="metric").reset_index()
        return long[list(TEXT_COLUMNS)]
    rows = []
    for name, values in by_metric.items():
        known = (~np.isnan(values)).sum(axis=0)
        mean, low, high = bootstrap_mean(values, draws, confidence, "evaluate", seed)
        direction = DIRECTIONS[METRICS[name].sign]
        ends = zip(order, mean, low, high, known, strict=True)
        rows += [(m, name, float(a), float(b), float(c), direction, int(n)) for m, a, b, c, n in ends if n]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _hear(one: Explanation, explanations: Explanations, instance, k: int, seed: int) -> Heard:
    """One text with the scores of all methods, and random ones where the method `random` did not explain it."""
    content, length = one.tokens.content, len(one.tokens)
    scores = {m: one.attributions[m].on_tokens(length)[content] for m in explanations.methods if m != RANDOM}
    names = ("evaluate", seed, instance.id)
    if RANDOM in one.attributions:
        scores[RANDOM] = one.attributions[RANDOM].on_tokens(length)[content]
    else:
        scores[RANDOM] = generator(*names, RANDOM).standard_normal(len(content))
    target = None if one.against else explanations.labels.index(one.target)
    return Heard(instance, one.tokens, scores, target, names, k)


def _ask_erasure(
    model: Classifier,
    explanations: Explanations,
    texts: list[Heard],
    asked: list[str],
    order: list[str],
    by_metric: dict[str, np.ndarray],
    named: bool,
) -> None:
    """Fill in what takes the model. named: what it cannot do is an error; else that metric is left out."""
    scorer = Scorer(model)
    for start in range(0, len(texts) if asked else 0, TOGETHER):
        part = texts[start : start + TOGETHER]
        try:
            answers = scorer.converse((str(at), ask_model(text, asked)) for at, text in enumerate(part))
        except ValueError:
            rest = [name for name in asked if "soft" not in name and name != "diagnosticity"]
            if named or len(rest) == len(asked):
                raise
            for name in set(asked) - set(rest):  # an encoder that nothing can be disturbed in has hard erasure still
                del by_metric[name]
            return _ask_erasure(model, explanations, texts, rest, order, by_metric, named)
        for at, (values, predicted) in enumerate(answers, start):
            if model.labels[predicted] != explanations[at].predicted:
                raise ValueError(
                    f"the model predicts {model.labels[predicted]!r} of text {at}, but its explanation says "
                    f"{explanations[at].predicted!r}; evaluate with the model that was explained"
                )
            for name in asked:
                by_metric[name][at] = [values[m][name] for m in order]
        scorer.forget()
