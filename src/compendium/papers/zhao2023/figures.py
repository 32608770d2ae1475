"""Figures of Zhao & Aletras (2023), by their numbers, and ours: erasure curves, changes of protocol, keep rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from attreval.metrics import FAITHFULNESS, METRICS
from compendium.papers.common.method_style import KINDS, kind_colour, method_markers, method_palette
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


def figure_2(curves: pd.DataFrame, methods: list[str]):
    """Mean NC and NS by rationale ratio, a column a task, a line a method.

    curves: of `curves.erasure_curves`. methods: those to draw, random scores dotted.
    """
    use_style()
    tasks = list(dict.fromkeys(curves.task))
    colours, markers = method_palette(methods), method_markers(methods)
    size = (2.5 * len(tasks) + 0.8, 5.4)
    figure, grid = plt.subplots(2, len(tasks), figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, (measure, title) in zip(grid, NORMALISED.items(), strict=True):
        for axes, task in zip(row, tasks, strict=True):
            part = curves[(curves.task == task) & (curves.measure == measure)]
            for method in methods:
                line = part[part.method == method].groupby("ratio")[["mean", "low", "high"]].mean()
                name = METHODS[method].title
                style = {"color": colours[name], "marker": markers[name], "markersize": 4}
                axes.plot(line.index, line["mean"], ":" if method == "random" else "-", label=name, **style)
                axes.fill_between(line.index, line.low, line.high, color=colours[name], alpha=0.08, linewidth=0)
            axes.set_title(f"{task_title(task)}: {title}", fontsize=10)
        row[0].set_ylabel(f"mean {title}")
    for axes in grid[-1]:
        axes.set_xlabel("size of the rationale")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=3)
    figure.tight_layout()
    return grid[0][0]


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
        axes.axhline(0.5, color="#888888", linestyle="--", linewidth=1)
        for metric in FAITHFULNESS:
            line, look = part[part.metric == metric], LOOKS[metric]
            if line.ratio.notna().any():
                axes.plot(line.ratio, line.diagnosticity, label=METRICS[metric].title, **look)
                axes.fill_between(line.ratio, line.low, line.high, color=look["color"], alpha=0.1, linewidth=0)
            elif len(line):
                level = line.iloc[0]
                ends = [part.ratio.min(), part.ratio.max()]
                axes.plot(ends, [level.diagnosticity] * 2, linewidth=2.4, label=METRICS[metric].title, **look)
                axes.fill_between(ends, level.low, level.high, color=look["color"], alpha=0.1, linewidth=0)
        axes.set(title=task_title(task), xlabel="size of the rationale", ylim=(-0.02, 1.02))
    panels[0][0].set_ylabel("diagnosticity")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=4)
    figure.tight_layout()
    return panels[0][0]


def draw_erasure_curves(curves: pd.DataFrame):
    """Mean comprehensiveness and sufficiency by rationale ratio, a row a task, a line a method, named at its end.

    A colour is a kind of method, random scores are dotted and have the band of their interval: what leaves it differs
    from random scores. The other intervals are in the table.
    """
    use_style()
    tasks = list(dict.fromkeys(curves.task))
    counts = [curves[curves.task == task].method.nunique() for task in tasks]
    heights = [max(3.4, 0.16 * count) for count in counts]
    size, ratios = (13.0, sum(heights) + 0.8), {"height_ratios": heights}
    figure, grid = plt.subplots(len(tasks), 2, figsize=size, sharex=True, squeeze=False, gridspec_kw=ratios)
    ends = {}
    for row, task in zip(grid, tasks, strict=True):
        for axes, (measure, label) in zip(row, RAW.items(), strict=True):
            part = curves[(curves.task == task) & (curves.measure == measure)]
            for method in dict.fromkeys(part.method):
                line = part[part.method == method].groupby("ratio")[["mean", "low", "high"]].mean()
                colour, chance = kind_colour(method), method == "random"
                axes.plot(
                    line.index, line["mean"], ":" if chance else "-", color=colour, linewidth=2 if chance else 1.2
                )
                if chance:
                    axes.fill_between(line.index, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
                end = (METHODS[method].title, line.index[-1], line["mean"].iloc[-1], colour)
                ends.setdefault(axes, []).append(end)
            axes.set_title(f"{task_title(task)}: {label}", fontsize=11)
        row[0].set_ylabel("drop in probability")
    for axes in grid[-1]:
        axes.set_xlabel("share of tokens in the rationale")
    kinds = [kind for kind in KINDS if kind in {METHODS[m].kind for m in curves.method}]
    handles = [
        plt.Line2D([], [], color=KINDS[kind], label=kind, ls=":" if kind == "baseline" else "-") for kind in kinds
    ]
    figure.tight_layout(w_pad=room_for((METHODS[m].title for m in curves.method), 7.5))
    figure.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=len(kinds))
    for axes, names in ends.items():
        label_ends(axes, names, 7.5)
    return grid[0][0]


def draw_changes(table: pd.DataFrame):
    """What each change of protocol does to the four mean diagnosticities: a row a change, a panel a metric.

    table: of `protocol_changes.changes_table`. Dots are the numbers with the change, vertical lines those of the main
    protocol on the same texts; bars are intervals of the difference.
    """
    if not len(table):
        return draw_nothing("no change of protocol was measured: faithfulness.control_rows is 0")
    use_style()
    shown = table
    places = np.arange(len(shown))
    size = (10.5, 0.27 * len(shown) + 1.6)
    _, panels = plt.subplots(1, len(FAITHFULNESS), figsize=size, sharey=True, sharex=True, layout="constrained")
    for axes, metric in zip(panels, FAITHFULNESS, strict=True):
        look = LOOKS[metric]
        base = shown[metric] - shown[f"{metric}_change"]
        axes.vlines(base, places - 0.45, places + 0.45, color="#888888", linewidth=1)
        axes.hlines(
            places, base + shown[f"{metric}_low"], base + shown[f"{metric}_high"], color=look["color"], linewidth=1
        )
        axes.plot(shown[metric], places, linestyle="none", markersize=5, **look)
        axes.set(xlabel="diagnosticity", title=METRICS[metric].title, xlim=(-0.04, 1.04))
        axes.axvline(0.5, color="#cccccc", linestyle="--", linewidth=1, zorder=0)
    panels[0].set(yticks=places, yticklabels=shown.title)
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
    _, panels = plt.subplots(
        1, len(settings), figsize=(2.6 * len(settings), 3.0), sharey=True, squeeze=False, layout="constrained"
    )
    for axes, (setting, title) in zip(panels[0], settings.items(), strict=True):
        part = pairs[pairs.setting == setting]
        for metric, share in SHARES.items():
            more = part[share] - part[f"{share}_rival"]
            bins = np.clip(np.digitize(more, edges[1:-1]), 0, len(edges) - 2)
            bins = np.where(np.abs(more) < 1e-6, -1, bins)  # equal by construction
            wins = part[f"win_{metric}"].groupby(bins).agg(["mean", "size"])
            inside = wins[(wins.index >= 0) & (wins["size"] > 2)]
            middle = (edges[:-1] + edges[1:])[inside.index] / 2
            axes.plot(middle, inside["mean"], label=METRICS[metric].title, **LOOKS[metric])
            if -1 in wins.index:
                axes.plot(0, wins.loc[-1, "mean"], markersize=8, label=METRICS[metric].title, **LOOKS[metric])
        axes.axhline(0.5, color="#888888", linestyle="--", linewidth=1)
        axes.set_title(title, fontsize=10)
        axes.set(xlabel="keeps (removes) more by", xlim=(-0.55, 0.55), ylim=(-0.02, 1.02))
    panels[0][0].set_ylabel("share of wins")
    panels[0][0].legend()
    sns.despine()
    return panels[0][0]
