"""Every metric on trial in every world (notebook 09)."""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from compendium.papers.common.scorecard import WIDTH
from compendium.papers.common.style import bare, draw_nothing, use_style
from compendium.papers.planted.tables import CROSS

FAIL = "#c62828"  # colours of cells
FOOLED = "#f6d9a8"
FINE = "#d5e6f3"


def draw_matrix(matrix: pd.DataFrame, verdicts: pd.DataFrame) -> Axes:
    """How often each metric that fails somewhere puts the truth before random scores.

    Or before its reverse, where that is less often. A row a metric, a column a world. Red: not
    surely. Sand: surely, but a misleading explanation fools it. Blue: surely. Empty: the world
    lacks what the metric needs. The name of one that fails in half of them or more is red and ends
    in a cross.

    Args:
        matrix: Of `tables.trial_matrix`.
        verdicts: Of `tables.trial_verdicts`, whose order is that of the rows.
    """
    use_style()
    verdicts = verdicts[verdicts.metric.isin(matrix.metric[~matrix.passes])].reset_index(drop=True)
    if verdicts.empty:
        return draw_nothing("every metric surely finds the truth in every world")
    worlds = list(matrix.world.unique())
    cells = matrix.set_index(["metric", "world"])
    figure, axes = plt.subplots(figsize=(WIDTH, 0.24 * len(verdicts) + 1.4))
    for (y, metric), (x, world) in product(enumerate(verdicts.metric), enumerate(worlds)):
        if (metric, world) not in cells.index:
            continue
        cell = cells.loc[metric, world]
        colour = FAIL
        if cell.passes:
            colour = FOOLED if "fooled" in cell.why else FINE
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        if colour == FINE:
            continue
        least = np.fmin(cell.auc, cell.reversed)
        ink = "white" if colour == FAIL else "black"
        shown = f"{least:.2f}".removeprefix("0")
        axes.text(x + 0.5, y + 0.5, shown, ha="center", va="center", color=ink, fontsize=8)
    axes.set(xlim=(0, len(worlds)), ylim=(len(verdicts), 0))
    names = [world.replace("_", " ") for world in worlds]
    axes.set_xticks(np.arange(len(worlds)) + 0.5, names, rotation=40, ha="left", fontsize=8)
    axes.xaxis.tick_top()
    condemned = verdicts.verdict == "condemned"
    titles = verdicts.title.where(~condemned, verdicts.title + f" {CROSS}")
    axes.set_yticks(np.arange(len(verdicts)) + 0.5, titles, fontsize=8)
    for label in np.array(axes.get_yticklabels())[condemned]:
        label.set(color=FAIL, weight="bold")
    bare(axes)
    figure.tight_layout()
    return axes
