"""What judged texts say, in tables and in sentences: which method, how sure, at what price, what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attreval.api.explanation import RANDOM
from attreval.api.explanations import Explanations
from attreval.core.bootstrap import LEAST_TEXTS, bootstrap_mean, percentile_interval
from attreval.evaluation.choice import NEAR, VOTES, VOTING, find_objections, gather_means, rank_methods
from attreval.evaluation.judged import Judged
from attreval.methods import METHODS
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import Drawn, draw_judges
from attreval.texts.rows import Row

DRAWS, CONFIDENCE = 1000, 0.95
JUDGE_TITLES = {"pointing": "pointing", "people": "people's marks", "faithfulness": "faithfulness"}
LARGE_GAP = 0.1
WHY_NOT = {
    "pointing": "documents whose evidence is known are made from single texts of several classes, and from no "
    "attributions that were made elsewhere",
    "people": "no column of the data holds what people marked (`--rationale`)",
}


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    title: the model and the data. labels: classes. size: texts that could be drawn; dropped: why rows could not be used
    -> how many. given: methods made elsewhere. seconds: that a method takes for a text of common length, on one core.
    max_length: tokens that the model reads. rows, judged: the texts of the sample; documents: those made of them.
    drawn: the metrics' means over the texts, and over texts drawn with replacement. choice, objections: see
    `evaluation.choice`. means: one row a method and metric, with an interval.
    """

    title: str
    labels: tuple[str, ...]
    size: int
    dropped: Mapping[str, int]
    given: tuple[str, ...]
    seconds: Mapping[str, float]
    max_length: int
    rows: tuple[Row, ...]
    judged: tuple[Judged, ...]
    documents: tuple[Judged, ...]
    drawn: Drawn
    choice: pd.DataFrame
    objections: pd.DataFrame
    means: pd.DataFrame

    @property
    def best(self) -> pd.Series:
        """The row of the recommended method."""
        return self.choice[self.choice.recommended].iloc[0]

    @property
    def settled(self) -> bool:
        """Whether more texts would hardly change the choice."""
        return bool(self.best.settled)

    @property
    def best_two(self) -> list[str]:
        """The recommended method and the next best; one alone where there is no other."""
        others = self.choice[~self.choice.recommended & (self.choice.method != RANDOM)]
        return [self.best.method, *others.method.iloc[:1]]

    @property
    def explanations(self) -> Explanations:
        """The explained texts, to be shown and saved."""
        return Explanations([one.explanation for one in self.judged], self.labels)

    @property
    def values(self) -> pd.DataFrame:
        """One row a text, method and metric. text: the id of its row; documents are numbered."""
        names = [*(row.id for row in self.rows), *(f"document {at}" for at in range(1, len(self.documents) + 1))]
        rows = [
            (name, method, metric, value)
            for name, one in zip(names, [*self.judged, *self.documents], strict=True)
            for metric, by_method in one.values.items()
            for method, value in by_method.items()
        ]
        return pd.DataFrame(rows, columns=["text", "method", "metric", "value"])

    def __str__(self) -> str:
        return f"{recommendation(self)} {certainty(self)} {price(self)}"


def conclude(judged: Sequence[Judged], documents: Sequence[Judged], rows: Sequence[Row], facts: Mapping) -> Evaluation:
    """What judged texts, and the documents made of them, say together; facts: the other fields of `Evaluation`.

    Where people marked texts, pointing at their marks has no vote and is left out: `people` asks the same of them.
    """
    texts = [replace(one, values={m: v for m, v in one.values.items() if m != "pointing"}) for one in judged]
    methods = [*judged[0].explanation.methods, RANDOM]
    tasks = {name: _draw(of, methods, name) for name, of in (("texts", texts), ("documents", documents))}
    tasks = {name: drawn for name, drawn in tasks.items() if drawn.means}
    paid = {m: np.mean([one.explanation.attributions[m].cost.requested for one in judged]) for m in methods[:-1]}
    measured = gather_means(
        {name: _compared(one) for name, one in tasks.items()}, "texts", methods, lambda m: float(paid.get(m, 0.0))
    )
    if measured is None:
        raise ValueError(f"no metric with a vote has a value for these texts; these have one: {', '.join(VOTING)}")
    choice = rank_methods(measured, CONFIDENCE)
    objections = find_objections(measured, choice.method[0], CONFIDENCE)
    means = [
        (made, method, metric, *(float(x[at]) for x in (drawn.means[metric], low, high)), int(drawn.counts[metric][at]))
        for made, drawn in tasks.items()
        for metric in drawn.means
        for low, high in [percentile_interval(drawn.drawn[metric], CONFIDENCE)]
        for at, method in enumerate(drawn.methods)
    ]
    means = pd.DataFrame(means, columns=["of", "method", "metric", "mean", "low", "high", "n"])
    return Evaluation(
        rows=tuple(rows),
        judged=tuple(texts),
        documents=tuple(documents),
        drawn=tasks["texts"],
        choice=choice,
        objections=objections,
        means=means,
        **facts,
    )


def _draw(judged: Sequence[Judged], methods: Sequence[str], name: str) -> Drawn:
    """Means of every metric that has a value, in the order of METRICS, and those of texts drawn with replacement."""
    arrays = {}
    for metric in METRICS:
        of_texts = [one.values.get(metric, {}) for one in judged]
        values = np.array([[[of_text.get(m, np.nan) for m in methods] for of_text in of_texts]])
        if not np.isnan(values).all():
            arrays[metric] = values
    return draw_judges(arrays, methods, DRAWS, "evaluate", name) if arrays else Drawn(tuple(methods), {}, {}, {})


def _compared(drawn: Drawn) -> Drawn:
    """The metrics that methods are compared by: those of the joint study; in all of them higher is better."""
    kept = [metric for metric in drawn.means if METRICS[metric].joint and METRICS[metric].sign == 1]
    parts = ({metric: of[metric] for metric in kept} for of in (drawn.means, drawn.drawn, drawn.counts))
    return Drawn(drawn.methods, *parts)


def title(method: str) -> str:
    """A method as people read it; those made elsewhere go by the name that they came with."""
    return METHODS[method].title if method in METHODS else method


def recommendation(found: Evaluation) -> str:
    """Which method, or that none stands out."""
    best = found.best
    if not best.above_random:
        return "None of these explanations: not even the best is surely above random scores."
    return f"Use {title(best.method)}." if best.settled else f"{title(best.method)}, so far."


def certainty(found: Evaluation) -> str:
    """How sure the choice is, and on what it rests."""
    best = found.best
    voted = [JUDGE_TITLES[judge] for judge in VOTES if judge in found.choice and pd.notna(best[judge])]
    drawn = f"{len(found.judged)} texts"
    if best.texts < len(found.judged):  # documents made of texts, or texts that people marked
        drawn += f"; one judge has {int(best.texts)} texts or documents made from them"
    said = (
        f"{title(best.method)} beats {best.score:.0%} of the other methods ({best.low:.0%} to {best.high:.0%}), the "
        f"mean over {_and(voted)}, and has the highest score in {best.best:.0%} of samples drawn from {drawn}."
    )
    if best.settled:
        return f"{said} The choice is settled: at the 95 % level no other method scores more than {NEAR:.2f} higher."
    if best.texts < LEAST_TEXTS:
        return f"{said} That is not settled: a judge with fewer than {LEAST_TEXTS} texts settles nothing."
    return f"{said} That is not settled: another method might score up to {best.shortfall:.2f} higher."


def price(found: Evaluation) -> str:
    """What it costs, and which method cannot be told from it and costs less."""
    best = found.best
    if best.method in found.given:
        return "It was made elsewhere; what that cost is not known here."
    said = f"It asks the model for {_evaluations(best.requested)} a text"
    took = found.seconds.get(best.method)
    said += f", {took:.2g} s on one core of this machine." if took else "."
    cheaper = found.choice[found.choice.leading & ~found.choice.recommended & (found.choice.requested < best.requested)]
    cheaper = cheaper[~cheaper.method.isin(found.given)]
    if len(cheaper):
        least = cheaper.sort_values("requested").iloc[0]
        said += f" {title(least.method)} cannot be told from it on these texts, for {_evaluations(least.requested)}."
    return said


def objections(found: Evaluation) -> list[str]:
    """Sentences on what speaks against the recommended method."""
    out = []
    for row in found.objections.itertuples():
        where = f"{row.title}{'' if row.votes else ' (which has no vote)'}"
        if row.surely:
            out.append(f"{where}: {title(row.rival)} is surely better ({row.rival_mean:.2f} against {row.mean:.2f}).")
        if row.below_random:
            out.append(f"{where}: it is not surely above random scores ({row.mean:.2f}; random {row.random:.2f}).")
    return out or ["No metric that was asked spoke against it."]


def accuracy(found: Evaluation) -> tuple[float, float, float]:
    """The share of explained texts that the model is right on, the lower end of its interval, and the largest class."""
    gold = np.array([row.label for row in found.rows])
    right = np.array([found.labels.index(one.explanation.predicted) for one in found.judged]) == gold
    mean, low, _ = bootstrap_mean(right, DRAWS, CONFIDENCE, "accuracy")
    return float(mean), float(low), float(np.bincount(gold).max() / len(gold))


def limits(found: Evaluation) -> list[str]:
    """What was not asked, and what a reader should know of the model and the texts."""
    out = [
        f"Not asked: {JUDGE_TITLES[judge]}, since {why}." for judge, why in WHY_NOT.items() if judge not in found.choice
    ]
    if found.dropped:
        told = _and([f"{count} ({why})" for why, count in found.dropped.items()])
        out.append(f"Rows of the data that could not be used: {told}.")
    right, low, majority = accuracy(found)
    if majority == 1:
        out.append("All texts have one label: whether the model tells its classes apart is not known here.")
    elif low <= majority:
        out.append(
            f"The model is right on {right:.0%} of {len(found.rows)} texts, the most frequent class is "
            f"{majority:.0%}: explanations of a model that has not learned the task say little."
        )
    cut = np.array([one.explanation.tokens.dropped for one in found.judged])
    if (cut > 0).any():
        out.append(
            f"{(cut > 0).sum()} of {len(cut)} texts have words that the model does not read, {cut.sum()} in all; "
            f"it takes {found.max_length} tokens, or its tokenizer knows none for them. They have no scores."
        )
    if (missed := np.mean([_largest_gap(one) > LARGE_GAP for one in found.judged])) > 0:
        out.append(
            f"Integrated gradients miss more than {LARGE_GAP:.0%} of the sum that they owe on {missed:.0%} of texts; "
            "read them with care for this model."
        )
    moved = [np.nan_to_num(list(one.values["nc"].values())).any() for one in found.judged if "nc" in one.values]
    if moved and not all(moved):
        out.append(
            f"On {1 - np.mean(moved):.0%} of texts NC is 0 for all methods and random scores: the model is as sure of "
            "the class when all words are erased, so erasure cannot tell methods apart there."
        )
    if found.given:
        out.append("Hybrid documents were not made, since what was made elsewhere has no scores of them.")
    out.append("Agreement with other methods and simplicity are shown without a vote: they do not say who is right.")
    return out


def _largest_gap(one: Judged) -> float:
    """What the scores of a text miss of the sum that they owe, as a share of it or of one logit."""
    owing = [a for a in one.explanation.attributions.values() if np.isfinite(a.gap)]
    return max((abs(a.gap) / max(1.0, abs(a.scores.sum() - a.gap)) for a in owing), default=0.0)


def table(found: Evaluation) -> pd.DataFrame:
    """One row a method, the best first: score with interval, price, and a column a metric: the mean over the texts.

    What was not measured on the texts themselves is of the documents made from them. Metrics with a vote come first,
    then those that methods are compared by.
    """
    wide = found.means.drop_duplicates(["method", "metric"]).pivot(index="method", columns="metric", values="mean")
    order = sorted((name for name in METRICS if name in wide), key=lambda m: (m not in VOTING, not METRICS[m].joint))
    rows = found.choice.set_index("method")[["score", "low", "high", "best", "leading", "requested"]]
    return rows.join(wide[order])


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _evaluations(count: float) -> str:
    return f"{count:,.0f} model evaluation{'' if round(count) == 1 else 's'}"
