"""Cells of a paper's tables as dumbbells: the published value, ours, and the way between them."""

import textwrap
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from compendium.papers.common.scorecard import PAPERS, WIDTH
from compendium.papers.common.style import draw_nothing, use_style
from compendium.site.pictures import NO_PICTURE
from compendium.workflow.step import write_picture

ACROSS = 3  # panels
LINE = 0.048  # inches that a dumbbell takes
TITLE = 32  # letters that a panel is wide
LEFT_OUT = "#c4c4c4"
PLACE = ["part", "row", "column"]


def draw_beside(cells: pd.DataFrame, folder: Path) -> list[Path]:
    """Write beside-<paper>, as PNG and SVG, into `folder`; return the paths.

    Args:
        cells: Of `beside.read_cells`.
        folder: For the pictures; a paper of which the run has no cell gets one that says so.
    """
    paths = []
    for paper in PAPERS:
        own = cells[(cells.paper == paper) & cells.ours.notna()]
        picture = draw_dumbbells(own) if len(own) else draw_nothing(NO_PICTURE)
        paths += write_picture(picture, folder / f"beside-{paper}")
    return paths


def draw_dumbbells(cells: pd.DataFrame) -> Axes:
    """A panel a part, a row a row of the paper's tables, a colour a column; the first panel.

    Grey: in no mean. Where several of our corpora stand for one of the paper's, ours is their mean.

    Args:
        cells: Of `beside.read_cells`, those of one paper that the run has.
    """
    use_style()
    cells = cells.groupby(PLACE, sort=False)[["ours", "published", "counts"]].mean().reset_index()
    rows = list(dict.fromkeys(cells.row))
    columns = list(dict.fromkeys(cells.column))
    colours = dict(zip(columns, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False))
    parts = list(cells.groupby("part", sort=False))
    across = min(ACROSS, len(parts))
    down = -(-len(parts) // across)
    tall = max(len(rows) * (len(columns) + 1) * LINE, 1) + 0.6
    figure, grid = plt.subplots(
        down, across, figsize=(WIDTH, down * tall + 0.3), sharey=True, squeeze=False
    )
    for axes in grid.flat[len(parts) :]:
        axes.set_axis_off()
    for axes, (part, own) in zip(grid.flat, parts, strict=False):
        counts = own.counts.astype(bool)
        colour = own.column.map(colours).where(counts, LEFT_OUT)
        lane = own.column.map(columns.index) - (len(columns) - 1) / 2
        y = own.row.map(rows.index) + lane / (len(columns) + 1)
        axes.hlines(y, own.published, own.ours, color=colour, lw=0.8, zorder=1)
        axes.scatter(own.ours, y, c=colour, s=9, lw=0, zorder=3)
        axes.scatter(own.published, y, c="white", edgecolor="#444444", s=9, lw=0.6, zorder=2)
        axes.set_title(textwrap.fill(part, TITLE), fontsize=8, loc="left")
        axes.tick_params(labelsize=7.5)
    first = grid.flat[0]
    first.set(yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.5, -0.5))
    coloured = list(dict.fromkeys(cells.column[cells.counts.astype(bool)]))
    marks = [_mark(name, color=colours[name]) for name in coloured if name]
    marks.append(_mark("published", mfc="white", mec="#444444"))
    if not cells.counts.all():
        grey = [name for name in columns if name not in coloured]
        named = ": " + ", ".join(grey) if grey else ""
        marks.append(_mark(f"in no mean{named}", color=LEFT_OUT))
    figure.legend(
        handles=marks, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 0.01), fontsize=8
    )
    figure.tight_layout()
    return first


def _mark(label: str, **look: Any) -> Line2D:
    return Line2D([], [], ls="", marker="o", ms=3.2, label=label, **look)
