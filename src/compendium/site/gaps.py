"""Gaps: what the text asks for and a run does not have. A profile of one's own is rendered with its gaps named.

The text is written for the project's own profiles: there, what is missing is an error. Another profile may lack a
task or a judge, and a committed run may be older than the text: where it speaks of what they lack, it says that this is
not part of the run.
"""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import nbformat

WRITTEN_FOR = ("smoke", "quick", "reference", "paper")
NOT_HERE = "not part of this run"
EMBED = re.compile(r"\{\{<\s*embed\s+\S*?([\w-]+)\.ipynb#([\w-]+)\s*>\}\}")
VARIABLE = re.compile(r"\{\{<\s*var\s+(\S+)\s*>\}\}")


def allows_gaps(profile: str) -> bool:
    """Whether a run of this profile may lack what the text asks for."""
    return profile not in WRITTEN_FOR


def _read_pages(home: Path) -> str:
    """The text of all pages, one after the other."""
    pages = [home / "index.qmd", *sorted((home / "paper").rglob("*.qmd"))]
    return "\n\n".join(page.read_text(encoding="utf-8") for page in pages if page.exists())


def missing_numbers(home: Path, there: dict[str, str]) -> dict[str, str]:
    """A text for each number that the pages name and the run does not have."""
    return {key: NOT_HERE for key in VARIABLE.findall(_read_pages(home)) if key not in there}


def missing_notebooks(home: Path, there: set[str]) -> dict[str, str]:
    """For each notebook that the pages embed and the run does not have, one whose labelled cells say so, as JSON."""
    cells: dict[str, dict[str, None]] = {}
    for stem, label in EMBED.findall(_read_pages(home)):
        if stem not in there:
            cells.setdefault(stem, {})[label] = None
    return {stem: _empty_notebook(stem, list(labels)) for stem, labels in cells.items()}


def with_missing_cells(home: Path, notebooks: dict[str, str]) -> dict[str, str]:
    """Notebooks as JSON, by file name, with a cell that says so for each label that pages embed and they lack."""
    wanted: dict[str, dict[str, None]] = {}
    for stem, label in EMBED.findall(_read_pages(home)):
        if f"{stem}.ipynb" in notebooks and not re.search(rf"#\| label: {label}\b(?!-)", notebooks[f"{stem}.ipynb"]):
            wanted.setdefault(f"{stem}.ipynb", {})[label] = None
    out = dict(notebooks)
    for name, labels in wanted.items():
        node = nbformat.reads(notebooks[name], as_version=4)
        stub = nbformat.reads(_empty_notebook(name, list(labels)), as_version=4)
        node.cells += [cell for cell in stub.cells if cell.cell_type == "code"]
        out[name] = nbformat.writes(node)
    return out


def _empty_notebook(stem: str, labels: list[str]) -> str:
    """A notebook whose labelled cells show that they are not part of the run."""
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {stem}: {NOT_HERE}", id="title")])
    picture = base64.b64encode(_draw_missing_figure()).decode()
    for label in labels:
        output = nbformat.v4.new_output(
            "display_data", {"image/png": picture, "text/plain": f"This figure is {NOT_HERE}."}
        )
        cell = nbformat.v4.new_code_cell(f"#| label: {label}", id=label, outputs=[output])
        node.cells.append(cell)
    return nbformat.writes(node)


def _draw_missing_figure() -> bytes:
    """A PNG that says that a figure is not part of the run."""
    from matplotlib import pyplot as plt

    from compendium.papers.common.style import draw_nothing

    figure, buffer = draw_nothing(f"This figure is {NOT_HERE}.").get_figure(), io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    plt.close(figure)
    return buffer.getvalue()


def missing_table() -> str:
    """A table that says that it is not part of the run."""
    return f"| |\n|:--|\n| This table is {NOT_HERE}. |\n"
