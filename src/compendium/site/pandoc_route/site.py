"""The site as _quarto.yml plans it: every page and file, made with pandoc."""

import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pandas as pd
import panflute as pf

from compendium import project
from compendium.site.markdown import (
    ReportError,
    hint,
    notebook_markdown,
    outputs_markdown,
    read_notebook,
)
from compendium.site.pandoc_route import pandoc
from compendium.site.pandoc_route.pandoc import number, wrap_embed
from compendium.site.pandoc_route.shortcodes import Expanded, Line, Page, fill


@dataclass(frozen=True)
class Site:
    """The site's plan. home: project folder. config: _quarto.yml. pages: source -> address."""

    home: Path
    config: dict
    variables: dict[str, str]
    pages: dict[Path, str]

    @property
    def bibliography(self) -> Path:
        return self.home / self.config["bibliography"]

    @cached_property
    def works(self) -> frozenset[str]:
        """The keys of the bibliography."""
        return pandoc.read_works(self.bibliography)

    @property
    def resources(self) -> list[str]:
        """Files that are on the site as they are; a pattern stands for those that match."""
        found = []
        for pattern in self.config["project"]["resources"]:
            if "*" in pattern:
                matching = self.home.glob(pattern)
                found += sorted(path.relative_to(self.home).as_posix() for path in matching)
            else:
                found.append(pattern)
        return found

    @property
    def filters(self) -> list[Path]:
        """The Lua filters of every page."""
        return [self.home / one["path"] for one in self.config["filters"]]

    @property
    def notebooks(self) -> list[Path]:
        return [path for path in self.pages if path.suffix == ".ipynb"]

    @property
    def html(self) -> dict:
        """The options of HTML."""
        return self.config["format"]["html"]


def read_site(home: Path, variables: dict[str, str]) -> Site:
    """Read _quarto.yml below `home` and its metadata-files: the sources and their addresses."""
    config = project.read_yaml(home / "_quarto.yml")
    for path in (home / name for name in config["metadata-files"]):
        config = _merge(config, project.read_yaml(path)) if path.exists() else config
    pages: dict[Path, str] = {}
    for pattern in config["project"]["render"]:
        found = sorted(path for path in home.glob(pattern) if not path.name.startswith("."))
        if not found and "*" not in pattern:
            raise ReportError(f"_quarto.yml: project.render lists {pattern!r}, which is not there")
        pages |= {path: path.relative_to(home).with_suffix(".html").as_posix() for path in found}
    flat = pd.json_normalize(variables).astype(str)
    texts = flat.iloc[0].to_dict() if len(flat.columns) else {}
    return Site(home, config, texts, pages)


def _merge(first: Any, second: Any) -> Any:
    """Two parts of a configuration, as Quarto merges them: mappings by key, lists end to end."""
    if isinstance(first, dict) and isinstance(second, dict):
        both = {key: _merge(first[key], second[key]) for key in first.keys() & second.keys()}
        return first | second | both
    return [*first, *second] if isinstance(first, list) else second


def staged_site(home: Path) -> Site:
    """The site with the numbers that are staged below `home`."""
    staged = home / "_variables.yml"
    if not staged.exists():
        raise ReportError(f"{staged} is not there: run `attreval stage`")
    return read_site(home, project.read_yaml(staged) or {})


def build_site(home: Path) -> dict[str, bytes]:
    """Every file of the site by its address, from what is staged."""
    site = staged_site(home)
    assets = resources.files("compendium.site.pandoc_route") / "assets"
    files = {"assets/site.css": (assets / "site.css").read_bytes()}
    for copied in [*site.html["css"], *site.resources]:
        files[copied] = (home / copied).read_bytes()
    for source, address in site.pages.items():
        make = _notebook_page if source.suffix == ".ipynb" else _text_page
        files[address] = make(site, source, files).encode()
    return files


def _text_page(site: Site, source: Path, files: dict[str, bytes]) -> str:
    """A .qmd page as HTML; pictures of embedded cells go into `files`."""
    address = site.pages[source]

    def embed(path: Path, label: str) -> str:
        notebook = read_notebook(path)
        if path not in site.pages:
            names = [one.name for one in site.notebooks]
            raise ReportError(f"{path.name} is embedded but is no page; {hint(path.name, names)}")
        assets: dict[str, bytes] = {}
        folder = _picture_folder(site.pages[path])
        cell = notebook.cell(label)
        made = outputs_markdown(cell, _relative(folder, address), assets, streams=False)
        if not made:
            raise ReportError(f"cell {label!r} of notebook {notebook.name} shows nothing")
        files.update({_address(name, address): data for name, data in assets.items()})
        link = f"{_relative(site.pages[path], address)}#{cell.anchor}"
        return wrap_embed(made, path.name, link)

    page = Page(source, site.home, site.variables, embed).expand()
    doc = pandoc.read_markdown(page.text, filters=site.filters)
    meta = doc.get_metadata()
    number(doc, page.where, meta.get("number-sections", False))
    pandoc.check_citations(doc, site.works, page.where, strict=True)
    _fix_links(doc, site, source, page)

    def check_picture(element: pf.Element, doc: pf.Doc) -> None:
        if isinstance(element, pf.Image) and not re.match(r"[a-z][a-z0-9+.-]*:", element.url):
            target = _address(unquote(element.url), address)
            if target not in files:
                folder = posixpath.dirname(target)
                near = hint(target, [name for name in files if posixpath.dirname(name) == folder])
                raise ReportError(f"{page.where(element.url)}: no picture {target}; {near}")

    doc.walk(check_picture)
    toc = meta.get("toc", site.html["toc"])
    return pandoc.write(doc, frame(site, source), site.bibliography, toc)


def _notebook_page(site: Site, source: Path, files: dict[str, bytes]) -> str:
    """An executed notebook as HTML; its pictures go into `files`."""
    address = site.pages[source]
    notebook = read_notebook(source)
    assets: dict[str, bytes] = {}
    folder = _picture_folder(address)
    markdown = notebook_markdown(notebook, _relative(folder, address), assets)
    files.update({_address(name, address): data for name, data in assets.items()})
    head = f"---\ntitle: {json.dumps(notebook.title)}\n---\n\n"
    doc = pandoc.read_markdown(head + markdown, pandoc.NOTEBOOK)
    name = source.relative_to(site.home).as_posix()
    page = Expanded(tuple(Line(text, name) for text in markdown.splitlines()))
    pandoc.check_citations(doc, site.works, page.where, strict=False)
    number(doc, page.where, number_sections=False)

    def describe(element: pf.Element, doc: pf.Doc) -> None:
        if isinstance(element, pf.Image) and not pf.stringify(element).strip():
            element.content = [pf.Str(f"Output of the cell above, notebook {notebook.name}")]

    doc.walk(describe)
    _fix_links(doc, site, source, page)
    more = {"kicker": source.stem}
    for before, after in pairwise(site.notebooks):
        if after == source:
            more["previous"] = _step_to(site, before, "prev", address)
        if before == source:
            more["next"] = _step_to(site, after, "next", address)
    return pandoc.write(doc, frame(site, source) | more, site.bibliography, toc=True)


def _step_to(site: Site, source: Path, relation: str, address: str) -> str:
    """A link to the notebook before or after."""
    link = _relative(site.pages[source], address)
    return f'<a rel="{relation}" href="{link}">{source.stem}</a>'


def _picture_folder(address: str) -> str:
    return address.removesuffix(".html") + "_files"


def _address(name: str, page: str) -> str:
    """The address on the site of what a page calls by a relative name."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), name))


def _relative(target: str, page: str) -> str:
    """The address of one file of the site as seen from a page."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def _fix_links(doc: pf.Doc, site: Site, source: Path, page: Expanded) -> None:
    """Links to sources (.qmd, .ipynb) become links to their pages; ReportError for no page."""

    def fix(element: pf.Element, doc: pf.Doc) -> None:
        if not isinstance(element, pf.Link) or re.match(r"[a-z][a-z0-9+.-]*:|#|//", element.url):
            return
        path, hash_, anchor = element.url.partition("#")
        if not path.endswith((".qmd", ".ipynb")):
            return
        folder = site.home if path.startswith("/") else source.parent
        target = (folder / path.lstrip("/")).resolve()
        if target not in site.pages:
            near = _known(path, site)
            raise ReportError(f"{page.where(path)}: link to {path!r}, which is no page; {near}")
        element.url = _relative(site.pages[target], site.pages[source]) + hash_ + anchor

    doc.walk(fix)


def _known(name: str, site: Site, more: Iterable[str] = ()) -> str:
    """The end of an error message: the sources of pages, and other files, that come near a name."""
    return hint(name, [*(path.relative_to(site.home).as_posix() for path in site.pages), *more])


def frame(site: Site, source: Path) -> dict[str, str]:
    """What the template shows around a page: title, navigation, footer, styles, icon, language."""
    website = site.config["website"]
    address = site.pages[source]
    items = "".join(_navigation_item(item, site, source) for item in website["navbar"]["left"])
    styles = [
        f'<link rel="stylesheet" href="{_relative(style, address)}">'
        for style in ("assets/site.css", *site.html["css"])
    ]
    # Inside the page: browsers would otherwise ask for a file beside it.
    icon = (site.home / website["favicon"]).read_text(encoding="utf-8")
    return {
        "nav": items,
        "site-title": escape(website["title"]),
        "home": _relative("index.html", address),
        "page-footer": _as_html(fill(website["page-footer"]["left"], site.variables)),
        "styles": "".join(styles),
        "lang": site.config["lang"],
        "icon": "data:image/svg+xml," + quote(icon),
    }


@cache
def _as_html(markdown: str) -> str:
    """What all pages show, made once."""
    return pandoc.run_pandoc(["-f", "markdown", "-t", "html5"], markdown).strip()


def _navigation_item(item: dict, site: Site, source: Path) -> str:
    """A link of the navigation bar, or a menu of links that opens without a script."""
    if "menu" in item:
        inside = "".join(_navigation_item(one, site, source) for one in item["menu"])
        is_here = any(site.home / one["href"] == source for one in item["menu"])
        here = ' aria-current="true"' if is_here else ""
        title = f"<summary>{escape(item['text'])}</summary>"
        return f"<li><details{here}>{title}<ul>{inside}</ul></details></li>"
    target = site.home / item["href"]
    addresses = site.pages | {site.home / name: name for name in site.resources}
    if target not in addresses:
        near = _known(item["href"], site, site.resources)
        raise ReportError(f"_quarto.yml: navbar links to {item['href']!r}; {near}")
    here = ' aria-current="page"' if target == source else ""
    link = _relative(addresses[target], site.pages[source])
    return f'<li><a href="{link}"{here}>{escape(item["text"])}</a></li>'
