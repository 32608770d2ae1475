"""Markdown that shows exactly a given text: escaping, pipe tables, executed notebooks."""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import nbformat
import yaml

from attreval.core.nearest import nearest

# the punctuation that can start a construct
SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#|~^$@!&'\"])")
# Characters that no HTML page may hold; pandoc would pass them on.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
OPTION = re.compile(r"^#\|")
PICTURES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}


class ReportError(ValueError):
    """A page, a table declaration or a result that the text needs is missing or malformed."""


def hint(asked: str, known: Iterable[str]) -> str:
    """The end of an error message: the names that exist, and those that come near."""
    names = sorted(set(known))
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"there are: {listed or 'none'}{nearest(asked, names)}"


def escape(text: str, at_start: bool = True) -> str:
    """One line of Markdown that renders as `text`.

    Control characters become U+FFFD, line breaks spaces. at_start: whether it begins a block, where
    it must begin no list; elsewhere its spaces are kept.
    """
    flat = CONTROL.sub("\ufffd", re.sub(r"[ \t\r\n\u2028\u2029]+", " ", str(text)))
    flat = SPECIAL.sub(r"\\\1", flat)
    if not at_start:
        return flat
    flat = flat.strip(" ")
    # A list marker at the start of a block; `-0.5` and `3.14` are none, `- x` and `3. x` are.
    return re.sub(r"^(\d+)?([-+.:])(?= |$)", r"\1\\\2", flat)


def with_minus(text: str) -> str:
    """The text with minus signs, not hyphens, before its negative numbers; zero has no sign."""
    text = re.sub(r"(?<![\w.-])[-+](?=0(?:\.0*)?(?![\w.]))", "", text)
    return re.sub(r"(?<![\w.-])-(?=\.?\d)", "−", text)


def pipe_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[str]) -> str:
    """A Markdown pipe table of plain texts; `align` holds `left` or `right` for each column."""
    # Runs of dots and dashes, which typography would change, stay as they are.
    cells = [
        [re.sub(r"(?<=[-.])([-.])", r"\\\1", escape(cell)) for cell in row]
        for row in (headers, *rows)
    ]
    # Where a line is long, the dashes give each column its share: as many as its widest cell.
    widths = [max(3, *(len(row[at]) for row in cells)) for at in range(len(headers))]
    rule = [
        "-" * (width - 1) + ":" if side == "right" else ":" + "-" * (width - 1)
        for width, side in zip(widths, align, strict=True)
    ]
    return pipe_rows([cells[0], rule, *cells[1:]]) + "\n"


def pipe_rows(rows: Iterable[Iterable[str]]) -> str:
    """Cells that are Markdown already as the lines of a pipe table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def fence(body: str, attributes: str) -> str:
    """A fenced block whose fence is longer than any run of backticks in it."""
    ticks = "`" + max(["``", *re.findall("`+", body)], key=len)
    return f"{ticks}{{{attributes}}}\n{body}\n{ticks}"


def raw_html(html: str) -> str:
    """HTML output as a raw block, without scripts, and without pandas' styles."""
    html = re.sub(r"<(style scoped|script)\b.*?</(style|script)>", "", html, flags=re.S | re.I)
    html = re.sub(r"""\s(?:border=(["']).*?\1|style="text-align: right;")""", "", html).strip()
    return fence(html, "=html")


@dataclass(frozen=True)
class NotebookCell:
    """A cell without its option lines. key: its label, or `cell-N`, counted from 1."""

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
    cells: tuple[NotebookCell, ...]

    def cell(self, label: str) -> NotebookCell:
        """The cell with a label; raises ReportError with the labels that exist."""
        labels = {cell.options["label"]: cell for cell in self.cells if "label" in cell.options}
        if label not in labels:
            raise ReportError(
                f"notebook {self.name} has no cell labelled {label!r}; {hint(label, labels)}"
            )
        return labels[label]


def read_notebook(path: Path) -> Notebook:
    """Read an executed notebook (nbformat 4); raises ReportError where it is not one."""
    try:
        node = nbformat.read(path, as_version=4)
    except (ValueError, KeyError, nbformat.validator.NotebookValidationError) as error:
        raise ReportError(f"{path} is not a notebook that nbformat can read: {error}") from None
    cells = tuple(
        _read_cell(cell, number, path)
        for number, cell in enumerate(node.cells, 1)
        if cell.cell_type != "raw"
    )
    text = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    heading = re.search(r"^#\s+(.+?)\s*#*\s*$", text, re.M)
    title = heading[1] if heading else path.stem
    return Notebook(path.stem, title, cells)


def _read_cell(cell: nbformat.NotebookNode, number: int, path: Path) -> NotebookCell:
    """One nbformat cell: `#| key: value` lines at its top become options."""
    lines = cell.source.splitlines()
    told = []
    if cell.cell_type == "code":
        told = [line.removeprefix("#|") for line in takewhile(OPTION.match, lines)]
    try:
        options = yaml.safe_load("\n".join(told)) or {}
    except yaml.YAMLError as error:
        raise ReportError(f"{path}, cell {number}: the `#|` lines are not YAML: {error}") from None
    key = str(options.get("label", f"cell-{number}"))
    source = "\n".join(lines[len(told) :]).strip("\n")
    return NotebookCell(cell.cell_type, key, source, options, tuple(cell.get("outputs", ())))


def outputs_markdown(
    cell: NotebookCell, folder: str, assets: dict[str, bytes], streams: bool
) -> str:
    """A cell's outputs as Markdown blocks; pictures go into `assets` under `folder`/<key>.<ext>.

    `streams`: also show what was printed (a notebook page), or only results (an embed).
    """
    blocks = []
    pictures = 0
    for output in cell.outputs:
        if output.output_type == "stream":
            if streams:
                blocks.append(_text_block(output.text, f".output .{output.name}"))
            continue
        if output.output_type == "error":
            blocks.append(_text_block("\n".join(output.traceback), ".output .error"))
            continue
        data = output.data
        if kind := next((kind for kind in PICTURES if kind in data), None):
            pictures += 1
            name = f"{folder}/{cell.key}{f'-{pictures}' if pictures > 1 else ''}.{PICTURES[kind]}"
            text = "".join(data[kind])
            assets[name] = text.encode() if kind == "image/svg+xml" else base64.b64decode(text)
            width = output.metadata.get(kind, {}).get("width")
            size = f"{{width={int(width)}}}" if width else ""
            words = " ".join(str(cell.options.get("fig-alt", "")).split())
            alt = re.sub(r"([\\\[\]`*_$<>@~^&])", r"\\\1", words)
            blocks.append(f"![{alt}]({name}){size}")
        elif "text/markdown" in data:
            blocks.append("".join(data["text/markdown"]))
        elif "text/plain" in data:
            blocks.append(_text_block("".join(data["text/plain"]), ".output"))
    return "\n\n".join(blocks)


def _text_block(text: str, classes: str) -> str:
    """Printed text as a terminal shows it in the end, without colours."""
    plain = ANSI.sub("", "".join(text))
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in plain.split("\n")]
    body = CONTROL.sub("\ufffd", "\n".join(lines).strip("\n"))
    return fence(body, classes) if body.strip() else ""


def notebook_markdown(notebook: Notebook, folder: str, assets: dict[str, bytes]) -> str:
    """A notebook as Markdown without title and option lines."""
    blocks = []
    titled = 0
    for cell in notebook.cells:
        if cell.kind == "markdown":
            source = cell.source
            if not titled:
                source, titled = re.subn(r"^#\s+.*$", "", source, count=1, flags=re.M)
            blocks.append(source)
            continue
        code = fence(cell.source, ".python") if cell.source else ""
        code = code and f"<details>\n<summary>Code</summary>\n\n{code}\n\n</details>"
        shown = [
            block for block in (code, outputs_markdown(cell, folder, assets, streams=True)) if block
        ]
        if shown:
            blocks.append(f"::::: {{#{cell.anchor} .cell}}\n\n" + "\n\n".join(shown) + "\n\n:::::")
    return "\n\n".join(blocks) + "\n"
