"""Tables of the text, as paper/tables.yml declares them, and what the site calls methods, tasks, models and metrics."""

from __future__ import annotations

import math
import re
import string
from functools import cache
from pathlib import Path

import pandas as pd

from attreval.core.tables import read_csv
from attreval.methods import METHODS
from attreval.metrics import METRICS
from compendium import project
from compendium.corpora import TASKS
from compendium.papers.common.style import MODELS
from compendium.site.markdown import ReportError, hint, pipe_table, with_minus

# A metric's key is often a plain word; only a column of this name holds it for sure.
METRIC_FIELDS = ("metric", "measure", "property", "judge")
CELL = re.compile(r"<(td|th)([^>]*)>([^<]*)</\1>")
NOTHING = ("nan", "none", "nat", "&lt;na&gt;", "")


@cache
def titles_by_kind() -> dict[str, dict[str, str]]:
    """The titles of methods, tasks and models, each by key."""
    methods = {name: method.title for name, method in METHODS.items()} | {"random_drawn": "Random (one drawn word)"}
    return {"methods": methods, "tasks": {name: task.short for name, task in TASKS.items()}, "models": MODELS}


def titles() -> dict[str, str]:
    """The titles of methods, tasks and models by key."""
    of = titles_by_kind()
    return of["methods"] | of["tasks"] | of["models"]


def title_of(field: str, value):
    """A cell of a table as the site shows it: a title in place of a key, also of one inside a text."""
    if not isinstance(value, str):
        return value
    if field in METRIC_FIELDS and value in METRICS:
        return METRICS[value].title
    return titles().get(value) or in_words(value)


def in_words(text: str) -> str:
    """A text with titles in place of the keys of tasks, models and methods; keys that are English words stay."""
    return _words().sub(lambda found: _keys_in_text().get(found[0], found[0]), text)


@cache
def _words() -> re.Pattern:
    """A whole title, which stays as it is, or what may be a key: not in a path, an address or a longer name."""
    return re.compile(rf"{'|'.join(map(re.escape, titles().values()))}|(?<![\w/.-])[a-z]\w*(?![\w/-])")


@cache
def _keys_in_text() -> dict[str, str]:
    """The keys that nobody would write in a sentence: those with an underscore, and those of tasks and models."""
    sure = {*TASKS, *MODELS} - {"tiny"}
    return {key: title for key, title in titles().items() if "_" in key or key in sure}


def html_with_titles(html: str) -> str:
    """A table of pandas with titles for keys, and for a missing value a dash that says so."""
    known = titles() | {key: metric.title for key, metric in METRICS.items() if "_" in key}

    def cell(found: re.Match) -> str:
        tag, attributes, text = found.groups()
        if tag == "td" and text.strip().lower() in NOTHING:
            return f'<td{attributes} title="no value: not measured here, or it does not apply">{MISSING}</td>'
        return f"<{tag}{attributes}>{known.get(text.strip(), text)}</{tag}>"

    return CELL.sub(cell, html)


MISSING = "–"
NO_VALUE = "no value in this run."
TABLE_KEYS = ("source", "spread", "where", "sort", "first", "names", "columns", "dash")
COLUMN_KEYS = ("header", "text", "align", "missing", "once")


def read_declarations(path: Path) -> dict[str, dict]:
    """The tables that the paper includes, from paper/tables.yml; unknown keys are errors."""
    declared = project.read_yaml(path) or {}
    for name, table in declared.items():
        for key in table:
            if key not in TABLE_KEYS:
                raise ReportError(f"{path.name}: table {name!r} has {key!r}; {hint(key, TABLE_KEYS)}")
        if not table.get("source") or not table.get("columns"):
            raise ReportError(f"{path.name}: table {name!r} needs `source` (csv names) and `columns`")
        for column in table["columns"]:
            if bad := [key for key in column if key not in COLUMN_KEYS] or ("text" not in column):
                raise ReportError(
                    f"{path.name}: table {name!r}, column {column}: keys are {', '.join(COLUMN_KEYS)} ({bad})"
                )
    return declared


def table_markdown(name: str, declared: dict, tables: dict[str, Path], variables: dict[str, str]) -> str:
    """One declared table as a pipe table; paper/tables.yml says what its keys mean."""
    patterns = [declared["source"]] if isinstance(declared["source"], str) else declared["source"]
    paths, frame = read_matching(tables, patterns)
    if frame is None:
        raise ReportError(f"table {name!r} is made from {' or '.join(patterns)}; {hint(patterns[0], tables)}")
    where = f"table {name!r} ({', '.join(paths)})"
    if spread := declared.get("spread"):
        _check_columns([*spread["rows"], spread["by"], spread["value"]], frame, where)
        if frame.duplicated([*spread["rows"], spread["by"]]).any():
            raise ReportError(f"{where}: several rows for one {', '.join(spread['rows'])} and {spread['by']}")
        order = frame[spread["rows"]].drop_duplicates()
        wide = frame.pivot(index=spread["rows"], columns=spread["by"], values=spread["value"])
        frame = order.merge(wide.reset_index(), on=spread["rows"])
    columns, names = declared["columns"], declared.get("names", {})
    order = [str(column).removeprefix("-") for column in declared.get("sort", [])]
    fields = [field for column in columns for field in format_fields(column["text"])]
    _check_columns([*declared.get("where", {}), *order, *fields], frame, where)
    for column, value in declared.get("where", {}).items():
        wanted = [variables.get(str(one), str(one)) for one in (value if isinstance(value, list) else [value])]
        frame = frame[frame[column].astype(str).isin(wanted)]
        if frame.empty:
            raise ReportError(f"{where}: no row where {column} is {' or '.join(wanted)}")
    if order:
        upwards = [not str(column).startswith("-") for column in declared["sort"]]
        frame = frame.sort_values(order, ascending=upwards, kind="stable")
    if first := declared.get("first"):
        _check_columns([first["of"]], frame, where)
        frame = frame.groupby(first["of"], sort=False).head(first["rows"])
    rows = [
        [format_row(column["text"], row, names, column.get("missing", MISSING)) for column in columns]
        for row in frame.to_dict("records")
    ]
    _leave_out_repeats(rows, [at for at, column in enumerate(columns) if column.get("once")])
    align = [column.get("align", "right" if ":" in column["text"] else "left") for column in columns]
    made = pipe_table([column.get("header", "") for column in columns], rows, align)
    return f"{made}\n{MISSING} {declared.get('dash', NO_VALUE)}\n" if any(MISSING in row for row in rows) else made


def read_matching(tables: dict[str, Path], patterns: list[str]) -> tuple[list[str], pd.DataFrame | None]:
    """The names of the files that match any of these patterns, and their rows together; None where no file does."""
    names = sorted({file for file in tables for pattern in patterns if Path(file).match(pattern)})
    return names, read_csv(*(tables[name] for name in names)) if names else None


def _leave_out_repeats(rows: list[list[str]], at: list[int]) -> None:
    """Empty the cells of these columns that are as above, as long as those of them further left are."""
    above: list[str] = []
    for row in rows:
        shown = [row[place] for place in at]
        for count, place in enumerate(at, 1):
            if shown[:count] == above[:count]:
                row[place] = ""
        above = shown


def _check_columns(wanted: list[str], frame: pd.DataFrame, where: str) -> None:
    """Raise ReportError for a column that a table does not have."""
    for column in wanted:
        if column not in frame.columns:
            raise ReportError(f"{where} has no column {column!r}; {hint(column, frame.columns)}")


def format_fields(text: str) -> list[str]:
    """The columns that a format string such as `{mean:.3f} [{low:.3f}, {high:.3f}]` names."""
    return [field for _, field, _, _ in string.Formatter().parse(text) if field]


class _Cells(string.Formatter):
    """Formats numbers by their format, and a cell that is a text already, such as `0.52 [0.76]`, not at all."""

    def format_field(self, value, spec):
        if isinstance(value, float) and math.isinf(value):
            return "∞"
        return value if isinstance(value, str) else super().format_field(value, spec)


def format_row(text: str, row: dict, names: dict, missing: str = MISSING) -> str:
    """A format string filled with one row; or `missing` where any of its values is. names: go before titles."""
    values = {field: row[field] for field in format_fields(text)}
    if any(pd.isna(value) for value in values.values()):
        return missing
    shown = {field: names[value] if value in names else title_of(field, value) for field, value in values.items()}
    return with_minus(_Cells().format(text, **shown)).strip() or missing
