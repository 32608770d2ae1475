"""Executed notebooks for the repository: outputs without corpus text, small pictures, nothing of the machine."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator, Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import nbformat

from compendium.site.publishing.links import SOURCE, without_links
from compendium.site.publishing.pictures import shrink_png

KEPT = ("text/html", "text/markdown", "text/plain", "image/png")
OF_THE_RUN = ("papermill", "execution", "widgets", "vscode", "ExecuteTime")
LINK = re.compile(r"(?<=\]\()\.\./([^)]+)(?=\))")
UP = "../../../.."  # the project folder, as seen from a committed notebook
SHOWS_TEXT = "This figure shows a text of a corpus; it is left out of the committed copy."


def written_in(notebook, name: str) -> Iterator[tuple[str, str]]:
    """What the outputs of a notebook say, by place: `name, cell 4, text/html`; a column of a table has its own.

    A table read row by row could hide a text that runs down a column.
    """
    for at, cell in enumerate(notebook.cells, 1):
        for number, output in enumerate(cell.get("outputs", ()), 1):
            place = f"{name}, cell {at}, output {number}"
            for kind, text in _texts_of(output):
                yield f"{place}, {kind}", unescape(re.sub(r"<[^>]*>", " ", text))
                if kind == "text/html":
                    columns = _Columns()
                    columns.feed(text)
                    yield from (
                        (f"{place}, column {column}", " ".join(held)) for column, held in columns.read().items()
                    )
                    yield f"{place}, attributes", " ".join(columns.attributes)


def _texts_of(output) -> Iterator[tuple[str, str]]:
    """(kind, text) of all that an output holds but pictures."""
    if output.output_type == "stream":
        yield output.name, "".join(output.text)
    elif output.output_type == "error":
        yield "error", "\n".join([output.ename, output.evalue, *output.traceback])
    else:
        for kind, held in output.data.items():
            if not kind.startswith("image/"):
                yield kind, held if isinstance(held, str) else "".join(map(str, held))


class _Columns(HTMLParser):
    """The cells of HTML tables by their column, and the values of all attributes."""

    def __init__(self):
        super().__init__()
        self.at, self.cells, self.attributes = 0, {}, []

    def handle_starttag(self, tag, attrs):
        self.attributes += [value for name, value in attrs if value and name != "style"]
        self.at = 0 if tag == "tr" else self.at + (tag in ("td", "th"))

    def handle_data(self, data):
        self.cells.setdefault(self.at, []).append(data)

    def read(self) -> dict[int, list[str]]:
        """What stands in each column, from top to bottom."""
        self.close()
        return self.cells


def clean_notebook(path: Path, quoted: Mapping[str, list[str]], figures: Mapping[bytes, str | None]):
    """An executed notebook as it is committed, and what was left out of it, in words.

    quoted: place, as written_in names it -> ids of the texts that are quoted there. figures: the bytes of each figure
    of the run -> its name, None where it is not committed. A picture that is no figure of the run cannot be shown to
    hold no text, and is left out.
    """
    node, said = nbformat.read(path, as_version=4), []
    for holder in (node, *node.cells):
        for name in OF_THE_RUN:
            holder.metadata.pop(name, None)
    source = re.match(r"[^-]+", path.stem)[0]
    for at, cell in enumerate(node.cells, 1):
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(lambda found: f"{UP}/{found[1]}", without_links(cell.source))
        if cell.cell_type != "code":
            continue
        cell.outputs = [o for o in cell.outputs if (o.output_type, o.get("name")) != ("stream", "stderr")]
        for number, output in enumerate(cell.outputs, 1):
            place = f"{path.stem}, cell {at}, output {number}"
            texts = list(
                dict.fromkeys(n for where, names in quoted.items() if where.startswith(f"{place},") for n in names)
            )
            if texts:
                cell.outputs[number - 1] = _name_texts(texts, output)
                said.append(f"{place}: words of {', '.join(texts)}")
            elif "data" in output:
                _keep_data(output, figures, place, said)
    node.cells[0].source += f"\n\n{SOURCE} [notebooks/{source}.ipynb]({UP}/notebooks/{source}.ipynb)"
    return node, said


def _keep_data(output, figures: Mapping[bytes, str | None], place: str, said: list[str]) -> None:
    """Keep of an output what a reader sees, its picture made small or, where it must not be shown, replaced."""
    output.data = {kind: held for kind, held in output.data.items() if kind in KEPT}
    if "image/png" in output.data:
        data = base64.b64decode(output.data["image/png"])
        if figures.get(data) is None:
            said.append(f"{place}: its picture{'' if data in figures else ', which is no figure of the run'}")
            data, output.metadata = draw_note(SHOWS_TEXT), {}
        output.data["image/png"] = base64.b64encode(shrink_png(data, part=2)).decode()  # as wide as it is shown


def _name_texts(texts: list[str], output):
    """What stands in the place of an output that shows texts: their ids."""
    shown = ", ".join(texts)
    if output.output_type not in ("execute_result", "display_data"):
        return nbformat.v4.new_output("stream", name="stdout", text=f"[words of {shown}]\n")
    html = f"<p><em>Not in the committed copy: words of <code>{shown}</code>.</em></p>"
    data = {"text/html": html, "text/plain": f"Not in the committed copy: words of {shown}."}
    count = {"execution_count": output.execution_count} if output.output_type == "execute_result" else {}
    return nbformat.v4.new_output(output.output_type, data, **count)


def draw_note(text: str) -> bytes:
    """A PNG that says something in the place of a figure."""
    from matplotlib import pyplot as plt

    from compendium.papers.common.style import draw_nothing

    figure, buffer = draw_nothing(text).get_figure(), io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None}, bbox_inches="tight")
    plt.close(figure)
    return buffer.getvalue()
