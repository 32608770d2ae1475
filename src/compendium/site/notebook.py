"""Executed notebooks: their cells with labels and options, and their outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml

from compendium.site.markdown import ReportError, hint

OPTION = re.compile(r"^#\|\s?(.*)$")


@dataclass(frozen=True)
class Cell:
    """A cell without its option lines. key: its label, or `cell-N` (N counts from 1 over the notebook)."""

    kind: str
    key: str
    source: str
    options: dict
    outputs: tuple

    @property
    def anchor(self) -> str:
        """The cell's identifier on its notebook's page; headings cannot have the same."""
        return self.key if self.key.startswith("cell-") else f"cell-{self.key}"


@dataclass(frozen=True)
class Notebook:
    """An executed notebook: name (file stem), title (first heading) and cells."""

    name: str
    title: str
    language: str
    cells: tuple[Cell, ...]

    def cell(self, label: str) -> Cell:
        """The cell with a label; raises ReportError with the labels that exist."""
        labels = {cell.options["label"]: cell for cell in self.cells if "label" in cell.options}
        if label not in labels:
            raise ReportError(f"notebook {self.name} has no cell labelled {label!r}; labels: {hint(label, labels)}")
        return labels[label]


def read_notebook(path: Path) -> Notebook:
    """Read an executed notebook (nbformat 4); raises ReportError where it is not one."""
    try:
        node = nbformat.read(path, as_version=4)
    except (ValueError, KeyError, nbformat.validator.NotebookValidationError) as error:
        raise ReportError(f"{path} is not a notebook that nbformat can read: {error}") from None
    cells = tuple(
        _read_cell(cell, number, path) for number, cell in enumerate(node.cells, 1) if cell.cell_type != "raw"
    )
    headings = (re.search(r"^#\s+(.+?)\s*#*\s*$", cell.source, re.M) for cell in cells if cell.kind == "markdown")
    title = next((found.group(1) for found in headings if found), path.stem)
    language = node.metadata.get("language_info", {}).get("name", "python")
    return Notebook(path.stem, title, language, cells)


def _read_cell(cell, number: int, path: Path) -> Cell:
    """One nbformat cell: `#| key: value` lines at its top become options."""
    lines = cell.source.splitlines()
    count = next((at for at, line in enumerate(lines) if not OPTION.match(line)), len(lines))
    if cell.cell_type != "code":
        count = 0
    try:
        options = yaml.safe_load("\n".join(OPTION.match(line).group(1) for line in lines[:count])) or {}
    except yaml.YAMLError as error:
        raise ReportError(f"{path}, cell {number}: the `#|` lines are not YAML: {error}") from None
    key = str(options.get("label", f"cell-{number}"))
    return Cell(cell.cell_type, key, "\n".join(lines[count:]).strip("\n"), options, tuple(cell.get("outputs", ())))
