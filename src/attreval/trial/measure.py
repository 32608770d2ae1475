"""Metrics in worlds whose truth is known: what each gives to explanations that are right, wrong or misleading.

A metric of one's own is tested in the same way: `evaluate({"name": metric})`. Where it compares methods, the planted
truth is the other method, and k the number of tokens that are evidence.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.methods import METHODS as KNOWN
from attreval.metrics import METRICS
from attreval.metrics.metric import Metric
from attreval.metrics.protocol import Protocol
from attreval.metrics.scored_text import RANDOM, ScoredText, Settings
from attreval.models.questions import Conversation
from attreval.models.scorer import Scorer
from attreval.trial import WORLDS, load_world
from attreval.trial.explainers import DRAWN, PLAIN, Scores, around, explain_as, explain_really, there_is
from attreval.trial.trained import guess_class
from attreval.trial.world import Made, World, WorldText

PROTOCOL = Protocol(ratios=(0.1, 0.2, 0.5), draws=2, ties="half")
COMPARED = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")  # what diagnosticity counts, as in the joint study
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
USUAL = 13  # units of a text of these; longer texts have multiples masked and kept
OFFERED = {"scores", "rivals", "random", "marks", "relations", "model", "texts"}  # of what metrics need
AROUND = {"neighbours", "randomised"}  # what a trained network offers besides
MIDDLE = 0.5  # what a place between a text's limits counts where these are the same
GIVEN, TRUTH = "given", "truth"  # the explanation that is judged, and its rival
COLUMNS = ["metric", "world", "explainer", "draw", "text", "value", "sign"]
BATCH = 16384  # padded tokens: the networks are small
PRICED = 2  # texts by which a metric's cost is told
ALIKE = {"scaled": "oracle"}  # explainers whose ties are broken as another's, so that values differ by scale alone
Say = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """What came of a trial. values: a row a metric, world, explainer, draw and text (COLUMNS, and `words`). costs: a
    row a metric and world, model evaluations that it asks for a text. measured: a row a world and what was measured of
    its model. truths: a row a world, explainer and text, how close it comes to the truth."""

    values: pd.DataFrame
    costs: pd.DataFrame
    measured: pd.DataFrame
    truths: pd.DataFrame
    seed: int = 0


def as_scored(
    text: WorldText,
    scores: np.ndarray,
    names: tuple,
    level: str = "token",
    beside: Mapping[str, Any] | None = None,
    texts: Sequence[ScoredText] = (),
) -> ScoredText:
    """A text with an explanation, as a metric is asked about it.

    names: what random draws derive from. beside: its neighbours, and randomised (see ScoredText). texts: all that are
    asked about together.
    """
    truth = text.truth if level == "token" or text.pair_truth is None else text.pair_truth
    longer, pairs = max(1, round(len(text.truth) / USUAL)), text.pair_truth
    true_pairs = [] if pairs is None else text.units.pairs()[pairs > 0].tolist()
    return ScoredText(
        instance=text.instance,
        tokens=text.tokens,
        scores={GIVEN: scores, TRUTH: truth, RANDOM: generator("rival", text.id).standard_normal(len(scores))},
        target=text.target,
        settings=Settings(k=max(1, int(text.evidence.sum())), protocol=PROTOCOL, compared=COMPARED, beam=2),
        draws={GIVEN: (*names, text.id), RANDOM: ("rival", text.id)},
        selected={TRUTH: text.evidence},
        attributions={GIVEN: text.attribution(scores, level)},
        units=text.units,
        sizes=tuple(sorted({min(longer * size, len(text.units) - 1) for size in SIZES})),
        relations=tuple(tuple((u,) for u in pair) for pair in true_pairs),
        neighbours=(beside or {}).get("neighbours", {}),
        randomised=(beside or {}).get("randomised", {}),
        texts=texts,
    )


def applies(metric: Metric, world: World, made: Made) -> bool:
    """Whether a world has what a metric needs, and is small enough for one that asks hundreds of rows of a text."""
    offered = OFFERED | (AROUND if made.network else set())
    pairs = made.texts[0].pair_truth is not None
    has = set(metric.needs) <= offered or metric.function in STAND_INS
    return has and (metric.level == "token" or pairs) and (world.short or not searches(metric))


def searches(metric: Metric) -> bool:
    """Whether a metric asks for hundreds of rows of a text, to find its limits."""
    return metric.planted and metric.by_name


def known_worlds(names: Sequence[str] | None = None, corpora: str | None = None) -> list[str]:
    """The names, checked; without names all worlds whose corpus, if they have one, is there."""
    if unknown := [name for name in names or () if name not in WORLDS]:
        raise ValueError(f"unknown world {unknown[0]!r}; there are: {', '.join(WORLDS)}")
    return list(names or [name for name, one in WORLDS.items() if not one.corpus or one.folder(corpora)])


def try_metrics(
    metrics: Mapping[str, Metric],
    texts: int = 30,
    draws: int = 1,
    worlds: Sequence[str] | None = None,
    explainers: Sequence[str] = tuple(PLAIN),
    seed: int = 0,
    methods: Sequence[str] = (),
    given: Mapping[tuple[str, str], Mapping[str, np.ndarray]] | None = None,
    corpora: str | None = None,
    make: Callable[[str, int, int, str | None], Made] = load_world,
    say: Say = lambda line: None,
) -> Trial:
    """Put metrics to the test.

    Args:
        metrics: By name; those of pairs are asked in the worlds that have pairs.
        texts: How many of each world.
        draws: Of explainers with anything random in them, and of the ties in their scores.
        worlds: Names; all that can be made where not given.
        explainers: Of EXPLAINERS; a decoy where the world has one.
        seed: Of the worlds.
        methods: Real methods that explain as well.
        given: (world, explainer) -> text's id -> scores, made elsewhere.
        make: Makes a world from its name, seed, number of texts and folder of corpora.
        say: Is told when a world is done.

    Raises:
        ValueError: Where a metric fails, or gives no number for the truth.
    """
    held = {name: replace(metric, name=name) for name, metric in metrics.items()}
    rows: list[tuple] = []
    costs, measured, truths = [], [], []
    for name in known_worlds(worlds, corpora):
        made = make(name, seed, texts, corpora)
        asked = {key: one for key, one in held.items() if applies(one, WORLDS[name], made)}
        applying = [one for one in methods if made.model.family in KNOWN[one].families]
        scores = explain_really(made, applying) if applying else {}
        scores |= _given_scores(made, {who: by for (world, who), by in (given or {}).items() if world == name})
        beside = around(made, applying) if any(AROUND & set(one.needs) for one in asked.values()) else {}
        stand_ins = {who: [explain_as(who, text) for text in made.texts] for who in explainers if there_is(who, made)}
        truths += [
            (name, who, text.id, closeness(one, text.truth))
            for who, found in (stand_ins | scores).items()
            for one, text in zip(found, made.texts, strict=True)
        ]
        scorer = Scorer(made.model, BATCH, "float64")
        for level in ("token", "pair"):
            part = {key: one for key, one in asked.items() if one.level == level}
            for who in [
                *(who for who in explainers if there_is(who, made, level)),
                *(scores if level == "token" else ()),
            ]:
                for draw in range(draws if who in DRAWN else 1) if part else ():
                    found = scores[who] if who in scores else [explain_as(who, one, level, draw) for one in made.texts]
                    rows += [
                        (key, name, *row) for key, *row in _measure(scorer, made, part, who, draw, found, level, beside)
                    ]
        costs += [(key, name, price) for key, price in prices(made, asked).items()]
        measured += [(name, what, value) for what, value in made.measured.items()]
        say(f"{name}: {len(asked)} metrics on {len(made.texts)} texts")
    values = pd.DataFrame(rows, columns=[*COLUMNS, "words"])
    check_values(values)
    return Trial(
        values,
        pd.DataFrame(costs, columns=["metric", "world", "evaluations"]),
        pd.DataFrame(measured, columns=["world", "what", "value"]),
        pd.DataFrame(truths, columns=["world", "explainer", "text", "closeness"]),
        seed,
    )


def evaluate(metrics: Mapping[str, Metric], texts: int = 60, draws: int = 4, **given: Any) -> pd.DataFrame:
    """The values of `try_metrics`, a row a metric, world, explainer, draw and text; sign: 1 where higher is better."""
    return try_metrics(metrics, texts, draws, **given).values[COLUMNS]


def _given_scores(made: Made, given: Mapping[str, Mapping[str, np.ndarray]]) -> Scores:
    """Scores of words that were made elsewhere, on the tokens of each text; NaN where a text has none.

    ValueError for other than a number a word, or where there are scores of none of the texts.
    """
    out: Scores = {}
    for who, by in given.items():
        out[who] = []
        for text in made.texts:
            words, scores = len(text.instance.words), by.get(text.id, np.full(len(text.instance.words), np.nan))
            if len(scores) != words:
                raise ValueError(f"{who}, text {text.id!r}: it has {words} words; got {len(scores)} scores")
            out[who].append(scores[text.tokens.word[text.tokens.content]])
        if not any(text.id in by for text in made.texts):
            raise ValueError(f"{who}: no id is one of this world's texts; they read like {made.texts[0].id!r}")
    return out


def _measure(
    scorer: Scorer,
    made: Made,
    metrics: Mapping[str, Metric],
    who: str,
    draw: int,
    scores: Sequence[np.ndarray],
    level: str,
    beside: Mapping[str, list],
) -> list[tuple]:
    """The rows of one explainer, without the world: all metrics on every text that it explains."""
    at = [number for number, one in enumerate(scores) if np.isfinite(one).all()]
    texts, found = [made.texts[number] for number in at], [scores[number] for number in at]
    asked: list[ScoredText] = []
    for number, text in zip(at, texts, strict=True):
        held = {name: {GIVEN: each[number][who]} for name, each in beside.items() if who in each[number]}
        asked.append(as_scored(text, scores[number], (ALIKE.get(who, who), draw), level, held, asked))
    single = [
        one
        for one in metrics.values()
        if one.function not in STAND_INS and all(need not in AROUND or who in beside[need][0] for need in one.needs)
    ]
    values: dict[str, list[float]] = {one.name: [] for one in single}
    for answers in scorer.converse(("", _ask_all(text, single)) for text in asked):
        for one, value in zip(single, answers, strict=True):
            values[one.name].append(MIDDLE if searches(one) and np.isnan(value) else value)
    for one in metrics.values():
        if one.function in STAND_INS:
            values[one.name] = STAND_INS[one.function](texts, found, (one.name, who, draw), made.model).tolist()
    return [
        (name, who, draw, text.id, value, metrics[name].sign, len(text.truth))
        for name in metrics
        if name in values
        for text, value in zip(texts, values[name], strict=True)
    ]


def _ask_all(text: ScoredText, metrics: Iterable[Metric]) -> Conversation:
    """The conversation that asks metrics one after the other about a text, so that they share what they ask."""
    values = []
    for metric in metrics:
        try:
            values.append((yield from metric.ask(text, GIVEN)))
        except Exception as error:
            raise ValueError(f"metric {metric.name!r} fails on {text.instance.id!r}: {error!r}") from error
    return values


def prices(made: Made, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Model evaluations that each metric, asked alone, asks for a text."""
    scorer = Scorer(made.model, BATCH, "float64")
    asked = [
        (name, metric.ask(as_scored(text, explain_as("oracle", text, metric.level), (), metric.level), GIVEN))
        for name, metric in metrics.items()
        if metric.function not in STAND_INS and not AROUND & set(metric.needs)
        for text in made.texts[:PRICED]
    ]
    scorer.converse(asked)
    return {
        name: scorer.costs[name].requested / len(made.texts[:PRICED]) if name in scorer.costs else 0.0
        for name in metrics
    }


def closeness(scores: np.ndarray, truth: np.ndarray) -> float:
    """The share of pairs of tokens of different truth that scores put in the right order; a tie counts half."""
    more, less = np.nonzero(truth[:, None] > truth[None])
    return float(np.mean((np.sign(scores[more] - scores[less]) + 1) / 2)) if len(more) else float("nan")


def check_values(values: pd.DataFrame) -> None:
    """ValueError where a metric gives what is infinite, or no number for a true explanation in any world."""
    known = values.value.where(values.explainer == "oracle").notna().groupby(values.metric).transform("any")
    bad = values[np.isinf(values.value.astype(float)) | ((values.explainer == "oracle") & ~known)]
    if len(bad):
        one = bad.iloc[0]
        what = f"metric {one.metric!r} gives {one.value} for {one.explainer} on {one.text!r}"
        raise ValueError(f"{what}: a number is needed")


# metrics that take what a planted text has not -> what is asked in their place, of all texts at once
STAND_INS = {METRICS["simulatability"].function: guess_class}
TRIED = {
    # a rival is the truth here
    name: replace(metric, title=metric.title.replace(" (", " with gold (")) if "rivals" in metric.needs else metric
    for name, metric in METRICS.items()
    if (metric.planted or not metric.notebook)  # what a notebook computes is no function of a text and a method
    and metric.sign
    and (set(metric.needs) <= OFFERED | AROUND or metric.function in STAND_INS)
}
PLANTED_METRICS = {name: metric for name, metric in TRIED.items() if metric.planted and not metric.by_name}
LIMITED_METRICS = {name: metric for name, metric in TRIED.items() if searches(metric)}  # where texts are short alone
