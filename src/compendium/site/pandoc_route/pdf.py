"""The paper as PDF, by Typst."""

import posixpath
import re
import tempfile
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

import panflute as pf
import typst

from compendium.site.markdown import ReportError, outputs_markdown, read_notebook
from compendium.site.pandoc_route import pandoc
from compendium.site.pandoc_route.pandoc import Float, number, wrap_embed
from compendium.site.pandoc_route.shortcodes import Page
from compendium.site.pandoc_route.site import Site

pf.elements.RAW_FORMATS.add("typst")  # pandoc knows it, panflute's list is older


def make_pdf(site: Site, source: Path) -> bytes:
    """A .qmd page as PDF, with the text, numbers, figures and tables of its HTML."""
    doc, pictures = read_tree(site, source)
    template = resources.files("compendium.site.pandoc_route") / "assets" / "paper.typ"
    with tempfile.TemporaryDirectory() as made, resources.as_file(template) as path_of_template:
        folder = Path(made)
        for name, data in pictures.items():
            path = folder / posixpath.normpath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        options = ["-t", "typst", f"--template={path_of_template}"]
        text = pandoc.convert(doc, options, site.bibliography)
        (folder / "paper.typ").write_text(text, encoding="utf-8")
        return typst.compile(folder / "paper.typ", root=folder, ignore_system_fonts=True)


def read_tree(site: Site, source: Path) -> tuple[pf.Doc, dict[str, bytes]]:
    """The numbered tree of a .qmd page, and its pictures by name."""
    pictures: dict[str, bytes] = {}

    def embed(path: Path, label: str) -> str:
        cell = read_notebook(path).cell(label)
        made = outputs_markdown(cell, f"pictures/{path.stem}", pictures, streams=False)
        return wrap_embed(made, path.name, path.name)

    page = Page(source, site.home, site.variables, embed).expand()
    doc = pandoc.read_markdown(page.text, filters=site.filters)
    doc.walk(_read_html)
    number(doc, page.where, bool(doc.get_metadata("number-sections")), _typst_float)
    doc.walk(_fit_page)

    def take_picture(element: pf.Element, doc: pf.Doc) -> None:
        """Put a picture that lies beside the page among the others."""
        if isinstance(element, pf.Image) and element.url not in pictures:
            path = source.parent / unquote(element.url)
            if not path.is_file():
                raise ReportError(
                    f"{page.where(element.url)}: no picture {path.name} beside {source.name}"
                )
            pictures[element.url] = path.read_bytes()

    doc.walk(take_picture)
    return doc, pictures


def _read_html(element: pf.Element, doc: pf.Doc) -> list | None:
    """HTML that a cell has shown, such as a table of pandas, as pandoc's own elements."""
    if isinstance(element, pf.RawBlock) and element.format == "html":
        return list(pandoc.read_markdown(element.text, "html").content)
    return None


def _typst_float(found: Float) -> list:
    """A figure or table in Typst: content, number, caption, and the label that references need."""
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


def _fit_page(element: pf.Element, doc: pf.Doc) -> list | None:
    """Headings one level up, links to other pages as text; pictures without sizes fit the page."""
    if isinstance(element, pf.Image):
        element.attributes.clear()
    if isinstance(element, pf.Header):
        element.level = max(1, element.level - 1)
    if isinstance(element, pf.Link) and not re.match(r"#|[a-z][a-z0-9+.-]*:", element.url):
        return list(element.content)
    return None
