"""Numbers of the text: paper/numbers.yml says for each key which cell of which table it is, and how it is printed.

A key whose table the run does not have, or in which no row matches, is left out; see site.rendering for what follows.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from compendium.project import SafeLoader
from compendium.site.markdown import ReportError, hint, with_minus
from compendium.site.pictures import NOT_HERE
from compendium.site.tables import MISSING, format_fields, format_row, read_matching, titles_by_kind

KEYS = ("table", "where", "highest", "lowest", "column", "text", "take", "label", "format", "otherwise")
TAKES = ("value", "first", "count", "sum", "mean", "median", "min", "max", "distinct", "list")
SIGNS = {">=": "ge", "<=": "le", ">": "gt", "<": "lt", "=": "eq", "not": "ne"}


class _Unique(SafeLoader):
    """YAML in which a key given twice is an error."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise ReportError(f"line {node.start_mark.line + 1}: {twice[0]!r} is given twice")
        return super().construct_mapping(node, deep)


def read_declared_numbers(path: Path) -> dict[str, dict[str, Any]]:
    """What paper/numbers.yml says of each key; unknown words in it are errors."""
    try:
        declared = yaml.load(path.read_text(encoding="utf-8"), _Unique) or {}
    except ReportError as error:
        raise ReportError(f"{path.name}, {error}") from None
    for key, given in declared.items():
        if not isinstance(given, dict) or "table" not in given:
            raise ReportError(f"{path.name}: {key} is {given!r}; it needs at least `table`")
        if unknown := [word for word in given if word not in KEYS]:
            raise ReportError(f"{path.name}: {key} has {unknown[0]!r}; {hint(unknown[0], KEYS)}")
        if (take := given.get("take", "value")) not in TAKES:
            raise ReportError(f"{path.name}: {key} takes {take!r}; {hint(take, TAKES)}")
        if "text" in given and (extra := [word for word in ("column", "take", "format", "label") if word in given]):
            raise ReportError(f"{path.name}: {key} has `text`, which leaves nothing to `{extra[0]}`")
        if take != "count" and "column" not in given and "text" not in given:
            raise ReportError(f"{path.name}: {key} needs `column` or `text`")
        if (label := given.get("label", "methods")) not in titles_by_kind():
            raise ReportError(f"{path.name}: {key} has the label {label!r}; {hint(label, titles_by_kind())}")
    return declared


def read_numbers(tables: Path, declared: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The text of each declared number that the tables of a run have. tables: the folder of its CSV files."""
    files = {path.name: path for path in tables.glob("[!.]*.csv")}
    frame_of = cache(lambda name: read_matching(files, [f"{name}.csv"])[1])
    texts = {
        key: number_text(f"{key} ({given['table']})", frame_of(given["table"]), given)
        for key, given in declared.items()
        if frame_of(given["table"]) is not None
    }
    return {key: text for key, text in texts.items() if text is not None}


def number_text(key: str, frame: pd.DataFrame, given: dict[str, Any]) -> str | None:
    """One number as the text prints it; None where no row matches. ReportError: no such column, or too many rows."""
    named = [*given.get("where", {}), *(given[word] for word in ("highest", "lowest", "column") if word in given)]
    named += format_fields(given.get("text", ""))
    if unknown := [column for column in named if column not in frame.columns]:
        raise ReportError(f"{key}: there is no column {unknown[0]!r}; {hint(unknown[0], frame.columns)}")
    for column, wanted in given.get("where", {}).items():
        frame = frame[_matches(frame[column], wanted)]
    for word, best in (("highest", "max"), ("lowest", "min")):
        if word in given:
            frame = frame[frame[given[word]] == getattr(frame[given[word]], best)()]
    take = given.get("take", "value")
    if take == "count":
        return f"{len(frame):,}"
    if take in ("list", "distinct"):
        names = list(dict.fromkeys(_label(value, given) for value in frame[given["column"]].dropna()))
        return f"{len(names):,}" if take == "distinct" else ", ".join(names) or given.get("otherwise", "none")
    if frame.empty:
        return given.get("otherwise")
    if take == "value" and len(frame) > 1:
        raise ReportError(f"{key}: {len(frame)} rows match {given.get('where', {})}; one is wanted, or `take`")
    if "text" in given:
        text = format_row(given["text"], frame.iloc[0].to_dict(), {})
        return given.get("otherwise", NOT_HERE) if text == MISSING else text
    cells = frame[given["column"]]
    return _print(key, cells.iloc[0] if take in ("value", "first") else getattr(cells, take)(), given)


def _matches(column: pd.Series, wanted: Any) -> pd.Series:
    """Which cells are what is wanted: a value, one of several, or `> 0`, `not random` and the like.

    `= not reproduced` is the text behind the sign. ReportError where `not ...` is itself a value of the column.
    """
    if isinstance(wanted, list):
        return pd.concat([_matches(column, one) for one in wanted], axis=1).any(axis=1)
    sign, _, operand = wanted.partition(" ") if isinstance(wanted, str) else ("", "", "")
    if sign == "not" and (column == wanted).any():
        raise ReportError(f"{column.name} has the value {wanted!r}; write '= {wanted}' where it is meant")
    if sign in SIGNS and operand:
        return getattr(column, SIGNS[sign])(float(operand) if pd.api.types.is_numeric_dtype(column) else operand)
    return column.astype(str) == str(wanted) if isinstance(wanted, str) else column == wanted


def _print(key: str, value: Any, given: dict[str, Any]) -> str:
    """A cell as text. format: as Python has it; `.1%` with a space before the sign; `p` for a p-value."""
    if pd.isna(value):
        return given.get("otherwise", NOT_HERE)
    spec = given.get("format", "")
    if isinstance(value, str):
        return _label(value, given)
    if spec == "p":
        return "below .001" if value < 0.001 else f"{value:.3f}".lstrip("0")
    if spec.endswith("%"):
        return with_minus(f"{100 * value:{spec[:-1]}f}\u00a0%")
    if not spec and value != int(value):
        raise ReportError(f"{key}: {value!r} needs a `format`, such as .2f")
    return with_minus(format(value, spec) if spec else f"{int(value):,}")


def _label(value: Any, given: dict[str, Any]) -> str:
    """A name, or what the text calls it where a label is asked for."""
    titles = titles_by_kind()[given["label"]] if "label" in given else {}
    return str(titles.get(value, value))
