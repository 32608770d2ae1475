"""Do two routes show the same? Figures, tables, references and numbers of the pages.

A rendered site (by either route) is read as HTML; sources are read with plain patterns, on purpose
by another method than the one that renders them.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from bs4 import BeautifulSoup

from compendium.site.markdown import ReportError

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
REFERENCE = re.compile(r"(?<![\w.\\])@((?:fig|tbl|sec)-[\w-]+)")
# What the routes draw in their own ways: numbering, works cited, formulas, code, links to
# notebooks.
OWN_WAYS = (
    "nav, script, style, pre, code, math, .math, .citation, #refs, .references, "
    ".header-section-number, "
    ".source, .quarto-notebook-link, .quarto-embed-nb-cell, .quarto-title-meta, .page-footer, "
    ".footnote-ref, .footnote-back"
)


@dataclass(frozen=True)
class Inventory:
    """What a page shows.

    figures, tables: (identifier, number) in reading order. references: the identifiers that text
    points to, and numbers: all that stand in text, captions and cells; both sorted, with
    repetitions.
    """

    figures: tuple[tuple[str, int], ...]
    tables: tuple[tuple[str, int], ...]
    references: tuple[str, ...]
    numbers: tuple[str, ...]


SUPPLEMENTS = ("poerner2018", "kamp2023", "zhao2023", "sun2024", "joint", "data", "claims")


def inventory(folder: Path | str, name: str = "index") -> Inventory:
    """The inventory of a page of a rendered site, or of a staged project's sources."""
    folder = Path(folder)
    if (folder / "_quarto.yml").exists():
        return inventory_of_sources(folder, name)
    page = folder / "paper" / f"{name}.html"
    if not page.exists():
        raise ReportError(
            f"{folder} holds neither a site (paper/{name}.html) nor a project (_quarto.yml)"
        )
    return inventory_of_page(page.read_text(encoding="utf-8"))


def inventory_of_page(html: str) -> Inventory:
    """The inventory of a rendered paper."""
    main = BeautifulSoup(html, "html.parser").find("main")
    floats = {"fig": [], "tbl": []}
    for element in main.find_all(id=re.compile(r"^(fig|tbl)-")):
        caption = element.find("figcaption")
        # Quarto gives captions and inner parts identifiers that begin like their figure's.
        if caption is None or (element.name != "figure" and element.find("figure") is None):
            continue
        found = re.match(r"\s*(?:Figure|Table)\s+(\d+):\s*", caption.get_text())
        if not found:
            raise ReportError(
                f"{element['id']} has no number: its caption begins "
                f"{caption.get_text().strip()[:40]!r}"
            )
        floats[element["id"][:3]].append((element["id"], int(found.group(1))))
        caption.append(" ")
        caption.insert_before(" ")
        strip_prefix(caption, found.group(0))
    references = [
        link["href"][1:]
        for link in main.select('a[href^="#fig-"], a[href^="#tbl-"], a[href^="#sec-"]')
    ]
    for selected in ('a[href^="#fig-"], a[href^="#tbl-"], a[href^="#sec-"]', OWN_WAYS):
        for element in main.select(selected):
            element.decompose()
    numbers = NUMBER.findall(main.get_text(" "))
    return Inventory(
        *map(tuple, (floats["fig"], floats["tbl"], sorted(references), sorted(numbers)))
    )


def strip_prefix(caption, prefix: str) -> None:
    """Take `Figure 1: ` off the start of a caption, however many pieces of text it is in."""
    left = len(prefix.rstrip())
    for text in list(caption.find_all(string=True)):
        take = min(left, len(text))
        text.replace_with(text[take:])
        left -= take
        if not left:
            return


def inventory_of_sources(home: Path, name: str) -> Inventory:
    """The inventory that a page's sources declare, once staged."""
    variables = yaml.safe_load((home / "_variables.yml").read_text(encoding="utf-8"))
    text = read_included(home / "paper" / f"{name}.qmd", home)
    front = re.match(r"---\n(.*?)\n---\n", text, re.S)
    meta = yaml.safe_load(front.group(1)) if front else {}
    text = "\n\n".join(
        [str(meta.get(key, "")) for key in ("title", "subtitle", "abstract")]
        + [text[front.end() :]]
    )
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    floats = [
        enumerate(re.findall(rf"^:::+\s*\{{#({kind}-[\w-]+)", text, re.M), 1)
        for kind in ("fig", "tbl")
    ]
    numbered = [tuple((name, at) for at, name in found) for found in floats]
    references = REFERENCE.findall(text)
    text = re.sub(
        r"\{\{<\s*var\s+(\S+)\s*>\}\}", lambda found: look_up(variables, found.group(1)), text
    )
    for pattern in (
        r"\{\{<.*?>\}\}",  # embeds
        r"^(```+|~~~+).*?^\1",  # code
        r"`[^`\n]+`",
        r"\$\$.*?\$\$",  # formulas
        r"\$[^$\n]+\$",
        r"\[[^\[\]]*@[^\[\]]*\]",  # works cited in brackets, and in the text
        r"(?<![\w\\])@[\w:-]+",
        r"\[\^\w+\]:?",  # footnote marks
        r"\]\([^)\s]*\)",  # addresses of links
        r"\{[^{}\n]*\}",  # attributes
    ):
        text = re.sub(pattern, " ", text, flags=re.S | re.M)
    text = re.sub(r"\\(.)", r"\1", text)
    return Inventory(*numbered, tuple(sorted(references)), tuple(sorted(NUMBER.findall(text))))


def read_included(path: Path, home: Path) -> str:
    """A page's text with its includes pasted in."""
    text = path.read_text(encoding="utf-8")
    page = path.parent

    def paste(found: re.Match) -> str:
        name = found.group(1)
        return ((home / name[1:]) if name.startswith("/") else page / name).read_text(
            encoding="utf-8"
        )

    pattern = re.compile(r"^\{\{<\s*(?:include|made)\s+(\S+)\s*>\}\}\s*$", re.M)
    while pattern.search(text):
        text = pattern.sub(paste, text)
    return text


def look_up(tree: dict, key: str) -> str:
    """The text at a dotted key of nested mappings."""
    for part in key.split("."):
        tree = tree[part]
    return str(tree)
