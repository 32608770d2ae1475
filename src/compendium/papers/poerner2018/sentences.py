"""One sentence a section of notebook 04."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attreval.metrics.pointing_game import BASELINES
from compendium.papers.common.coloured_text import ColouredText
from compendium.papers.common.method_style import name_method
from compendium.papers.common.sentences import BoldSentence, farthest, list_rows, of_row, sentence
from compendium.papers.common.style import name_run
from compendium.papers.poerner2018.figures import WORDS

KINDS = {  # what a block of hits is about
    "topics": "sentences on a topic",
    "sentiment": "sentences of a sentiment",
    "manual": "words of the manual lists",
    "subject": "the subject",
    "number": "words of the subject's number",
    "number_wrong": "words of the number that was wrongly predicted",
}


@sentence
def say_pointing(blocks: pd.DataFrame) -> str:
    """The method that points best at each kind of evidence, beside a random word."""
    known = blocks[blocks.best.notna() & blocks.random.notna()]
    said = (
        "{row.best_method:method} at {row.about} ({row.best:.2f}, a random word {row.random:.2f})"
    )
    shown = list_rows(said, known.assign(about=known.block.map(KINDS)), ", ")
    return shown and f"By mean hits over models, the methods that point best are {shown}"


@sentence
def say_how_often(summary: pd.DataFrame) -> str:
    """The mean share of hits over methods and models by kind of evidence, beside a random word."""
    part = summary[(summary.condition == "all") & ~summary.method.isin(BASELINES[1:])]
    by_chance = part.method == BASELINES[0]
    means = part.groupby(["metric", by_chance], sort=False).accuracy.mean()
    shown = [
        f"{WORDS[metric]} {own:.2f} (a random word {chance:.2f})"
        for metric, own, chance in means.unstack().reindex(columns=[False, True]).itertuples()
    ]
    return (
        "Over all methods and models, the highest score lies where it must in these shares of the "
        f"texts: {', '.join(shown)}"
    )


@sentence
def say_beside_published(table: pd.DataFrame) -> str:
    """In how many cells the published value lies in our interval, and how far ours are off."""
    both = table[table.ours.notna() & table.published.notna()]
    inside = ((both.low <= both.published) & (both.published <= both.high)).sum()
    apart = both.ours - both.published
    by_block = apart.groupby([both.experiment, both.metric, both.condition]).mean()
    return (
        f"In {inside} of {len(both)} cells the published value lies in our interval; ours differ "
        f"from it by {apart.mean():+.2f} on average, from {by_block.min():+.2f} to "
        f"{by_block.max():+.2f} depending on the kind of text."
    )


@sentence
def say_chance(exceptions: pd.DataFrame, blocks: pd.DataFrame) -> str:
    """In how many cells a method does not surely beat a random word, and the weakest of these."""
    row = exceptions.loc[(exceptions.accuracy - exceptions.random).idxmin()]
    return (
        f"In {len(exceptions)} of {blocks.cells.sum():.0f} cells a method does not surely beat a "
        f"random word; weakest is {name_method(row.method)} on {name_run(row)} with "
        f"{of_row(row, 'accuracy')} hits, a random word has {row.random:.2f}."
    )


@sentence
def say_pointing_choices(choices: pd.DataFrame) -> str:
    """The choice that changes the hits of a single method most."""
    row = farthest(choices[choices.largest.notna()], "largest")
    return (
        f"The choice that matters most is {row.choice.replace('_', ' ')}: {row.value} instead of "
        f"{row.instead_of} moves {name_method(row.method)} by {row.largest:+.2f} and all methods "
        f"by {row.change:+.2f} on average (n = {row.texts})."
    )


@sentence
def say_same_word(table: pd.DataFrame) -> str:
    """How often the two methods point at one word."""
    shown = list_rows("{row:share} of the texts of {row:run}", table, " and ")
    return f"LRP and gradient x input point at the same word in {shown}."


@sentence
def say_attractors(table: pd.DataFrame) -> str:
    """How hits on the subject change from no attractor to one or more."""
    part = table[
        (table.metric == "hit_target") & (table.condition == "all") & ~table.method.isin(BASELINES)
    ]
    part = part.assign(weight=part.accuracy * part.instances, some=part.attractors > 0)
    sums = part.groupby(["method", "some"])[["weight", "instances"]].sum()
    means = (sums.weight / sums.instances).unstack().dropna()
    if means.shape[1] < 2:
        return ""
    fall = means[True] - means[False]
    return (
        f"With one attractor or more, hits on the subject change by {fall.mean():+.2f} on average, "
        f"from {fall.min():+.2f} ({name_method(fall.idxmin())}) to {fall.max():+.2f} "
        f"({name_method(fall.idxmax())})."
    )


def say_pointing_examples(examples: Mapping[str, ColouredText]) -> BoldSentence:
    """How many of the explanations shown point at evidence."""
    hit = {
        name: [shown.evidence[int(np.argmax(scores))] for scores in shown.rows.values()]
        for name, shown in examples.items()
        if len(shown.words)
    }
    total = [one for found in hit.values() for one in found]
    parts = ", ".join(f"{name} {sum(found)} of {len(found)}" for name, found in hit.items())
    return BoldSentence(
        f"Of the {len(total)} explanations shown, {sum(total)} point at evidence ({parts})."
    )
