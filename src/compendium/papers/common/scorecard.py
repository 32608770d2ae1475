"""The scorecard as a picture: value, interval and nulls of each claim, coloured by verdict.

Claims have different units, so each row has a scale of its own, made of what decides the verdict:
the middle line is the edge of the claimed range (of a range around a number, the edge nearer to our
value), right of it is where the paper says, and the farthest mark of the row lies at the end of the
panel. Within a row distances are true; between rows they do not compare, so the raw value stands
beside each.
"""

import textwrap
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from compendium.papers.common.claims import Claim
from compendium.papers.common.style import Look, draw_nothing, use_style
from compendium.papers.common.verdicts import Verdict

PAPERS = {
    "poerner2018": "Pointing (Poerner et al. 2018)",
    "kamp2023": "Agreement (Kamp et al. 2023)",
    "zhao2023": "Faithfulness (Zhao & Aletras 2023)",
    "sun2024": "Diagnosis (Sun et al. 2024)",
}


class Mark(NamedTuple):
    """How a verdict is drawn."""

    edge: str
    face: str
    shape: str


# colours of Okabe and Ito, told apart by people who are colour-blind
LOOK = {
    Verdict.REPRODUCED: Mark("#0072B2", "#0072B2", "o"),
    Verdict.CHANCE: Mark("#CC79A7", "#CC79A7", "D"),
    Verdict.RULE: Mark("#E69F00", "#E69F00", "p"),
    Verdict.DIRECTION: Mark("#009E73", "#009E73", ">"),
    Verdict.INCONCLUSIVE: Mark("#6b6b6b", "white", "s"),
    Verdict.CONTRADICTED: Mark("#D55E00", "#D55E00", "X"),
}
NONE = "None of {} claims can be tested in this run."
CLAIMED = "#e9eff4"
CHANCE_MARK = "#8a8a8a"
CHANCE_BAR: Look = {"color": "#b9bec4", "lw": 4.5, "solid_capstyle": "butt", "zorder": 2}
WIDTH = 7.3  # of a page, in inches
# what stands below our value, as far as it is known
OTHERS = {"published": "paper", "null_scores": "random", "null_names": "exchanged"}


def make_scale(row: pd.Series) -> tuple[Callable[[float], float], float]:
    """Where values of a row of `decided` lie between -1 and 1, and where its range ends.

    The middle line, 0, is the edge of the range.
    """
    inside = np.isfinite(row.end) and row.value > (row.start + row.end) / 2
    downwards = np.isinf(row.start) or inside
    edge, other = (row.end, row.start) if downwards else (row.start, row.end)
    side = -1 if downwards else 1
    drawn = [*row[["value", "low", "high", "published", "null_scores", "null_names"]], other]
    unit = max((abs(mark - edge) for mark in drawn if np.isfinite(mark)), default=0.0) or 1.0

    def place(value: float) -> float:
        return side * (value - edge) / unit

    return place, place(other) if np.isfinite(other) else 1.0


def decided(table: pd.DataFrame, claims: Iterable[Claim]) -> pd.DataFrame:
    """The claims that have a verdict, the best first, with title, and start and end of ranges."""
    known = {claim.id: claim for claim in claims}
    rows = table[table.verdict.isin(LOOK) & table.claim.isin(known)]
    places = rows.verdict.map(list(Verdict).index)
    rows = rows.iloc[np.argsort(places, kind="stable")]
    judged = [known[name] for name in rows.claim]
    return rows.assign(
        title=[claim.title for claim in judged],
        start=[claim.expect.ends[0] for claim in judged],
        end=[claim.expect.ends[1] for claim in judged],
    )


def draw_overview(table: pd.DataFrame, claims: Iterable[Claim]) -> Axes:
    """All testable claims of all papers on one page, a panel a paper. table: of `claims.score`."""
    rows = decided(table, claims)
    if rows.empty:
        return draw_nothing(NONE.format(len(table)))
    use_style()
    by_paper = {paper: rows[rows.paper == paper] for paper in PAPERS}
    columns = [("poerner2018", "zhao2023"), ("kamp2023", "sun2024")]
    head = 0.46
    panels = {paper: max(1, len(part)) * 0.172 for paper, part in by_paper.items()}
    height = max(sum(panels[paper] + head for paper in column) for column in columns) + 0.45
    figure = plt.figure(figsize=(WIDTH, height))
    for at, column in enumerate(columns):
        top = height - 0.32
        for paper in column:
            bottom = top - panels[paper]
            place = (0.5 * at + 0.262, bottom / height, 0.13, panels[paper] / height)
            axes = figure.add_axes(place)
            _draw_panel(axes, by_paper[paper])
            axes.set_title(
                PAPERS[paper], loc="left", fontsize=8.5, fontweight="bold", x=-1.95, pad=4
            )
            top = bottom - head
    _explain(figure, table, 0.5 / height)
    return figure.axes[0]


def _draw_panel(axes: Axes, rows: pd.DataFrame) -> None:
    """The claims of a paper, each between its title and its value."""
    if rows.empty:
        axes.set_axis_off()
        axes.set_ylim(0.5, -0.5)
        _beside(axes, -0.03, 0, "none can be tested in this run", 7.3)
        return
    _draw_rows(axes, rows)
    for y, (_, claim) in enumerate(rows.iterrows()):
        digits = 2 if abs(claim.value) >= 0.1 else 3
        _beside(axes, -0.03, y, claim.title, 7.3)
        _beside(axes, 1.05, y, _say(claim, claim.value, digits), 7.3)


def draw_paper(table: pd.DataFrame, paper: str, claims: Iterable[Claim]) -> Axes:
    """The testable claims of one paper in words, with our value, its interval and others."""
    table = table[table.paper == paper]
    rows = decided(table, claims)
    if rows.empty:
        return draw_nothing(NONE.format(len(table)))
    use_style()
    tall = len(rows) * 0.37
    height = tall + 0.85
    figure = plt.figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0.36, 0.7 / height, 0.26, tall / height))
    _draw_rows(axes, rows, size=38)
    for y, (_, claim) in enumerate(rows.iterrows()):
        lines = textwrap.wrap(claim.statement, 46)[:4]
        _beside(axes, -0.03, y, "\n".join(lines), 7.6)
        ours = f"{_say(claim, claim.value)} [{_say(claim, claim.low)}, {_say(claim, claim.high)}]"
        known = ", ".join(
            f"{name} {_say(claim, claim[column])}"
            for column, name in OTHERS.items()
            if np.isfinite(claim[column])
        )
        _beside(axes, 1.03, y - 0.17 * bool(known), ours, 7.6)
        _beside(axes, 1.03, y + 0.2, known, 6.3, "#5b6470")
    _explain(figure, table, 0.55 / height)
    return axes


def _draw_rows(axes: Axes, rows: pd.DataFrame, size: float = 20) -> None:
    """Range, interval, value, published value and nulls of each claim, from the top down."""
    for y, (_, row) in enumerate(rows.iterrows()):
        place, far = make_scale(row)
        mark = LOOK[row.verdict]
        axes.add_patch(
            Rectangle((0, y - 0.42), far, 0.84, facecolor=CLAIMED, edgecolor="none", zorder=0)
        )
        ends = [place(row.low), place(row.high)]
        axes.plot(ends, [y, y], color=mark.edge, lw=1.3, solid_capstyle="butt", zorder=3)
        if np.isfinite(row.null_scores):
            axes.plot([0, place(row.null_scores)], [y, y], **CHANCE_BAR)
        grey: Look = {"s": size * 0.7, "color": CHANCE_MARK, "lw": 0.9, "zorder": 2}
        black: Look = {"s": size * 3, "color": "black", "lw": 1.2, "zorder": 4}
        for name, shape, look in (
            ("null_names", "+", grey),
            ("published", "|", black),
        ):
            if np.isfinite(row[name]):
                axes.scatter(place(row[name]), y, marker=shape, **look)
        own: Look = {"facecolor": mark.face, "edgecolor": mark.edge, "lw": 1, "zorder": 5}
        axes.scatter(place(row.value), y, s=size, marker=mark.shape, **own)
    axes.axvline(0, color="#444444", linewidth=0.8, zorder=1)
    below = max(1, len(rows)) - 0.5
    axes.set(xlim=(-1.08, 1.08), ylim=(below, -0.5), xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _beside(
    axes: Axes, x: float, y: float, text: str, size: float, colour: str = "#1f2328"
) -> None:
    """A text at a row, left or right of its panel. x: in widths of the panel."""
    axes.text(
        x,
        y,
        text,
        transform=axes.get_yaxis_transform(),
        ha="right" if x < 0 else "left",
        va="center",
        fontsize=size,
        color=colour,
        linespacing=1.05,
    )


def _say(claim: pd.Series, value: float, digits: int = 3) -> str:
    """A number with its sign where it is a difference; a true minus, and no minus before zero."""
    sign = "+" if np.isinf(claim.start) or np.isinf(claim.end) else ""
    shown = min(digits, 2) if abs(value) >= 2 else digits
    text = f"{value:{sign}.{shown}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def _explain(figure: Figure, table: pd.DataFrame, y: float) -> None:
    """The legend: verdicts with their counts, other marks, and how many claims are left out."""
    counts = table.verdict.value_counts()

    def mark(marker: str, label: str, **more: Any) -> Line2D:
        look: Look = {"linestyle": "none", "marker": marker, "markersize": 5, **more}
        return Line2D([], [], label=label, **look)

    others = [
        Patch(facecolor=CLAIMED, label="claimed range, line at its edge"),
        mark("|", "the paper's value", color="black", markeredgewidth=1.2),
        Line2D([], [], label="what random scores give", **CHANCE_BAR),
        mark("+", "exchanged names", color=CHANCE_MARK),
        mark("", f"not testable here, left out: {counts.get(Verdict.UNTESTABLE, 0)}"),
    ]
    handles: list[Artist] = []
    for verdict, own in LOOK.items():
        label = f"{verdict} ({counts.get(verdict, 0)})"
        line: Look = {"linestyle": "-", "color": own.edge, "lw": 1.3, "markerfacecolor": own.face}
        handles.append(mark(own.shape, label, **line))
    figure.legend(
        handles=handles + others,
        ncols=4,
        fontsize=8,
        handletextpad=0.5,
        columnspacing=1.2,
        loc="upper center",
        bbox_to_anchor=(0.5, y),
        borderaxespad=0,
        frameon=False,
    )
