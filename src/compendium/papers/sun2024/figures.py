"""Figures 1 and 2 of Sun et al. (2024), and the gains of agents (ours, from their Tables 7-10)."""

from collections.abc import Iterator
from html import escape

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from attreval.api.show.shown import css
from attreval.methods import TECHNIQUES, TYPES
from compendium.papers.common.style import (
    legend_below,
    model_title,
    task_panels,
    task_title,
    use_style,
)
from compendium.papers.sun2024.tables import TECHNIQUE_TITLES, TYPE_TITLES

LOOKS = {
    "token": ("#0072B2", "o"),
    "pair": ("#D55E00", "s"),
    "span": ("#009E73", "^"),
    "combined": ("#CC79A7", "D"),
}
GREY = "#555555"
LABELS = {
    "comprehensiveness": "comprehensiveness\nhigher is better",
    "sufficiency": "sufficiency\nlower is better",
    "token agreement": "agreement, tokens\nhigher is better",
    "interaction agreement": "agreement, pieces\nhigher is better",
    "simulatability": "simulatability\ngain in F1, points",
    "complexity": "complexity\nlower is simpler",
}
EMPTY = {
    "token agreement": "nobody marked these",
    "interaction agreement": "nobody marked these",
    "simulatability": "no agents",
}
CELL = (
    '<td style="text-align:left"><span style="padding:0 '
    '.2em;border-radius:.2em;background:{}">{}</span></td>'
)


def figure_1(table: pd.DataFrame) -> HTML:
    """One line per method: its first features, coloured by their share of the top score."""
    rows = []
    for method, part in table.groupby("method", sort=False):
        top = part.score.abs().max() or 1.0
        cells = "".join(
            CELL.format(css(row.score / top), f"{escape(row.piece)} ({row.score:.3f})")
            for row in part.itertuples()
        )
        rows.append(
            '<tr><th scope="row" '
            f'style="text-align:left;white-space:nowrap">{escape(method)}</th>{cells}</tr>'
        )
    return HTML(f'<table class="scores">{"".join(rows)}</table>')


def figure_2(summary: pd.DataFrame) -> Axes:
    """A row of panels per property, a column per task and model.

    A dot per technique and type, a dash for chance.
    """
    use_style()
    cells = list(dict.fromkeys(zip(summary.task, summary.model, strict=True)))
    properties = [name for name in LABELS if (summary.property == name).any()]
    size = (1.2 + 2.5 * len(cells), 1.75 * len(properties) + 0.6)
    figure, grid = plt.subplots(len(properties), len(cells), figsize=size, squeeze=False)
    techniques = [name for name in TECHNIQUES if (summary.technique == name).any()]
    for row, name in zip(grid, properties, strict=True):
        shown = summary[summary.property == name]
        reach = shown[["value", "chance", "low", "high"]]
        least = reach.min().min()
        most = reach.max().max()
        margin = 0.1 * (most - least or 1)
        for axes, (task, model) in zip(row, cells, strict=True):
            part = shown[(shown.task == task) & (shown.model == model)]
            if part.empty:
                said = EMPTY.get(name, "not measured")
                axes.text(
                    0.5, 0.5, said, transform=axes.transAxes, ha="center", color=GREY, fontsize=9
                )
            for at, some, title, (tint, marker) in _by_type(part, techniques):
                axes.scatter(at, some.value, color=tint, marker=marker, s=32, label=title, zorder=3)
                axes.vlines(at, some.low, some.high, color=tint, linewidth=1.1, zorder=2)
                axes.hlines(some.chance, at - 0.08, at + 0.08, color=GREY, linewidth=1.4, zorder=2)
            _name_techniques(axes, techniques)
            axes.set(ylim=(least - margin, most + margin))
            axes.grid(axis="x", visible=False)
        row[0].set_ylabel(LABELS[name], fontsize=9)
    for axes, (task, model) in zip(grid[0], cells, strict=True):
        axes.set_title(f"{task_title(task)}, {model_title(model)}", fontsize=11)
    return legend_below(figure, 3, 0.01, random=plt.Line2D([], [], color=GREY, linewidth=1.4))


def _by_type(part: pd.DataFrame, techniques: list[str]) -> Iterator[tuple]:
    """Of each type with rows: their places among the techniques, the rows, title and look."""
    for kind, place in zip(TYPES, np.linspace(-0.27, 0.27, len(TYPES)), strict=True):
        some = part[part.type == kind]
        if len(some):
            yield (
                np.array([techniques.index(t) for t in some.technique]) + place,
                some,
                TYPE_TITLES[kind],
                LOOKS[kind],
            )


def _name_techniques(axes: Axes, techniques: list[str]) -> None:
    axes.tick_params(labelsize=9)
    axes.set_xticks(range(len(techniques)), [TECHNIQUE_TITLES[t] for t in techniques])
    axes.set_xlim(-0.5, max(len(techniques), 1) - 0.5)


def gain_figure(agents: pd.DataFrame) -> Axes:
    """Gain of every agent over the one without explanations, in points of F1, with intervals.

    A panel per form.
    """
    informed = agents[agents.form != "none"]
    forms = list(dict.fromkeys(informed.form)) or ["symbol"]
    techniques = [name for name in TECHNIQUES if (informed.technique == name).any()]
    figure, panels = task_panels(forms, 3.4, 3.2, len(forms), 1)
    for form, axes in panels.items():
        for at, some, title, (tint, marker) in _by_type(
            informed[informed.form == form], techniques
        ):
            reach = np.abs(np.stack([some.gain - some.low, some.high - some.gain]))
            axes.errorbar(
                at,
                some.gain,
                reach,
                color=tint,
                marker=marker,
                linestyle="",
                label=title,
                capsize=2,
            )
        axes.axhline(0, color=GREY, linewidth=1)
        _name_techniques(axes, techniques)
        axes.set(title=f"explanation as {form}")
    panels[forms[0]].set_ylabel("gain in F1, points")
    return legend_below(figure, 4)
