"""Do the judges agree, what is worth its price, and when does an explanation stand still? Figures of notebook 08."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from attreval.explain import METHODS
from attreval.metrics.registry import METRICS
from attreval.papers.common.style import draw_nothing, method_markers, method_palette, task_title, use_style
from attreval.papers.joint.values import JOINT

PALETTE = "RdBu"  # red to blue through white: told apart by the colour-blind too
OUTSIDE = (
    "pointing",
    "people",
    "people_units",
    "diagnosticity",
)  # judges who know more than the model, the first there


def draw_correlations(table: pd.DataFrame, level: str, pooled: str):
    """Rank correlations of pooled judges, a cell a pair with its interval; framed where the interval leaves out 0."""
    use_style()
    part = table[(table.task == pooled) & (table.level == level) & table.tau.notna()]
    names = [name for name in JOINT if name in {*part.judge_a, *part.judge_b}]
    if len(names) < 2:
        return draw_nothing("No two judges have heard the same methods in this run.")
    size = 0.95 * len(names) + 2.2
    figure, axes = plt.subplots(figsize=(size, 0.72 * size))
    colours = sns.color_palette(PALETTE, as_cmap=True)
    for row in part.itertuples():
        y, x = sorted((names.index(row.judge_a), names.index(row.judge_b)))[::-1]
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colours((row.tau + 1) / 2), edgecolor="white", linewidth=1.5))
        told = row.verdict in ("agree", "contradict")
        if told:
            axes.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.3))
        ink = "white" if abs(row.tau) > 0.62 else "black"
        axes.text(
            x + 0.5, y + 0.4, f"{row.tau:.2f}", ha="center", va="center", color=ink, weight="bold" if told else "normal"
        )
        axes.text(
            x + 0.5, y + 0.72, f"{row.low:.2f} to {row.high:.2f}", ha="center", va="center", color=ink, fontsize=7.5
        )
    titles = [METRICS[name].title for name in names]
    axes.set(xlim=(0, len(names) - 1), ylim=(len(names), 1))
    axes.set_xticks(np.arange(len(names) - 1) + 0.5, titles[:-1], rotation=35, ha="right")
    axes.set_yticks(np.arange(1, len(names)) + 0.5, titles[1:])
    axes.tick_params(length=0)
    axes.grid(False)
    sns.despine(ax=axes, left=True, bottom=True)
    bar = figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(-1, 1), colours), ax=axes, shrink=0.7, pad=0.02)
    bar.set_label("rank correlation of methods (tau-b)")
    bar.outline.set_visible(False)
    figure.tight_layout()
    return axes


def pick_runs(part: pd.DataFrame) -> list[tuple[str, str]]:
    """The run with most methods of each kind: judged by no one from outside, by people, and by pointing."""
    runs = part.groupby(["task", "model"], sort=False)
    order = (-runs.method.nunique()).sort_values(kind="stable").index
    heard = runs.judge.agg(set).reindex(order)
    kinds = [next((judge for judge in ("people", "pointing") if judge in judges), "") for judges in heard]
    return [heard.index[kinds.index(kind)] for kind in ("", "people", "pointing") if kind in kinds]


def draw_bargains(table: pd.DataFrame):
    """Quality by evaluations asked for, a row a run, a column a judge; undominated methods are filled and joined."""
    use_style()
    part = table[table.level == "tokens"]
    runs = pick_runs(part)
    if not runs:
        return draw_nothing("No run with a price is part of this profile.")
    methods = [m for m in METHODS if m in set(part.method)]
    colours, markers = method_palette(methods), method_markers(methods)
    figure, grid = plt.subplots(len(runs), 4, figsize=(12.5, 3.2 * len(runs)), squeeze=False)
    shown = {}
    for row, (task, model) in zip(grid, runs, strict=True):
        of = part[(part.task == task) & (part.model == model)]
        outside = next((judge for judge in OUTSIDE if judge in set(of.judge)), OUTSIDE[-1])
        for axes, judge in zip(row, ("agreement", "nc", "ns", outside), strict=True):
            here = of[of.judge == judge]
            best = here[here.undominated].sort_values(["requested", "quality"])
            axes.step(best.requested, best.quality, where="post", color="#999999", linewidth=1, zorder=1)
            for r in here.itertuples():
                title = METHODS[r.method].title
                filled = {} if r.undominated else {"facecolors": "none"}
                style = {"edgecolors": [colours[title]], "color": [colours[title]]} | filled
                if filled:
                    style.pop("color")
                dot = axes.scatter(
                    r.requested, r.quality, marker=markers[title].replace("x", "o"), s=46, zorder=2, **style
                )
                shown.setdefault(title, dot) if r.undominated or title not in shown else None
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xlim(-0.2, max(10, here.requested.max() * 2) if len(here) else 10)
            axes.set_title(f"{task_title(task)}, {model}\n{METRICS[judge].title}", fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("evaluations asked for", fontsize=10)
    for row in grid:
        row[0].set_ylabel("mean over texts", fontsize=10)
    handles = [
        plt.Line2D(
            [],
            [],
            color=colours[METHODS[m].title],
            marker=markers[METHODS[m].title].replace("x", "o"),
            linestyle="",
            label=METHODS[m].title,
        )
        for m in methods
        if METHODS[m].title in shown
    ]
    figure.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=4, fontsize=9)
    figure.tight_layout()
    return grid[0][0]


def draw_budgets(overlaps: pd.DataFrame, stable: float):
    """Overlap of the top tokens by evaluations asked for: with the largest budget, of two seeds; a line a method."""
    use_style()
    if not len(overlaps):
        return draw_nothing("No method was asked to spend more in this profile.")
    overlaps = overlaps.sort_values(["task", "model", "method", "budget"], kind="stable")
    figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True)
    methods = [m for m in METHODS if m in set(overlaps.method)]
    colours, markers = method_palette(methods), method_markers(methods)
    titles = {"to_largest": "with the largest budget, same seed", "between": "between two seeds"}
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        for (task, model, method), line in overlaps.groupby(["task", "model", "method"], sort=False):
            # compared with itself, the largest budget says nothing
            line = line.iloc[:-1] if name == "to_largest" else line
            said = METHODS[method].title
            style = {"color": colours[said], "marker": markers[said], "label": f"{said} ({task_title(task)}, {model})"}
            axes.plot(line.requested, line[name], **style)
            axes.fill_between(
                line.requested, line[f"{name}_low"], line[f"{name}_high"], color=colours[said], alpha=0.08
            )
        axes.axhline(stable, color="#666666", linestyle=":", linewidth=1)
        axes.set(xscale="log", ylim=(0, 1.03), xlabel="evaluations asked for", title=title)
        axes.set_xticks(sizes := sorted(set(overlaps.budget)), [f"{size:,}" for size in sizes])
        axes.minorticks_off()
    panels[0].set_ylabel(f"overlap of the top {overlaps.k.iloc[0]} tokens")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=2)
    figure.tight_layout()
    return panels[0]
