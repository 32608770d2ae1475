"""Figures of notebook 08_joint: rank correlations, places of methods, quality and price."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attreval.methods import METHODS
from compendium.papers.common import style
from compendium.papers.common.method_style import KINDS, kind_colour
from compendium.papers.common.style import draw_nothing, use_style
from compendium.papers.joint.correlations import POOLED
from compendium.papers.joint.standing import MEAN, RUN
from compendium.papers.joint.values import JOINT


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
    """What each method asks for, a point a run, and how often it is undominated.

    table: of `standing.pareto_table`.
    """
    use_style()
    part = table[(table.granularity == "tokens") & (table.method != "random")]
    if part.empty:
        return draw_nothing("No run with a price is part of this profile.")
    order = part.groupby("method", sort=False).requested.median().sort_values(kind="stable").index
    size = (7.2, 0.2 * len(order) + 1.3)
    figure, (prices, shares) = plt.subplots(
        1, 2, sharey=True, figsize=size, width_ratios=(3, 2), layout="constrained"
    )
    colours = {method: kind_colour(method) for method in order}
    runs = part.drop_duplicates([*RUN, "method"])
    points: dict[str, Any] = {"order": order, "hue": "method", "palette": colours, "alpha": 0.6}
    sns.stripplot(runs, x="requested", y="method", ax=prices, jitter=False, legend=False, **points)
    prices.set(xscale="log", xlabel="evaluations asked for\non a text", ylabel="")
    prices.set_yticks(range(len(order)), [METHODS[method].title for method in order])
    counted = part.groupby("method").undominated.agg(["mean", "sum", "size"]).loc[order]
    bars = shares.barh(range(len(order)), counted["mean"], color=list(colours.values()))
    told = [f"{row.sum} of {row.size}" for row in counted.itertuples(index=False)]
    shares.bar_label(bars, told, padding=3, fontsize=8)
    shares.set(xlabel="undominated, share of\nmetrics and runs", ylim=(len(order) - 0.4, -0.6))
    shares.margins(x=0.4)
    shares.grid(visible=False, axis="y")
    shares.tick_params(left=False)
    drawn = {METHODS[method].kind for method in order}
    handles = [
        plt.Line2D([], [], color=colour, marker="o", linestyle="", label=kind)
        for kind, colour in KINDS.items()
        if kind in drawn
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9)
    return prices
