"""The paper as JATS, the XML that journals and archives take, with its pictures in one zip."""

from __future__ import annotations

import io
import posixpath
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import panflute as pf

from compendium import project
from compendium.site.pandoc_route import pandoc
from compendium.site.pandoc_route.pandoc import Float
from compendium.site.pandoc_route.pdf import read_tree
from compendium.site.pandoc_route.site import Site

FORM = "jats_publishing+element_citations"


def make_jats(site: Site, source: Path) -> bytes:
    """A .qmd page as a zip of manuscript.xml and its pictures; authors and DOI are those of CITATION.cff.

    Equal pages give equal bytes. Raises ReportError as for the page.
    """
    doc, pictures = read_tree(site, source, _draw_float)
    for name, value in read_authors(project.read_yaml(site.home / "CITATION.cff")).items():
        doc.metadata[name] = value
    text = pandoc.convert(doc, ["-t", FORM, "--mathml"], site.bibliography)
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name, data in {"manuscript.xml": text.encode(), **pictures}.items():
            archive.writestr(ZipInfo(posixpath.normpath(name)), data, ZIP_DEFLATED)
    return made.getvalue()


def read_authors(citation: dict) -> dict:
    """Authors, DOI and licence of CITATION.cff by the names that pandoc's template has for them."""
    names = {"family-names": "surname", "given-names": "given-names", "name": "name", "email": "email"}
    authors = []
    for given in citation["authors"]:
        author = {ours: given[theirs] for theirs, ours in names.items() if theirs in given}
        if "orcid" in given:
            author["orcid"] = given["orcid"]
        if "affiliation" in given:
            author["affiliation"] = [{"organization": given["affiliation"]}]
        authors.append(author)
    article = {"type": "research-article"} | ({"doi": citation["doi"]} if "doi" in citation else {})
    return {"author": authors, "article": article}


def _draw_float(found: Float) -> list:
    """A figure with its pictures, or a table, under its number and caption; what refers to it finds its name."""
    kind = pf.Image if found.kind == "Figure" else pf.Table
    parts: list = []
    for block in found.content:
        block.walk(lambda element, doc: parts.append(element) if isinstance(element, kind) else None)
    caption = pf.Caption(pf.Plain(pf.Strong(pf.Str(found.label)), pf.Space, *found.caption))
    if kind is pf.Table and len(parts) == 1:
        parts[0].caption, parts[0].identifier = caption, found.name
        return parts
    content = [pf.Plain(part) if kind is pf.Image else part for part in parts]
    return [pf.Figure(*content, caption=caption, identifier=found.name)]
