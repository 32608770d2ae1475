"""What a table has just shown, in one computed sentence in bold: the same words for the same
numbers.
"""

import functools
import re
import string
from collections.abc import Callable
from contextlib import suppress

import pandas as pd

from compendium.papers.common.method_style import name_method
from compendium.papers.common.style import name_run, task_title
from compendium.papers.common.verdicts import CONTRADICTED, VERDICTS

NO_LARGEST = re.compile("of an empty sequence|all NA values")
NOT_A_NUMBER = re.compile(r"\bnan\b")
NOTHING = "This run has no rows that would say anything here."


class Sentence(str):
    """A sentence that a notebook shows in bold."""

    def _repr_markdown_(self) -> str:
        return f"**{self}**"


def sentence(function: Callable[..., str]) -> Callable[..., Sentence]:
    """Decorate a function of tables that gives a sentence: it says NOTHING where there is nothing
    to report.

    That is where the first table is empty, and where the sentence is empty or holds a NaN, which is
    no `nan` among the tables' own words. A small run leaves rows whose numbers could not be
    measured; asking pandas for the largest of them is an error that means the same.
    """

    @functools.wraps(function)
    def say(table, *more) -> Sentence:
        if not len(table):
            return Sentence(NOTHING)
        given = [
            one.reset_index(drop=True) if isinstance(one, pd.DataFrame) else one
            for one in (table, *more)
        ]
        try:
            text = function(*given)
        except ValueError as error:
            if not NO_LARGEST.search(str(error)):
                raise
            return Sentence(NOTHING)
        unknown = bool(NOT_A_NUMBER.search(text))
        if unknown:
            frames = (pd.DataFrame, pd.Series)
            other = [
                one.replace(NOT_A_NUMBER, "word", regex=True) if isinstance(one, frames) else one
                for one in given
            ]
            unknown = bool(NOT_A_NUMBER.search(function(*other)))
        if unknown or not text:
            return Sentence(NOTHING)
        return Sentence(f"{text[0].upper()}{text[1:].removesuffix('.')}.")

    return say


def between(value: float, low: float, high: float, sign: str = "") -> str:
    """A value with its interval: `0.04 [0.01, 0.07]`; sign: `+` also shows that of
    positive ones.
    """
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
    """Python's format strings, which can also name what a cell holds, and give a value of a row its
    interval.

    `{row.task:task}`, `{row.method:method}`: titles. `{row:run}`: task and model.
    `{share:percent}`. `{row:mean}`: `of_row(row, "mean")`; `{row:+change low high}` names the ends,
    and shows the sign.
    """

    def format_field(self, value, format_spec: str) -> str:
        """One cell, as `format_spec` says."""
        if format_spec in TITLES:
            return TITLES[format_spec](value)
        if isinstance(value, pd.Series):
            columns = format_spec.removeprefix("+")
            return of_row(value, *columns.split(), sign="+" if columns != format_spec else "")
        return super().format_field(value, format_spec)


fill = Template().format


def list_rows(template: str, rows: pd.DataFrame, joint: str = "; ") -> str:
    """The template filled with each `row`, joined."""
    return joint.join(fill(template, row=row) for _, row in rows.iterrows())


def tell(summary: pd.DataFrame, said: str, more: str = "", first: bool = True) -> str:
    """A template filled with the cells of a summary: of the first task that has them all, or of
    each.

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


@sentence
def say_verdicts(claims: pd.DataFrame) -> str:
    """How many conclusions got which verdict, and the contradicted one that lies farthest from its
    range's side.
    """
    counts = [
        f"{(claims.verdict == verdict).sum()} “{verdict}”"
        for verdict in VERDICTS
        if (claims.verdict == verdict).any()
    ]
    said = f"Verdicts on {len(claims)} conclusions: {', '.join(counts)}."
    against = claims[claims.verdict == CONTRADICTED]
    if len(against):
        row = against.loc[against.q.idxmin()]
        said += (
            f" Contradicted most clearly: “{row.statement}” ({of_row(row, 'value')}, claimed "
            f"{row.claimed})."
        )
    return said
