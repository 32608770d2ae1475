"""The paper as a PDF, through pandoc's tree and Typst, with the numbers that its page has."""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

import panflute as pf
import typst

from compendium.site.markdown import ReportError
from compendium.site.notebook import outputs_markdown, read_notebook
from compendium.site.pandoc_route import pandoc
from compendium.site.pandoc_route.pandoc import Float, number, wrap_embed
from compendium.site.pandoc_route.shortcodes import Expanded, expand
from compendium.site.pandoc_route.site import Site

pf.elements.RAW_FORMATS.add("typst")  # pandoc knows it, panflute's list is older


def make_pdf(site: Site, source: Path) -> bytes:
    """A .qmd page as PDF: same text, numbers, figures and tables as its HTML. ReportError as for the page."""
    doc, pictures = read_tree(site, source, _draw_float)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, data in pictures.items():
            path = folder / posixpath.normpath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (folder / "paper.typ").write_text(_write_typst(doc, site.bibliography), encoding="utf-8")
        return typst.compile(folder / "paper.typ", root=folder, ignore_system_fonts=True)


def read_tree(site: Site, source: Path, draw: Callable[[Float], list]) -> tuple[pf.Doc, dict[str, bytes]]:
    """A .qmd page for another form than HTML: its tree, numbered, and its pictures by the names they have in it.

    draw: the blocks of a figure or table. Raises ReportError as for the page.
    """
    pictures: dict[str, bytes] = {}

    def embed(path: Path, label: str) -> str:
        made = outputs_markdown(read_notebook(path).cell(label), f"pictures/{path.stem}", pictures, streams=False)
        return wrap_embed(made, path.name, path.name)

    page = expand(source, site.home, site.variables, embed)
    doc = pandoc.read(page.text, filters=site.filters)
    doc.walk(lambda element, doc: _read_html(element))
    number(doc, page.where, bool(doc.get_metadata("number-sections")), draw)
    doc.walk(lambda element, doc: _fit_page(element))
    doc.walk(lambda element, doc: _take_picture(element, source, page, pictures))
    return doc, pictures


def _write_typst(doc: pf.Doc, bibliography: Path | None) -> str:
    """The tree as a Typst document in the project's template."""
    with resources.as_file(resources.files("compendium.site.pandoc_route") / "assets" / "paper.typ") as template:
        return pandoc.convert(doc, ["-t", "typst", f"--template={template}"], bibliography)


def _read_html(element):
    """HTML that a cell has shown, such as a table of pandas, as pandoc's own elements."""
    if isinstance(element, pf.RawBlock) and element.format == "html":
        return list(pandoc.read(element.text, "html").content)
    return None


def _take_picture(element, source: Path, page: Expanded, pictures: dict[str, bytes]) -> None:
    """Put a picture that lies beside the page among the others. ReportError where it is not there."""
    if isinstance(element, pf.Image) and element.url not in pictures:
        path = source.parent / unquote(element.url)
        if not path.is_file():
            raise ReportError(f"{page.where(element.url)}: no picture {path.name} beside {source.name}")
        pictures[element.url] = path.read_bytes()


def _draw_float(found: Float) -> list:
    """A figure or table in Typst: content, number and caption; the label is what references lead to."""
    words = [pf.Strong(pf.Str(found.label)), pf.Space, *found.caption]
    side = "top" if found.kind == "Table" else "bottom"
    return [
        pf.RawBlock(f'#figure(kind: "{found.kind}", supplement: none, numbering: none,', "typst"),
        pf.RawBlock(f"caption: figure.caption(position: {side})[", "typst"),
        pf.Plain(*words),
        pf.RawBlock("])[", "typst"),
        *found.content,
        pf.RawBlock(f"] <{found.name}>", "typst"),
    ]


def _fit_page(element):
    """Headings one level up again, links to other pages as plain text.

    Pictures keep no size of their own: the template fits them into the page.
    """
    if isinstance(element, pf.Image):
        element.attributes.clear()
    if isinstance(element, pf.Header):
        element.level = max(1, element.level - 1)
    if isinstance(element, pf.Link) and not re.match(r"#|[a-z][a-z0-9+.-]*:", element.url):
        return list(element.content)
    return None
