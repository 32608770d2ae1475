"""Cells of a paper's tables as dumbbells: the published value, ours, and the way between them."""

import textwrap

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from compendium.papers.common.style import use_style

WIDTH = 7.3  # of a page, in inches
ACROSS = 3  # panels
LINE = 0.047  # inches that a dumbbell takes
PUBLISHED = {
    "marker": "o",
    "color": "white",
    "edgecolor": "#444444",
    "s": 9,
    "lw": 0.6,
    "zorder": 2,
}
LEFT_OUT = "#c4c4c4"


def draw_dumbbells(cells: pd.DataFrame) -> Axes:
    """The first panel of a figure with a panel a part.

    Rows are those of the papers' tables, in their order; a colour is a column of theirs. Grey: in
    no mean.

    cells: of `beside.read_cells`, of one paper, those that the run has.
    """
    use_style()
    parts = dict(list(cells.groupby("part", sort=False)))
    rows = list(dict.fromkeys(cells.row))
    columns = list(dict.fromkeys(cells.column))
    colours = dict(zip(columns, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False))
    across = min(ACROSS, len(parts))
    down = -(-len(parts) // across)
    tall = len(rows) * (len(columns) + 1.2) * LINE
    size = (WIDTH, down * (tall + 0.55) + 0.35)
    figure, grid = plt.subplots(down, across, figsize=size, sharey=True, squeeze=False)
    for axes, (part, own) in zip(grid.flat, parts.items(), strict=False):
        at = own.column.map(columns.index) - (len(columns) - 1) / 2
        y = own.row.map(rows.index) + at / (len(columns) + 1)
        colour = own.column.map(colours).where(own.counts, LEFT_OUT)
        axes.hlines(y, own.published, own.ours, color=colour, lw=0.8, zorder=1)
        axes.scatter(own.published, y, **PUBLISHED)
        axes.scatter(own.ours, y, c=colour, s=9, lw=0, zorder=3)
        axes.set_title(textwrap.fill(part, 34), fontsize=8, loc="left")
        axes.tick_params(labelsize=7.5)
    first = grid.flat[0]
    first.set(yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.5, -0.5))
    for axes in grid.flat[len(parts) :]:
        axes.set_axis_off()
    marks = [
        Line2D([], [], ls="", marker="o", ms=3, color=colours[name], label=name)
        for name in columns
        if name
    ]
    marks.append(
        Line2D([], [], ls="", marker="o", ms=3.2, mfc="white", mec="#444444", label="published")
    )
    if not cells.counts.all():
        marks.append(Line2D([], [], color=LEFT_OUT, label="in no mean"))
    figure.legend(
        handles=marks, ncols=len(marks), loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=8
    )
    figure.tight_layout()
    return first
