"""What a finished run says, in sentences: which method, how sure, at what price, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from attreval.methods import METHODS
from attreval.metrics.registry import METRICS
from compendium import project
from compendium.evaluation.asked import MODEL, NAME, TASK, Asked, shards_of
from compendium.papers.common.verdicts import LEAST_TEXTS
from compendium.papers.joint.choice import NEAR, VOTES, VOTING

JUDGE_TITLES = {"pointing": "pointing", "people": "people's marks", "faithfulness": "faithfulness"}
LARGE_GAP = 0.1
WHY_NOT = {
    "pointing": "documents whose evidence is known are made from single texts of several classes, and from no "
    "attributions that were made elsewhere",
    "people": "no column of the data holds what people marked (`--rationale`)",
}


@dataclass(frozen=True)
class Findings:
    """choice, objections: see papers.joint.choice; values: (method, metric) means with intervals; model: its accuracy.

    texts: how many were explained. explained: one row a text, see
    papers.pipeline.explaining.instance_table.
    """

    asked: Asked
    choice: pd.DataFrame
    objections: pd.DataFrame
    values: pd.DataFrame
    model: pd.Series
    texts: int
    explained: pd.DataFrame

    @property
    def best(self) -> pd.Series:
        """The row of the recommended method."""
        return self.choice[self.choice.recommended].iloc[0]

    @property
    def best_two(self) -> list[str]:
        """The recommended method and the next best; one alone where there is no other."""
        others = self.choice[~self.choice.recommended & (self.choice.method != "random")]
        return [self.best.method, *others.method.iloc[:1]]


def read_findings(asked: Asked, texts: int) -> Findings:
    """What the last round has left."""
    results = project.results(NAME)
    read = lambda name: results.read_table(name, "08_joint")  # noqa: E731
    values = read("values")
    values = values[values.granularity == "tokens"]
    accuracy = results.read_table("accuracy", "02_train", TASK, MODEL, 1).iloc[0]
    shards = range(shards_of(texts))
    explained = pd.concat([results.read_table("instances", "03_explain", TASK, MODEL, 1, shard) for shard in shards])
    return Findings(asked, read("choice"), read("objections"), values, accuracy, texts, explained)


def title(method: str) -> str:
    """A method as people read it; those made elsewhere go by the name that they came with."""
    return METHODS[method].title if method in METHODS else method


def recommendation(found: Findings) -> str:
    """Which method, or that none stands out."""
    best = found.best
    if not best.above_random:
        return "None of these explanations: not even the best is surely above random scores."
    return f"Use {title(best.method)}." if best.settled else f"{title(best.method)}, so far."


def certainty(found: Findings) -> str:
    """How sure the choice is, and on what it rests."""
    best = found.best
    voted = [JUDGE_TITLES[judge] for judge in VOTES if judge in found.choice and pd.notna(best[judge])]
    drawn = f"{found.texts} texts"
    if best.texts < found.texts:  # documents made of texts, or texts that people marked
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


def price(found: Findings) -> str:
    """What it costs, and which method cannot be told from it and costs less."""
    best, given = found.best, found.asked.given
    if best.method in given:
        return "It was made elsewhere; what that cost is not known here."
    said = f"It asks the model for {_evaluations(best.requested)} a text"
    took = found.asked.seconds.get(best.method)
    said += f", {took:.2g} s on one core of this machine." if took else "."
    cheaper = found.choice[found.choice.leading & ~found.choice.recommended & (found.choice.requested < best.requested)]
    cheaper = cheaper[~cheaper.method.isin(given)]
    if len(cheaper):
        least = cheaper.sort_values("requested").iloc[0]
        said += f" {title(least.method)} cannot be told from it on these texts, for {_evaluations(least.requested)}."
    return said


def objections(found: Findings) -> list[str]:
    """Sentences on what spoke against the recommended method."""
    out = []
    for row in found.objections.itertuples():
        where = f"{row.title}{'' if row.votes else ' (which has no vote)'}"
        if row.surely:
            out.append(f"{where}: {title(row.rival)} is surely better ({row.rival_mean:.2f} against {row.mean:.2f}).")
        if row.below_random:
            out.append(f"{where}: it is not surely above random scores ({row.mean:.2f}; random {row.random:.2f}).")
    return out or ["No metric that was asked spoke against it."]


def limits(found: Findings) -> list[str]:
    """What was not asked, and what a reader should know of the model and the texts."""
    out = [
        f"Not asked: {JUDGE_TITLES[judge]}, since {why}." for judge, why in WHY_NOT.items() if judge not in found.choice
    ]
    model = found.model
    if found.asked.dropped:
        told = _and([f"{count} ({why})" for why, count in found.asked.dropped.items()])
        out.append(f"Rows of {found.asked.data.name} that could not be used: {told}.")
    if model.majority == 1:
        out.append("All texts have one label: whether the model tells its classes apart is not known here.")
    elif model.accuracy_low <= model.majority:
        out.append(
            f"The model is right on {model.accuracy:.0%} of {int(model.test_rows)} texts, the most frequent class is "
            f"{model.majority:.0%}: explanations of a model that has not learned the task say little."
        )
    cut = found.explained.dropped
    if (cut > 0).any():
        out.append(
            f"{(cut > 0).sum()} of {len(cut)} texts have words that the model does not read, {cut.sum():.0f} in all; "
            f"it takes {found.asked.max_length} tokens, or its tokenizer knows none for them. They have no scores."
        )
    if (missed := (found.explained.gap_share > LARGE_GAP).mean()) > 0:
        out.append(
            f"Integrated gradients miss more than {LARGE_GAP:.0%} of the sum that they owe on {missed:.0%} of texts; "
            "read them with care for this model."
        )
    if found.asked.given:
        out.append("Hybrid documents were not made, since what was made elsewhere has no scores of them.")
    out.append("Agreement with other methods and simplicity are shown without a vote: they do not say who is right.")
    return out


def table(found: Findings) -> pd.DataFrame:
    """One row a method, the best first: score with interval, price, and a column a metric: the mean over the texts.

    What was not measured on the texts themselves is of the documents made from them.
    """
    texts_first = found.values.sort_values("task", key=lambda task: task != TASK, kind="stable")
    values = texts_first.drop_duplicates(["method", "metric"])
    wide = values.pivot(index="method", columns="metric", values="mean")
    order = sorted((name for name in METRICS if name in wide), key=lambda name: name not in VOTING)
    rows = found.choice.set_index("method")[["score", "low", "high", "best", "leading", "requested"]]
    return rows.join(wide[order])


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _evaluations(count: float) -> str:
    return f"{count:,.0f} model evaluation{'' if round(count) == 1 else 's'}"
