"""Committed runs: where they lie, what is read from them, links to their notebooks, and verdicts that differ there."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import nbformat

from attreval.core.tables import write_whole
from compendium import project
from compendium.papers.common.claims import scorecard
from compendium.papers.common.verdicts import UNTESTABLE
from compendium.project import Results, step_name
from compendium.site.markdown import pipe_table, with_minus
from compendium.workflow.parameters import NOTEBOOKS

COMMITTED = {"reference": "full", "quick": "quick"}  # profile -> folder below results/reference, the main run first
MAIN = next(iter(COMMITTED))  # which the site shows
ELSEWHERE = "elsewhere.json"
ALONE = "No other run is committed."
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


def other_runs(profile: str, results: Results) -> tuple[str, str]:
    """A sentence on how many verdicts differ, and a table of these conclusions, of a run beside the committed ones.

    A committed run that has the same claims, to the digit, is the run itself. A conclusion that only one of two runs
    tests is none on which they differ.
    """
    said = claims_json(results.tables) if any(results.tables.glob("[!.]*_claims.csv")) else ""
    here = _judged(said)
    others = {name: (run.root / "claims.json").read_text(encoding="utf-8") for name, run in committed_runs().items()}
    there = {name: _judged(claims) for name, claims in others.items() if claims != said and _judged(claims)}
    if not here or not there:
        return ALONE, f"| |\n|:--|\n| {ALONE} |\n"
    sentences, differing = [], {}
    for name, claims in there.items():
        both = [claim for claim in here if claim in claims]
        turned = [claim for claim in both if here[claim]["verdict"] != claims[claim]["verdict"]]
        differing |= dict.fromkeys(turned)
        sentences.append(
            f"of the {len(both)} conclusions that both test, {len(turned)} have another verdict in the committed run "
            f"of profile {name}"
        )
    text = "; ".join(sentences) + "."
    headers = ["paper", "conclusion", f"this run ({profile})", *(f"committed run ({name})" for name in there)]
    rows = [
        [
            here[claim]["paper"].rstrip("0123456789").capitalize(),
            here[claim]["statement"],
            *(_cell(run.get(claim)) for run in (here, *there.values())),
        ]
        for claim in here
        if claim in differing
    ]
    rows = rows or [["", "no conclusion has another verdict", *[""] * (1 + len(there))]]
    return text[0].upper() + text[1:], pipe_table(headers, rows, ["left"] * len(headers))


def _judged(claims: str) -> dict[str, dict]:
    """The conclusions that a run tests, by id. claims: a claims.json."""
    rows = json.loads(claims) if claims else []
    return {row["claim"]: row for row in rows if row["verdict"] != UNTESTABLE and row["value"] is not None}


def _cell(row: dict | None) -> str:
    """Value, interval, texts and verdict in one cell; a dash where the run does not test the conclusion."""
    if row is None:
        return "–"
    number = with_minus(f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]")
    return f"{number}, {row['texts']:.0f} texts: {row['verdict']}"
