"""The cost of explaining (03_overview): apart, so that a change in a method does not train models again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from compendium.papers.common.style import task_title, use_style

COLUMNS = 3


def draw_cost(cost: pd.DataFrame):
    """Evaluations an instance, asked for and computed, a pair of bars a method, a panel a task, logarithmic scale.

    cost: columns task, method, requested, unique. A panel has the methods that explain its task, the dearest above.
    """
    use_style()
    cost = cost[cost.requested > 0]
    parts = {task: part.sort_values("requested", kind="stable") for task, part in cost.groupby("task", sort=False)}
    columns = min(COLUMNS, len(parts))
    rows = [list(parts)[i : i + columns] for i in range(0, len(parts), columns)]
    most = [max(len(parts[task]) for task in row) for row in rows]
    heights = [0.24 * count + 0.9 for count in most]
    figure, grid = plt.subplots(
        *(len(rows), columns),
        figsize=(4.7 * columns, sum(heights) + 0.4),
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )
    for axes in grid.ravel()[len(parts) :]:
        axes.set_axis_off()
    for at, (axes, (task, part)) in enumerate(zip(grid.ravel(), parts.items(), strict=False)):
        places = np.arange(len(part))
        axes.barh(places + 0.2, part.requested, height=0.4, label="asked for", color="#bbbbbb")
        axes.barh(places - 0.2, part.unique, height=0.4, label="computed", color="#0072B2")
        names = [METHODS[m].title if m in METHODS else m.capitalize() for m in part.method]
        axes.set_yticks(places, names, fontsize=8)
        axes.set(xscale="log", title=task_title(task), ylim=(len(part) - most[at // columns] - 0.6, len(part) - 0.4))
        axes.minorticks_off()
    figure.supxlabel("model evaluations an instance", fontsize=11)
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return grid[0][0]
