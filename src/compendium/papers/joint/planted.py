"""Separation of planted truths by each metric (notebook 09): tables, figure and sentences of metrics.separation.

Apart from the rest of this folder, since planted models depend on no method.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from attreval.metrics.separation import metric_verdicts
from attreval.trial.measure import LIMITED_METRICS, PLANTED_METRICS
from attreval.trial.raised import raised_verdicts
from attreval.trial.worlds.planted import PLANTED_WORLDS as WORLDS
from compendium.papers.common.sentences import of_row, sentence
from compendium.papers.common.style import use_style

FAIL, FOOLED, FINE = "#c62828", "#f6d9a8", "#d5e6f3"
NEEDED = ("random", "reversed")  # what a metric must tell from the truth
MISLEADING = ("adversarial", "leaking")  # made to mislead
CROSS = "\N{MULTIPLICATION SIGN}"
ORDER = (*NEEDED, "constant", *MISLEADING)


def verdict_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it separates or fails, whom it is fooled by, and the mean separations.

    cells: of metrics.separation.separation.
    """
    table = metric_verdicts(cells)
    return table.assign(
        title=_titles(table.metric),
        verdict=["separates" if passes else "fails" for passes in table.passes],
        fooled_by=table.fooled_by.replace("", "nobody"),
    )


def worlds_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric, a column a world: how often it puts the oracle before random scores, as text.

    In brackets, where that is less often, before its reverse. A cross: not surely more than half of the time for both
    (bootstrap interval over texts). Empty where the metric was not asked. cells: of metrics.separation.
    """
    rows = []
    for metric, part in cells[cells.explainer.isin(NEEDED)].groupby("metric", sort=False):
        row = {"metric": metric, "title": PLANTED_METRICS[metric].title} | dict.fromkeys(WORLDS, "")
        for world, some in part.groupby("world", sort=False):
            by = some.set_index("explainer")
            chance, reverse = by.separation[list(NEEDED)]
            shown = f"{chance:.2f}" if reverse >= chance else f"{chance:.2f} ({reverse:.2f})"
            row[world] = shown if (by.low > 0.5).all() else f"{shown} {CROSS}"
        rows.append(row)
    return pd.DataFrame(rows)


def fooled_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and misleading explainer: whether the metric is fooled by it. verdicts: of `verdict_table`."""
    fooled = {name: [name in names.split(", ") for names in verdicts.fooled_by] for name in MISLEADING}
    return verdicts[["metric", "title"]].assign(**fooled).melt(["metric", "title"], MISLEADING, "explainer", "fooled")


def constant_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and world in which scores that are all alike do not get what random scores get, surely."""
    apart = cells[(cells.explainer == "constant") & ((cells.gap_low > 0) | (cells.gap_high < 0))]
    return apart.assign(title=_titles(apart.metric))[["metric", "title", "world", "gap", "gap_low", "gap_high"]]


def raised_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it falls for a model that answers erased texts to its liking, those that do first.

    table: of trial.raised.raised_table.
    """
    found = raised_verdicts(table)
    order = found.verdict.map({"falls for it": 0, "moves": 1, "resists": 2}).sort_values(kind="stable").index
    return found.assign(title=_titles(found.metric)).loc[order].reset_index(drop=True)


def _titles(metrics: pd.Series) -> list[str]:
    """What figures and tables call planted metrics."""
    return [(PLANTED_METRICS | LIMITED_METRICS)[name].title for name in metrics]


def draw_verdicts(table: pd.DataFrame, cells: pd.DataFrame):
    """How often each metric puts the oracle first, a row a metric, a column an explainer.

    A cell is coloured by its worst world. Red: cannot be told from the truth though it must be; sand: nor can this one,
    which was made to mislead. The name of a failing metric is red and ends in a cross.
    """
    use_style()
    explainers, passes = [name for name in ORDER if name in table.columns], table.verdict == "separates"
    figure, axes = plt.subplots(figsize=(8.6, 0.42 * len(table) + 1.3))
    worst = cells.groupby(["metric", "explainer"]).low.min()
    for y, row in enumerate(table.to_dict("records")):
        for x, explainer in enumerate(explainers):
            sure = worst[row["metric"], explainer] > 0.5
            colour = FINE if sure else FAIL if explainer in NEEDED else FOOLED
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
            ink = "white" if colour == FAIL else "black"
            axes.text(x + 0.5, y + 0.5, f"{row[explainer]:.2f}", ha="center", va="center", color=ink)
    axes.set(xlim=(0, len(explainers)), ylim=(len(table), 0))
    axes.set_xticks([x + 0.5 for x in range(len(explainers))], explainers)
    axes.xaxis.tick_top()
    axes.set_yticks([y + 0.5 for y in range(len(table))], table.title.where(passes, table.title + f" {CROSS}"))
    for label in np.array(axes.get_yticklabels())[~passes]:
        label.set(color=FAIL, weight="bold")
    axes.tick_params(length=0)
    axes.grid(False)
    sns.despine(ax=axes, left=True, bottom=True)
    figure.tight_layout()
    return axes


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
