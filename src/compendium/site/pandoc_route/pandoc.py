"""Pandoc: Markdown to a tree that can be changed, and the tree to HTML or Typst."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Sequence
from functools import lru_cache
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
