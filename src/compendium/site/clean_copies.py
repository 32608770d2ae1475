"""The files of a run as they are committed: smaller, without corpus texts, and with nothing of the machine."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from pathlib import Path

import nbformat

from compendium.project import Results
from compendium.site.committed import SOURCE, without_links
from compendium.site.pictures import draw_note
from compendium.site.quotes import outputs_of

LONG_BYTES = 50_000  # from here on a table's numbers are cut to so many digits
DIGITS = 6
MOST_BYTES = 5_000_000  # of a table with all digits; about three quarters of that would be committed
OF_TEXTS = ("_instances", "_predictions", "_uninformed", "_heads")  # tables that nothing of the site is made from
LONG_NUMBER = re.compile(r"(?<![\w#.-])-?\d+\.\d{3,}(?:e-?\d+)?(?![\w.])")
COLOURS = 128
KEPT = ("text/html", "text/markdown", "text/plain", "image/png")
OF_THE_RUN = ("papermill", "execution", "widgets", "vscode", "ExecuteTime")
LINK = re.compile(r"(?<=\]\()\.\./([^)]+)(?=\))")
UP = "../../../.."  # the project folder, as seen from a committed notebook
SHOWS_TEXT = "This figure shows a text of a corpus; it is left out of the committed copy."
Quoted = Mapping[str, list[str]]  # place, as quotes.written names it -> ids of the texts that it quotes


def copy_tables(run: Results, copy: Results, quoted: Quoted) -> list[str]:
    """Copy the tables that are small enough and quote nothing; say which are left out."""
    copy.tables.mkdir(exist_ok=True)
    said = []
    for path in sorted(run.tables.glob("[!.]*.csv")):
        size = path.stat().st_size
        if path.stem.endswith(OF_TEXTS):
            said.append(f"table {path.name}: a row for each single text")
        elif size > MOST_BYTES:
            said.append(f"table {path.name}: {size / 1e6:.1f} MB")
        elif path.name in quoted:
            said.append(f"table {path.name}: words of {_name(quoted[path.name])}")
        else:
            text = path.read_text(encoding="utf-8")
            if size > LONG_BYTES:
                text = LONG_NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)
            (copy.tables / path.name).write_text(text, encoding="utf-8")
    return said


def copy_figures(run: Results, copy: Results, quoted: Quoted, vector: bool = True) -> tuple[set[bytes], list[str]]:
    """Copy the figures that show no text; give the bytes of these PNGs, and what is left out.

    A PNG without its SVG cannot be read, and is left out. vector: copy the SVGs, too; the main run's alone are shown.
    """
    copy.figures.mkdir(exist_ok=True)
    shown, said = set(), []
    for path in sorted(run.figures.glob("[!.]*.png")):
        svg = path.with_suffix(".svg")
        if not svg.exists():
            said.append(f"figure {path.stem}: it has no SVG in which its words are told")
        elif svg.name in quoted:
            said.append(f"figure {path.stem}: words of {_name(quoted[svg.name])}")
        else:
            shown.add(path.read_bytes())
            (copy.figures / path.name).write_bytes(shrink_png(path.read_bytes()))
            if vector:
                (copy.figures / svg.name).write_text(shrink_svg(svg.read_text(encoding="utf-8")), encoding="utf-8")
    return shown, said


def shrink_png(data: bytes, part: int = 1) -> bytes:
    """The same picture with few colours, on white, without anything said about it. part: 2 makes it half as wide."""
    from PIL import Image

    shown = Image.open(io.BytesIO(data)).convert("RGBA")
    page = Image.new("RGBA", shown.size, "white")
    page.alpha_composite(shown)
    small = page.convert("RGB").reduce(part)
    small = small.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    small.save(out, "png", optimize=True)
    return out.getvalue()


def shrink_svg(text: str) -> str:
    """The same picture with two digits behind each point, and without names that nothing uses."""
    text = re.sub(r"(?<![\w#.-])-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    used = set(re.findall(r"#([\w-]+)", text))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


def copy_notebooks(run: Results, copy: Results, quoted: Quoted, shown: set[bytes]) -> list[str]:
    """Copy the executed notebooks; say which of their outputs are left out. shown: the PNGs that are committed."""
    copy.notebooks.mkdir(exist_ok=True)
    said = []
    for path in sorted(run.notebooks.glob("[!.]*.ipynb")):
        node, more = clean_notebook(path, quoted, shown)
        nbformat.write(node, copy.notebooks / path.name)
        said += more
    return said


def clean_notebook(path: Path, quoted: Quoted, shown: set[bytes]):
    """An executed notebook as it is committed, and what was left out of it, in words.

    A picture that is no committed figure of the run cannot be shown to hold no text, and is left out.
    """
    node, said = nbformat.read(path, as_version=4), []
    for place, output in outputs_of(node, path.stem):
        if place in quoted:
            names = _name(quoted[place])
            html = f"<p><em>Not in the committed copy: words of <code>{names}</code>.</em></p>"
            told = {"text/html": html, "text/plain": f"Not in the committed copy: words of {names}."}
            output.clear()
            output.update(nbformat.v4.new_output("display_data", told))
            said.append(f"{place}: words of {names}")
        elif "data" in output:
            output.data = {kind: held for kind, held in output.data.items() if kind in KEPT}
            if "image/png" in output.data:
                data = base64.b64decode(output.data["image/png"])
                if data not in shown:
                    said.append(f"{place}: its picture")
                    data, output.metadata = draw_note(SHOWS_TEXT, dpi=200), {}
                output.data["image/png"] = base64.b64encode(shrink_png(data, part=2)).decode()  # as wide as it is shown
    for holder in (node, *node.cells):
        for name in OF_THE_RUN:
            holder.metadata.pop(name, None)
    for cell in node.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(lambda found: f"{UP}/{found[1]}", without_links(cell.source))
        elif cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    source = path.stem.partition("-")[0]
    node.cells[0].source += f"\n\n{SOURCE} [notebooks/{source}.ipynb]({UP}/notebooks/{source}.ipynb)"
    return node, said


def _name(texts: list[str]) -> str:
    """The ids of quoted texts, three of them if there are many."""
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
