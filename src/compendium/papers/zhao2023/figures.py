"""Figures of Zhao & Aletras (2023), by their numbers, and ours."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from attreval.metrics import FAITHFULNESS, METRICS
from compendium.papers.common import style
from compendium.papers.common.method_style import method_looks
from compendium.papers.zhao2023.protocol_changes import SHARES

LOOKS: dict[
    str, style.Look
] = {  # a metric has one colour and marker in every figure; soft ones are filled
    "nc": {"color": "#0072B2", "marker": "o", "markerfacecolor": "white"},
    "soft_nc": {"color": "#0072B2", "marker": "o"},
    "ns": {"color": "#D55E00", "marker": "s", "markerfacecolor": "white"},
    "soft_ns": {"color": "#D55E00", "marker": "s"},
}
NORMALISED = {"normalised_comprehensiveness": "NC", "normalised_sufficiency": "NS"}
RAW = {
    "comprehensiveness": "comprehensiveness, higher is better",
    "sufficiency": "sufficiency, lower is better",
}
HALF: style.Look = {"color": "#888888", "linestyle": "--", "linewidth": 1}  # what a coin would get


def _draw_methods(
    grid: np.ndarray, curves: pd.DataFrame, measures: dict[str, str], methods: list[str]
) -> dict[Axes, list[style.CurveEnd]]:
    """Each measure by ratio in (tasks, measures) panels: a line a method, random scores dotted.

    The lines' ends.
    """
    looks = method_looks(methods)
    ends: dict[Axes, list[style.CurveEnd]] = {axes: [] for axes in grid.flat}
    by = curves.groupby(["task", "measure", "method", "ratio"])[["mean", "low", "high"]].mean()
    for row, task in zip(grid, curves.task.unique(), strict=True):
        for axes, (measure, title) in zip(row, measures.items(), strict=True):
            lines = by.loc[task, measure]
            for method in (m for m in methods if m in lines.index):
                line = lines.loc[method]
                dashes = {"linestyle": ":" if method == "random" else "-"}
                look = looks[method] | {"markersize": 4} | dashes
                style.draw_curve(axes, line.index, line["mean"], line.low, line.high, **look)
                last = (line.index[-1], line["mean"].iloc[-1])
                ends[axes].append(style.CurveEnd(look["label"], *last, look["color"]))
            axes.set_title(f"{style.task_title(task)}: {title}", fontsize=10)
    return ends


def figure_2(curves: pd.DataFrame, methods: list[str]) -> Axes:
    """Mean NC and NS by rationale ratio, a column a task, a line a method, random scores dotted."""
    style.use_style()
    tasks = curves.task.nunique()
    size = (2.5 * tasks + 0.8, 5.4)
    figure, grid = plt.subplots(2, tasks, figsize=size, sharex=True, sharey="row", squeeze=False)
    _draw_methods(grid.T, curves, NORMALISED, methods)
    for row, title in zip(grid, NORMALISED.values(), strict=True):
        row[0].set_ylabel(f"mean {title}")
    for axes in grid[-1]:
        axes.set_xlabel("size of the rationale")
    return style.legend_below(figure, 3, 0.01)


def figure_3(table: pd.DataFrame) -> Axes:
    """Diagnosticity by rationale ratio, a panel a task.

    Soft metrics level, dashed grey what a coin would get.
    """
    tasks = table.task.unique()
    figure, panels = style.task_panels(tasks, 2.6, 2.8, 3, 0.8)
    for task, axes in panels.items():
        part = table[table.task == task]
        axes.axhline(0.5, **HALF)
        for metric in FAITHFULNESS:
            line = part[part.metric == metric]
            look = LOOKS[metric] | {"label": METRICS[metric].title}
            if line.ratio.notna().any():
                style.draw_curve(axes, line.ratio, line.diagnosticity, line.low, line.high, **look)
            elif len(line):
                level = line.iloc[0]
                ends = [part.ratio.min(), part.ratio.max()]
                flat = ([level.diagnosticity] * 2, level.low, level.high)
                style.draw_curve(axes, ends, *flat, linewidth=2.4, **look)
        axes.set(title=style.task_title(task), xlabel="size of the rationale", ylim=(-0.02, 1.02))
    figure.supylabel("diagnosticity")
    return style.legend_below(figure, 4)


def draw_erasure_curves(curves: pd.DataFrame) -> Axes:
    """Mean comprehensiveness and sufficiency by ratio: a row a task, a line a method."""
    style.use_style()
    heights = [
        max(2.4, 0.19 * count) for count in curves.groupby("task", sort=False).method.nunique()
    ]
    size = (6.4, sum(heights) + 0.7 * len(heights))
    figure, grid = plt.subplots(
        len(heights), 2, figsize=size, sharex=True, squeeze=False, height_ratios=heights
    )
    ends = _draw_methods(grid, curves, RAW, curves.method.unique())
    for row in grid:
        row[0].set_ylabel("drop in probability")
    for axes in grid[-1]:
        axes.set_xlabel("share of tokens in the rationale")
    return style.name_ends(figure, ends)


def draw_changes(table: pd.DataFrame) -> Axes:
    """What each change of protocol does to diagnosticity: a row a change, a panel a metric.

    Dots are the numbers with the change, vertical lines the main protocol's on the same texts; bars
    are intervals.
    """
    if not len(table):
        return style.draw_nothing(
            "no change of protocol was measured: faithfulness.control_rows is 0"
        )
    style.use_style()
    places = np.arange(len(table))
    size = (9, 0.27 * len(table) + 1.6)
    _, panels = plt.subplots(
        1, len(FAITHFULNESS), figsize=size, sharey=True, sharex=True, layout="constrained"
    )
    for axes, metric in zip(panels, FAITHFULNESS, strict=True):
        look = LOOKS[metric]
        base = table[metric] - table[f"{metric}_change"]
        low = base + table[f"{metric}_low"]
        axes.vlines(base, places - 0.45, places + 0.45, color="#888888", linewidth=1)
        axes.hlines(places, low, base + table[f"{metric}_high"], color=look["color"], linewidth=1)
        axes.plot(table[metric], places, linestyle="none", markersize=5, **look)
        axes.set(xlabel="diagnosticity", title=METRICS[metric].title, xlim=(-0.04, 1.04))
        axes.axvline(0.5, color="#cccccc", linestyle="--", linewidth=1, zorder=0)
    panels[0].set(yticks=places, yticklabels=table.title)
    panels[0].invert_yaxis()
    return panels[0]


def draw_keep_rates(pairs: pd.DataFrame, settings: dict[str, str]) -> Axes:
    """Who wins the soft metrics, by how much more text it keeps, or removes, than its rival.

    A panel a setting (with its title). A line is the share of wins in bins of the difference; where
    it is 0, a dot.
    """
    settings = {name: title for name, title in settings.items() if (pairs.setting == name).any()}
    edges = np.linspace(-0.5, 0.5, 6)
    figure, panels = style.task_panels(settings, 3.6, 2.8, 2, layout="constrained")
    for setting, axes in panels.items():
        part = pairs[pairs.setting == setting]
        for metric, share in SHARES.items():
            look = LOOKS[metric]
            more = part[share] - part[f"{share}_rival"]
            bins = np.clip(np.digitize(more, edges[1:-1]), 0, len(edges) - 2)
            bins = np.where(np.abs(more) < 1e-6, -1, bins)  # equal by construction
            wins = part[f"win_{metric}"].groupby(bins).agg(["mean", "size"])
            inside = wins[(wins.index >= 0) & (wins["size"] > 2)]
            middles = (edges[:-1] + edges[1:])[inside.index] / 2
            axes.plot(middles, inside["mean"], label=METRICS[metric].title, **look)
            if -1 in wins.index:
                axes.plot(0, wins.loc[-1, "mean"], markersize=8, **look)
        axes.axhline(0.5, **HALF)
        axes.set_title(settings[setting], fontsize=10)
        axes.set(xlabel="keeps (removes) more by", xlim=(-0.55, 0.55), ylim=(-0.02, 1.02))
    figure.supylabel("share of wins")
    figure.axes[0].legend()
    sns.despine()
    return figure.axes[0]
