"""Pandoc: Markdown to a tree, its sections, figures and tables numbered and referred to, and the
tree to HTML or Typst.

A figure is a div `::: {#fig-x}`, a table a div `::: {#tbl-x}`, both with a caption as last
paragraph; a section is a heading `{#sec-x}`; a reference is `@fig-x`, to pandoc a citation.
"""

import io
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib import resources
from pathlib import Path

import panflute as pf
import pypandoc

from compendium.site.markdown import ReportError, hint
from compendium.site.pictures import NO_FIGURE, SHOWS_TEXT

# As Quarto reads pages; pictures alone in a paragraph stay pictures, because figures are divs.
PAGE = "markdown-implicit_figures"
# Jupyter shows lists that follow a paragraph directly.
NOTEBOOK = f"{PAGE}+lists_without_preceding_blankline"


def run(arguments: list[str], given: str) -> str:
    """Run pandoc on a text; its warnings are errors, because a page with holes is none."""
    command = [pypandoc.get_pandoc_path(), "--fail-if-warnings", "--columns=10000", *arguments]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    if done.returncode:
        raise ReportError(
            f"pandoc failed ({done.returncode}): {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout.decode()


def read(markdown: str, form: str = PAGE, filters: Sequence[Path] = ()) -> pf.Doc:
    """Markdown as pandoc's tree, after these Lua filters."""
    after = [f"--lua-filter={path}" for path in filters]
    return pf.load(io.StringIO(run(["-f", form, "-t", "json", *after], markdown)))


@lru_cache(maxsize=4)
def _cited_works(bibliography: Path, stamp: int) -> frozenset[str]:
    """The keys of a BibTeX file; `stamp`, its change time, makes a changed file read again."""
    works = json.loads(
        run(["-f", "biblatex", "-t", "csljson"], bibliography.read_text(encoding="utf-8"))
    )
    return frozenset(work["id"] for work in works)


def check_citations(doc: pf.Doc, bibliography: Path | None, where, strict: bool) -> None:
    """Raise ReportError for a citation of an unknown work; where not `strict`, make it text."""
    works = (
        _cited_works(bibliography, bibliography.stat().st_mtime_ns) if bibliography else frozenset()
    )

    def check(element, doc):
        if not isinstance(element, pf.Cite):
            return None
        for citation in element.citations:
            if citation.id not in works and strict:
                place = where("@" + citation.id)
                raise ReportError(
                    f"{place}: @{citation.id} is no work in the bibliography; "
                    f"{hint(citation.id, works)}"
                )
            if citation.id not in works:
                return list(element.content)
        return None

    doc.walk(check)


def write(doc: pf.Doc, variables: dict[str, str], bibliography: Path | None, toc: bool) -> str:
    """The tree as a whole HTML page in the site's template. variables: raw texts that the template
    names.
    """
    with resources.as_file(
        resources.files("compendium.site.pandoc_route") / "assets" / "template.html"
    ) as template:
        arguments = ["-t", "html5", f"--template={template}", "--mathml"]
        arguments += ["--syntax-highlighting=pygments", "--email-obfuscation=none"]
        arguments += ["--toc", "--toc-depth=3"] if toc else []
        for name, text in variables.items():
            arguments += ["--variable", f"{name}={text}"]
        return convert(doc, arguments, bibliography)


def convert(doc: pf.Doc, arguments: list[str], bibliography: Path | None) -> str:
    """The tree as a whole document, with its citations resolved; arguments: format, template and
    what else there is.
    """
    cites = bibliography and parts_of(doc, pf.Cite)
    cited = (
        ["--citeproc", f"--bibliography={bibliography}", "--metadata=link-citations:true"]
        if cites
        else []
    )
    out = io.StringIO()
    pf.dump(doc, out)
    return run(["-f", "json", "--standalone", "--wrap=none", *arguments, *cited], out.getvalue())


KINDS = {"fig": "Figure", "tbl": "Table", "sec": "Section"}


@dataclass(frozen=True)
class Float:
    """A figure or table of a page. label: `Figure 1:`."""

    name: str
    kind: str
    classes: list[str]
    label: str
    content: list
    caption: list


def number(
    doc: pf.Doc,
    where: Callable[[str], str],
    number_sections: bool,
    draw: Callable[[Float], list] | None = None,
) -> dict[str, str]:
    """Number sections, figures and tables of a page in place, link references; return number by
    identifier.

    where: the `file:line` of an identifier, for messages. draw: the blocks of a figure or table, in
    place of HTML; the rest then stays as it is in pandoc's tree.
    Raises ReportError for a reference to nothing, and a figure without picture, rows or caption.
    """
    numbers: dict[str, str] = {}
    counters = [0] * 6
    count = dict.fromkeys(KINDS, 0)

    def define(identifier: str, number: str) -> None:
        if identifier in numbers:
            raise ReportError(f"{where(identifier)}: {identifier!r} is defined twice")
        numbers[identifier] = number

    def heading(element, doc):
        """Number a heading as 1, 1.1, ... and move it one level down: the first level is the page's
        title.
        """
        if not isinstance(element, pf.Header):
            return
        if number_sections and "unnumbered" not in element.classes:
            counters[element.level - 1] += 1
            counters[element.level :] = [0] * (6 - element.level)
            text = ".".join(str(n) for n in counters[: element.level])
            if element.identifier.startswith("sec-"):
                define(element.identifier, text)
            mark = pf.Span(pf.Str(text), classes=["header-section-number"])
            element.content = [mark, pf.Space, *element.content]
        element.level = min(element.level + 1, 6)

    def floats(element, doc):
        kind, dash, _ = (
            element.identifier.partition("-") if isinstance(element, pf.Div) else ("", "", "")
        )
        if kind in ("fig", "tbl") and dash:
            count[kind] += 1
            define(element.identifier, str(count[kind]))

    def drawn(element, doc):
        if isinstance(element, pf.Div) and element.identifier in numbers:
            return (draw or draw_float)(_read_float(element, numbers[element.identifier], where))
        return None

    # In reading order, though panflute walks from the leaves up: figures and tables do not nest.
    doc.walk(heading, stop_if=_is_leaf)
    doc.walk(floats, stop_if=_is_leaf)
    doc.walk(lambda element, doc: _link_reference(element, numbers, where))
    doc.walk(drawn, stop_if=_is_leaf)
    if not draw:
        doc.walk(_add_scrolling)
    return numbers


def _is_leaf(block) -> bool:
    """Whether no section, figure or table lies inside: most of a page does not, and is not walked
    through.
    """
    return isinstance(block, pf.Para | pf.Plain | pf.Header | pf.Table)


def _link_reference(element, numbers: dict[str, str], where: Callable[[str], str]):
    """`@fig-x` as a link `Figure 1`; `-@fig-x` as its number; several in one bracket with commas
    between.
    """
    if not isinstance(element, pf.Cite):
        return None
    ours = [c for c in element.citations if c.id.partition("-")[0] in KINDS]
    if not ours:
        return None
    if len(ours) < len(element.citations):
        raise ReportError(
            f"{where('@' + ours[0].id)}: one bracket mixes works and @{ours[0].id}; use two"
        )
    inlines = []
    for citation in ours:
        name = citation.id
        prefix = name.partition("-")[0]
        if name not in numbers:
            same = [known for known in numbers if known.partition("-")[0] == prefix]
            raise ReportError(
                f"{where('@' + name)}: @{name} refers to no {KINDS[prefix].lower()}; "
                f"{hint(name, same)}"
            )
        text = (
            numbers[name]
            if citation.mode == "SuppressAuthor"
            else f"{KINDS[prefix]}\u00a0{numbers[name]}"
        )
        inlines += [pf.Str(","), pf.Space] if inlines else []
        link = pf.Link(pf.Str(text), url=f"#{name}", classes=["xref"])
        inlines += [*citation.prefix, link, *citation.suffix]
    return inlines


def _read_float(element: pf.Div, number: str, where: Callable[[str], str]) -> Float:
    """The figure or table that a div is; its pictures get its caption as alternative text."""
    name = element.identifier
    kind = KINDS[name.partition("-")[0]]
    place = where(name)
    *content, caption = element.content or [None]
    if not isinstance(caption, pf.Para) or parts_of(caption, pf.Image):
        raise ReportError(
            f"{place}: {name} has no caption; the last paragraph of its div must be the caption"
        )
    parts = [
        part for block in content for part in parts_of(block, pf.Image | pf.Table | pf.RawBlock)
    ]
    pictures = [part for part in parts if isinstance(part, pf.Image)]
    in_words = pf.stringify(element).strip().startswith((NO_FIGURE, SHOWS_TEXT))
    if kind == "Figure" and not pictures and not in_words:
        raise ReportError(f"{place}: {name} holds no picture; embed a cell that draws one")
    if kind == "Table" and not any(
        isinstance(p, pf.Table) or "<table" in getattr(p, "text", "") for p in parts
    ):
        raise ReportError(
            f"{place}: {name} holds no table; include one from paper/tables/ or embed a cell"
        )
    for picture in pictures:
        if not pf.stringify(picture).strip():
            picture.content = [pf.Str(pf.stringify(caption).strip())]
    return Float(
        name, kind, list(element.classes), f"{kind}\u00a0{number}:", content, list(caption.content)
    )


def draw_float(found: Float) -> list:
    """A figure or table in HTML: content, number and caption."""
    words = [pf.Span(pf.Str(found.label), classes=["float-number"]), pf.Space, *found.caption]
    classes = escape(" ".join(["float", found.kind.lower(), *found.classes]))
    attributes = {"tabindex": "0", "role": "group"} if found.kind == "Table" else {}
    return [
        pf.RawBlock(f'<figure id="{escape(found.name)}" class="{classes}">', "html"),
        pf.Div(*found.content, classes=["scroll"], attributes=attributes),
        pf.RawBlock("<figcaption>", "html"),
        pf.Plain(*words),
        pf.RawBlock("</figcaption></figure>", "html"),
    ]


def wrap_embed(made: str, notebook: str, href: str) -> str:
    """What an embedded cell shows, as Markdown, in Quarto's box, to which paper/source.lua adds a
    link.
    """
    return f'::::: {{.quarto-embed-nb-cell notebook="{notebook}" href="{href}"}}\n{made}\n:::::'


def _add_scrolling(element, doc):
    """Tables and display formulas in a box that scrolls sideways."""
    attributes = {"tabindex": "0", "role": "group"}
    if isinstance(element, pf.Math) and element.format == "DisplayMath":
        return pf.Span(element, classes=["formula"], attributes=attributes)
    is_table = isinstance(element, pf.Table) or (
        isinstance(element, pf.RawBlock) and "<table" in element.text
    )
    if is_table and "scroll" not in getattr(element.parent, "classes", []):
        return pf.Div(element, classes=["scroll"], attributes=attributes)
    return None


def parts_of(element, kinds) -> list:
    """The elements of some kinds that an element is or contains."""
    found = []
    element.walk(lambda e, doc: found.append(e) if isinstance(e, kinds) else None)
    return found
