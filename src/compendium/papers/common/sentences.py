"""What a table has just shown, in one computed sentence in bold."""

import functools
import re
import string
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pandas as pd

from compendium.papers.common.method_style import name_method
from compendium.papers.common.style import name_run, task_title
from compendium.papers.common.verdicts import Verdict

NO_LARGEST = re.compile("of an empty sequence|all NA values")
NOT_A_NUMBER = re.compile(r"\bnan\b")
NOTHING = "This run has no rows that would say anything here."


class BoldSentence(str):
    """A sentence that a notebook shows in bold."""

    def _repr_markdown_(self) -> str:
        return f"**{self}**"


def sentence(function: Callable[..., str]) -> Callable[..., BoldSentence]:
    """Decorate a function of tables that gives a sentence: NOTHING where there is nothing to say.

    That is where the first table is empty, and where the sentence is empty or holds a NaN, which is
    no `nan` among the tables' own words. A small run leaves rows whose numbers could not be
    measured; asking pandas for the largest of them is an error that means the same.
    """

    @functools.wraps(function)
    def say(table: pd.DataFrame, *more: object) -> BoldSentence:
        if not len(table):
            return BoldSentence(NOTHING)
        given = [
            one.reset_index(drop=True) if isinstance(one, pd.DataFrame) else one
            for one in (table, *more)
        ]
        try:
            text = function(*given)
            other = text
            if NOT_A_NUMBER.search(text):
                other = function(*map(_without_nan, given))
        except ValueError as error:
            if not NO_LARGEST.search(str(error)):
                raise
            return BoldSentence(NOTHING)
        if not text or NOT_A_NUMBER.search(other):
            return BoldSentence(NOTHING)
        return BoldSentence(f"{text[0].upper()}{text[1:].removesuffix('.')}.")

    return say


def _without_nan(given: object) -> object:
    """The same without the word `nan` in any of its texts."""
    if isinstance(given, pd.DataFrame):
        return given.replace(NOT_A_NUMBER, "word", regex=True)
    return given


def highest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The row whose cell of a column is the highest."""
    return rows.loc[rows[column].idxmax()]


def lowest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The row whose cell of a column is the lowest."""
    return rows.loc[rows[column].idxmin()]


def farthest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The row whose cell of a column is the farthest from 0."""
    return rows.loc[rows[column].abs().idxmax()]


def of_first_task(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the task that stands first."""
    return rows[rows.task.isin(rows.task[:1])]


def between(value: float, low: float, high: float, sign: str = "") -> str:
    """A value with its interval: `0.04 [0.01, 0.07]`; sign: `+` shows that of positive ones too."""
    return f"{value:{sign}.2f} [{low:.2f}, {high:.2f}]"


def of_row(row: pd.Series, value: str, low: str = "low", high: str = "high", sign: str = "") -> str:
    """The same from the columns of a row."""
    return between(row[value], row[low], row[high], sign)


TITLES = {
    "task": task_title,
    "method": name_method,
    "run": name_run,
    "percent": lambda share: f"{100 * share:.0f} %",
}


class Template(string.Formatter):
    """Python's format strings, which also know titles and intervals.

    `{row.task:task}`, `{row.method:method}`: titles. `{row:run}`: task and model.
    `{share:percent}`. `{row:mean}`: `of_row(row, "mean")`; `{row:+change low high}` names the ends,
    and shows the sign.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        """One cell, as `format_spec` says."""
        if format_spec in TITLES:
            return TITLES[format_spec](value)
        if isinstance(value, pd.Series):
            sign = "+" if format_spec.startswith("+") else ""
            middle, *ends = format_spec.removeprefix("+").split()
            low, high = ends or ("low", "high")
            return of_row(value, middle, low, high, sign)
        return super().format_field(value, format_spec)


fill = Template().format


def list_rows(template: str, rows: pd.DataFrame, joint: str = "; ") -> str:
    """The template filled with each `row`, joined."""
    return joint.join(fill(template, row=row) for _, row in rows.iterrows())


def tell(summary: pd.DataFrame, said: str, more: str = "", first: bool = True) -> str:
    """A template filled with the cells of a summary: of the first task that has them, or of each.

    summary: a row a task (`all` for settings) and quantity. `{lowest.name}` and
    `{lowest.value:.2f}` stand for the cells of the row whose quantity is `lowest`. more: what is
    added where the task has that too.
    """
    by_task = {
        task: {row.quantity: row for row in part.itertuples()}
        for task, part in summary.groupby("task", sort=False)
    }
    settings = by_task.pop("all", {})
    shown = []
    for task, found in by_task.items():
        cells = {"task": task_title(task)} | settings | found
        with suppress(KeyError):
            shown.append(said.format(**cells))
            shown[-1] += more.format(**cells)
    return "; ".join(shown[:1] if first else shown)


def say_together(*said: str) -> BoldSentence:
    """The answer to a notebook's question, of sentences on several tables."""
    return BoldSentence(" ".join(one for one in said if one != NOTHING) or NOTHING)


@sentence
def say_verdicts(claims: pd.DataFrame) -> str:
    """How many conclusions got which verdict, and the one that is contradicted most clearly."""
    counts = claims.verdict.value_counts()
    shown = [f"{counts[verdict]} “{verdict}”" for verdict in Verdict if verdict in counts]
    said = f"Verdicts on {len(claims)} conclusions: {', '.join(shown)}."
    against = claims[claims.verdict == Verdict.CONTRADICTED]
    if len(against):
        row = lowest(against, "q")
        said += (
            f" Contradicted most clearly: “{row.statement}” ({of_row(row, 'value')}, claimed "
            f"{row.claimed})."
        )
    return said
