"""The page of a trial: one file that needs nothing but itself."""

from collections.abc import Iterable, Sequence
from datetime import date
from html import escape
from typing import NamedTuple

import pandas as pd

from attreval import __version__
from attreval.api.show.html import REPORT_STYLE, whole_page, wide_table
from attreval.methods import METHODS as KNOWN
from attreval.trial import WORLDS
from attreval.trial.run import Result, closeness_table, headline
from attreval.trial.verdict import RULE

STYLE = """
.wide td{white-space:nowrap}.wide td.why{white-space:normal;min-width:22rem;text-align:left}
.wide tr.own td{font-weight:700}
.wide td.bad{background:#c6282855}.wide td.fooled{background:#e0a03055}.wide td.fine{background:#2171b533}
"""  # noqa: E501
READING = (
    "A cell: how often the metric puts the truth before random scores, a tie counting half, so "
    "that tossing a coin gives .50; with the 95 % interval, and behind it the same over the "
    "reverse of the truth where that is not sure. Blue: surely more than half of the time, before "
    "random scores and before the reverse. Red: not. Sand: so, but a misleading explanation fools "
    "it. Empty: the world lacks what the metric needs."
)


def trial_page(result: Result) -> str:
    """The page as HTML; every word that is not ours is escaped."""
    facts = (
        f"{len(result.verdicts)} metrics in {len(result.worlds)} worlds of {result.texts} texts; "
        f"seed {result.trial.seed}: with it the same worlds can be made again. attreval "
        f"{__version__}, {date.today()}."
    )
    body = [
        f'<p class="note">{escape(facts)}</p>',
        '<div class="answer">',
        *(f"<p>{escape(line)}</p>" for line in headline(result)),
        "</div>",
        "<h2>Every metric in every world</h2>",
        matrix_html(result),
        f'<p class="note">{escape(READING)}</p>',
        "<h2>The verdicts, and why</h2>",
        _verdicts(result),
        '<p class="note">Score: mean AUC over random scores, the reverse and misleading ones. '
        "Tau: of the value with the share of truth in degraded explanations. Evaluations: asked "
        "for, a text. Texts: on which it decides in every world.</p>",
        "<h2>Use these, for this question</h2>",
        f'<p class="note">{escape(RULE)} Stays: the share of worlds any one of which can be left '
        "out.</p>",
        _short(result),
        "<h2>How close methods come to the truth</h2>",
        _closeness(result),
        "<h2>What metrics say of these methods</h2>",
        _standing(result),
        "<h2>The worlds</h2>",
        _worlds(result),
    ]
    return whole_page("Metrics on trial", "\n".join(body), REPORT_STYLE + STYLE)


class StyledCell(NamedTuple):
    """What a cell of a table shows, its class, and what the pointer shows over it."""

    text: str
    style: str = ""
    title: str = ""


def _row(cells: Iterable[str | StyledCell], own: bool = False) -> str:
    """A row of a table. own: whether it is of a metric of one's own."""
    shown = ""
    for held in cells:
        cell = held if isinstance(held, StyledCell) else StyledCell(held)
        shown += f'<td class="{cell.style}" title="{escape(cell.title)}">{escape(cell.text)}</td>'
    return f'<tr class="{"own" if own else ""}">{shown}</tr>'


def _table(head: Iterable[str], rows: Sequence[str]) -> str:
    return wide_table("".join(f"<th>{escape(name)}</th>" for name in head), rows)


def _number(value: float, digits: int = 2) -> str:
    """A number, nothing for NaN."""
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def matrix_html(result: Result) -> str:
    """Metrics by worlds; a cell is empty where the metric was not asked."""
    cells = {}
    for row in result.matrix.itertuples():
        told = f"{row.auc:.2f} ({row.low:.2f} to {row.high:.2f})"
        if row.reversed < row.auc and row.reversed_low <= 0.5:
            told += f"; {row.reversed:.2f}"
        style = "fooled" if "fooled" in row.why else "fine"
        cells[row.metric, row.world] = StyledCell(told, style if row.passes else "bad", row.why)
    rows = []
    for row in result.verdicts.itertuples():
        asked = [cells.get((row.metric, world), "") for world in result.worlds]
        rows.append(_row([row.title, *asked], row.metric in result.own))
    return _table(["", *(world.replace("_", " ") for world in result.worlds)], rows)


def _verdicts(result: Result) -> str:
    rows = []
    for row in result.verdicts.itertuples():
        cells = [
            row.title,
            row.verdict,
            f"{row.passed} of {row.worlds}",
            _number(row.score),
            _number(row.tau),
            _number(row.evaluations, 0),
            _number(row.decides, 0),
            StyledCell(row.why or "nothing speaks against it", "why"),
        ]
        rows.append(_row(cells, row.metric in result.own))
    return _table(["", "verdict", "worlds", "score", "tau", "evaluations", "texts", "why"], rows)


def _short(result: Result) -> str:
    if result.short.empty:
        return "<p>No metric tells the truth in more than half of the worlds.</p>"
    rows = []
    for row in result.short.itertuples():
        cells = [
            row.question,
            row.title,
            "yes" if row.use else "no",
            f"{row.passed} of {row.worlds}",
            _number(row.score),
            _number(row.evaluations, 0),
            "" if pd.isna(row.stays) else f"{row.stays:.0%}",
            row.leaves_without,
        ]
        rows.append(_row(cells, row.metric in result.own))
    head = "question,metric,use,worlds,score,evaluations,stays,leaves without"
    return _table(head.split(","), rows)


def _title(explainer: str) -> str:
    return KNOWN[explainer].title if explainer in KNOWN else explainer


def _closeness(result: Result) -> str:
    table = closeness_table(result)
    rows = [_row([world, *map(_number, table.loc[world])]) for world in table.index]
    if len(table):
        rows.append(_row(["mean", *map(_number, table.mean())], own=True))
    note = (
        '<p class="note">The share of pairs of words of different truth in the right order; '
        "chance gives .50.</p>"
    )
    return _table(["", *map(_title, table)], rows) + note


def _standing(result: Result) -> str:
    if result.standing.empty:
        return ""
    wide = result.standing.pivot_table(
        index="metric", columns="explainer", values="place", sort=False, dropna=False
    )
    known = wide.dropna(how="all")
    rows = []
    for row in result.verdicts.itertuples():
        if row.metric in known.index:
            cells = [row.title, *map(_number, known.loc[row.metric])]
            rows.append(_row(cells, row.metric in result.own))
    note = (
        '<p class="note">0 is where the metric puts random scores, 1 where it puts the truth; '
        "means over worlds.</p>"
    )
    return _table(["", *map(_title, wide)], rows) + note


def _worlds(result: Result) -> str:
    measured = result.trial.measured
    rows = []
    for name in result.worlds:
        one = WORLDS[name]
        truth = f"{one.truth} ({one.source})"
        held = measured[measured.world == name].itertuples()
        if told := ", ".join(f"{row.what} {row.value:.0%}" for row in held):
            truth += f"; measured: {told}"
        rows.append(_row([name, StyledCell(one.question, "why"), StyledCell(truth, "why")]))
    return _table(["", "question", "truth"], rows)
