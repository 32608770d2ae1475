"""The scorecard as a picture: value, interval and nulls of each claim, by paper, coloured by
verdict.

Claims have different units, so each row has a scale of its own, made of what decides the verdict:
the middle line is the edge of the claimed range (of a range around a number, the edge nearer to our
value), right of it is where the paper says, and the farthest mark of the row lies at the end of the
panel. Within a row distances are true; between rows they do not compare, so the raw value stands
beside each.
"""

import textwrap
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from compendium.papers.common import verdicts
from compendium.papers.common.claims import Claim
from compendium.papers.common.style import draw_nothing, use_style

PAPERS = {
    "poerner2018": "Pointing (Poerner et al. 2018)",
    "kamp2023": "Agreement (Kamp et al. 2023)",
    "zhao2023": "Faithfulness (Zhao & Aletras 2023)",
    "sun2024": "Diagnosis (Sun et al. 2024)",
}
# Colour of the edge, of the face, and shape: colours of Okabe and Ito, told apart by people who are
# colour-blind.
LOOK = {
    verdicts.REPRODUCED: ("#0072B2", "#0072B2", "o"),
    verdicts.CHANCE: ("#CC79A7", "#CC79A7", "D"),
    verdicts.DIRECTION: ("#009E73", "#009E73", ">"),
    verdicts.INCONCLUSIVE: ("#6b6b6b", "white", "s"),
    verdicts.CONTRADICTED: ("#D55E00", "#D55E00", "X"),
}
NONE = "None of {} claims can be tested in this run."
CLAIMED = "#e9eff4"
CHANCE_MARK = "#8a8a8a"


def make_scale(row: pd.Series) -> tuple[Callable[[float], float], float]:
    """Where raw values of a row of `decided` lie between -1 and 1, 0 being the middle line; where
    its range ends.
    """
    downwards = np.isinf(row.start) or (
        np.isfinite(row.end) and row.value > (row.start + row.end) / 2
    )
    edge = row.end if downwards else row.start
    other = row.start if downwards else row.end
    side = -1 if downwards else 1
    drawn = [row.value, row.low, row.high, row.published, row.null_scores, row.null_names, other]
    unit = max((abs(mark - edge) for mark in drawn if np.isfinite(mark)), default=0.0) or 1.0

    def place(value: float) -> float:
        return side * (value - edge) / unit

    return place, place(other) if np.isfinite(other) else 1.0


def decided(table: pd.DataFrame, claims: Iterable[Claim]) -> pd.DataFrame:
    """The claims that have a verdict, the best first, with `title`, and `start` and `end` of what
    is claimed.
    """
    known = {claim.id: claim for claim in claims}
    rows = table[table.verdict.isin(LOOK) & table.claim.isin(known)]
    rows = rows.sort_values(
        "verdict", key=lambda column: column.map(verdicts.VERDICTS.index), kind="stable"
    )
    judged = [known[name] for name in rows.claim]
    return rows.assign(
        title=[claim.title for claim in judged],
        start=[claim.expect.ends[0] for claim in judged],
        end=[claim.expect.ends[1] for claim in judged],
    )


def draw_overview(table: pd.DataFrame, claims: Iterable[Claim]):
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
    figure = plt.figure(figsize=(7.3, height))
    for at, column in enumerate(columns):
        top = height - 0.32
        for paper in column:
            bottom = top - panels[paper]
            axes = figure.add_axes(
                (0.5 * at + 0.262, bottom / height, 0.13, panels[paper] / height)
            )
            if len(by_paper[paper]):
                _draw_rows(axes, by_paper[paper])
            else:
                axes.set_axis_off()
                axes.set_ylim(0.5, -0.5)
                _beside(axes, -0.03, 0, "none can be tested in this run", "right", 7.3)
            axes.set_title(
                PAPERS[paper], loc="left", fontsize=8.5, fontweight="bold", x=-1.95, pad=4
            )
            for y, claim in enumerate(by_paper[paper].itertuples()):
                digits = 2 if abs(claim.value) >= 0.1 else 3
                _beside(axes, -0.03, y, claim.title, "right", 7.3)
                _beside(axes, 1.05, y, _say(claim, claim.value, digits), "left", 7.3)
            top = bottom - head
    _explain(figure, table, 7.2, 0.5 / height)
    return figure.axes[0]


def draw_paper(table: pd.DataFrame, paper: str, claims: Iterable[Claim]):
    """The testable claims of one paper in words, with our value, its interval, the published value
    and the nulls.
    """
    table = table[table.paper == paper]
    rows = decided(table, claims)
    if rows.empty:
        return draw_nothing(NONE.format(len(table)))
    use_style()
    row = 0.37
    height = len(rows) * row + 0.85
    figure = plt.figure(figsize=(7.3, height))
    axes = figure.add_axes((0.4, 0.7 / height, 0.3, len(rows) * row / height))
    _draw_rows(axes, rows, size=38)
    for y, claim in enumerate(rows.itertuples()):
        lines = textwrap.wrap(claim.statement, 53)[:3]
        _beside(axes, -0.03, y, "\n".join(lines), "right", 7.6)
        ours = f"{_say(claim, claim.value)} [{_say(claim, claim.low)}, {_say(claim, claim.high)}]"
        others = {
            "paper": claim.published,
            "random": claim.null_scores,
            "exchanged": claim.null_names,
        }
        known = [
            f"{name} {_say(claim, value)}" for name, value in others.items() if np.isfinite(value)
        ]
        _beside(axes, 1.03, y - 0.17 * bool(known), ours, "left", 7.6)
        _beside(axes, 1.03, y + 0.2, ", ".join(known), "left", 6.3, "#5b6470")
    _explain(figure, table, 7, 0.55 / height)
    return axes


def _draw_rows(axes, rows: pd.DataFrame, size: float = 20) -> None:
    """Claimed range, interval, value, published value and nulls of each claim, from the
    top down.
    """
    for y, (_, row) in enumerate(rows.iterrows()):
        place, far = make_scale(row)
        colour, face, marker = LOOK[row.verdict]
        axes.add_patch(
            Rectangle((0, y - 0.42), far, 0.84, facecolor=CLAIMED, edgecolor="none", zorder=0)
        )
        ends = [place(row.low), place(row.high)]
        axes.plot(ends, [y, y], color=colour, lw=1.3, solid_capstyle="butt", zorder=3)
        grey = {"color": CHANCE_MARK, "lw": 0.9, "zorder": 2}
        black = {"color": "black", "lw": 1.2, "zorder": 4}
        others = [
            (row.null_scores, "x", 0.7, grey),
            (row.null_names, "+", 0.7, grey),
            (row.published, "|", 3, black),
        ]
        for value, mark, share, style in others:
            if np.isfinite(value):
                axes.scatter(place(value), y, s=size * share, marker=mark, **style)
        style = {"facecolor": face, "edgecolor": colour, "lw": 1, "zorder": 5}
        axes.scatter(place(row.value), y, s=size, marker=marker, **style)
    axes.axvline(0, color="#444444", linewidth=0.8, zorder=1)
    below = max(1, len(rows)) - 0.5
    axes.set(xlim=(-1.08, 1.08), ylim=(below, -0.5), xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _beside(
    axes, x: float, y: float, text: str, side: str, size: float, colour: str = "#1f2328"
) -> None:
    """A text at a row, left or right of its panel. x: in widths of the panel."""
    where = axes.get_yaxis_transform()
    axes.text(
        x,
        y,
        text,
        transform=where,
        ha=side,
        va="center",
        fontsize=size,
        color=colour,
        linespacing=1.05,
    )


def _say(claim, value: float, digits: int = 3) -> str:
    """A number with its sign where it is a difference; a true minus, and no minus before zero."""
    sign = "+" if np.isinf(claim.start) or np.isinf(claim.end) else ""
    shown = min(digits, 2) if abs(value) >= 2 else digits
    text = f"{value:{sign}.{shown}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def _explain(figure, table: pd.DataFrame, size: float, y: float) -> None:
    """The legend: verdicts with their counts, the other marks, and how many claims are left out."""
    counts = table.verdict.value_counts()

    def mark(marker: str, label: str, **more) -> Line2D:
        look = {"linestyle": "none", "marker": marker, "markersize": 5, "label": label}
        return Line2D([], [], **look | more)

    reached = []
    for verdict, (colour, face, marker) in LOOK.items():
        label = f"{verdict} ({counts.get(verdict, 0)})"
        reached.append(
            mark(marker, label, linestyle="-", color=colour, lw=1.3, markerfacecolor=face)
        )
    others = [
        Patch(facecolor=CLAIMED, label="claimed range, line at its edge"),
        mark("|", "the paper's value", color="black", markeredgewidth=1.2),
        mark("x", "random scores", color=CHANCE_MARK),
        mark("+", "exchanged names", color=CHANCE_MARK),
        mark("", f"not testable here, left out: {counts.get(verdicts.UNTESTABLE, 0)}"),
    ]
    handles = [handle for pair in zip(reached, others, strict=True) for handle in pair]
    place = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, y),
        "borderaxespad": 0,
        "frameon": False,
    }
    figure.legend(
        handles=handles, ncols=5, fontsize=size, handletextpad=0.5, columnspacing=1.2, **place
    )
