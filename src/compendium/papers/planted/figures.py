"""Every metric on trial in every world (notebook 09)."""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from compendium.papers.common.style import bare, use_style
from compendium.papers.planted.tables import CROSS

FAIL = "#c62828"  # colours of cells
FOOLED = "#f6d9a8"
FINE = "#d5e6f3"


def draw_matrix(matrix: pd.DataFrame, verdicts: pd.DataFrame) -> Axes:
    """How often each metric puts the truth before random scores, and before its reverse.

    A row a metric, a column a world. Red: not surely, or not surely before its reverse. Sand:
    surely, but a misleading explanation fools it. Empty: the world lacks what it needs. The name of
    a metric that fails in half of them or more is red and ends in a cross. matrix: of
    `tables.trial_matrix`; verdicts: of `tables.trial_verdicts`, whose order is that of the rows.
    """
    use_style()
    worlds = list(matrix.world.unique())
    cells = matrix.set_index(["metric", "world"])
    figure, axes = plt.subplots(figsize=(8.6, 0.27 * len(verdicts) + 1.6))
    for (y, metric), (x, world) in product(enumerate(verdicts.metric), enumerate(worlds)):
        if (metric, world) not in cells.index:
            continue
        cell = cells.loc[metric, world]
        colour = FAIL
        if cell.passes:
            colour = FOOLED if "fooled" in cell.why else FINE
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        least = np.fmin(cell.auc, cell.reversed)
        ink = "white" if colour == FAIL else "black"
        shown = f"{least:.2f}".removeprefix("0")
        axes.text(x + 0.5, y + 0.5, shown, ha="center", va="center", color=ink, fontsize=7)
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
