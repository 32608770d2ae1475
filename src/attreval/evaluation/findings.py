"""What judged texts say, in tables and in sentences.

Which method, how sure that is, at what price, and what speaks against it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attreval.api.explanation import RANDOM
from attreval.api.explanations import Explanations
from attreval.core.bootstrap import LEAST_TEXTS, percentile_interval
from attreval.core.records import Attribution
from attreval.evaluation.choice import (
    MARGIN,
    OF_VALUES,
    VOTING,
    find_objections,
    gather_means,
    rank_methods,
    weigh_metrics,
)
from attreval.evaluation.judged import Judged
from attreval.methods import METHODS
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import Drawn, draw_judges
from attreval.models.outputs import Outputs
from attreval.texts.rows import Row

DRAWS = 2000
CONFIDENCE = 0.99  # samples grow about five times, and each asks anew: together 0.95
JUDGE_TITLES = {"pointing": "pointing", "people": "people's marks", "faithfulness": "faithfulness"}
LARGE_GAP = 0.1  # of the sum owed
# of the texts: a method that misses the sum by a large gap more often is not recommended
MOST_LARGE = 0.1


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    title: the model and the data. labels: the classes, or the output that is explained. size: how
    many texts could be drawn. dropped: how many rows could not be used, by reason. given: methods
    made elsewhere. seconds: what a method takes for a text of common length, on one core.
    max_length: tokens that the model reads. rows, judged: the texts of the sample. documents: those
    made of them. drawn: the metrics' means over the texts, and over texts drawn with replacement.
    missed: by method, the share of texts on which its scores miss more than LARGE_GAP of the sum
    that they owe. judges, choice,
    objections: see `weigh_metrics`, `rank_methods` and `find_objections` of `evaluation.choice`.
    means: a row a method and metric, with an interval. noise: of a function, the standard deviation
    of a probability when a text is asked about again.
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
    missed: Mapping[str, float]
    judges: pd.DataFrame
    choice: pd.DataFrame
    objections: pd.DataFrame
    means: pd.DataFrame
    noise: float = 0.0

    @property
    def outputs(self) -> Outputs:
        """What the model's outputs are."""
        return self.judged[0].explanation.outputs

    @property
    def best(self) -> pd.Series:
        """The row of the recommended method."""
        return self.choice[self.choice.recommended].iloc[0]

    @property
    def verdict(self) -> str:
        """`recommended`, `no difference` that matters, `undecided`, or `none` to be used."""
        if not (self.best.above_random and self.best.sound):
            return "none"
        if not self.best.settled:
            return "undecided"
        return "recommended" if self.choice.equal.sum() == 1 else "no difference"

    @property
    def settled(self) -> bool:
        """Whether more texts would hardly change the choice."""
        return bool(self.best.settled)

    @property
    def needed(self) -> int:
        """How many texts would settle the choice, guessed from what these say."""
        return int(np.ceil(self.best.growth * len(self.judged)))

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
        names = [row.id for row in self.rows]
        names += [f"document {at}" for at in range(1, len(self.documents) + 1)]
        rows = []
        for name, one in zip(names, [*self.judged, *self.documents], strict=True):
            for metric, by_method in one.values.items():
                rows += [(name, method, metric, value) for method, value in by_method.items()]
        return pd.DataFrame(rows, columns=["text", "method", "metric", "value"])

    def __str__(self) -> str:
        return f"{recommendation(self)} {certainty(self)} {price(self)}"


def conclude(
    judged: Sequence[Judged], documents: Sequence[Judged], rows: Sequence[Row], facts: Mapping
) -> Evaluation:
    """What judged texts, and the documents made of them, say together.

    Where people marked texts, pointing at their marks has no vote and is left out: `people_dynamic`
    asks the same.

    Args:
        judged: the texts of the sample.
        documents: those made of them; there may be none.
        rows: what the texts are in the data.
        facts: the other fields of `Evaluation`.

    Raises:
        ValueError: no metric with a vote has a value.
    """
    texts = [
        replace(one, values={m: v for m, v in one.values.items() if m != "pointing"})
        for one in judged
    ]
    methods = [*judged[0].explanation.methods, RANDOM]
    tasks = {}
    for name, sample in (("texts", texts), ("documents", documents)):
        drawn = _draw(sample, methods, name)
        if drawn.means:
            tasks[name] = drawn

    def price_of(method: str) -> float:
        if method == RANDOM:
            return 0.0
        if method in facts["given"]:
            return np.nan
        costs = [one.explanation.attributions[method].cost for one in judged]
        return float(np.mean([cost.requested for cost in costs]))

    compared = {name: _compared(one) for name, one in tasks.items()}
    measured = gather_means(compared, "texts", methods, price_of)
    if measured is None:
        raise ValueError(
            "no metric with a vote has a value for these texts; these have one: "
            f"{', '.join(VOTING)}"
        )
    missed = _share_missed(judged)
    unfit = frozenset(m for m, share in missed.items() if share > MOST_LARGE)
    choice = rank_methods(replace(measured, unfit=unfit), CONFIDENCE)
    objections = find_objections(measured, choice[choice.recommended].method.iloc[0], CONFIDENCE)
    means = []
    for made, drawn in tasks.items():
        for metric, mean in drawn.means.items():
            low, high = percentile_interval(drawn.drawn[metric], CONFIDENCE)
            cells = {"mean": mean, "low": low, "high": high, "n": drawn.counts[metric]}
            named = {"of": made, "method": drawn.methods, "metric": metric}
            means.append(pd.DataFrame(named | cells))
    return Evaluation(
        rows=tuple(rows),
        judged=tuple(texts),
        documents=tuple(documents),
        drawn=tasks["texts"],
        missed=missed,
        judges=weigh_metrics(measured),
        choice=choice,
        objections=objections,
        means=pd.concat(means, ignore_index=True),
        **facts,
    )


def _share_missed(judged: Sequence[Judged]) -> dict[str, float]:
    """By method, the share of texts on which more than LARGE_GAP of what is owed is missing."""
    large: Counter[str] = Counter()
    for one in judged:
        large.update(m for m, made in one.explanation.attributions.items() if misses_much(made))
    return {method: count / len(judged) for method, count in large.items()}


def misses_much(found: Attribution) -> bool:
    """Whether scores miss more than LARGE_GAP of the sum that they owe; not of those that owe none.

    Of a sum below 1, such as a class score that hardly moves, more than LARGE_GAP itself.
    """
    owed = abs(found.scores.sum() - found.gap)
    return bool(abs(found.gap) > LARGE_GAP * max(1.0, owed))


def _draw(judged: Sequence[Judged], methods: Sequence[str], name: str) -> Drawn:
    """Means of every metric that has a value, and those of texts drawn with replacement."""
    arrays = {}
    for metric in METRICS:
        of_texts = [one.values.get(metric, {}) for one in judged]
        values = np.array([[of_text.get(m, np.nan) for m in methods] for of_text in of_texts])
        if not np.isnan(values).all():
            arrays[metric] = values[None]
    if not arrays:
        return Drawn(tuple(methods), {}, {}, {})
    return draw_judges(arrays, methods, DRAWS, "evaluate", name)


def _compared(drawn: Drawn) -> Drawn:
    """The metrics that methods are compared by: of the joint study, higher being better."""
    better = [name for name in drawn.means if METRICS[name].sign == 1]
    spare = () if "nc" in better else OF_VALUES
    names = [name for name in better if METRICS[name].joint or name in spare]

    def kept(of: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: of[name] for name in names}

    return Drawn(drawn.methods, kept(drawn.means), kept(drawn.drawn), kept(drawn.counts))


def title(method: str) -> str:
    """A method as people read it; those made elsewhere go by the name that they came with."""
    return METHODS[method].title if method in METHODS else method


def recommendation(found: Evaluation) -> str:
    """Which method, that the difference does not matter, or that none stands out."""
    best = found.best
    if not best.above_random:
        return "None of these explanations: not even the best is surely above random scores."
    if not best.sound:
        return "None of these explanations: no method's scores have converged."
    leading = [title(method) for method in found.choice.method[found.choice.leading]]
    if len(leading) == 1:
        return f"Use {leading[0]}." if best.settled else f"Undecided: {leading[0]} is ahead so far."
    if best.settled:
        return (
            f"No difference that matters between {join_words(leading)}: take the cheapest, "
            f"{title(best.method)}."
        )
    return f"Undecided between {join_words(leading)}."


def certainty(found: Evaluation) -> str:
    """How sure the choice is, which differences matter, and how much each judge counts."""
    best = found.best
    sure = f"At the {CONFIDENCE:.0%} level"
    said = (
        f"{title(best.method)} has {best.score:.2f}, where random scores have 0 and the best of "
        f"each metric 1; a difference below {MARGIN:.2f} is taken not to matter."
    )
    if found.settled:
        behind = ~found.choice.leading & found.choice.sound & (found.choice.method != RANDOM)
        nearest = found.choice[behind].method.iloc[:1]
        others = "".join(f"; the next, {title(one)}, is surely behind the best" for one in nearest)
        said += f" {sure} it misses the best by {best.shortfall:.2f} at most{others}."
    elif best.texts < LEAST_TEXTS:
        said += f" Fewer than {LEAST_TEXTS} texts settle nothing."
    else:
        widest = found.choice[found.choice.leading].sort_values("shortfall").iloc[-1]
        said += (
            f" {sure} none of these is surely behind, but {title(widest.method)} might miss the "
            f"best by {widest.shortfall:.2f}; about {found.needed} texts would settle it."
        )
    return f"{said} {explain_weights(found)}"


def explain_weights(found: Evaluation) -> str:
    """Which judge counts how much, and why."""
    of_judge = found.judges.groupby("judge", sort=False).agg(
        {"weight": "sum", "error": "mean", "texts": "max"}
    )
    told = []
    for judge, row in of_judge.iterrows():
        too_few = row.texts < LEAST_TEXTS <= of_judge.texts.max()
        why_none = "too few" if too_few else "all methods alike"
        how_well = f"error {row.error:.2f}" if row.weight else why_none
        told.append(f"{JUDGE_TITLES[judge]} {row.weight:.0%} ({row.texts:.0f} texts, {how_well})")
    counted = join_words(told)
    return f"Judges count by how well their texts tell a difference of {MARGIN:.2f}: {counted}."


def price(found: Evaluation) -> str:
    """What it costs, and which method cannot be told from it and costs less."""
    best = found.best
    if best.method in found.given:
        return "It was made elsewhere; what that cost is not known here."
    said = f"It asks the model for {_evaluations(best.requested)} a text"
    took = found.seconds.get(best.method)
    said += f", {took:.2g} s on one core of this machine." if took else "."
    leading = found.choice[found.choice.leading & ~found.choice.method.isin(found.given)]
    cheaper = leading[leading.requested < best.requested].sort_values("requested")
    for least in cheaper.head(1).itertuples():
        said += (
            f" {title(least.method)} cannot be told from it on these texts, for "
            f"{_evaluations(least.requested)}."
        )
    return said


def list_objections(found: Evaluation) -> list[str]:
    """Sentences on what speaks against the recommended method."""
    out = []
    for row in found.objections.itertuples():
        where = f"{row.title}{'' if row.votes else ' (which has no vote)'}"
        if row.surely:
            out.append(
                f"{where}: {title(row.rival)} is surely better ({row.rival_mean:.2f} against "
                f"{row.mean:.2f})."
            )
        if row.below_random:
            out.append(
                f"{where}: it is not surely above random scores ({row.mean:.2f}; random "
                f"{row.random:.2f})."
            )
    return out or ["No metric that was asked spoke against it."]


def join_words(words: Sequence[str]) -> str:
    """A list as people read it."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _evaluations(count: float) -> str:
    return f"{count:,.0f} model evaluation{'' if round(count) == 1 else 's'}"
