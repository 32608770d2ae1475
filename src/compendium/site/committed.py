"""Committed runs: where they lie, what is read from them, and the links to their executed notebooks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import nbformat

from attreval.core.tables import write_whole
from compendium import project
from compendium.papers.common.claims import scorecard
from compendium.project import Results, step_name
from compendium.workflow.parameters import NOTEBOOKS

COMMITTED = {"reference": "full", "quick": "quick"}  # profile -> folder below results/reference, the main run first
ELSEWHERE = "elsewhere.json"
LEAD, SOURCE = "**Executed:**", "**Source:**"  # begin lines of a notebook's first cell
ROW = re.compile(r"^\| `(?P<name>\d\d_\w+)` \| (?P<question>[^|\n]+?) \|(?:[^|\n]*\|)?$", re.MULTILINE)


def committed(profile: str) -> Results:
    """The committed copy of a profile's run. ValueError for a profile of which none is committed."""
    if profile not in COMMITTED:
        raise ValueError(f"of profile {profile!r} no run is committed; of these there are: {', '.join(COMMITTED)}")
    return Results(project.home() / "results" / "reference" / COMMITTED[profile])


def committed_runs() -> dict[str, Results]:
    """The committed runs that are there, by profile, the main one first."""
    places = {profile: committed(profile) for profile in COMMITTED}
    return {profile: place for profile, place in places.items() if (place.root / "claims.json").exists()}


def read_json(run: Results, name: str):
    """A JSON file of a committed run."""
    return json.loads((run.root / name).read_text(encoding="utf-8"))


def read_elsewhere(run: Results) -> list[dict]:
    """What other machines said of a committed run's claims: verdict, value, processor, commit and date."""
    return read_json(run, ELSEWHERE) if (run.root / ELSEWHERE).exists() else []


def claims_json(tables: Path) -> str:
    """Every claim with its verdict, as `attreval claims --json` prints it."""
    return scorecard(tables).to_json(orient="records", indent=1, force_ascii=False) + "\n"


def link_line(notebook: str, start: Path) -> str:
    """Links to a notebook's executed copies, relative to the folder `start`; empty where there is none.

    Of a notebook with many runs in a profile the link leads to that with its own parameters, where it is there.
    """
    shown = []
    for profile, run in committed_runs().items():
        own = run.executed(step_name(notebook, *NOTEBOOKS[notebook]().run()))
        others = [path for path in sorted(run.notebooks.glob(f"{notebook}-*.ipynb")) if path != own]
        first, *more = [*([own] if own.exists() else []), *others] or [None]
        if first:
            folder = f" and [{len(more)} more]({os.path.relpath(run.notebooks, start)})" if more else ""
            shown.append(f"[{profile}]({os.path.relpath(first, start)}){folder}")
    return ", ".join(shown)


def write_links() -> list[Path]:
    """Bring the links in the source notebooks and in docs/notebooks.md up to date; give the files that changed.

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
    new = ROW.sub(lambda row: f"| `{row['name']}` | {row['question']} | {link_line(row['name'], table.parent)} |", text)
    if new != text:
        with write_whole(table) as part:
            part.write_text(new, encoding="utf-8")
        changed.append(table)
    return changed


def without_links(source: str) -> str:
    """A notebook's first cell without its links to executed copies, or to its source."""
    return "\n".join(line for line in source.splitlines() if not line.startswith((LEAD, SOURCE))).rstrip()
