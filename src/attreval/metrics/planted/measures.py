"""METRICS on planted models: what each gives to explainers that are right, wrong or misleading.

A metric of one's own is tested in the same way: `evaluate({"name": metric})`. Where it compares methods, the planted
truth is the other method, and k the number of tokens that are evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics import METRICS
from attreval.metrics.metric import Metric
from attreval.metrics.planted.worlds import (
    DRAWN,
    EXPLAINERS,
    WORLDS,
    Planted,
    PlantedModel,
    explain_as,
    make_texts,
    words_of,
)
from attreval.metrics.protocol import Protocol
from attreval.metrics.scored_text import RANDOM, ScoredText, Settings
from attreval.models.scorer import Scorer

PROTOCOL = Protocol(ratios=(0.1, 0.2, 0.5), draws=2, ties="half")
COMPARED = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")  # what diagnosticity counts, as in the joint study
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
USUAL = 13  # units of a text of these; longer texts have multiples masked and kept
SHOWN = 2  # tokens of an explanation that an agent is shown
OFFERED = {"scores", "rivals", "random", "marks", "relations", "model"}  # of what metrics need
MIDDLE = 0.5  # what a place between a text's limits counts where these are the same
GIVEN, TRUTH = "given", "truth"  # the explanation that is judged, and its rival
COLUMNS = ["metric", "world", "explainer", "draw", "text", "value", "sign"]


def as_scored(metric: Metric, text: Planted, scores: np.ndarray, names: tuple) -> ScoredText:
    """A planted text with an explanation, as a metric is asked about it. names: what random draws derive from."""
    by_method = {GIVEN: scores}
    if "rivals" in metric.needs:
        by_method[TRUTH] = text.truth
    if "random" in metric.needs:
        by_method[RANDOM] = generator("rival", text.id).standard_normal(len(scores))
    longer, pairs = max(1, round(len(text.truth) / USUAL)), text.pair_truth
    true_pairs = [] if pairs is None else text.units.pairs()[pairs > 0].tolist()
    return ScoredText(
        instance=text.instance,
        tokens=text.tokens,
        scores=by_method,
        target=text.target,
        settings=Settings(k=max(1, int(text.evidence.sum())), protocol=PROTOCOL, compared=COMPARED, beam=2),
        draws={GIVEN: (*names, text.id), RANDOM: ("rival", text.id)},
        selected={TRUTH: text.evidence},
        attributions={GIVEN: text.attribution(scores, metric.level)},
        units=text.units,
        sizes=tuple(longer * size for size in SIZES),
        relations=tuple(tuple((u,) for u in pair) for pair in true_pairs),
    )


def evaluate(
    metrics: Mapping[str, Metric],
    texts: int = 60,
    draws: int = 4,
    worlds: Sequence[str] = WORLDS,
    explainers: Sequence[str] = tuple(EXPLAINERS),
    make_model: Callable[[str], PlantedModel] = PlantedModel,
) -> pd.DataFrame:
    """What metrics give to explainers on planted models.

    Args:
        metrics: By name; those of pairs are asked in the world that has pairs.
        texts: How many of each world.
        draws: Of explainers with anything random in them, and of the ties in their scores.
        make_model: Makes the model of a world.

    Returns:
        One row a metric, world, explainer, draw and text. sign: 1 where higher is better, -1 where lower is.

    Raises:
        ValueError: Where a metric gives no finite number.
    """
    rows = []
    for world in worlds:
        model: Any = make_model(world)  # it is asked about ids alone, and needs no tokenizer
        made, scorer = make_texts(world, texts), Scorer(model, precision="float64")
        for name, metric in metrics.items():
            if metric.level == "pair" and made[0].pair_truth is None:
                continue
            for explainer in explainers:
                for draw in range(draws if explainer in DRAWN else 1):
                    scores = [explain_as(explainer, text, metric.level, draw) for text in made]
                    values = _measure_texts(scorer, metric, made, scores, (name, explainer, draw))
                    rows += [
                        (name, world, explainer, draw, text.id, value, metric.sign)
                        for text, value in zip(made, values, strict=True)
                    ]
        scorer.forget()
    found = pd.DataFrame(rows, columns=COLUMNS)
    if not np.isfinite(found.value).all():
        bad = found[~np.isfinite(found.value)].iloc[0]
        raise ValueError(
            f"metric {bad.metric!r} gives {bad.value} for {bad.explainer} on {bad.text!r}: a number is needed"
        )
    return found


def _measure_texts(scorer: Scorer, metric: Metric, texts: list[Planted], scores: list, names: tuple) -> list[float]:
    """What a metric gives for one explainer on every text."""
    if metric.function in STAND_INS:
        return STAND_INS[metric.function](texts, scores, names).tolist()
    asked = [as_scored(metric, text, given, names) for text, given in zip(texts, scores, strict=True)]
    found = scorer.converse((metric.name, metric.ask(text, GIVEN)) for text in asked)
    return [MIDDLE if metric.by_name and np.isnan(value) else value for value in found]


def guess_class(texts: Sequence[Planted], scores: Sequence[np.ndarray], names: tuple) -> np.ndarray:
    """The probability that an agent gives to the class that the model predicts, on texts that it was not trained on.

    The agent is a logistic regression on the words of the first tokens of an explanation and on whether these are the
    first and the last token of the text; it is trained on one half of the texts and tested on the other, both ways.
    """
    from sklearn.linear_model import LogisticRegression

    shown = np.stack([show_agent(t, s, (*names, t.id)) for t, s in zip(texts, scores, strict=True)])
    classes, half = np.array([t.target for t in texts]), np.arange(len(texts)) // 2 % 2
    out = np.zeros(len(texts))
    for tested in (0, 1):
        train, test = half != tested, half == tested
        agent = LogisticRegression(C=10.0, max_iter=500).fit(shown[train], classes[train])
        given = agent.predict_proba(shown[test])
        out[test] = given[np.arange(test.sum()), np.searchsorted(agent.classes_, classes[test])]
    return out


def show_agent(text: Planted, scores: np.ndarray, names: tuple) -> np.ndarray:
    """(words + 2,) what an agent sees: the words of the SHOWN highest tokens, and whether they are at the ends."""
    tie = generator("ties", *names).permutation(len(scores))
    top = np.lexsort((tie, -scores))[:SHOWN]
    words = words_of(text.world)
    seen = np.zeros(words + 2)
    seen[text.tokens.ids[text.tokens.content[top]]] = 1
    seen[words:] = [(top == 0).any(), (top == len(scores) - 1).any()]
    return seen


# metrics that take what a planted text has not -> what is asked in their place, of all texts at once
STAND_INS = {METRICS["simulatability"].function: guess_class}
_ASKED = {
    # a rival is the truth here
    name: replace(metric, title=metric.title.replace(" (", " with gold (")) if "rivals" in metric.needs else metric
    for name, metric in METRICS.items()
    if metric.planted and metric.sign and (set(metric.needs) <= OFFERED or metric.function in STAND_INS)
}
PLANTED_METRICS = {name: metric for name, metric in _ASKED.items() if not metric.by_name}
LIMITED_METRICS = {name: metric for name, metric in _ASKED.items() if metric.by_name}  # where texts are short alone
