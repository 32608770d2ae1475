"""Metrics in worlds whose truth is known: what each gives to explanations that are right, wrong or
misleading.

A metric of one's own is tested in the same way: `evaluate({"name": metric})`. Where it compares
methods, the planted truth is the other method, and k the number of tokens that are evidence.
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
from attreval.trial.explainers import (
    DRAWN,
    PLAIN,
    Scores,
    around,
    explain_as,
    explain_really,
    there_is,
)
from attreval.trial.trained import guess_class
from attreval.trial.world import Made, World, WorldText

PROTOCOL = Protocol(ratios=(0.1, 0.2, 0.5), draws=2, ties="half")
COMPARED = (
    "nc",
    "ns",
    "soft_nc_equal",
    "soft_ns_equal",
)  # what diagnosticity counts, as in the joint study
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
USUAL = 13  # units of a text of these; longer texts have multiples masked and kept
OFFERED = {
    "scores",
    "rivals",
    "random",
    "marks",
    "relations",
    "model",
    "texts",
}  # of what metrics need
AROUND = {"neighbours", "randomised"}  # what a trained network offers besides
MIDDLE = 0.5  # what a place between a text's limits counts where these are the same
GIVEN = "given"  # the explanation that is judged
TRUTH = "truth"  # its rival
COLUMNS = ["metric", "world", "explainer", "draw", "text", "value", "sign"]
BATCH = 16384  # padded tokens: the networks are small
PRICED = 2  # texts by which a metric's cost is told
ALIKE = {
    "scaled": "oracle"
}  # explainers whose ties are broken as another's, so that values differ by scale alone
Say = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """What came of a trial. values: a row a metric, world, explainer, draw and text (COLUMNS, and
    `words`). costs: a row a metric and world, model evaluations that it asks for a text. measured:
    a row a world and what was measured of its model. truths: a row a world, explainer and text, how
    close it comes to the truth.
    """

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

    names: what random draws derive from. beside: its neighbours, and randomised (see ScoredText).
    texts: all that are asked about together.
    """
    pairs = text.pair_truth
    truth = text.truth if level == "token" or pairs is None else pairs
    longer = max(1, round(len(text.truth) / USUAL))
    true_pairs = [] if pairs is None else text.units.pairs()[pairs > 0].tolist()
    return ScoredText(
        instance=text.instance,
        tokens=text.tokens,
        scores={
            GIVEN: scores,
            TRUTH: truth,
            RANDOM: generator("rival", text.id).standard_normal(len(scores)),
        },
        target=text.target,
        settings=Settings(
            k=max(1, int(text.evidence.sum())), protocol=PROTOCOL, compared=COMPARED, beam=2
        ),
        draws={GIVEN: (*names, text.id), RANDOM: ("rival", text.id)},
        selected={TRUTH: text.evidence},
        attributions={GIVEN: text.attribution(scores, level)},
        units=text.units,
        sizes=tuple(sorted({min(longer * size, len(text.units) - 1) for size in SIZES})),
        relations=tuple(tuple((u,) for u in pair) for pair in true_pairs),
        texts=texts,
        **(beside or {}),
    )


def applies(metric: Metric, world: World, made: Made) -> bool:
    """Whether a world has what a metric needs, and is small enough for one that asks hundreds of
    rows of a text.
    """
    offered = OFFERED | (AROUND if made.network else set())
    has = set(metric.needs) <= offered or metric.function in STAND_INS
    of_level = metric.level == "token" or made.texts[0].pair_truth is not None
    return has and of_level and (world.short or not searches(metric))


def searches(metric: Metric) -> bool:
    """Whether a metric asks for hundreds of rows of a text, to find its limits."""
    return metric.planted and metric.by_name


def known_worlds(names: Sequence[str] | None = None, corpora: str | None = None) -> list[str]:
    """The names, checked; without names all worlds whose corpus, if they have one, is there."""
    if unknown := [name for name in names or () if name not in WORLDS]:
        raise ValueError(f"unknown world {unknown[0]!r}; there are: {', '.join(WORLDS)}")
    return list(
        names or [name for name, one in WORLDS.items() if not one.corpus or one.folder(corpora)]
    )


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
    costs: list[tuple] = []
    measured: list[tuple] = []
    truths: list[tuple] = []
    for name in known_worlds(worlds, corpora):
        made = make(name, seed, texts, corpora)
        asked = {key: one for key, one in held.items() if applies(one, WORLDS[name], made)}
        applying = [one for one in methods if made.model.family in KNOWN[one].families]
        of_methods = explain_really(made, applying) if applying else {}
        of_methods |= _given_scores(
            made, {who: by for (world, who), by in (given or {}).items() if world == name}
        )
        beside = (
            around(made, applying) if any(AROUND & set(one.needs) for one in asked.values()) else {}
        )
        stand_ins = [who for who in explainers if there_is(who, made)]
        plain = {who: [explain_as(who, text) for text in made.texts] for who in stand_ins}
        for who, found in (plain | of_methods).items():
            for scores, text in zip(found, made.texts, strict=True):
                truths.append((name, who, text.id, closeness(scores, text.truth)))
        scorer = Scorer(made.model, BATCH, "float64")
        for level in ("token", "pair"):
            part = {key: one for key, one in asked.items() if one.level == level}
            if not part:
                continue
            judged = {}
            for who in stand_ins:
                for draw in range(draws if who in DRAWN else 1):
                    if there_is(who, made, level):
                        judged[who, draw] = [
                            explain_as(who, text, level, draw) for text in made.texts
                        ]
            if level == "token":
                judged |= {(who, 0): found for who, found in of_methods.items()}
            for (who, draw), found in judged.items():
                cells = _measure(scorer, made, part, who, draw, found, level, beside)
                rows += [(key, name, *cell) for key, *cell in cells]
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


def evaluate(
    metrics: Mapping[str, Metric], texts: int = 60, draws: int = 4, **given: Any
) -> pd.DataFrame:
    """The values of `try_metrics`, a row a metric, world, explainer, draw and text; sign: 1 where
    higher is better.
    """
    return try_metrics(metrics, texts, draws, **given).values[COLUMNS]


def _given_scores(made: Made, given: Mapping[str, Mapping[str, np.ndarray]]) -> Scores:
    """Scores of words that were made elsewhere, on the tokens of each text; NaN where a text has
    none.

    ValueError for other than a number a word, or where there are scores of none of the texts.
    """
    out: Scores = {}
    for who, by in given.items():
        out[who] = []
        for text in made.texts:
            words = len(text.instance.words)
            scores = by.get(text.id, np.full(words, np.nan))
            if len(scores) != words:
                raise ValueError(
                    f"{who}, text {text.id!r}: it has {words} words; got {len(scores)} scores"
                )
            out[who].append(scores[text.tokens.word[text.tokens.content]])
        if not any(text.id in by for text in made.texts):
            raise ValueError(
                f"{who}: no id is one of this world's texts; they read like {made.texts[0].id!r}"
            )
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
    texts: list[WorldText] = []
    found: list[np.ndarray] = []
    asked: list[ScoredText] = []
    for number, (text, given) in enumerate(zip(made.texts, scores, strict=True)):
        if np.isfinite(given).all():
            held = {
                name: {GIVEN: each[number][who]}
                for name, each in beside.items()
                if who in each[number]
            }
            texts.append(text)
            found.append(given)
            asked.append(as_scored(text, given, (ALIKE.get(who, who), draw), level, held, asked))
    lacking = {need for need in AROUND if need not in beside or who not in beside[need][0]}
    single = [
        one
        for one in metrics.values()
        if one.function not in STAND_INS and not lacking & set(one.needs)
    ]
    answers = scorer.converse(("", _ask_all(text, single)) for text in asked)
    values = {one.name: [of_text[at] for of_text in answers] for at, one in enumerate(single)}
    rows = []
    for name, one in metrics.items():
        if one.function in STAND_INS:
            values[name] = STAND_INS[one.function](
                texts, found, (name, who, draw), made.model
            ).tolist()
        for text, value in zip(texts, values[name], strict=True) if name in values else ():
            value = MIDDLE if searches(one) and np.isnan(value) else value
            rows.append((name, who, draw, text.id, value, one.sign, len(text.truth)))
    return rows


def _ask_all(text: ScoredText, metrics: Iterable[Metric]) -> Conversation:
    """The conversation that asks metrics one after the other about a text, so that they share what
    they ask.
    """
    values = []
    for metric in metrics:
        try:
            value = yield from metric.ask(text, GIVEN)
        except Exception as error:
            raise ValueError(
                f"metric {metric.name!r} fails on {text.instance.id!r}: {error!r}"
            ) from error
        values.append(value)
    return values


def prices(made: Made, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Model evaluations that each metric, asked alone, asks for a text."""
    scorer = Scorer(made.model, BATCH, "float64")
    texts = made.texts[:PRICED]
    asked = []
    for name, metric in metrics.items():
        if metric.function not in STAND_INS and not AROUND & set(metric.needs):
            for text in texts:
                scored = as_scored(text, explain_as("oracle", text, metric.level), (), metric.level)
                asked.append((name, metric.ask(scored, GIVEN)))
    scorer.converse(asked)
    return {
        name: scorer.costs[name].requested / len(texts) if name in scorer.costs else 0.0
        for name in metrics
    }


def closeness(scores: np.ndarray, truth: np.ndarray) -> float:
    """The share of pairs of tokens of different truth that scores put in the right order; a tie
    counts half.
    """
    more, less = np.nonzero(truth[:, None] > truth)
    right = (np.sign(scores[more] - scores[less]) + 1) / 2
    return float(right.mean()) if len(right) else float("nan")


def check_values(values: pd.DataFrame) -> None:
    """ValueError where a metric gives what is infinite, or no number for a true explanation in any
    world.
    """
    true = values.explainer == "oracle"
    known = values.value.where(true).notna().groupby(values.metric).transform("any")
    bad = values[np.isinf(values.value.astype(float)) | (true & ~known)]
    if len(bad):
        one = bad.iloc[0]
        what = f"metric {one.metric!r} gives {one.value} for {one.explainer} on {one.text!r}"
        raise ValueError(f"{what}: a number is needed")


# metrics that take what a planted text has not -> what is asked in their place, of all texts at
# once
STAND_INS = {METRICS["simulatability"].function: guess_class}
TRIED = {
    # a rival is the truth here
    name: replace(metric, title=metric.title.replace(" (", " with gold ("))
    if "rivals" in metric.needs
    else metric
    for name, metric in METRICS.items()
    if (
        metric.planted or not metric.notebook
    )  # what a notebook computes is no function of a text and a method
    and metric.sign
    and (set(metric.needs) <= OFFERED | AROUND or metric.function in STAND_INS)
}
PLANTED_METRICS = {
    name: metric for name, metric in TRIED.items() if metric.planted and not metric.by_name
}
LIMITED_METRICS = {
    name: metric for name, metric in TRIED.items() if searches(metric)
}  # where texts are short alone
