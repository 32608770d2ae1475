"""One sentence a section of notebook 09: apart, since planted models depend on no method."""

from __future__ import annotations

import pandas as pd

from attreval.metrics.planted.measures import PLANTED_METRICS
from attreval.papers.common.sentences import of_row, sentence


@sentence
def say_separations(cells: pd.DataFrame) -> str:
    """How surely metrics put the truth before random scores, and where they do it least."""
    rows = cells[cells.explainer == "random"]
    worst = rows.loc[rows.separation.idxmin()]
    return (
        f"In {(rows.low > 0.5).sum()} of {len(rows)} metrics and planted models the truth surely comes before random "
        f"scores; least "
        f"so by {PLANTED_METRICS[worst.metric].title} in {worst.world.replace('_', ' ')}, "
        f"{of_row(worst, 'separation')}."
    )


@sentence
def say_planted(verdicts: pd.DataFrame) -> str:
    """Which metrics cannot tell the truth, and how many that can are fooled."""
    failed = verdicts[~verdicts.passes]
    fooled = verdicts[verdicts.passes & verdicts.fooled_by.fillna("").ne("")]
    names = f" ({', '.join(failed.title)})" if len(failed) else ""
    ends = verdicts.random
    return (
        f"{len(failed)} of {len(verdicts)} metrics cannot surely tell the truth{names}; {len(fooled)} of the others "
        f"are fooled by an "
        f"explainer that misleads. Before random scores the truth comes in {100 * ends.min():.0f} % to "
        f"{100 * ends.max():.0f} % of "
        f"texts, by metric."
    )


@sentence
def say_worlds(cells: pd.DataFrame) -> str:
    """Which planted model is the hardest."""
    rows = cells[cells.explainer.isin(["random", "reversed"])]
    unsure = (rows.low <= 0.5).groupby(rows.world, sort=False).sum()
    means = cells[cells.explainer == "random"].groupby("world", sort=False).separation.mean()
    return (
        f"Most comparisons are unsure in {unsure.idxmax().replace('_', ' ')} ({unsure.max()} of "
        f"{(rows.world == unsure.idxmax()).sum()}); "
        f"the mean separation from random scores goes from {means.min():.2f} ({means.idxmin().replace('_', ' ')}) to "
        f"{means.max():.2f} ({means.idxmax().replace('_', ' ')})."
    )


@sentence
def say_constant(table: pd.DataFrame) -> str:
    """Which metric gives constant scores most unlike what it gives random ones."""
    row = table.loc[table.gap.abs().idxmax()]
    return (
        f"{table.title.nunique()} metrics surely do otherwise; farthest off is {row.title} in "
        f"{row.world.replace('_', ' ')}, by "
        f"{of_row(row, 'gap', 'gap_low', 'gap_high', '+')}."
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
        f"{len(falls)} of {len(verdicts)} metrics fall for it; most raised is {row.title} by the {push} model, by "
        f"{of_row(row, f'{push}_gain', f'{push}_low', f'{push}_high', '+')}."
    )
