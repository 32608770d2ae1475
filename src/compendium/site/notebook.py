"""Executed notebooks: their cells with labels and options, and their outputs, also as Markdown."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml

from compendium.site.markdown import CONTROL, ReportError, fence, hint

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


ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PICTURES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}


def outputs_markdown(cell: Cell, folder: str, assets: dict[str, bytes], streams: bool) -> str:
    """A cell's outputs as Markdown blocks; pictures go into `assets` under `folder`/<key>.<ext>.

    `streams`: also show what was printed (a notebook page), or only results (an embed).
    """
    blocks, pictures = [], 0
    for output in cell.outputs:
        if output.output_type == "stream":
            if streams:
                blocks.append(_text_block(output.text, f"output {output.name}"))
            continue
        if output.output_type == "error":
            blocks.append(_text_block("\n".join(output.traceback), "output error"))
            continue
        data = output.data
        if kind := next((kind for kind in PICTURES if kind in data), None):
            pictures += 1
            name = f"{folder}/{cell.key}{f'-{pictures}' if pictures > 1 else ''}.{PICTURES[kind]}"
            text = "".join(data[kind])
            assets[name] = text.encode() if kind == "image/svg+xml" else base64.b64decode(text)
            width = output.metadata.get(kind, {}).get("width")
            size = f"{{width={int(width)}}}" if width else ""
            blocks.append(f"![{_bracket_safe(cell.options.get('fig-alt', ''))}]({name}){size}")
        elif "text/markdown" in data:
            blocks.append("".join(data["text/markdown"]))
        elif "text/plain" in data:
            blocks.append(_text_block("".join(data["text/plain"]), "output"))
    return "\n\n".join(blocks)


def _bracket_safe(text: str) -> str:
    """Plain text for the brackets of a Markdown picture."""
    return re.sub(r"([\\\[\]`*_$<>@~^&])", r"\\\1", " ".join(str(text).split()))


def _text_block(text: str, classes: str) -> str:
    """Printed text: terminal colours dropped, lines overwritten by a carriage return shown as they ended."""
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in ANSI.sub("", "".join(text)).split("\n")]
    body = CONTROL.sub("\ufffd", "\n".join(lines).strip("\n"))
    return fence(body, " ".join(f".{name}" for name in classes.split())) if body.strip() else ""


def notebook_markdown(notebook: Notebook, folder: str, assets: dict[str, bytes]) -> str:
    """A notebook as Markdown without title and option lines."""
    blocks, titled = [], False
    for cell in notebook.cells:
        if cell.kind == "markdown":
            source = cell.source
            if not titled and re.search(r"^#\s+", source, re.M):
                source, titled = re.sub(r"^#\s+.*$", "", source, count=1, flags=re.M), True
            blocks.append(source)
            continue
        code = fence(cell.source, f".{notebook.language}") if cell.source else ""
        shown = [block for block in (code, outputs_markdown(cell, folder, assets, streams=True)) if block]
        if shown:
            blocks.append(f"::::: {{#{cell.anchor} .cell}}\n\n" + "\n\n".join(shown) + "\n\n:::::")
    return "\n\n".join(blocks) + "\n"
