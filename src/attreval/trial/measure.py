"""Metrics in worlds whose truth is known.

What each metric gives to explanations that are right, wrong or misleading. Where it compares
methods, the planted truth is the other method, and k the number of tokens that are evidence.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    EXPLAINERS,
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
# what diagnosticity counts, as in the joint study
COMPARED = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
USUAL = 13  # units of a text of these; longer texts have multiples masked and kept
# of what metrics need
OFFERED = {"scores", "rivals", "random", "marks", "relations", "model", "texts"}
AROUND = {"neighbours", "randomised"}  # what a trained network offers besides
MIDDLE = 0.5  # what a place between a text's limits counts where these are the same
GIVEN = "given"  # the explanation that is judged
TRUTH = "truth"  # its rival
COLUMNS = ["metric", "world", "explainer", "draw", "text", "value", "sign", "words"]
BATCH = 16384  # padded tokens: the networks are small
PRICED = 2  # texts by which a metric's cost is told
# explainers whose ties are broken as another's, so that values differ by scale alone
ALIKE = {"scaled": "oracle"}
Say = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """What came of a trial.

    values: a row a metric, world, explainer, draw and text (COLUMNS). costs: a row a metric and
    world, model evaluations that it asks for a text. measured: a row a world and what was measured
    of its model. truths: a row a world, explainer and text, how close it comes to the truth.
    """

    values: pd.DataFrame
    costs: pd.DataFrame
    measured: pd.DataFrame
    truths: pd.DataFrame
    seed: int


class ByExplainer(NamedTuple):
    """The texts of a world by one explainer. scores: (n,) of each text, NaN where it has none."""

    who: str
    draw: int
    level: str
    scores: list[np.ndarray]


def as_scored(
    text: WorldText,
    scores: np.ndarray,
    names: tuple,
    level: str = "token",
    beside: Mapping[str, Any] | None = None,
    texts: Sequence[ScoredText] = (),
) -> ScoredText:
    """A text with an explanation, as a metric is asked about it.

    Args:
        text: of a world.
        scores: (n,) of its tokens, or (P,) of its pairs.
        names: what random draws derive from.
        level: `token` or `pair`.
        beside: its neighbours, and randomised (see ScoredText).
        texts: all that are asked about together.
    """
    truth = text.truth
    true_pairs = []
    if text.pair_truth is not None:
        true_pairs = text.units.pairs()[text.pair_truth > 0].tolist()
        if level == "pair":
            truth = text.pair_truth
    evidence = text.evidence
    longer = max(1, round(len(text.truth) / USUAL))
    sizes = {min(longer * size, len(text.units) - 1) for size in SIZES}
    k = max(1, int(evidence.sum()))
    chance = generator("rival", text.id).standard_normal(len(scores))
    return ScoredText(
        instance=text.instance,
        tokens=text.tokens,
        scores={GIVEN: scores, TRUTH: truth, RANDOM: chance},
        target=text.target,
        settings=Settings(k=k, protocol=PROTOCOL, compared=COMPARED, beam=2),
        draws={GIVEN: (*names, text.id), RANDOM: ("rival", text.id)},
        selected={TRUTH: evidence},
        attributions={GIVEN: text.attribution(scores, level)},
        units=text.units,
        sizes=tuple(sorted(sizes)),
        relations=tuple(((a,), (b,)) for a, b in true_pairs),
        texts=texts,
        **(beside or {}),
    )


def applies(metric: Metric, world: World, made: Made) -> bool:
    """Whether a world has what a metric needs, and short texts where it asks hundreds of rows."""
    offered = OFFERED | (AROUND if made.network else set())
    has = set(metric.needs) <= offered or metric.function in STAND_INS
    of_level = metric.level == "token" or made.texts[0].pair_truth is not None
    return has and of_level and (world.short or not searches(metric))


def searches(metric: Metric) -> bool:
    """Whether a metric asks for hundreds of rows of a text, to find its limits."""
    return metric.planted and metric.by_name


def known_worlds(names: Sequence[str] | None, corpora: str | None) -> list[str]:
    """The names, checked; without names all worlds but those by name, and those without corpus."""
    if unknown := [name for name in names or () if name not in WORLDS]:
        raise ValueError(f"unknown world {unknown[0]!r}; there are: {', '.join(WORLDS)}")
    there = [
        name
        for name, one in WORLDS.items()
        if not one.by_name and (not one.corpus or one.folder(corpora))
    ]
    return list(names or there)


def try_metrics(
    metrics: Mapping[str, Metric],
    texts: int,
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
    rows = []
    costs = []
    measured = []
    truths = []
    for name in known_worlds(worlds, corpora):
        made = make(name, seed, texts, corpora)
        asked = {key: one for key, one in held.items() if applies(one, WORLDS[name], made)}
        elsewhere = {who: by for (world, who), by in (given or {}).items() if world == name}
        explained = [
            *explain_tokens(made, explainers, draws, methods, elsewhere),
            *_stand_in_scores(made, explainers, draws, "pair"),
        ]
        for one in explained:
            if one.level == "token" and one.draw == 0:
                for scores, text in zip(one.scores, made.texts, strict=True):
                    truths.append((name, one.who, text.id, closeness(scores, text.truth)))
        rows += [(key, name, *cells) for key, *cells in _values(made, asked, explained, methods)]
        costs += [(key, name, price) for key, price in prices(made, asked).items()]
        measured += [(name, what, value) for what, value in made.measured.items()]
        say(f"{name}: {len(asked)} metrics on {len(made.texts)} texts")
    values = pd.DataFrame(rows, columns=COLUMNS)
    check_values(values)
    return Trial(
        values,
        pd.DataFrame(costs, columns=["metric", "world", "evaluations"]),
        pd.DataFrame(measured, columns=["world", "what", "value"]),
        pd.DataFrame(truths, columns=["world", "explainer", "text", "closeness"]),
        seed,
    )


def explain_tokens(
    made: Made,
    explainers: Sequence[str] = tuple(EXPLAINERS),
    draws: int = 1,
    methods: Sequence[str] = (),
    elsewhere: Mapping[str, Mapping[str, np.ndarray]] | None = None,
) -> Iterator[ByExplainer]:
    """All explanations of a world by tokens: of EXPLAINERS, of methods and made elsewhere."""
    yield from _stand_in_scores(made, explainers, draws, "token")
    for who, scores in _real_scores(made, methods, elsewhere or {}).items():
        yield ByExplainer(who, 0, "token", scores)


def _stand_in_scores(
    made: Made, explainers: Sequence[str], draws: int, level: str
) -> Iterator[ByExplainer]:
    """What those of EXPLAINERS that a world has say of its texts."""
    for who in explainers:
        if there_is(who, made, level):
            for draw in range(draws if who in DRAWN else 1):
                scores = [explain_as(who, text, level, draw) for text in made.texts]
                yield ByExplainer(who, draw, level, scores)


def _real_scores(
    made: Made, methods: Sequence[str], elsewhere: Mapping[str, Mapping[str, np.ndarray]]
) -> Scores:
    """Scores of the tokens of each text by methods, and those of words made elsewhere.

    NaN where a text has none. ValueError for other than a number a word, or where there are scores
    of none of the texts.
    """
    applying = _applying(methods, made)
    out = explain_really(made, applying) if applying else {}
    for who, by in elsewhere.items():
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


def _applying(methods: Sequence[str], made: Made) -> list[str]:
    """The methods that apply to a world's model."""
    return [name for name in methods if made.model.family in KNOWN[name].families]


def _values(
    made: Made,
    metrics: Mapping[str, Metric],
    explained: Sequence[ByExplainer],
    methods: Sequence[str],
) -> Iterator[tuple]:
    """The rows of a world, without its name: every metric on every text of every explainer."""
    beside: dict[str, list] = {}
    if any(AROUND & set(metric.needs) for metric in metrics.values()):
        beside = around(made, _applying(methods, made))
    scorer = Scorer(made.model, BATCH, "float64")
    for one in explained:
        of_level = {key: metric for key, metric in metrics.items() if metric.level == one.level}
        if of_level:
            yield from _measure(scorer, made, of_level, one, beside)


def _measure(
    scorer: Scorer,
    made: Made,
    metrics: Mapping[str, Metric],
    explained: ByExplainer,
    beside: Mapping[str, list],
) -> Iterator[tuple]:
    """The rows of one explainer: all metrics of its level on every text that it explains."""
    who, draw, level, scores = explained
    texts = []
    found = []
    asked: list[ScoredText] = []
    near = {name: each for name, each in beside.items() if who in each[0]}
    for at, (text, given) in enumerate(zip(made.texts, scores, strict=True)):
        if np.isfinite(given).all():
            held = {name: {GIVEN: each[at][who]} for name, each in near.items()}
            texts.append(text)
            found.append(given)
            asked.append(as_scored(text, given, (ALIKE.get(who, who), draw), level, held, asked))
    lacking = AROUND - set(near)
    single = [
        one
        for one in metrics.values()
        if one.function not in STAND_INS and not lacking & set(one.needs)
    ]
    answers = scorer.converse(("", _ask_all(text, single)) for text in asked)
    values = {one.name: [of_text[at] for of_text in answers] for at, one in enumerate(single)}
    for name, one in metrics.items():
        if stand_in := STAND_INS.get(one.function):
            values[name] = stand_in(texts, found, (name, who, draw), made.model).tolist()
        if name not in values:  # the explainer has not what the metric needs
            continue
        for text, value in zip(texts, values[name], strict=True):
            value = MIDDLE if searches(one) and np.isnan(value) else value
            yield name, who, draw, text.id, value, one.sign, len(text.truth)


def _ask_all(text: ScoredText, metrics: Iterable[Metric]) -> Conversation:
    """The conversation that asks metrics about a text in turn, so that they share what they ask."""
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
    """The share of pairs of tokens of different truth that scores order rightly; a tie is half."""
    more, less = np.nonzero(truth[:, None] > truth)
    right = (np.sign(scores[more] - scores[less]) + 1) / 2
    return float(right.mean()) if len(right) else np.nan


def check_values(values: pd.DataFrame) -> None:
    """Raise ValueError where a metric is infinite, or gives the truth no number in any world."""
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


def _can_be_tried(metric: Metric) -> bool:
    """Whether a metric has a direction, and is a function of what worlds have."""
    of_text = metric.planted or not metric.notebook  # a notebook computes the others
    needs_met = set(metric.needs) <= OFFERED | AROUND or metric.function in STAND_INS
    return of_text and bool(metric.sign) and needs_met


def _as_tried(metric: Metric) -> Metric:
    """The metric as it is called here, where a rival is the truth."""
    if "rivals" not in metric.needs:
        return metric
    return replace(metric, title=metric.title.replace(" (", " with gold ("))


TRIED = {name: _as_tried(one) for name, one in METRICS.items() if _can_be_tried(one)}
PLANTED_METRICS = {name: one for name, one in TRIED.items() if one.planted and not one.by_name}
# where texts are short alone
LIMITED_METRICS = {name: one for name, one in TRIED.items() if searches(one)}
