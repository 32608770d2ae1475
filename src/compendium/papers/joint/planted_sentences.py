"""One sentence a section of notebook 09: apart, since planted models depend on no method."""

from __future__ import annotations

import pandas as pd

from attreval.metrics.planted.measures import PLANTED_METRICS
from compendium.papers.common.sentences import of_row, sentence


@sentence
def say_separations(cells: pd.DataFrame) -> str:
    """How surely metrics put the truth before random scores, and where they do it least."""
    rows = cells[cells.explainer == "random"]
    worst = rows.loc[rows.separation.idxmin()]
    return (
        f"In {(rows.low > 0.5).sum()} of {len(rows)} combinations of a metric and a planted model the truth surely "
        f"comes before random scores; least often by {PLANTED_METRICS[worst.metric].title} in "
        f"{worst.world.replace('_', ' ')}, {of_row(worst, 'separation')}."
    )


@sentence
def say_planted(verdicts: pd.DataFrame) -> str:
    """Which metrics cannot tell the truth, and how many that can are fooled."""
    failed = verdicts[~verdicts.passes]
    fooled = verdicts[verdicts.passes & verdicts.fooled_by.fillna("").ne("")]
    names = f" ({', '.join(failed.title)})" if len(failed) else ""
    ends = verdicts.random
    return (
        f"{len(failed)} of {len(verdicts)} metrics do not surely find the truth{names}; {len(fooled)} of the others "
        f"are fooled by a misleading explainer. The truth comes before random scores in {100 * ends.min():.0f} % to "
        f"{100 * ends.max():.0f} % of texts, depending on the metric."
    )


@sentence
def say_worlds(cells: pd.DataFrame) -> str:
    """Which planted model is the hardest."""
    rows = cells[cells.explainer.isin(["random", "reversed"])]
    unsure = (rows.low <= 0.5).groupby(rows.world, sort=False).sum()
    means = cells[cells.explainer == "random"].groupby("world", sort=False).separation.mean()
    return (
        f"The hardest planted model is {unsure.idxmax().replace('_', ' ')}, where {unsure.max()} of "
        f"{(rows.world == unsure.idxmax()).sum()} comparisons are unsure; the mean separation from random scores "
        f"ranges from {means.min():.2f} ({means.idxmin().replace('_', ' ')}) to {means.max():.2f} "
        f"({means.idxmax().replace('_', ' ')})."
    )


@sentence
def say_constant(table: pd.DataFrame) -> str:
    """Which metric gives constant scores most unlike what it gives random ones."""
    row = table.loc[table.gap.abs().idxmax()]
    return (
        f"{table.title.nunique()} metrics surely give constant scores something else than random ones; farthest off is "
        f"{row.title} in {row.world.replace('_', ' ')}, by {of_row(row, 'gap', 'gap_low', 'gap_high', '+')}."
    )


@sentence
def say_raised(verdicts: pd.DataFrame) -> str:
    """How many metrics fall for a model that pushes them, and the one that is raised most."""
    falls = verdicts[verdicts.verdict == "falls for it"]
    columns = ["comprehensive_gain", "sufficient_gain"]
    known = verdicts.dropna(subset=columns, how="all")
    if known.empty:
        return "No metric was pushed."
    row = known.loc[known[columns].max(axis=1).idxmax()]
    push = row[columns].astype(float).idxmax().removesuffix("_gain")
    return (
        f"{len(falls)} of {len(verdicts)} metrics fall for it; the {push} model raises {row.title} most, by "
        f"{of_row(row, f'{push}_gain', f'{push}_low', f'{push}_high', '+')}."
    )
