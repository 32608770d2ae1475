"""Tables and numbers of the text, and what the site calls methods, tasks, models and metrics.

site.declarations reads what is declared. A number whose table the run does not have, or in which no
row matches, is left out; see site.rendering.
"""

import math
import re
import string
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from attreval.core.tables import read_csv
from attreval.methods import METHODS
from attreval.metrics import METRICS
from compendium.corpora import TASKS
from compendium.papers.common.style import MODELS
from compendium.site.declarations import MISSING, DeclaredNumber, DeclaredTable, Spread
from compendium.site.markdown import ReportError, hint, pipe_table, with_minus
from compendium.site.pictures import NOT_HERE

# A metric's key is often a plain word; only a column of this name holds it for sure.
METRIC_FIELDS = ("metric", "measure", "property", "judge")
CELL = re.compile(r"<(td|th)([^>]*)>([^<]*)</\1>")
NOTHING = ("nan", "none", "nat", "&lt;na&gt;", "")
SIGNS = {">": "gt", "<": "lt", "=": "eq", "not": "ne"}


@cache
def titles_by_kind() -> dict[str, dict[str, str]]:
    """The titles of methods, tasks and models, each by key."""
    methods = {name: method.title for name, method in METHODS.items()}
    return {
        "methods": methods | {"random_drawn": "Random (one drawn word)"},
        "tasks": {name: task.short for name, task in TASKS.items()},
        "models": MODELS,
    }


def titles() -> dict[str, str]:
    of = titles_by_kind()
    return of["methods"] | of["tasks"] | of["models"]


def cell_title(field: str, value: Any) -> Any:
    """A cell of a table as the site shows it: titles in place of keys, also inside a text."""
    if not isinstance(value, str):
        return value
    if field in METRIC_FIELDS and value in METRICS:
        return METRICS[value].title
    return titles().get(value) or replace_keys(value)


def replace_keys(text: str) -> str:
    """A text with titles for keys of tasks, models and methods; English words stay."""
    words, keys = _words()
    return words.sub(lambda found: keys.get(found[0], found[0]), text)


@cache
def _words() -> tuple[re.Pattern, dict[str, str]]:
    """What may be a key, and the title of each key that nobody would write in a sentence.

    A whole title stays as it is, and so does what stands in a path, an address or a longer name.
    Keys of tasks and models count, and those with an underscore.
    """
    words = re.compile(
        rf"{'|'.join(map(re.escape, titles().values()))}|(?<![\w/.-])[a-z]\w*(?![\w/-])"
    )
    sure = {*TASKS, *MODELS} - {"tiny"}
    return words, {key: title for key, title in titles().items() if "_" in key or key in sure}


def html_with_titles(html: str) -> str:
    """A table of pandas with titles for keys, and for a missing value a dash that says so."""
    known = titles() | {
        key: metric.title
        for key, metric in METRICS.items()
        if "_" in key or metric.title == key.upper()  # other keys are English words
    }

    def cell(found: re.Match) -> str:
        tag, attributes, text = found.groups()
        if tag == "td" and text.strip().lower() in NOTHING:
            why = "no value: not measured here, or it does not apply"
            return f'<td{attributes} title="{why}">{MISSING}</td>'
        return f"<{tag}{attributes}>{known.get(text.strip(), text)}</{tag}>"

    return CELL.sub(cell, html)


def table_markdown(
    name: str, declared: DeclaredTable, tables: dict[str, Path], variables: dict[str, str]
) -> str:
    """One declared table as a pipe table."""
    patterns = [declared.source] if isinstance(declared.source, str) else declared.source
    paths, frame = read_matching(tables, patterns)
    if frame is None:
        raise ReportError(
            f"table {name!r} is made from {' or '.join(patterns)}; {hint(patterns[0], tables)}"
        )
    where = f"table {name!r} ({', '.join(paths)})"
    if declared.spread:
        frame = _spread_out(frame, where, declared.spread)
    columns = declared.columns
    order = [column.removeprefix("-") for column in declared.sort]
    fields = [field for column in columns for field in format_fields(column.text)]
    _check_columns([*declared.where, *order, *fields], frame, where)
    for column, value in declared.where.items():
        values = map(str, value if isinstance(value, list) else [value])
        wanted = [variables.get(one, one) for one in values]
        frame = frame[frame[column].astype(str).isin(wanted)]
        if frame.empty and not isinstance(value, bool):  # of what is true or not, there may be none
            raise ReportError(f"{where}: no row where {column} is {' or '.join(wanted)}")
    if order:
        upwards = [not column.startswith("-") for column in declared.sort]
        frame = frame.sort_values(order, ascending=upwards, kind="stable")
    if first := declared.first:
        _check_columns([first.of], frame, where)
        frame = frame.groupby(first.of, sort=False).head(first.rows)
    records = frame.to_dict("records")
    by_column = []
    align = []
    for shown in columns:
        cells = [format_row(shown.text, row, declared.names, shown.missing) for row in records]
        by_column.append(cells)
        align.append(shown.align or ("right" if ":" in shown.text else "left"))
    rows = [list(row) for row in zip(*by_column, strict=True)]
    _leave_out_repeats(rows, [at for at, column in enumerate(columns) if column.once])
    made = pipe_table([column.header for column in columns], rows, align)
    if any(MISSING in row for row in rows):
        made += f"\n{MISSING} {declared.dash}\n"
    return made


def _spread_out(frame: pd.DataFrame, where: str, spread: Spread) -> pd.DataFrame:
    """One row for each `rows`, with a column of values for each of `by`; means over `over`."""
    keys = [*spread.rows, spread.by]
    _check_columns([*keys, *spread.over, spread.value], frame, where)
    if frame.duplicated([*keys, *spread.over]).any():
        raise ReportError(f"{where}: several rows for one {', '.join(spread.rows)} and {spread.by}")
    if spread.over:
        frame = frame.groupby(keys, sort=False)[spread.value].mean().reset_index()
    order = frame[spread.rows].drop_duplicates()
    wide = frame.pivot(index=spread.rows, columns=spread.by, values=spread.value)
    return order.merge(wide.reset_index(), on=spread.rows)


def read_matching(
    tables: dict[str, Path], patterns: list[str]
) -> tuple[list[str], pd.DataFrame | None]:
    """The names of the files that match any of these patterns, and their rows, if there are any."""
    names = sorted({file for file in tables for pattern in patterns if Path(file).match(pattern)})
    return names, read_csv(*(tables[name] for name in names)) if names else None


def _leave_out_repeats(rows: list[list[str]], at: list[int]) -> None:
    """Empty the cells of these columns that are as above, while those further left are, too."""
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
    """Formats numbers, but not a cell that is a text already, such as `0.52 [0.76]`."""

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, float) and math.isinf(value):
            return "∞"
        return value if isinstance(value, str) else super().format_field(value, spec)


def format_row(text: str, row: dict, names: dict, missing: str = MISSING) -> str:
    """A format string filled with one row, or `missing` where one of its values is.

    names: go before titles.
    """
    shown = {}
    for field in format_fields(text):
        value = row[field]
        if pd.isna(value):
            return missing
        shown[field] = names[value] if value in names else cell_title(field, value)
    return with_minus(_Cells().format(text, **shown)).strip() or missing


def csv_files(folder: Path) -> dict[str, Path]:
    """The tables of a run, by file name."""
    return {path.name: path for path in sorted(folder.glob("[!.]*.csv"))}


def read_numbers(files: dict[str, Path], declared: dict[str, DeclaredNumber]) -> dict[str, str]:
    """The text of each declared number that these tables have. files: by the name they go by."""
    frames: dict[str, pd.DataFrame | None] = {}
    texts = {}
    for key, given in declared.items():
        name = given.table
        if name not in frames:
            frames[name] = read_matching(files, [f"{name}.csv"])[1]
        frame = frames[name]
        if frame is not None and (text := number_text(f"{key} ({name})", frame, given)) is not None:
            texts[key] = text
    return texts


def number_text(key: str, frame: pd.DataFrame, given: DeclaredNumber) -> str | None:
    """One number as the text prints it; None where no row matches.

    Raises ReportError where there is no such column, or too many rows.
    """
    frame = _select_rows(key, frame, given)
    take = given.take
    if take == "count":
        return f"{len(frame):,}"
    if take in ("list", "distinct"):
        names = frame[given.column].dropna().map(lambda value: _label(value, given)).unique()
        if take == "distinct":
            return f"{len(names):,}"
        return ", ".join(names) or _or_else(given, "none")
    if frame.empty:
        return given.otherwise
    if take == "value" and len(frame) > 1:
        raise ReportError(f"{key}: {len(frame)} rows match {given.where}; one is wanted, or `take`")
    if given.text is not None:
        text = format_row(given.text, frame.iloc[0].to_dict(), {})
        return _or_else(given) if text == MISSING else text
    cells = frame[given.column]
    value = cells.iloc[0] if take in ("value", "first") else getattr(cells, take)()
    return _print(key, value, given)


def _select_rows(key: str, frame: pd.DataFrame, given: DeclaredNumber) -> pd.DataFrame:
    """The rows of which a number is made."""
    named = [name for name in (given.highest, given.lowest, given.column) if name]
    _check_columns([*given.where, *named, *format_fields(given.text or "")], frame, key)
    for column, wanted in given.where.items():
        frame = frame[_matches(frame[column], wanted)]
    if given.highest:
        frame = frame[frame[given.highest] == frame[given.highest].max()]
    if given.lowest:
        frame = frame[frame[given.lowest] == frame[given.lowest].min()]
    return frame


def _or_else(given: DeclaredNumber, unsaid: str = NOT_HERE) -> str:
    """What is printed where there is no value. unsaid: where nothing else is declared."""
    return unsaid if given.otherwise is None else given.otherwise


def _matches(column: pd.Series, wanted: Any) -> pd.Series:
    """Which cells are what is wanted: a value, one of several, or `> 0`, `not random` and the like.

    `= not reproduced` is the text behind the sign; ReportError where `not ...` is itself a value.
    """
    if isinstance(wanted, list):
        return pd.concat([_matches(column, one) for one in wanted], axis=1).any(axis=1)
    sign, _, operand = wanted.partition(" ") if isinstance(wanted, str) else ("", "", "")
    if sign == "not" and (column == wanted).any():
        raise ReportError(
            f"{column.name} has the value {wanted!r}; write '= {wanted}' where it is meant"
        )
    if sign in SIGNS and operand:
        compare = getattr(column, SIGNS[sign])
        return compare(float(operand) if pd.api.types.is_numeric_dtype(column) else operand)
    return column.astype(str) == str(wanted) if isinstance(wanted, str) else column == wanted


def _print(key: str, value: Any, given: DeclaredNumber) -> str:
    """A cell as text.

    format: as Python has it; `.1%` with a space before the sign; `p` for a p-value.
    """
    if pd.isna(value):
        return _or_else(given)
    if isinstance(value, str):
        return _label(value, given)
    spec = given.format
    if spec == "p":
        return "below .001" if value < 0.001 else f"{value:.3f}".lstrip("0")
    if spec.endswith("%"):
        return with_minus(f"{100 * value:{spec[:-1]}f}\u00a0%")
    if not spec and value != int(value):
        raise ReportError(f"{key}: {value!r} needs a `format`, such as .2f")
    return with_minus(format(value, spec) if spec else f"{int(value):,}")


def _label(value: Any, given: DeclaredNumber) -> str:
    """A name, or what the text calls it where a label is asked for."""
    titles = titles_by_kind()[given.label] if given.label else {}
    return str(titles.get(value, value))
