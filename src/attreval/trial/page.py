"""The page of a trial: one file that needs nothing but itself."""

from collections.abc import Iterable
from datetime import date
from html import escape

import numpy as np
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
"""
READING = (
    "A cell: how often the metric puts the truth before random scores, a tie counting half, so that tossing a coin "
    "gives .50; with the 95 % interval, and behind it the same over the reverse of the truth where that is not sure. "
    "Blue: surely more than half of the time, before random scores and before the reverse. Red: not. Sand: so, but a "
    "misleading explanation fools it. Empty: the world lacks what the metric needs."
)


def make_page(result: Result) -> str:
    """The page as HTML; every word that is not ours is escaped."""
    facts = (
        f"{len(result.verdicts)} metrics in {len(result.worlds)} worlds of {result.texts} texts; seed "
        f"{result.trial.seed}: with it the same worlds can be made again. attreval {__version__}, {date.today()}."
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
        '<p class="note">Score: mean AUC over random scores, the reverse and misleading ones. Tau: of the value '
        "with the share of truth in degraded explanations. Evaluations: asked for, a text. Texts: on "
        "which it decides in every world.</p>",
        "<h2>Use these, for this question</h2>",
        f'<p class="note">{escape(RULE)} Stays: the share of worlds any one of which can be left out.</p>',
        _short(result),
        "<h2>How close methods come to the truth</h2>",
        _closeness(result),
        "<h2>What metrics say of these methods</h2>",
        _standing(result),
        "<h2>The worlds</h2>",
        _worlds(result),
    ]
    return whole_page("Metrics on trial", "\n".join(body), REPORT_STYLE + STYLE)


def _table(head: Iterable[str], rows: Iterable[tuple[str, Iterable[tuple[str, str, str]]]]) -> str:
    """A table. rows: class of the row, and of each cell its text, its class and its title."""
    lines = []
    for kind, cells in rows:
        shown = (f'<td class="{of}" title="{escape(title)}">{escape(text)}</td>' for text, of, title in cells)
        lines.append(f'<tr class="{kind}">{"".join(shown)}</tr>')
    return wide_table("".join(f"<th>{escape(name)}</th>" for name in head), lines)


def _number(value: float, digits: int = 2) -> str:
    """A number, nothing for NaN."""
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def _plain(*texts: str) -> list[tuple[str, str, str]]:
    return [(text, "", "") for text in texts]


def matrix_html(result: Result) -> str:
    """Metrics by worlds."""
    cells = {(row["metric"], row["world"]): row for row in result.matrix.to_dict("records")}
    rows = []
    for verdict in result.verdicts.to_dict("records"):
        line = _plain(verdict["title"])
        for world in result.worlds:
            if (row := cells.get((verdict["metric"], world))) is None:
                line.append(("", "", ""))
                continue
            kind = "bad" if not row["passes"] else "fooled" if "fooled" in row["why"] else "fine"
            reverse = f"; {row['reversed']:.2f}" if row["reversed"] < row["auc"] and row["reversed_low"] <= 0.5 else ""
            line.append((f"{row['auc']:.2f} ({row['low']:.2f} to {row['high']:.2f}){reverse}", kind, row["why"]))
        rows.append(("own" if verdict["metric"] in result.own else "", line))
    return _table(["", *(world.replace("_", " ") for world in result.worlds)], rows)


def _verdicts(result: Result) -> str:
    head = ["", "verdict", "worlds", "score", "tau", "evaluations", "texts", "why"]
    rows = []
    for row in result.verdicts.to_dict("records"):
        cells = _plain(row["title"], row["verdict"], f"{row['passed']} of {row['worlds']}")
        cells += _plain(_number(row["score"]), _number(row["tau"]))
        cells += _plain(_number(row["evaluations"], 0), _number(row["decides"], 0))
        kind = "own" if row["metric"] in result.own else ""
        rows.append((kind, [*cells, (row["why"] or "nothing speaks against it", "why", "")]))
    return _table(head, rows)


def _short(result: Result) -> str:
    if result.short.empty:
        return "<p>No metric tells the truth in more than half of the worlds.</p>"
    head = ["question", "metric", "use", "worlds", "score", "evaluations", "stays", "leaves without"]
    rows = []
    for row in result.short.to_dict("records"):
        cells = _plain(row["question"], row["title"], "yes" if row["use"] else "no")
        cells += _plain(f"{row['passed']} of {row['worlds']}", _number(row["score"]), _number(row["evaluations"], 0))
        cells += _plain("" if pd.isna(row["stays"]) else f"{row['stays']:.0%}", row["leaves_without"])
        rows.append(("own" if row["metric"] in result.own else "", cells))
    return _table(head, rows)


def _title(explainer: str) -> str:
    return KNOWN[explainer].title if explainer in KNOWN else explainer


def _closeness(result: Result) -> str:
    table = closeness_table(result)
    rows = [("", [(world, "", ""), *_plain(*map(_number, table.loc[world]))]) for world in table.index]
    mean = (
        [("own", [("mean", "", ""), *_plain(*(_number(table[name].mean()) for name in table))])] if len(table) else []
    )
    note = '<p class="note">The share of pairs of words of different truth in the right order; chance gives .50.</p>'
    return _table(["", *map(_title, table)], [*rows, *mean]) + note


def _standing(result: Result) -> str:
    if result.standing.empty:
        return ""
    wide = result.standing.pivot_table(index="metric", columns="explainer", values="place", sort=False, dropna=False)
    titles = result.verdicts.set_index("metric").title
    rows = [
        ("own" if name in result.own else "", _plain(titles[name], *map(_number, wide.loc[name])))
        for name in titles.index
        if name in wide.index and not np.isnan(wide.loc[name].to_numpy(float)).all()
    ]
    note = '<p class="note">0 is where the metric puts random scores, 1 where it puts the truth; means over worlds.</p>'
    return _table(["", *map(_title, wide)], rows) + note


def _worlds(result: Result) -> str:
    measured = result.trial.measured
    rows = []
    for name in result.worlds:
        held = measured[measured.world == name]
        told = ", ".join(f"{what} {value:.0%}" for what, value in zip(held.what, held.value, strict=True))
        one = WORLDS[name]
        texts = [one.question, f"{one.truth} ({one.source})" + (f"; measured: {told}" if told else "")]
        rows.append(("", [(name, "", ""), *((text, "why", "") for text in texts)]))
    return _table(["", "question", "truth"], rows)
