"""Links from the source notebooks and from docs/notebooks.md to the executed copies that are committed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat

from attreval.core.tables import write_whole
from compendium import project
from compendium.project import Results, step_name
from compendium.site.publishing.places import committed_runs
from compendium.workflow.parameters import NOTEBOOKS

LEAD, SOURCE = "**Executed:**", "**Source:**"  # begin lines of a notebook's first cell
ROW = re.compile(r"^\| `(?P<name>\d\d_\w+)` \| (?P<question>[^|\n]+?) \|(?:[^|\n]*\|)?$", re.MULTILINE)


def executed_copies(notebook: str) -> list[tuple[str, Path, int]]:
    """(profile, executed copy, how many there are) of each committed run; of a notebook with many runs the first."""
    out = []
    for profile, run in committed_runs().items():
        if copies := _copies(run, notebook):
            out.append((profile, copies[0], len(copies)))
    return out


def _copies(run: Results, notebook: str) -> list[Path]:
    """A notebook's executed copies, first the one with the notebook's own parameters where it is there."""
    own = run.executed(step_name(notebook, *NOTEBOOKS[notebook]().run()))
    others = sorted(run.notebooks.glob(f"{notebook}-*.ipynb"))
    return ([own] if own.exists() else []) + [path for path in others if path != own]


def link_line(notebook: str, start: Path) -> str:
    """Links to a notebook's executed copies, relative to the folder `start`; empty where there is none."""
    shown = []
    for profile, path, count in executed_copies(notebook):
        folder = f" and [{count - 1} more]({os.path.relpath(path.parent, start)})" if count > 1 else ""
        shown.append(f"[{profile}]({os.path.relpath(path, start)}){folder}")
    return ", ".join(shown)


def write_links() -> list[Path]:
    """Bring the links up to date; give the files that changed.

    A notebook's links say nothing to its step: the file keeps its time, so that nothing runs again for them.
    """
    home, changed = project.home(), []
    for path in filter(Path.exists, (home / "notebooks" / f"{name}.ipynb" for name in NOTEBOOKS)):
        node = nbformat.read(path, as_version=4)
        before, links = node.cells[0].source, link_line(path.stem, path.parent)
        node.cells[0].source = without_links(before) + (f"\n\n{LEAD} {links}" if links else "")
        if node.cells[0].source != before:
            times = path.stat()
            with write_whole(path) as part:
                nbformat.write(node, part)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            changed.append(path)
    table = home / "docs" / "notebooks.md"
    text = table.read_text(encoding="utf-8") if table.exists() else ""
    new = ROW.sub(
        lambda found: f"| `{found['name']}` | {found['question']} | {link_line(found['name'], table.parent)} |", text
    )
    if new != text:
        with write_whole(table) as part:
            part.write_text(new, encoding="utf-8")
        changed.append(table)
    return changed


def without_links(source: str) -> str:
    """A notebook's first cell without its links to executed copies, or to its source."""
    return "\n".join(line for line in source.splitlines() if not line.startswith((LEAD, SOURCE))).rstrip()
