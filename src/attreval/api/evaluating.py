"""`evaluate`: what metrics say of explanations and of random scores, with intervals.

Metrics judge the scores of tokens; those of pairs and spans are shared out over their tokens. Wins
against random scores count a tie as half, so that chance is one half.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attreval.api.explaining import explained_model
from attreval.api.explanation import RANDOM, Explanation
from attreval.api.explanations import Explanations
from attreval.api.loading import check_model
from attreval.core.bootstrap import bootstrap_mean, mean_of_known
from attreval.core.nearest import nearest
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import generator
from attreval.metrics import EVALUATED, METRICS
from attreval.metrics.erasure import predicted_class
from attreval.metrics.scored_text import FOUR_DRAWS, ScoredText, Settings, without_asking
from attreval.models.classifier import Classifier
from attreval.models.outputs import outputs_of, why_not
from attreval.models.questions import Conversation, Evaluate
from attreval.models.scorer import Scorer
from attreval.texts.given import as_list
from attreval.texts.marks import mark_instance

COLUMNS = ("method", "metric", "mean", "low", "high", "direction", "n")
TEXT_COLUMNS = ("text", "method", "metric", "value")
DIRECTIONS = {1: "higher", -1: "lower", 0: "neither"}
TOGETHER = 5  # texts that share batches
WHAT_IT_IS = {  # needs of METRICS that explanations at hand do not meet, in words
    "rivals": "scores of another method beside it and the random ones",
    "marks": "marks of people: give marks=, of each text the words or characters that are evidence",
    "relations": "relations that people gave between parts of a pair, which only a corpus has",
    "agent": "agents that are trained on explanations: see `attreval run`",
    "models": "the same explanations of models trained with other seeds",
    "metrics": "values of several metrics, not explanations",
    "truth": "models whose truth is planted",
    "texts": "several texts: it compares what a method says of one with what it says of the others",
    "neighbours": "scores of slightly disturbed texts: give neighbours=, as from "
    "attreval.api.other_scores",
    "randomised": "scores by models with weights drawn anew: give randomised=, as from "
    "attreval.api.other_scores",
    "infill": "what writes erased tokens anew: give infill=, as from attreval.models.infilling",
}


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
    neighbours: Sequence[Mapping[str, np.ndarray]] | None = None,
    randomised: Sequence[Mapping[str, np.ndarray]] | None = None,
    infill: Callable[[Tokens, np.ndarray], np.ndarray] | None = None,
) -> pd.DataFrame:
    """What metrics say of explanations: means over texts, with bootstrap intervals.

    `random`, scores without meaning, is always among the methods. Agreement is the mean over the
    other methods, random scores not among them. Erasure has no value where another class than the
    predicted one is explained. Of outputs that are no classes, it follows the one explained, and
    metrics that ask for a class, or for shares of a probability, are left out where there is none.
    Intervals contain the noise of a function's answers: each text's are
    drawn once, and shared by all methods.

    Args:
        model: the one that was explained.
        explanations: what `explain` returned, or a slice of it.
        metrics: names of METRICS (`attreval list metrics`); None takes all that can be asked.
        marks: what people marked, one item a text: numbers, one a word of the text; a 2-d array, a
            row a person; or stretches of characters, (start, end) or (segment, start, end); None
            for a text that nobody looked at.
        k: tokens that agreement selects where their number is fixed.
        draws: of the bootstrap, the same texts for all that is compared.
        confidence: of the intervals.
        seed: of the bootstrap, of random scores, ties and masks.
        each_text: return the values of single texts.
        neighbours: of each text by method, (k, n) scores of k slightly disturbed texts.
        randomised: of each text by method, (l, n) scores by models whose weights were drawn anew
            layer by layer.
        infill: writes erased tokens anew (`attreval.models.infilling`).

    Returns:
        A row a metric and method: COLUMNS. direction: what is better. n: different texts with a
        value; one that occurs again counts once, by the mean of its values. With each_text
        TEXT_COLUMNS instead, a row a text (by its place), method and metric, NaN where there is no
        value.

    Raises:
        ValueError: metrics that need what is not given, marks that do not fit, or a model that
            predicts other classes than the explanations say.
        TypeError: a model or explanations that come from elsewhere.
    """
    check_model(model)
    if not isinstance(explanations, Explanations):
        raise TypeError(
            "explanations come from attreval.explain, or are a slice of these; got a "
            f"{type(explanations).__name__}"
        )
    if not len(explanations):
        raise ValueError("there is no explanation to evaluate")
    if any(one.pieces for one in explanations):
        raise ValueError(
            "texts explained in pieces (window=True) are not judged: the model reads none of them "
            "whole; explain the pieces as texts of their own"
        )
    if k < 1 or draws < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"k and draws are 1 or more, confidence between 0 and 1; got {k}, {draws}, {confidence}"
        )
    model = explained_model(model, explanations)
    each_near = _of_each(neighbours, "neighbours", len(explanations))
    each_drawn = _of_each(randomised, "randomised", len(explanations))
    each_marked = _of_each(marks, "marks", len(explanations))
    methods = [m for m in explanations.methods if m != RANDOM]
    if not methods:
        raise ValueError(
            "no method explained every text, so there is nothing to compare with random scores"
        )
    there = {
        "scores": True,
        "model": True,
        "random": True,
        "rivals": len(methods) > 1,
        "texts": len(explanations) > 1,
        "marks": marks is not None,
        "neighbours": neighbours is not None,
        "randomised": randomised is not None,
        "infill": infill is not None,
    }
    met = {need for need, is_there in there.items() if is_there}
    contrast = any(one.against for one in explanations)
    wanted = find_metrics(metrics, met, contrast, outputs_of(model))
    wanted = _leave_out_refused(model, wanted, metrics is not None)
    texts: list[ScoredText] = []
    for at, one in enumerate(explanations):
        marked = mark_instance(one.instance, each_marked[at], at)
        text = _scored_text(one, explanations, marked, k, seed)
        near = _with_random(text, each_near[at])
        drawn = _with_random(text, each_drawn[at])
        texts.append(replace(text, neighbours=near, randomised=drawn, infill=infill, texts=texts))
    asking = [name for name in wanted if "model" in METRICS[name].needs]
    _ask_model(model, explanations, texts, asking)
    order = [*methods, RANDOM]
    by_metric = {
        name: np.array([[_value_of(text, name, m) for m in order] for text in texts], dtype=float)
        for name in wanted
    }
    if not each_text:
        return _means(by_metric, explanations, order, draws, confidence, seed)
    places = pd.MultiIndex.from_product([range(len(texts)), order], names=TEXT_COLUMNS[:2])
    columns = {name: values.ravel() for name, values in by_metric.items()}
    wide = pd.DataFrame(columns, index=places)
    long = wide.melt(ignore_index=False, var_name="metric").reset_index()
    return long[list(TEXT_COLUMNS)]


def _means(
    by_metric: Mapping[str, np.ndarray],
    explanations: Explanations,
    methods: Sequence[str],
    draws: int,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """A row of COLUMNS for each metric and method, from each metric's (texts, methods) values."""
    same: dict[tuple[str, ...], list[int]] = {}
    for at, one in enumerate(explanations):
        same.setdefault(one.instance.segments, []).append(at)
    rows = []
    for name, of_all in by_metric.items():
        values = np.array([mean_of_known(of_all[places]) for places in same.values()])
        known = (~np.isnan(values)).sum(axis=0)
        mean, low, high = bootstrap_mean(values, draws, confidence, "evaluate", seed)
        direction = DIRECTIONS[METRICS[name].sign]
        for at, method in enumerate(methods):
            if known[at]:
                rows.append((method, name, mean[at], low[at], high[at], direction, known[at]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _leave_out_refused(model: Classifier, wanted: list[str], named: bool) -> list[str]:
    """The metrics without those that disturb vectors, where a model refuses this.

    ValueError where metrics were named.
    """
    disturbing = [name for name in wanted if METRICS[name].disturbs]
    refused = model.refusal("entry") if disturbing and hasattr(model, "refusal") else ""
    if not refused:
        return wanted
    if named:
        raise ValueError(
            f"the metric {disturbing[0]!r} disturbs vectors that enter a model; of this one: "
            f"{refused}"
        )
    return [name for name in wanted if name not in disturbing]  # there is hard erasure still


def _of_each(given: Sequence | None, name: str, texts: int) -> list:
    """A list with an entry for each text, or None. ValueError for another number of entries."""
    if given is None:
        return [None] * texts
    found = as_list(given, f"{name} are a list with those of each text")
    if len(found) != texts:
        raise ValueError(f"{name} are given of each of {texts} texts; got {len(found)}")
    return found


def find_metrics(
    names: str | Sequence[str] | None,
    there: Collection[str],
    contrast: bool,
    outputs: str = "classes",
) -> list[str]:
    """The metrics that are meant, each once.

    Args:
        names: None takes all that can be asked, except those asked by name alone.
        there: the needs of metrics that are met.
        contrast: whether two classes are told apart.
        outputs: what the model's are.

    Raises:
        ValueError: an unknown metric, told with the nearest, or one that needs what is not there,
            or other outputs.
    """
    if names is None:
        return [name for name in usual_metrics() if not _missing(name, there, contrast, outputs)]
    other_names = {other: one.name for one in METRICS.values() for other in one.also}
    found = []
    for name in [names] if isinstance(names, str) else names:
        plain = str(name).strip().lower().replace("-", "_").replace(" ", "_")
        plain = plain if plain in METRICS else other_names.get(plain, plain)
        if plain not in METRICS:
            raise ValueError(
                f"unknown metric {name!r}; `attreval list metrics` lists all"
                f"{nearest(plain, [*METRICS, *other_names])}"
            )
        if missing := _missing(plain, there, contrast, outputs):
            raise ValueError(f"the metric {name!r} needs {missing}")
        found.append(plain)
    if not found:
        raise ValueError(f"no metric is named; there are: {', '.join(EVALUATED)}")
    return list(dict.fromkeys(found))


def usual_metrics() -> list[str]:
    """The metrics that are asked where nobody names one."""
    return [name for name in EVALUATED if not METRICS[name].by_name]


def _missing(name: str, there: Collection[str], contrast: bool, outputs: str) -> str:
    """What a metric needs and is not given, in words; empty where it has all."""
    if reason := why_not(METRICS[name].outputs, outputs):
        return reason
    if missing := [need for need in METRICS[name].needs if need not in there]:
        return WHAT_IT_IS[missing[0]]
    if METRICS[name].notebook:
        about = METRICS[name].about
        return (
            f"what explanations of tokens do not tell ({about}); of their kind there are: "
            f"{', '.join(EVALUATED)}"
        )
    if contrast and "model" in METRICS[name].needs:
        return (
            "explanations of one class; these tell two classes apart, and erasure follows one "
            "class's probability"
        )
    return ""


def _scored_text(
    one: Explanation, explanations: Explanations, marked: Instance, k: int, seed: int
) -> ScoredText:
    """One text with the scores of all methods, random ones among them."""
    names = ("evaluate", seed, marked.id)
    scores = {m: one.attributions[m].on_content(one.tokens) for m in explanations.methods}
    drawn = generator(*names, RANDOM).standard_normal(len(one.tokens.content))
    scores[RANDOM] = scores.pop(RANDOM, drawn)
    target = None if one.against else explanations.labels.index(one.target)
    settings = Settings(k=k, protocol=replace(FOUR_DRAWS, outputs=one.outputs))
    return ScoredText(marked, one.tokens, scores, target, names, settings)


def _with_random(text: ScoredText, given: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
    """Scores by method, with random ones drawn where none are given; empty where nothing is."""
    if not given:
        return {}
    shape = np.shape(next(iter(given.values())))
    drawn = generator(*text.names, RANDOM, "others").standard_normal(shape)
    return {RANDOM: drawn, **given}


def _value_of(text: ScoredText, name: str, method: str) -> float:
    """A metric's value, asked before; NaN where it follows another class than is explained."""
    if "model" in METRICS[name].needs and text.found["predicted"] != text.target:
        return np.nan
    return without_asking(METRICS[name].ask(text, method))


def _ask_model(
    model: Classifier, explanations: Explanations, texts: list[ScoredText], names: list[str]
) -> None:
    """Ask the model what metrics want, for the texts to know."""
    scorer = Scorer(model)
    for start in range(0, len(texts) if names else 0, TOGETHER):
        part = texts[start : start + TOGETHER]
        scorer.converse((str(at), _ask_text(text, names)) for at, text in enumerate(part))
        for at, text in enumerate(part, start):
            predicted = model.labels[text.found["predicted"]]
            said = explanations[at].predicted
            if predicted != said:
                raise ValueError(
                    f"the model predicts {predicted!r} of text {at}, but its explanation says "
                    f"{said!r}; evaluate with the model that was explained"
                )
        scorer.forget()


def _ask_text(text: ScoredText, names: list[str]) -> Conversation:
    """The conversation that asks all of these metrics about one text; what compares with random
    scores comes last.
    """
    for last in (False, True):
        for method in text.scores:
            for name in names:
                if ("random" in METRICS[name].needs) == last:
                    yield from METRICS[name].ask(text, method)
    text.found["predicted"] = predicted_class(text)
    if text.found["predicted"] is None:  # no metric has erased anything
        logits = yield Evaluate(text.tokens.ids[None], text.tokens.segments)
        text.found["predicted"] = int(logits[0].argmax())
