"""Pandoc: Markdown to a tree, numbered and with its references, and the tree to HTML or Typst.

A figure is a div `::: {#fig-x}`, a table a div `::: {#tbl-x}`, both with a caption as last
paragraph; a section is a heading `{#sec-x}`; a reference is `@fig-x`, to pandoc a citation.
"""

import io
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from types import UnionType

import panflute as pf
import pypandoc

from compendium.site.markdown import ReportError, hint
from compendium.site.pictures import NO_FIGURE, SHOWS_TEXT

Where = Callable[[str], str]  # the `file:line` of an identifier, for messages
Inlines = list[pf.Element]
# As Quarto reads pages; pictures alone in a paragraph stay pictures, because figures are divs.
PAGE = "markdown-implicit_figures"
# Jupyter shows lists that follow a paragraph directly.
NOTEBOOK = f"{PAGE}+lists_without_preceding_blankline"


def run_pandoc(arguments: list[str], given: str) -> str:
    """Run pandoc on a text; its warnings are errors, because a page with holes is none."""
    command = [pypandoc.get_pandoc_path(), "--fail-if-warnings", "--columns=10000", *arguments]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    if done.returncode:
        raise ReportError(
            f"pandoc failed ({done.returncode}): {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout.decode()


def read_markdown(markdown: str, form: str = PAGE, filters: Sequence[Path] = ()) -> pf.Doc:
    """Markdown as pandoc's tree, after these Lua filters."""
    after = [f"--lua-filter={path}" for path in filters]
    return pf.load(io.StringIO(run_pandoc(["-f", form, "-t", "json", *after], markdown)))


def read_works(bibliography: Path) -> frozenset[str]:
    """The keys of a BibTeX file."""
    text = bibliography.read_text(encoding="utf-8")
    works = json.loads(run_pandoc(["-f", "biblatex", "-t", "csljson"], text))
    return frozenset(work["id"] for work in works)


def check_citations(doc: pf.Doc, works: frozenset[str], where: Where, strict: bool) -> None:
    """Raise ReportError for a citation of an unknown work; where not `strict`, make it text."""

    def check(element: pf.Element, doc: pf.Doc) -> Inlines | None:
        if not isinstance(element, pf.Cite):
            return None
        unknown = [one.id for one in element.citations if one.id not in works]
        if not unknown:
            return None
        if strict:
            name = unknown[0]
            raise ReportError(
                f"{where('@' + name)}: @{name} is no work in the bibliography; {hint(name, works)}"
            )
        return list(element.content)

    doc.walk(check)


def write(doc: pf.Doc, variables: dict[str, str], bibliography: Path, toc: bool) -> str:
    """The tree as a whole HTML page in the site's template.

    variables: raw texts that the template names.
    """
    assets = resources.files("compendium.site.pandoc_route") / "assets"
    with resources.as_file(assets / "template.html") as template:
        arguments = ["-t", "html5", f"--template={template}", "--mathml"]
        arguments += ["--syntax-highlighting=pygments", "--email-obfuscation=none"]
        arguments += ["--toc", "--toc-depth=3"] if toc else []
        for name, text in variables.items():
            arguments += ["--variable", f"{name}={text}"]
        return convert(doc, arguments, bibliography)


def convert(doc: pf.Doc, arguments: list[str], bibliography: Path) -> str:
    """The tree as a whole document, with its citations resolved.

    arguments: format, template and other options of pandoc.
    """
    arguments = ["-f", "json", "--standalone", "--wrap=none", *arguments]
    if parts_of(doc, pf.Cite):
        arguments += ["--citeproc", f"--bibliography={bibliography}"]
        arguments.append("--metadata=link-citations:true")
    out = io.StringIO()
    pf.dump(doc, out)
    return run_pandoc(arguments, out.getvalue())


SCROLLS = {"tabindex": "0", "role": "group"}  # what is wider than the page, also by the keyboard
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
    where: Where,
    number_sections: bool,
    draw: Callable[[Float], list] | None = None,
) -> dict[str, str]:
    """Number sections, figures and tables of a page in place, and link references to them.

    Args:
        doc: the page.
        where: the `file:line` of an identifier.
        number_sections: whether headings show their numbers.
        draw: the blocks of a figure or table, in place of HTML; the rest then stays as it is.

    Returns:
        Number by identifier.

    Raises:
        ReportError: a reference to nothing, or a figure without picture, rows or caption.
    """
    numbers: dict[str, str] = {}
    for identifier, shown in [*_number_headings(doc, number_sections), *_number_floats(doc)]:
        if identifier in numbers:
            raise ReportError(f"{where(identifier)}: {identifier!r} is defined twice")
        numbers[identifier] = shown

    def drawn(element: pf.Element, doc: pf.Doc) -> list | None:
        if isinstance(element, pf.Div) and element.identifier in numbers:
            return (draw or draw_float)(_read_float(element, numbers[element.identifier], where))
        return None

    doc.walk(lambda element, doc: _link_reference(element, numbers, where))
    doc.walk(drawn, stop_if=_is_leaf)
    if not draw:
        doc.walk(_add_scrolling)
    return numbers


def _number_headings(doc: pf.Doc, number_sections: bool) -> list[tuple[str, str]]:
    """Number headings as 1, 1.1, ...; return identifier and number of those called `sec-...`.

    Each moves one level down, since the first level is the page's title.
    """
    counters = [0] * 6
    found = []

    def heading(element: pf.Element, doc: pf.Doc) -> None:
        if not isinstance(element, pf.Header):
            return
        if number_sections and "unnumbered" not in element.classes:
            counters[element.level - 1] += 1
            counters[element.level :] = [0] * (6 - element.level)
            shown = ".".join(str(n) for n in counters[: element.level])
            if element.identifier.startswith("sec-"):
                found.append((element.identifier, shown))
            mark = pf.Span(pf.Str(shown), classes=["header-section-number"])
            element.content = [mark, pf.Space, *element.content]
        element.level = min(element.level + 1, 6)

    doc.walk(heading, stop_if=_is_leaf)
    return found


def _number_floats(doc: pf.Doc) -> list[tuple[str, str]]:
    """The identifiers of figures and tables with their numbers, in reading order.

    panflute walks from the leaves up, but figures and tables do not nest.
    """
    counts = {"fig": 0, "tbl": 0}
    found = []

    def count(element: pf.Element, doc: pf.Doc) -> None:
        if isinstance(element, pf.Div):
            kind, dash, _ = element.identifier.partition("-")
            if dash and kind in counts:
                counts[kind] += 1
                found.append((element.identifier, str(counts[kind])))

    doc.walk(count, stop_if=_is_leaf)
    return found


def _is_leaf(block: pf.Element) -> bool:
    """Whether no section, figure or table can lie inside, so that no walk need go there."""
    return isinstance(block, pf.Para | pf.Plain | pf.Header | pf.Table)


def _link_reference(element: pf.Element, numbers: dict[str, str], where: Where) -> Inlines | None:
    """`@fig-x` as a link `Figure 1`, `-@fig-x` as its number; several in a bracket with commas."""
    if not isinstance(element, pf.Cite):
        return None
    ours = [one for one in element.citations if one.id.partition("-")[0] in KINDS]
    if not ours:
        return None
    if len(ours) < len(element.citations):
        name = ours[0].id
        raise ReportError(f"{where('@' + name)}: one bracket mixes works and @{name}; use two")
    inlines: Inlines = []
    for citation in ours:
        name = citation.id
        prefix = name.partition("-")[0]
        if name not in numbers:
            same = [known for known in numbers if known.partition("-")[0] == prefix]
            kind = KINDS[prefix].lower()
            raise ReportError(
                f"{where('@' + name)}: @{name} refers to no {kind}; {hint(name, same)}"
            )
        shown = numbers[name]
        if citation.mode != "SuppressAuthor":
            shown = f"{KINDS[prefix]}\u00a0{shown}"
        if inlines:
            inlines += [pf.Str(","), pf.Space]
        link = pf.Link(pf.Str(shown), url=f"#{name}", classes=["xref"])
        inlines += [*citation.prefix, link, *citation.suffix]
    return inlines


def _read_float(element: pf.Div, number: str, where: Where) -> Float:
    """The figure or table that a div is; its pictures get its caption as alternative text."""
    name = element.identifier
    kind = KINDS[name.partition("-")[0]]
    place = where(name)
    *content, caption = element.content or [None]
    if not isinstance(caption, pf.Para) or parts_of(caption, pf.Image):
        raise ReportError(
            f"{place}: {name} has no caption; the last paragraph of its div must be the caption"
        )
    pictures = [part for block in content for part in parts_of(block, pf.Image)]
    said = pf.stringify(element).strip()
    if kind == "Figure" and not pictures and not said.startswith((NO_FIGURE, SHOWS_TEXT)):
        raise ReportError(f"{place}: {name} holds no picture; embed a cell that draws one")
    if kind == "Table" and not any(map(_is_table, parts_of(element, pf.Table | pf.RawBlock))):
        raise ReportError(
            f"{place}: {name} holds no table; include one from paper/tables/ or embed a cell"
        )
    for picture in pictures:
        if not pf.stringify(picture).strip():
            picture.content = [pf.Str(pf.stringify(caption).strip())]
    label = f"{kind}\u00a0{number}:"
    return Float(name, kind, list(element.classes), label, content, list(caption.content))


def _is_table(element: pf.Element) -> bool:
    """Whether an element is a table, or the HTML of one."""
    raw = isinstance(element, pf.RawBlock) and "<table" in element.text
    return raw or isinstance(element, pf.Table)


def draw_float(found: Float) -> list:
    """A figure or table in HTML: content, number and caption."""
    words = [pf.Span(pf.Str(found.label), classes=["float-number"]), pf.Space, *found.caption]
    classes = escape(" ".join(["float", found.kind.lower(), *found.classes]))
    attributes = SCROLLS if found.kind == "Table" else {}
    return [
        pf.RawBlock(f'<figure id="{escape(found.name)}" class="{classes}">', "html"),
        pf.Div(*found.content, classes=["scroll"], attributes=attributes),
        pf.RawBlock("<figcaption>", "html"),
        pf.Plain(*words),
        pf.RawBlock("</figcaption></figure>", "html"),
    ]


def wrap_embed(made: str, notebook: str, href: str) -> str:
    """What an embedded cell shows, in Quarto's box, to which paper/source.lua adds a link."""
    return f'::::: {{.quarto-embed-nb-cell notebook="{notebook}" href="{href}"}}\n{made}\n:::::'


def _add_scrolling(element: pf.Element, doc: pf.Doc) -> pf.Element | None:
    """Tables and display formulas in a box that scrolls sideways."""
    if isinstance(element, pf.Math) and element.format == "DisplayMath":
        return pf.Span(element, classes=["formula"], attributes=SCROLLS)
    if _is_table(element) and "scroll" not in getattr(element.parent, "classes", []):
        return pf.Div(element, classes=["scroll"], attributes=SCROLLS)
    return None


def parts_of(element: pf.Element, kinds: type | UnionType) -> list:
    """The elements of some kinds that an element is or contains."""
    found = []

    def take(part: pf.Element, doc: pf.Doc) -> None:
        if isinstance(part, kinds):
            found.append(part)

    element.walk(take)
    return found
