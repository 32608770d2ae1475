"""Pictures that no notebook draws: claims, other libraries' metrics, and time to accuracy.

And what is said in the place of a picture that is not there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, StrMethodFormatter
from nbformat import NotebookNode, v4

from attreval.core.tables import read_csv
from attreval.metrics import METRICS
from compendium import project
from compendium.papers.common.claims import COLUMNS, read_claims, scorecard
from compendium.papers.common.scorecard import PAPERS, draw_overview, draw_paper
from compendium.papers.common.style import (
    CurveEnd,
    draw_nothing,
    label_ends,
    room_for_names,
    use_style,
)
from compendium.workflow.step import write_picture

NOT_HERE = "not part of this run"
NO_PICTURE = f"This picture is {NOT_HERE}."
NO_FIGURE = f"This figure is {NOT_HERE}."
SHOWS_TEXT = "This figure shows a text of a corpus; it is left out of the committed copy."
# sums of which layer normalisation leaves nothing but rounding
NO_LIMIT = ("Integrated Gradients (plain)",)
ASKED = "reliability"  # settings that ask for a quality, and not for a budget
PRICES = {"evaluations": "model evaluations of a text", "seconds": "processor seconds of a text"}


def judged_claims(tables: Path, checks: bool = True) -> pd.DataFrame:
    """The scorecard of a run, without a row where no notebook has judged claims.

    tables: its CSV files. checks: see scorecard.
    """
    judged = any(tables.glob("[!.]*_claims.csv"))
    return scorecard(tables, checks) if judged else pd.DataFrame(columns=COLUMNS)


def draw_scorecards(tables: Path, folder: Path) -> list[Path]:
    """Write scorecard and scorecard-<paper>, as PNG and SVG, into `folder`; return the paths.

    A paper whose claims the run has not judged gets a picture that says so. tables: a run's CSV
    files.
    """
    found = judged_claims(tables, checks=False)
    overview = draw_nothing(NO_PICTURE) if found.empty else draw_overview(found, read_claims())
    paths = write_picture(overview, folder / "scorecard")
    for paper in PAPERS:
        picture = draw_nothing(NO_PICTURE)
        if (found.paper == paper).any():
            picture = draw_paper(found, paper, read_claims(paper))
        paths += write_picture(picture, folder / f"scorecard-{paper}")
    return paths


def draw_cards(variables: Mapping[str, str], folder: Path) -> list[Path]:
    """Write card-<judge>, as PNG and SVG, into `folder`; return the paths.

    variables: the texts of numbers by dotted key, of which paper/cards.yml names shares.
    """
    cards = project.read_yaml(project.home() / "paper" / "cards.yml")
    paths = []
    for judge, bars in cards.items():
        title = bars.pop("title")
        said = {name: variables.get(key, key) for name, key in bars.items()}
        shares = pd.to_numeric(pd.Series(said), errors="coerce")
        whole = shares.notna().all()
        picture = draw_bars(shares, title) if whole else draw_nothing(NO_PICTURE)
        paths += write_picture(picture, folder / f"card-{judge}")
    return paths


def draw_bars(shares: pd.Series, title: str) -> plt.Axes:
    """Shares by name as bars from 0 to 1, the last one grey. title: of the whole."""
    use_style()
    _, axes = plt.subplots(figsize=(3.2, 0.6 + 0.42 * len(shares)))
    axes.set_title(title, fontsize=8.5, loc="left", color="#5b6470")
    colours = ["#0072B2"] * (len(shares) - 1) + ["#b5b5b5"]
    for y, (name, share) in enumerate(shares.items()):
        axes.barh(y, share, 0.4, color=colours[y])
        axes.text(0, y - 0.28, name, fontsize=9, va="bottom")
        axes.text(share + 0.02, y, f"{share:.2f}", fontsize=9, va="center")
    axes.set(xlim=(0, 1.15), ylim=(len(shares) - 0.6, -0.75))
    axes.set_axis_off()
    return axes


def draw_table(draw: Callable[[pd.DataFrame], plt.Axes], table: Path, stem: Path) -> list[Path]:
    """Write what `draw` makes of a table, as PNG and SVG; return the paths.

    A table that is not there gives a picture that says so. stem: where, without the ending.
    """
    picture = draw(read_csv(table)) if table.exists() else draw_nothing(NO_PICTURE)
    return write_picture(picture, stem)


def court(found: pd.DataFrame) -> plt.Axes:
    """How often other libraries' metrics, and ours, put a planted truth before random scores.

    found: of benchmarks/court/judging.py, a row a metric: before_random, low, high, verdict.
    """
    use_style()
    _, axes = plt.subplots(figsize=(4, 0.21 * len(found) + 0.8))
    own = {name: f"attreval {metric.title}" for name, metric in METRICS.items()}
    for colour, (verdict, part) in zip(
        ("#D55E00", "#0072B2"), found.groupby("verdict"), strict=False
    ):
        ends = [part.before_random - part.low, part.high - part.before_random]
        look: dict[str, Any] = {"fmt": "o", "markersize": 5, "elinewidth": 1.2, "color": colour}
        axes.errorbar(part.before_random, part.index, xerr=ends, label=verdict, **look)
    axes.axvline(0.5, color="#888888", linestyle="--", linewidth=1)
    axes.set_yticks(found.index, found.metric.replace(own), fontsize=9)
    axes.set(xlabel="share of texts with the truth first", xlim=(0.3, 1.02))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.2, 1), ncols=2)
    return axes


def time_to_accuracy(found: pd.DataFrame) -> plt.Axes:
    """Correlation with the limit over evaluations, and over seconds; the first panel's axes.

    found: of benchmarks/accuracy.py, a row a method and budget: spearman, low, high, and the
    columns of PRICES; methods of NO_LIMIT are left out.
    """
    use_style()
    found = found[~found.method.isin(NO_LIMIT)]
    cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    colours = dict(zip(found.method.unique(), cycle, strict=False))
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True)
    for axes, (price, title) in zip(panels, PRICES.items(), strict=True):
        ends = []
        for method, rows in found.groupby("method", sort=False):
            asked = rows.setting.str.startswith(ASKED)
            line = rows[~asked].sort_values(price)
            marks = rows[asked]
            colour = colours[method]
            axes.fill_between(
                line[price], line.low, line.high, color=colour, alpha=0.12, linewidth=0
            )
            axes.plot(line[price], line.spearman, color=colour, marker="o", markersize=4)
            diamonds = {"marker": "D", "markersize": 5, "linestyle": "none"}
            axes.plot(marks[price], marks.spearman, color=colour, **diamonds)
            last = line.iloc[-1]
            ends.append(CurveEnd(method, last[price], last.spearman, colour))
        axes.set(xscale="log", xlabel=title, ylim=(0, 1.02))
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.minorticks_off()
        if axes is panels[-1]:
            figure.tight_layout(w_pad=1.0, rect=(0, 0, 1 - room_for_names(colours) / 90, 1))
            label_ends(axes, ends)
    panels[0].set_ylabel("rank correlation with the limit")
    return panels[0]


def say_no_figure(said: str) -> NotebookNode:
    """The output of a cell whose figure is not there. said: NO_FIGURE or SHOWS_TEXT."""
    return v4.new_output("display_data", {"text/markdown": f"*{said}*", "text/plain": said})
