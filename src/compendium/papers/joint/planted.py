"""Separation of planted truths by each metric (notebook 09): tables and figure of metrics.separation."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from attreval.metrics.planted.measures import LIMITED_METRICS, PLANTED_METRICS
from attreval.metrics.planted.raised import raised_verdicts
from attreval.metrics.planted.worlds import WORLDS
from attreval.metrics.separation import metric_verdicts
from compendium.papers.common.style import use_style

FAIL, FOOLED, FINE = "#c62828", "#f6d9a8", "#d5e6f3"
NEEDED = ("random", "reversed")  # what a metric must tell from the truth
MISLEADING = ("adversarial", "leaking")  # made to mislead
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
            row[world] = shown if (by.low > 0.5).all() else f"{shown} \N{MULTIPLICATION SIGN}"
        rows.append(row)
    return pd.DataFrame(rows)


def fooled_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and misleading explainer: whether the metric is fooled by it. verdicts: of `verdict_table`."""
    parts = [
        verdicts[["metric", "title"]].assign(
            explainer=explainer, fooled=[explainer in names.split(", ") for names in verdicts.fooled_by]
        )
        for explainer in MISLEADING
    ]
    return pd.concat(parts, ignore_index=True)


def constant_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and world in which scores that are all alike do not get what random scores get, surely."""
    apart = cells[(cells.explainer == "constant") & ((cells.gap_low > 0) | (cells.gap_high < 0))]
    return apart.assign(title=_titles(apart.metric))[["metric", "title", "world", "gap", "gap_low", "gap_high"]]


def raised_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it falls for a model that answers erased texts to its liking, those that do first.

    table: of metrics.planted.raised.raised_table.
    """
    found = raised_verdicts(table)
    order = found.verdict.map({"falls for it": 0, "moves": 1, "resists": 2}).sort_values(kind="stable").index
    return found.assign(title=_titles(found.metric)).loc[order].reset_index(drop=True)


def _titles(metrics: pd.Series) -> list[str]:
    """What figures and tables call planted metrics."""
    return [(PLANTED_METRICS | LIMITED_METRICS)[name].title for name in metrics]


def draw_verdicts(table: pd.DataFrame, cells: pd.DataFrame):
    """How often each metric puts the oracle first, a row a metric, a column an explainer.

    Red: cannot be told from the truth though it must be; sand: nor can this one, which was made to mislead; the name of
    a failing metric is red and ends in a cross. cells: metrics.separation, whose worst
    world colours a cell.
    """
    use_style()
    explainers = [name for name in ORDER if name in table.columns]
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
    labels = [
        row.title if row.verdict == "separates" else f"{row.title} \N{MULTIPLICATION SIGN}"
        for row in table.itertuples()
    ]
    axes.set_yticks([y + 0.5 for y in range(len(table))], labels)
    for label, verdict in zip(axes.get_yticklabels(), table.verdict, strict=True):
        if verdict != "separates":
            label.set(color=FAIL, weight="bold")
    axes.tick_params(length=0)
    axes.grid(False)
    sns.despine(ax=axes, left=True, bottom=True)
    figure.tight_layout()
    return axes
