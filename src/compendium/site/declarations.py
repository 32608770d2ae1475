"""What paper/tables.yml and paper/numbers.yml declare: the text's tables and numbers."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import Field, ValidationError, model_validator

from attreval.core.section import Section, explain_errors
from compendium.project import SafeLoader
from compendium.site.markdown import ReportError

MISSING = "–"
Declared = TypeVar("Declared", bound=Section)


class Column(Section):
    """A column of a table: a format string over the row, and how it is shown.

    missing: in place of a value that there is not. once: left out where it is as above.
    """

    text: str
    header: str = ""
    align: Literal["left", "right"] | None = None
    missing: str = MISSING
    once: bool = False


class Spread(Section):
    """Rows that become columns: a row for each `rows`, a column of values for each `by`.

    over: columns, such as the seed, over which values are averaged.
    """

    rows: list[str]
    by: str
    value: str
    over: list[str] = []


class First(Section):
    """The first rows of each value of a column."""

    of: str
    rows: int


class DeclaredTable(Section):
    """A table of paper/tables.yml, which says what each field means."""

    source: Annotated[str | list[str], Field(min_length=1)]
    columns: list[Column] = Field(min_length=1)
    spread: Spread | None = None
    where: dict[str, Any] = {}
    sort: list[str] = []
    first: First | None = None
    names: dict[Any, str] = {}
    dash: str = "no value in this run."


class DeclaredNumber(Section):
    """A number of paper/numbers.yml, which says what each field means."""

    table: str
    where: dict[str, Any] = {}
    highest: str | None = None
    lowest: str | None = None
    column: str | None = None
    take: Literal[
        "value", "first", "count", "sum", "mean", "median", "min", "max", "distinct", "list"
    ] = "value"
    label: Literal["methods", "tasks", "models"] | None = None
    format: str = ""
    text: str | None = None
    otherwise: str | None = None

    @model_validator(mode="after")
    def is_read_in_one_way(self) -> "DeclaredNumber":
        """A text stands for itself; anything but a count is of a column."""
        extra = self.model_fields_set & {"column", "take", "format", "label"}
        if self.text is not None and extra:
            raise ValueError(f"`text` leaves nothing to `{min(extra)}`")
        if self.text is None and self.column is None and self.take != "count":
            raise ValueError("needs `column` or `text`")
        return self


class _Unique(SafeLoader):
    """YAML in which a key given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise ReportError(f"line {node.start_mark.line + 1}: {twice[0]!r} is given twice")
        return super().construct_mapping(node, deep)


def read_declared(path: Path, kind: type[Declared]) -> dict[str, Declared]:
    """The declarations of a file, by key; ReportError says what is wrong with which."""
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), _Unique) or {}
    except ReportError as error:
        raise ReportError(f"{path.name}, {error}") from None
    declared = {}
    for key, given in found.items():
        try:
            declared[key] = kind.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(explain_errors(error, kind))
            raise ReportError(f"{path.name}, {key}: {problems}") from None
    return declared
