"""What a table has just shown, in one computed sentence in bold: the same words for the same numbers."""

import functools
import re
from collections.abc import Callable

import pandas as pd

from compendium.papers.common.verdicts import CONTRADICTED, VERDICTS

NO_LARGEST = re.compile("of an empty sequence|all NA values")
NOT_A_NUMBER = re.compile(r"\bnan\b")
NOTHING = "This run has no rows that would say anything here."


class Sentence(str):
    """A sentence that a notebook shows in bold."""

    def _repr_markdown_(self) -> str:
        return f"**{self}**"


def sentence(function: Callable[..., str]) -> Callable[..., Sentence]:
    """Decorate a function of tables that gives a sentence: it says NOTHING where there is nothing to report.

    That is where the first table is empty, and where the sentence is empty or holds a NaN, which is no `nan` among the
    tables' own words. A small run leaves rows whose numbers could not be measured; asking pandas for the largest of
    them is an error that means the same.
    """

    @functools.wraps(function)
    def say(table, *more) -> Sentence:
        if not len(table):
            return Sentence(NOTHING)
        given = [one.reset_index(drop=True) if isinstance(one, pd.DataFrame) else one for one in (table, *more)]
        try:
            text = function(*given)
        except ValueError as error:
            if not NO_LARGEST.search(str(error)):
                raise
            return Sentence(NOTHING)
        unknown = bool(NOT_A_NUMBER.search(text))
        if unknown:
            frames = (pd.DataFrame, pd.Series)
            other = [one.replace(NOT_A_NUMBER, "word", regex=True) if isinstance(one, frames) else one for one in given]
            unknown = bool(NOT_A_NUMBER.search(function(*other)))
        if unknown or not text:
            return Sentence(NOTHING)
        return Sentence(f"{text[0].upper()}{text[1:].removesuffix('.')}.")

    return say


def between(value: float, low: float, high: float, sign: str = "") -> str:
    """A value with its interval: `0.04 [0.01, 0.07]`; sign: `+` also shows that of positive ones."""
    return f"{value:{sign}.2f} [{low:.2f}, {high:.2f}]"


def of_row(row: pd.Series, value: str, low: str = "low", high: str = "high", sign: str = "") -> str:
    """The same from the columns of a row."""
    return between(row[value], row[low], row[high], sign)


@sentence
def say_verdicts(claims: pd.DataFrame) -> str:
    """How many conclusions got which verdict, and the contradicted one that lies farthest from its range's side."""
    counts = [
        f"{(claims.verdict == verdict).sum()} “{verdict}”" for verdict in VERDICTS if (claims.verdict == verdict).any()
    ]
    said = f"Verdicts on {len(claims)} conclusions: {', '.join(counts)}."
    against = claims[claims.verdict == CONTRADICTED]
    if len(against):
        row = against.loc[against.q.idxmin()]
        said += f" Contradicted most clearly: “{row.statement}” ({of_row(row, 'value')}, claimed {row.claimed})."
    return said
