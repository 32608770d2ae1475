"""How do tokens, pairs and spans compare under each property, by technique, model and task?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from attreval.explain.techniques import TECHNIQUES, TYPES
from attreval.papers.common.style import task_title, use_style

LOOKS = {
    "token": ("TokenEx", "#0072B2", "o"),
    "pair": ("TokenIntEx", "#D55E00", "s"),
    "span": ("SpanIntEx", "#009E73", "^"),
    "combined": ("combined (ours)", "#CC79A7", "D"),
}
TITLES = {"shapley": "Shapley", "attention": "Attention", "gradients": "IG"}
LABELS = {
    "comprehensiveness": "comprehensiveness\nhigher is better",
    "sufficiency": "sufficiency\nlower is better",
    "token agreement": "agreement, tokens\nhigher is better",
    "interaction agreement": "agreement, pieces\nhigher is better",
    "simulatability": "simulatability\ngain in F1, points",
    "complexity": "complexity\nlower is simpler",
}


def draw_properties(summary: pd.DataFrame):
    """One row of panels a property, one column a task and model; a dot a technique and type, a dash what chance gives.

    summary: columns task, model, technique, type, property, value, chance.
    """
    use_style()
    cells = list(dict.fromkeys(zip(summary.task, summary.model, strict=True)))
    properties = [name for name in LABELS if (summary.property == name).any()]
    figure, grid = plt.subplots(
        len(properties), len(cells), figsize=(3.2 + 3.0 * len(cells), 1.75 * len(properties) + 0.6), squeeze=False
    )
    techniques = [name for name in TECHNIQUES if (summary.technique == name).any()]
    places = np.linspace(-0.27, 0.27, len(TYPES))
    for row, name in zip(grid, properties, strict=True):
        shown = summary[summary.property == name]
        span = [*shown.value, *shown.chance.dropna()]
        margin = 0.1 * (max(span) - min(span) or 1)
        for axes, (task, model) in zip(row, cells, strict=True):
            part = shown[(shown.task == task) & (shown.model == model)]
            for kind, place in zip(TYPES, places, strict=True):
                title, tint, marker = LOOKS[kind]
                some = part[part.type == kind]
                at = np.array([techniques.index(t) for t in some.technique]) + place
                axes.scatter(at, some.value, color=tint, marker=marker, s=32, label=title, zorder=3)
                axes.hlines(some.chance, at - 0.08, at + 0.08, color="#555555", linewidth=1.4, zorder=2)
            axes.set(
                xticks=range(len(techniques)),
                xticklabels=[TITLES[t] for t in techniques],
                xlim=(-0.5, len(techniques) - 0.5),
                ylim=(min(span) - margin, max(span) + margin),
            )
            axes.grid(axis="x", visible=False)
        row[0].set_ylabel(LABELS[name], fontsize=9)
    for axes, (task, model) in zip(grid[0], cells, strict=True):
        axes.set_title(f"{task_title(task)}, {model}", fontsize=11)
    handles, labels = legend_of(grid)
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=3, frameon=False)
    figure.tight_layout()
    return grid[0][0]


def legend_of(grid) -> tuple[list, list]:
    """Handles and labels of every type that any panel shows, and of what chance gives."""
    found = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    line = plt.Line2D([], [], color="#555555", linewidth=1.4)
    return [*found.values(), line], [*found, "random"]


def draw_gains(agents: pd.DataFrame):
    """Gain of every agent over the one without explanations, in points of F1, with intervals; a panel a form.

    agents: columns technique, type, form, gain, low, high.
    """
    use_style()
    told = agents[agents.form != "none"]
    forms = list(dict.fromkeys(told.form)) or ["symbol"]
    techniques = [name for name in TECHNIQUES if (told.technique == name).any()]
    figure, panels = plt.subplots(1, len(forms), figsize=(3.4 * len(forms) + 1, 3.2), sharey=True, squeeze=False)
    places = np.linspace(-0.27, 0.27, len(TYPES))
    for axes, form in zip(panels[0], forms, strict=True):
        for kind, place in zip(TYPES, places, strict=True):
            title, tint, marker = LOOKS[kind]
            some = told[(told.form == form) & (told.type == kind)]
            at = np.array([techniques.index(t) for t in some.technique]) + place
            reach = np.abs(np.stack([some.gain - some.low, some.high - some.gain]))
            axes.errorbar(at, some.gain, reach, color=tint, marker=marker, linestyle="", label=title, capsize=2)
        axes.axhline(0, color="#555555", linewidth=1)
        axes.set(
            xticks=range(len(techniques)),
            xticklabels=[TITLES[t] for t in techniques],
            xlim=(-0.5, max(len(techniques), 1) - 0.5),
            title=f"explanation as {form}",
        )
    panels[0][0].set_ylabel("gain in F1, points")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=4)
    figure.tight_layout()
    return panels[0][0]
