"""Gaps: what the text asks for and a run does not have. A profile of one's own is rendered with its gaps named.

The text is written for the project's own profiles: there, what is missing is an error. Another profile may be without a
task or a judge, and a committed run may be older than the text: where the text speaks of what is missing, it says that
this is not part of the run.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat

from compendium.site.pictures import NOT_HERE, draw_note

WRITTEN_FOR = ("smoke", "quick", "reference", "paper")
EMBED = re.compile(r"\{\{<\s*embed\s+\S*?([\w-]+)\.ipynb#([\w-]+)\s*>\}\}")
VARIABLE = re.compile(r"\{\{<\s*var\s+(\S+)\s*>\}\}")
MISSING_TABLE = f"| |\n|:--|\n| This table is {NOT_HERE}. |\n"


def allows_gaps(profile: str) -> bool:
    """Whether a run of this profile may be without what the text asks for."""
    return profile not in WRITTEN_FOR


def read_pages(home: Path) -> str:
    """The text of all pages, one after the other."""
    pages = [home / "index.qmd", *sorted((home / "paper").rglob("*.qmd"))]
    return "\n\n".join(page.read_text(encoding="utf-8") for page in pages if page.exists())


def missing_numbers(pages: str, there: dict[str, str]) -> dict[str, str]:
    """A text for each number that the pages name and the run does not have."""
    return {key: NOT_HERE for key in VARIABLE.findall(pages) if key not in there}


def with_missing_cells(pages: str, notebooks: dict[str, str]) -> dict[str, str]:
    """Notebooks as JSON, by file name, with each cell that pages embed; one that the run does not have says so."""
    out = dict(notebooks)
    for stem, label in dict.fromkeys(EMBED.findall(pages)):
        name = f"{stem}.ipynb"
        if re.search(rf"#\| label: {label}\b(?!-)", notebooks.get(name, "")):
            continue
        title = nbformat.v4.new_markdown_cell(f"# {stem}: {NOT_HERE}", id="title")
        node = nbformat.reads(out[name], as_version=4) if name in out else nbformat.v4.new_notebook(cells=[title])
        data = {
            "image/png": base64.b64encode(draw_note(f"This figure is {NOT_HERE}.")).decode(),
            "text/plain": f"This figure is {NOT_HERE}.",
        }
        output = nbformat.v4.new_output("display_data", data)
        node.cells.append(nbformat.v4.new_code_cell(f"#| label: {label}", id=label, outputs=[output]))
        out[name] = nbformat.writes(node)
    return out
