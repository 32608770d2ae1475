"""How does the prediction fall when more of a rationale is erased, or come back when more of it is left?"""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt

from attreval.explain import METHODS
from attreval.papers.common.method_style import method_markers, method_palette
from attreval.papers.common.style import task_title, use_style

PANELS = {"comprehensiveness": "comprehensiveness, higher is better", "sufficiency": "sufficiency, lower is better"}


def draw_erasure_curves(curves: pd.DataFrame):
    """Mean comprehensiveness and sufficiency by rationale ratio, a row a task, a line a method, a band its interval."""
    use_style()
    tasks, methods = list(dict.fromkeys(curves.task)), list(dict.fromkeys(curves.method))
    colours, markers = method_palette(methods), method_markers(methods)
    figure, grid = plt.subplots(len(tasks), 2, figsize=(10, 3.9 * len(tasks)), sharex=True, squeeze=False)
    for row, task in zip(grid, tasks, strict=True):
        for axes, (measure, label) in zip(row, PANELS.items(), strict=True):
            part = curves[(curves.task == task) & (curves.measure == measure)]
            for method in methods:
                line = part[part.method == method].groupby("ratio")[["mean", "low", "high"]].mean()
                title = METHODS[method].title
                style = {
                    "color": colours[title],
                    "marker": markers[title],
                    "linestyle": ":" if method == "random" else "-",
                }
                axes.plot(line.index, line["mean"], label=title, **style)
                axes.fill_between(line.index, line.low, line.high, color=colours[title], alpha=0.08, linewidth=0)
            axes.set_title(f"{task_title(task)}: {label}", fontsize=11)
        row[0].set_ylabel("drop in probability")
    for axes in grid[-1]:
        axes.set_xlabel("share of tokens in the rationale")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=3)
    figure.tight_layout()
    return grid[0][0]
