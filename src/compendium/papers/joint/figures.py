"""Figures of notebook 08_joint: rank correlations, places of methods, the Pareto front."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attreval.methods import METHODS
from compendium.papers.common import style
from compendium.papers.common.method_style import KINDS, kind_colour
from compendium.papers.common.style import draw_nothing, model_title, task_title, use_style
from compendium.papers.joint.correlations import POOLED
from compendium.papers.joint.standing import MEAN
from compendium.papers.joint.values import JOINT

# the first that a run has is drawn beside the usual three
EXTERNAL = ("pointing", "people", "people_units", "diagnosticity")


def draw_correlations(table: pd.DataFrame, itself: pd.DataFrame, granularity: str) -> Axes:
    """Pooled rank correlations of metrics, a cell a pair.

    Framed: its interval leaves out 0. Bold: exchanged names of methods do not give as much. On the
    diagonal each metric against itself on other texts.
    """
    use_style()
    pooled = table[(table.task == POOLED) & table.tau.notna()]
    part = pooled[pooled.granularity == granularity]
    names = [name for name in JOINT if name in {*part.metric_a, *part.metric_b}]
    many = len(names)
    if many < 2:
        return draw_nothing("No two metrics have judged the same methods in this run.")
    figure, axes = plt.subplots(figsize=(0.5 * many + 2.8, 0.38 * many + 2.2))
    # red to blue through white: told apart by the colour-blind too
    colours = plt.colormaps["RdBu"]

    def write(x: float, y: float, tau: float, colour: str, **look: Any) -> None:
        middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
        axes.text(x + 0.5, y + 0.5, f"{tau:.2f}", color=colour, **middle, **look)

    for row in part.itertuples():
        x, y = sorted([names.index(row.metric_a), names.index(row.metric_b)])
        colour = colours((row.tau + 1) / 2)
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        if row.verdict in ("agree", "contradict"):
            inside = (x + 0.04, y + 0.04)
            frame = Rectangle(inside, 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.3)
            axes.add_patch(frame)
        ink = "white" if abs(row.tau) > 0.62 else "black"
        write(x, y, row.tau, ink, weight="bold" if row.beyond_names else "normal")
    for row in itself[(itself.granularity == granularity) & itself.metric.isin(names)].itertuples():
        at = names.index(row.metric)
        write(at, at, row.tau, "#555555", style="italic")
    titles = [JOINT[name].title for name in names]
    axes.set(xlim=(0, many), ylim=(many, 0))
    places = np.arange(many) + 0.5
    axes.set_xticks(places, titles, rotation=35, ha="right")
    axes.set_yticks(places, titles)
    style.bare(axes)
    label = "rank correlation of methods (tau-b)"
    style.colour_bar(axes, colours, (-1, 1), label, shrink=0.7, pad=0.02)
    figure.tight_layout()
    return axes


def draw_places(table: pd.DataFrame) -> Axes:
    """Which share of the other methods each beats, by metric, a panel a family of models.

    table: of `standing.places_table`. Bold: the interval leaves out one half. Empty: the metric
    does not apply there.
    """
    if table.empty:
        return draw_nothing("No token explanations went before the metrics in this run.")
    use_style()
    parts = dict(list(table.groupby("family", sort=False)))
    heights = [part.method.nunique() + 4 for part in parts.values()]
    size = (8.6, 0.25 * sum(heights) + 1.8)
    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)
    colours = "vlag_r"
    for axes, (family, part) in zip(grid[:, 0], parts.items(), strict=True):
        wide = part.pivot(index="method", columns="metric", values=["place", "verdict"])
        wide = wide.loc[part.method.unique()]
        names = [name for name in (MEAN, *JOINT) if name in wide["place"]]
        sure = wide["verdict"][names].isin(["above", "below"]).to_numpy()
        titles = ["mean of these" if name == MEAN else JOINT[name].title for name in names]
        rows = [METHODS[method].title for method in wide.index]
        places = wide["place"][names].to_numpy(float)
        style.heat_map(axes, places, sure, colours, (0, 1), 0.8, rows, titles, turn=40)
        axes.axvline(0.5, color="white", linewidth=3)
        axes.set_title(family, loc="left", fontsize=11, weight="bold")
    label = "other methods beaten, in hundredths"
    style.colour_bar(grid[:, 0], colours, (0, 100), label, shrink=0.4, pad=0.01)
    return grid[0, 0]


def draw_pareto(table: pd.DataFrame) -> Axes:
    """Quality by evaluations requested, two rows a run, a panel a metric.

    Undominated methods are filled, joined and named. A colour is a kind of method; of undominated
    methods of one price and quality the first is named.
    """
    use_style()
    part = table[table.granularity == "tokens"]
    runs = _pick_runs(part)
    if not runs:
        return draw_nothing("No run with a price is part of this profile.")
    figure, grid = plt.subplots(2 * len(runs), 2, figsize=(7.5, 4.8 * len(runs)), squeeze=False)
    ends = {}
    for row, (task, model) in zip(grid.reshape(len(runs), 4), runs, strict=True):
        of_run = part[(part.task == task) & (part.model == model)]
        has = [metric for metric in EXTERNAL if metric in set(of_run.metric)]
        external = has[0] if has else EXTERNAL[-1]
        for axes, metric in zip(row, ("agreement", "nc", "ns", external), strict=True):
            ends[axes] = _draw_front(axes, of_run[of_run.metric == metric])
            where = f"{task_title(task)}, {model_title(model)}"
            axes.set_title(f"{where}\n{JOINT[metric].title}", fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("evaluations asked for", fontsize=10)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean over texts", fontsize=10)
    drawn = {METHODS[method].kind for method in part.method}
    kinds = {kind: colour for kind, colour in KINDS.items() if kind in drawn}
    handles = [plt.Line2D([], [], color=c, marker="o", linestyle="") for c in kinds.values()]
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.01)}
    figure.legend(handles, list(kinds), ncols=len(kinds), fontsize=9, **place)
    return style.name_ends(figure, ends)


def _draw_front(axes: Axes, cell: pd.DataFrame) -> list[style.CurveEnd]:
    """One panel; give the names of undominated methods, and where they stand."""
    place = ["requested", "quality"]
    front = cell[cell.undominated].sort_values(place)
    axes.step(front.requested, front.quality, where="post", color="#999999", linewidth=1, zorder=1)
    colours = np.array([kind_colour(method) for method in cell.method])
    best = cell.undominated.to_numpy(bool)
    rings: dict[str, Any] = {"facecolors": "none", "edgecolors": colours}
    axes.scatter(cell.requested, cell.quality, s=34, zorder=2, **rings)
    axes.scatter(cell.requested[best], cell.quality[best], s=34, zorder=3, color=colours[best])
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(-0.2, max([10, *cell.requested * 2]))
    ends = []
    for one in front.drop_duplicates(place).itertuples():
        title = METHODS[one.method].title
        colour = kind_colour(one.method)
        ends.append(style.CurveEnd(title, one.requested, one.quality, colour))
    return ends


def _pick_runs(part: pd.DataFrame) -> list[tuple[str, str]]:
    """The run with most methods of each kind: without evidence, with people's, with planted."""
    runs = part.groupby(["task", "model"], sort=False)
    order = (-runs.method.nunique()).sort_values(kind="stable").index
    first: dict[str, tuple[str, str]] = {}
    for run, metrics in runs.metric.agg(set).reindex(order).items():
        kinds = [metric for metric in ("people", "pointing") if metric in metrics]
        first.setdefault(kinds[0] if kinds else "", run)
    return [first[kind] for kind in ("", "people", "pointing") if kind in first]
