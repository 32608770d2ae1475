"""One sentence a section of notebook 09."""

import pandas as pd

from attreval.trial.measure import TRIED
from attreval.trial.run import NULLS
from compendium.papers.common.sentences import farthest, lowest, of_row, sentence
from compendium.papers.planted.tables import NEEDED


@sentence
def say_trial(verdicts: pd.DataFrame) -> str:
    """How many metrics tell the truth in every world, in part of them, in none to speak of."""
    own = verdicts[~verdicts.metric.isin(NULLS)]
    count = own.verdict.value_counts()
    condemned = own.title[own.verdict == "condemned"]
    names = f" ({', '.join(condemned)})" if len(condemned) else ""
    return (
        f"Of {len(own)} metrics {count.get('tells the truth', 0)} surely put the truth first in "
        f"every world where they can be asked, {count.get('in part', 0)} in more than half of "
        f"them, and {len(condemned)} in fewer{names}."
    )


@sentence
def say_short_list(table: pd.DataFrame) -> str:
    """What to use for each question, and whether a world less changes it."""
    used = table[table.use]
    by_question = used.groupby("question", sort=False).title
    told = "".join(f"{question} {', '.join(titles)}. " for question, titles in by_question)
    stable = (used.stays == 1).sum()
    return f"{told}{stable} of these {len(used)} stay on the list whichever world is left out."


@sentence
def say_separations(cells: pd.DataFrame) -> str:
    """How surely metrics put the truth before random scores, and where they do it least."""
    rows = cells[cells.explainer == "random"]
    worst = lowest(rows, "separation")
    return (
        f"In {(rows.low > 0.5).sum()} of {len(rows)} combinations of a metric and a planted model "
        f"the truth surely comes before random scores; least often by {TRIED[worst.metric].title} "
        f"in {worst.world.replace('_', ' ')}, {of_row(worst, 'separation')}."
    )


@sentence
def say_planted(verdicts: pd.DataFrame) -> str:
    """Which metrics cannot tell the truth, and how many that can are fooled."""
    failed = verdicts[~verdicts.passes]
    fooled = verdicts[verdicts.passes & verdicts.fooled_by.fillna("").ne("")]
    names = f" ({', '.join(failed.title)})" if len(failed) else ""
    ends = verdicts.random
    return (
        f"{len(failed)} of {len(verdicts)} metrics do not surely find the truth{names}; "
        f"{len(fooled)} of the others are fooled by a misleading explainer. The truth comes before "
        f"random scores in {100 * ends.min():.0f} % to {100 * ends.max():.0f} % of texts, "
        "depending on the metric."
    )


@sentence
def say_worlds(cells: pd.DataFrame) -> str:
    """Which planted model is the hardest."""
    rows = cells[cells.explainer.isin(NEEDED)]
    unsure = (rows.low <= 0.5).groupby(rows.world, sort=False).sum()
    hardest = unsure.idxmax()
    means = cells[cells.explainer == "random"].groupby("world", sort=False).separation.mean()
    means.index = means.index.str.replace("_", " ")
    return (
        f"The hardest planted model is {hardest.replace('_', ' ')}, where {unsure.max()} of "
        f"{(rows.world == hardest).sum()} comparisons are unsure; the mean separation from random "
        f"scores ranges from {means.min():.2f} ({means.idxmin()}) to {means.max():.2f} "
        f"({means.idxmax()})."
    )


@sentence
def say_constant(table: pd.DataFrame) -> str:
    """Which metric gives constant scores most unlike what it gives random ones."""
    row = farthest(table, "gap")
    return (
        f"{table.title.nunique()} metrics surely give constant scores something else than random "
        f"ones; farthest off is {row.title} in {row.world.replace('_', ' ')}, by "
        f"{of_row(row, 'gap', 'gap_low', 'gap_high', '+')}."
    )


@sentence
def say_raised(verdicts: pd.DataFrame) -> str:
    """How many metrics fall for a model that pushes them, and the one that is raised most."""
    falls = verdicts[verdicts.verdict == "falls for it"]
    columns = ["comprehensive_gain", "sufficient_gain"]
    known = verdicts.dropna(subset=columns, how="all")
    row = known.loc[known[columns].max(axis=1).idxmax()]
    push = row[columns].astype(float).idxmax().removesuffix("_gain")
    gain = of_row(row, f"{push}_gain", f"{push}_low", f"{push}_high", "+")
    return (
        f"{len(falls)} of {len(verdicts)} metrics fall for it; the {push} model raises {row.title} "
        f"most, by {gain}."
    )
