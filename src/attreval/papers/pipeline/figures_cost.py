"""The cost of explaining (03_overview): apart, so that a change in a method does not train models again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from attreval.papers.common.style import task_title, use_style


def draw_cost(cost: pd.DataFrame):
    """Evaluations an instance, asked for and computed, a pair of bars a method, a panel a task, logarithmic scale.

    cost: columns task, method, requested, unique.
    """
    use_style()
    tasks = list(dict.fromkeys(cost.task))
    methods = [m for m in dict.fromkeys(cost.method) if cost[cost.method == m].requested.max() > 0]
    figure, panels = plt.subplots(
        1, len(tasks), figsize=(5.2 * len(tasks), 0.42 * len(methods) + 1.4), sharey=True, squeeze=False
    )
    places = np.arange(len(methods))
    for axes, task in zip(panels[0], tasks, strict=True):
        part = cost[cost.task == task].set_index("method").reindex(methods)
        axes.barh(places - 0.2, part.requested, height=0.4, label="asked for", color="#bbbbbb")
        axes.barh(places + 0.2, part.unique, height=0.4, label="computed", color="#0072B2")
        names = [METHODS[m].title if m in METHODS else m.capitalize() for m in methods]
        axes.set(
            yticks=places,
            yticklabels=names,
            xscale="log",
            xlabel="model evaluations an instance",
            title=task_title(task),
        )
        axes.minorticks_off()
    panels[0][0].invert_yaxis()
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=2)
    figure.tight_layout()
    return panels[0][0]
