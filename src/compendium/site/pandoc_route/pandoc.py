"""Pandoc: Markdown to a tree, its sections, figures and tables numbered and referred to, and the tree to HTML or Typst.

A figure is a div `::: {#fig-x}`, a table a div `::: {#tbl-x}`, both with a caption as last paragraph; a section is a
heading `{#sec-x}`; a reference is `@fig-x`, to pandoc a citation.
"""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape as html_escape
from importlib import resources
from pathlib import Path

import panflute as pf
import pypandoc

from compendium.site.markdown import ReportError, hint

# As Quarto reads pages; pictures alone in a paragraph stay pictures, because figures are divs.
PAGE = "markdown-implicit_figures"
# Jupyter shows lists that follow a paragraph directly.
NOTEBOOK = f"{PAGE}+lists_without_preceding_blankline"


def run(arguments: list[str], given: str) -> str:
    """Run pandoc on a text; its warnings are errors, because a page with holes is none."""
    command = [pypandoc.get_pandoc_path(), "--fail-if-warnings", "--columns=10000", *arguments]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    if done.returncode:
        raise ReportError(f"pandoc failed ({done.returncode}): {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def read(markdown: str, form: str = PAGE, filters: Sequence[Path] = ()) -> pf.Doc:
    """Markdown as pandoc's tree, after these Lua filters."""
    after = [f"--lua-filter={path}" for path in filters]
    return pf.load(io.StringIO(run(["-f", form, "-t", "json", *after], markdown)))


@lru_cache(maxsize=4)
def _cited_works(bibliography: Path, stamp: int) -> frozenset[str]:
    """The keys of a BibTeX file; `stamp`, its change time, makes a changed file read again."""
    works = json.loads(run(["-f", "biblatex", "-t", "csljson"], bibliography.read_text(encoding="utf-8")))
    return frozenset(work["id"] for work in works)


def check_citations(doc: pf.Doc, bibliography: Path | None, where, strict: bool) -> None:
    """Raise ReportError for a citation of an unknown work; where not `strict`, make it text."""
    works = _cited_works(bibliography, bibliography.stat().st_mtime_ns) if bibliography else frozenset()

    def check(element, doc):
        if not isinstance(element, pf.Cite):
            return None
        for citation in element.citations:
            if citation.id not in works and strict:
                place, near = where("@" + citation.id), hint(citation.id, works)
                raise ReportError(f"{place}: @{citation.id} is no work in the bibliography; {near}")
            if citation.id not in works:
                return list(element.content)
        return None

    doc.walk(check)


def write(doc: pf.Doc, variables: dict[str, str], bibliography: Path | None, toc: bool) -> str:
    """The tree as a whole HTML page in the site's template. variables: raw texts that the template names."""
    with resources.as_file(resources.files("compendium.site.pandoc_route") / "assets" / "template.html") as template:
        arguments = ["-t", "html5", f"--template={template}", "--mathml"]
        arguments += ["--syntax-highlighting=pygments", "--email-obfuscation=none"]
        arguments += ["--toc", "--toc-depth=3"] if toc else []
        for name, text in variables.items():
            arguments += ["--variable", f"{name}={text}"]
        return convert(doc, arguments, bibliography)


def convert(doc: pf.Doc, arguments: list[str], bibliography: Path | None) -> str:
    """The tree as a whole document, with its citations resolved; arguments: format, template and what else there is."""
    cited = ["--citeproc", f"--bibliography={bibliography}", "--metadata=link-citations:true"] if bibliography else []
    out = io.StringIO()
    pf.dump(doc, out)
    return run(["-f", "json", "--standalone", "--wrap=none", *arguments, *cited], out.getvalue())


KINDS = {"fig": "Figure", "tbl": "Table", "sec": "Section"}


@dataclass
class Numbering:
    """The numbers given so far in one page. where: the `file:line` of an identifier, for messages."""

    where: Callable[[str], str]
    numbers: dict[str, str] = field(default_factory=dict)

    def define(self, identifier: str, number: str) -> None:
        """Note the number of an identifier; twice the same identifier is an error."""
        if identifier in self.numbers:
            raise ReportError(f"{self.where(identifier)}: {identifier!r} is defined twice")
        self.numbers[identifier] = number


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
    doc: pf.Doc, where: Callable[[str], str], number_sections: bool, draw: Callable[[Float], list] | None = None
) -> dict[str, str]:
    """Number sections, figures and tables of a page in place, link references; return number by identifier.

    draw: the blocks of a figure or table, in place of HTML; the rest then stays as it is in pandoc's tree.
    Raises ReportError for a reference to nothing, and a figure without picture, rows or caption.
    """
    state = Numbering(where)
    _number_headings(doc, state, number_sections)
    count = dict.fromkeys(KINDS, 0)

    def floats(element, doc):
        if isinstance(element, pf.Div):
            kind = element.identifier.partition("-")[0]
            if kind in ("fig", "tbl") and element.identifier.startswith(f"{kind}-"):
                count[kind] += 1
                state.define(element.identifier, str(count[kind]))

    # In reading order, though panflute walks from the leaves up: figures and tables do not nest.
    doc.walk(floats)
    doc.walk(lambda element, doc: _link_reference(element, state))
    doc.walk(lambda element, doc: (draw or draw_float)(found) if (found := _find_float(element, state)) else None)
    if not draw:
        doc.walk(lambda element, doc: _add_scrolling(element))
    return state.numbers


def _number_headings(doc: pf.Doc, state: Numbering, shown: bool) -> None:
    """Number headings as 1, 1.1, ... and move all one level down: the first level is the page's title."""
    counters = [0] * 6

    def heading(element, doc):
        if not isinstance(element, pf.Header):
            return
        if shown and "unnumbered" not in element.classes:
            counters[element.level - 1] += 1
            counters[element.level :] = [0] * (6 - element.level)
            text = ".".join(str(n) for n in counters[: element.level])
            if element.identifier.startswith("sec-"):
                state.define(element.identifier, text)
            mark = pf.Span(pf.Str(text), classes=["header-section-number"])
            element.content = [mark, pf.Space, *element.content]
        element.level = min(element.level + 1, 6)

    doc.walk(heading)


def _link_reference(element, state: Numbering):
    """`@fig-x` as a link `Figure 1`; `-@fig-x` as its number; several in one bracket with commas between."""
    if not isinstance(element, pf.Cite):
        return None
    ours = [c for c in element.citations if c.id.partition("-")[0] in KINDS]
    if not ours:
        return None
    if len(ours) < len(element.citations):
        raise ReportError(f"{state.where('@' + ours[0].id)}: one bracket mixes works and @{ours[0].id}; use two")
    inlines = []
    for citation in ours:
        name = citation.id
        kind = KINDS[name.partition("-")[0]]
        if name not in state.numbers:
            same = [known for known in state.numbers if known.partition("-")[0] == name.partition("-")[0]]
            raise ReportError(f"{state.where('@' + name)}: @{name} refers to no {kind.lower()}; {hint(name, same)}")
        text = state.numbers[name] if citation.mode == "SuppressAuthor" else f"{kind}\u00a0{state.numbers[name]}"
        link = pf.Link(pf.Str(text), url=f"#{name}", classes=["xref"])
        inlines += [pf.Str(","), pf.Space, *citation.prefix, link] if inlines else [*citation.prefix, link]
        inlines += citation.suffix
    return inlines


def _find_float(element, state: Numbering) -> Float | None:
    """The figure or table that an element is, if it is a numbered one; pictures get its caption as alternative text."""
    if not isinstance(element, pf.Div) or element.identifier not in state.numbers:
        return None
    name = element.identifier
    kind, place = KINDS[name.partition("-")[0]], state.where(name)
    blocks = list(element.content)
    if not blocks or not isinstance(blocks[-1], pf.Para) or holds(blocks[-1], pf.Image):
        raise ReportError(f"{place}: {name} has no caption; the last paragraph of its div must be the caption")
    *content, caption = blocks
    if name.startswith("fig-") and not holds(pf.Div(*content), pf.Image):
        raise ReportError(f"{place}: {name} holds no picture; embed a cell that draws one")
    if name.startswith("tbl-") and not any(holds(b, pf.Table) or "<table" in _raw_text(b) for b in content):
        raise ReportError(f"{place}: {name} holds no table; include one from paper/tables/ or embed a cell")
    _caption_as_alt_text(content, pf.stringify(caption).strip())
    label = f"{kind}\u00a0{state.numbers[name]}:"
    return Float(name, kind, list(element.classes), label, content, list(caption.content))


def draw_float(found: Float) -> list:
    """A figure or table in HTML: content, number and caption."""
    words = [pf.Span(pf.Str(found.label), classes=["float-number"]), pf.Space, *found.caption]
    classes = html_escape(" ".join(["float", found.kind.lower(), *found.classes]), quote=True)
    return [
        pf.RawBlock(f'<figure id="{html_escape(found.name, quote=True)}" class="{classes}">', "html"),
        pf.Div(
            *found.content,
            classes=["scroll"],
            attributes={"tabindex": "0", "role": "group"} if found.kind == "Table" else {},
        ),
        pf.RawBlock("<figcaption>", "html"),
        pf.Plain(*words),
        pf.RawBlock("</figcaption></figure>", "html"),
    ]


def wrap_embed(made: str, notebook: str, href: str) -> str:
    """What an embedded cell shows, as Markdown, in Quarto's box, to which paper/source.lua adds a link."""
    return f'::::: {{.quarto-embed-nb-cell notebook="{notebook}" href="{href}"}}\n{made}\n:::::'


def _caption_as_alt_text(blocks: list, text: str) -> None:
    """Give pictures that have no description of their own the caption as alternative text."""

    def fill(element, doc):
        if isinstance(element, pf.Image) and not pf.stringify(element).strip():
            element.content = [pf.Str(text)]

    for block in blocks:
        block.walk(fill)


def _add_scrolling(element):
    """Tables and display formulas in a box that scrolls sideways."""
    if isinstance(element, pf.Math) and element.format == "DisplayMath":
        return pf.Span(element, classes=["formula"], attributes={"tabindex": "0", "role": "group"})
    is_table = isinstance(element, pf.Table) or (isinstance(element, pf.RawBlock) and "<table" in element.text)
    if is_table and "scroll" not in getattr(element.parent, "classes", []):
        return pf.Div(element, classes=["scroll"], attributes={"tabindex": "0", "role": "group"})
    return None


def holds(element, kind) -> bool:
    """Whether an element is or contains one of a kind."""
    found = []
    element.walk(lambda e, doc: found.append(e) if isinstance(e, kind) else None)
    return bool(found)


def _raw_text(element) -> str:
    """The raw HTML in an element."""
    found = []
    element.walk(lambda e, doc: found.append(e.text) if isinstance(e, pf.RawBlock) else None)
    return "".join(found)
