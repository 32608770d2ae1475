"""Figures of Zhao & Aletras (2023), by their numbers, and ours: erasure curves, changes of protocol, keep rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from attreval.metrics import FAITHFULNESS, METRICS
from compendium.papers.common.method_style import method_markers, method_palette
from compendium.papers.common.style import draw_nothing, label_ends, room_for, task_title, use_style
from compendium.papers.zhao2023.protocol_changes import SHARES

LOOKS = {  # a metric has one colour and marker in every figure; soft ones are filled
    "nc": {"color": "#0072B2", "marker": "o", "markerfacecolor": "white"},
    "soft_nc": {"color": "#0072B2", "marker": "o"},
    "ns": {"color": "#D55E00", "marker": "s", "markerfacecolor": "white"},
    "soft_ns": {"color": "#D55E00", "marker": "s"},
}
NORMALISED = {"normalised_comprehensiveness": "NC", "normalised_sufficiency": "NS"}
RAW = {"comprehensiveness": "comprehensiveness, higher is better", "sufficiency": "sufficiency, lower is better"}
HALF = {"y": 0.5, "color": "#888888", "linestyle": "--", "linewidth": 1}  # what a coin would get


def _draw_band(axes, x, middle, low, high, alpha: float, style: str = "-", **look) -> None:
    """A line with its interval."""
    axes.plot(x, middle, style, **look)
    axes.fill_between(x, low, high, color=look["color"], alpha=alpha, linewidth=0)


def _mean_by_ratio(curves: pd.DataFrame, task: str, measure: str) -> dict[str, pd.DataFrame]:
    """By method its mean, low and high at each ratio, over models and seeds."""
    part = curves[(curves.task == task) & (curves.measure == measure)]
    return {
        method: line.groupby("ratio")[["mean", "low", "high"]].mean()
        for method, line in part.groupby("method", sort=False)
    }


def _finish(figure, axes, height: float, columns: int):
    """Put the legend of a panel below the figure, and give that panel."""
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, height)}
    figure.legend(*axes.get_legend_handles_labels(), **place, ncols=columns)
    figure.tight_layout()
    return axes


def figure_2(curves: pd.DataFrame, methods: list[str]):
    """Mean NC and NS by rationale ratio, a column a task, a line a method.

    curves: of `tables.erasure_curves`. methods: those to draw, random scores dotted.
    """
    use_style()
    tasks = list(dict.fromkeys(curves.task))
    colours, markers = method_palette(methods), method_markers(methods)
    nothing = pd.DataFrame(columns=["mean", "low", "high"], dtype=float)
    size = (2.5 * len(tasks) + 0.8, 5.4)
    figure, grid = plt.subplots(2, len(tasks), figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, (measure, title) in zip(grid, NORMALISED.items(), strict=True):
        for axes, task in zip(row, tasks, strict=True):
            lines = _mean_by_ratio(curves, task, measure)
            for method in methods:
                line, name = lines.get(method, nothing), METHODS[method].title
                look = {"color": colours[name], "marker": markers[name], "markersize": 4, "label": name}
                style = ":" if method == "random" else "-"
                _draw_band(axes, line.index, line["mean"], line.low, line.high, 0.08, style, **look)
            axes.set_title(f"{task_title(task)}: {title}", fontsize=10)
        row[0].set_ylabel(f"mean {title}")
    for axes in grid[-1]:
        axes.set_xlabel("size of the rationale")
    return _finish(figure, grid[0][0], 0.01, 3)


def figure_3(table: pd.DataFrame):
    """Diagnosticity by rationale ratio, a panel a task; soft metrics level.

    table: of `diagnosticity.diagnosticity_by_ratio`. The dashed grey line is what a coin would get.
    """
    use_style()
    tasks = list(dict.fromkeys(table.task))
    size = (2.5 * len(tasks) + 0.8, 3.2)
    figure, panels = plt.subplots(1, len(tasks), figsize=size, sharey=True, squeeze=False)
    for axes, task in zip(panels[0], tasks, strict=True):
        part = table[table.task == task]
        axes.axhline(**HALF)
        for metric in FAITHFULNESS:
            line, look = part[part.metric == metric], LOOKS[metric] | {"label": METRICS[metric].title}
            if line.ratio.notna().any():
                _draw_band(axes, line.ratio, line.diagnosticity, line.low, line.high, 0.1, **look)
            elif len(line):
                level, ends = line.iloc[0], [part.ratio.min(), part.ratio.max()]
                _draw_band(axes, ends, [level.diagnosticity] * 2, level.low, level.high, 0.1, linewidth=2.4, **look)
        axes.set(title=task_title(task), xlabel="size of the rationale", ylim=(-0.02, 1.02))
    panels[0][0].set_ylabel("diagnosticity")
    return _finish(figure, panels[0][0], 0.02, 4)


def draw_erasure_curves(curves: pd.DataFrame):
    """Mean comprehensiveness and sufficiency by rationale ratio with intervals, a row a task, a line a method.

    Each is named at its end; random scores are dotted.
    """
    use_style()
    tasks, methods = list(dict.fromkeys(curves.task)), list(dict.fromkeys(curves.method))
    colours, markers = method_palette(methods), method_markers(methods)
    heights = [max(2.4, 0.19 * curves[curves.task == task].method.nunique()) for task in tasks]
    size, ratios = (9.6, sum(heights) + 0.7 * len(tasks)), {"height_ratios": heights}
    figure, grid = plt.subplots(len(tasks), 2, figsize=size, sharex=True, squeeze=False, gridspec_kw=ratios)
    ends = {}
    for row, task in zip(grid, tasks, strict=True):
        for axes, (measure, label) in zip(row, RAW.items(), strict=True):
            for method, line in _mean_by_ratio(curves, task, measure).items():
                name = METHODS[method].title
                look, style = (
                    {"color": colours[name], "marker": markers[name], "markersize": 4},
                    ":" if method == "random" else "-",
                )
                _draw_band(axes, line.index, line["mean"], line.low, line.high, 0.1, style, **look)
                ends.setdefault(axes, []).append((name, line.index[-1], line["mean"].iloc[-1], colours[name]))
            axes.set_title(f"{task_title(task)}: {label}", fontsize=10)
        row[0].set_ylabel("drop in probability")
    for axes in grid[-1]:
        axes.set_xlabel("share of tokens in the rationale")
    figure.tight_layout(w_pad=room_for(METHODS[m].title for m in methods))
    for axes, names in ends.items():
        label_ends(axes, names)
    return grid[0][0]


def draw_changes(table: pd.DataFrame):
    """What each change of protocol does to the four mean diagnosticities: a row a change, a panel a metric.

    table: of `protocol_changes.changes_table`. Dots are the numbers with the change, vertical lines those of the main
    protocol on the same texts; bars are intervals of the difference.
    """
    if not len(table):
        return draw_nothing("no change of protocol was measured: faithfulness.control_rows is 0")
    use_style()
    places = np.arange(len(table))
    size = (10.5, 0.27 * len(table) + 1.6)
    _, panels = plt.subplots(1, len(FAITHFULNESS), figsize=size, sharey=True, sharex=True, layout="constrained")
    for axes, metric in zip(panels, FAITHFULNESS, strict=True):
        look, base = LOOKS[metric], table[metric] - table[f"{metric}_change"]
        low, high = base + table[f"{metric}_low"], base + table[f"{metric}_high"]
        axes.vlines(base, places - 0.45, places + 0.45, color="#888888", linewidth=1)
        axes.hlines(places, low, high, color=look["color"], linewidth=1)
        axes.plot(table[metric], places, linestyle="none", markersize=5, **look)
        axes.set(xlabel="diagnosticity", title=METRICS[metric].title, xlim=(-0.04, 1.04))
        axes.axvline(0.5, color="#cccccc", linestyle="--", linewidth=1, zorder=0)
    panels[0].set(yticks=places, yticklabels=table.title)
    panels[0].invert_yaxis()
    return panels[0]


def draw_keep_rates(pairs: pd.DataFrame, settings: dict[str, str]):
    """Who wins Soft-NS and Soft-NC, by how much more text the method's scores keep, or remove, than its rival's.

    pairs: of `diagnosticity.pair_with_rivals`. settings: those to draw, with their titles, a panel each. A line is the
    share of wins in bins of the difference in what Soft-NS keeps, or Soft-NC removes; where these are all zero, a dot.
    """
    use_style()
    settings = {name: title for name, title in settings.items() if (pairs.setting == name).any()}
    edges = np.linspace(-0.5, 0.5, 6)
    size = (2.6 * len(settings), 3.0)
    _, panels = plt.subplots(1, len(settings), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axes, (setting, title) in zip(panels[0], settings.items(), strict=True):
        part = pairs[pairs.setting == setting]
        for metric, share in SHARES.items():
            look = LOOKS[metric] | {"label": METRICS[metric].title}
            more = part[share] - part[f"{share}_rival"]
            bins = np.clip(np.digitize(more, edges[1:-1]), 0, len(edges) - 2)
            bins = np.where(np.abs(more) < 1e-6, -1, bins)  # equal by construction
            wins = part[f"win_{metric}"].groupby(bins).agg(["mean", "size"])
            inside = wins[(wins.index >= 0) & (wins["size"] > 2)]
            axes.plot((edges[:-1] + edges[1:])[inside.index] / 2, inside["mean"], **look)
            if -1 in wins.index:
                axes.plot(0, wins.loc[-1, "mean"], markersize=8, **look)
        axes.axhline(**HALF)
        axes.set_title(title, fontsize=10)
        axes.set(xlabel="keeps (removes) more by", xlim=(-0.55, 0.55), ylim=(-0.02, 1.02))
    panels[0][0].set_ylabel("share of wins")
    panels[0][0].legend()
    sns.despine()
    return panels[0][0]
