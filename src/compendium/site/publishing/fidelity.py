"""docs/fidelity.md: every claim of the papers beside what the committed runs say of it, and why.

Claims, values and verdicts are those of claims.json; reasons are what turning one thing at a time gave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

from attreval.core.tables import read_csv, write_whole
from compendium import project
from compendium.corpora import TASKS
from compendium.papers.common.claims import CONCLUSION, say_turned
from compendium.papers.common.verdicts import (
    CHANCE,
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    MADE,
    REPRODUCED,
    UNTESTABLE,
    VERDICTS,
)
from compendium.project import Results, step_name
from compendium.site.publishing.places import PAPERS, committed_runs, read_elsewhere
from compendium.workflow.steps import JUDGES

NOT_FOUND = "not yet found"
MAKES_CLAIMS = 'step.table("claims"'


def write_fidelity() -> Path:
    """Write docs/fidelity.md from the committed runs."""
    path = project.home() / "docs" / "fidelity.md"
    with write_whole(path) as part:
        part.write_text(fidelity_markdown(), encoding="utf-8")
    return path


def fidelity_markdown() -> str:
    """The text of docs/fidelity.md: of each paper by its main run, with another run's verdict where it differs."""
    runs = committed_runs()
    if not runs:
        raise FileNotFoundError("no run is committed: `attreval publish --profile quick` commits one")
    claims = {profile: {row["claim"]: row for row in _read(run, "claims.json")} for profile, run in runs.items()}
    main = main_runs(claims)
    turned = {profile: read_turned(run) for profile, run in runs.items()}
    elsewhere = {profile: read_elsewhere(run) for profile, run in runs.items()}
    shown = {
        name: row for paper, profile in main.items() for name, row in claims[profile].items() if row["paper"] == paper
    }
    why = {name: reason_of(row, turned[main[row["paper"]]].get(name, ())) for name, row in shown.items()}
    lines = [
        "# Claim by claim",
        "",
        "Written by `attreval publish` from the committed runs and from `paper/claims.yml`, never by hand. "
        f"{_name_runs(runs, main)} {_count(shown)} "
        f"No reason yet: {list(why.values()).count(NOT_FOUND)}. "
        "[The notebooks' page](notebooks.md#verdicts) says what the verdicts mean.",
        "",
        "*Published*: the number made from the paper's own tables where they decide it, else what the paper says. "
        "*Ours*: the value with its interval, followed by the range that the claim asks for. *Minutes*: processor "
        "time of the notebook alone and, after the slash, with all training and explaining that it rests on. A `+` "
        "after a commit: with uncommitted files beside it; each step's own commit is in the run's `manifest.json`.",
    ]
    for paper, profile in main.items():
        title, notebook, rule = PAPERS[paper]
        made = _made_by(runs[profile], notebook, profile, rule)
        lines += ["", f"## {title}", ""]
        lines += ["| claim | published | ours | null | texts | verdict | reason | command | minutes | notebook, cell |"]
        lines += ["|:--|:--|:--|:--|--:|:--|:--|:--|--:|:--|"]
        of_paper = [row for row in shown.values() if row["paper"] == paper]
        for row in sorted(of_paper, key=lambda row: row["kind"] != CONCLUSION):
            verdict = row["verdict"]
            for other in (one for one in runs if one != profile):
                there = claims[other].get(row["claim"], {}).get("verdict", UNTESTABLE)
                verdict += f" ({other}: {there})" if there != row["verdict"] else ""
            verdict += "".join(
                f" (on {made['processor']}: {made['verdict'].removesuffix(' here')})"
                for made in elsewhere[profile]
                if made["claim"] == row["claim"] and made["verdict"] != row["verdict"]
            )
            words = f" “{row['words']}”" if row["words"] else ""
            kind = "" if row["kind"] == CONCLUSION else f"*{row['kind'].capitalize()}*: "
            said = f"{kind}{row['statement']}{words} ({row['where']}; `{row['claim']}`)"
            measured = (_published(row), _ours(row), row["null_world"], _texts(row))
            cells = [said, *measured, verdict, why[row["claim"]], *made]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main_runs(claims: Mapping[str, Mapping[str, dict]]) -> dict[str, str]:
    """By paper, the profile of the first committed run that judges its claims. claims: by profile and id."""
    judged = {profile: {row["paper"] for row in rows.values()} for profile, rows in claims.items()}
    first = {paper: next((profile for profile in judged if paper in judged[profile]), "") for paper in PAPERS}
    return {paper: profile for paper, profile in first.items() if profile}


def _name_runs(runs: Mapping[str, Results], main: Mapping[str, str]) -> str:
    """Which run judges which papers."""
    said = []
    for profile in dict.fromkeys(main.values()):
        papers = [PAPERS[paper][0] for paper in main if main[paper] == profile]
        said.append(f"profile `{profile}`, {_describe(runs[profile])}")
        said[-1] += f" ({'; '.join(papers)})" if len(papers) < len(main) else ""
    return f"Run: {said[0]}." if len(said) == 1 else f"Runs: {', and '.join(said)}."


def read_turned(run: Results) -> dict[str, list[dict]]:
    """By contradicted claim, what turning one thing at a time gave: the rows of the run's tables `claims_turned`."""
    out: dict[str, list[dict]] = {}
    for path in sorted(run.tables.glob("[!.]*_claims_turned.csv")):
        for row in read_csv(path).to_dict("records"):
            out.setdefault(row["claim"], []).append(row)
    return out


def reason_of(row: dict, turned: Sequence[dict] = ()) -> str:
    """Why a claim has its verdict, in words; a dash where it holds, `not yet found` where nobody knows.

    turned: of a contradicted claim, rows of `claims_turned`.
    """
    nulls = {name: row[column] for name, column in MADE.items() if row[column] is not None}
    said = ", ".join(f"{name} {value:.3f}" for name, value in nulls.items())
    if row["verdict"] == REPRODUCED:
        return f"The null is the edge of the range; beside it, {said}." if said and row["null_p"] is None else "–"
    parts = []
    if row["verdict"] == UNTESTABLE:
        parts.append(f"{row['reason']}." if row["reason"] else "nothing in this run tests it.")
    elif row["verdict"] == INCONCLUSIVE:
        parts.append(f"The interval lies on both sides, or near an edge (p = {row['q']:.2f}, adjusted).")
    elif row["verdict"] == CHANCE:
        parts.append(f"{row['null_p']:.0%} of worlds with {row['null_world']} support it as much (on average: {said}).")
    elif row["verdict"] == DIRECTION:
        parts.append("Beyond chance on the claimed side, but not surely in the range, after adjusting.")
    if row["verdict"] == CONTRADICTED and turned:
        parts.append(say_turned(turned))
    return " ".join(parts) or NOT_FOUND


def _read(run: Results, name: str):
    return json.loads((run.root / name).read_text(encoding="utf-8"))


def _count(claims: dict[str, dict]) -> str:
    """How many claims have which verdict."""
    found = [row["verdict"] for row in claims.values() if row["kind"] == CONCLUSION]
    counts = ", ".join(f"{found.count(verdict)} “{verdict}”" for verdict in VERDICTS if verdict in found)
    return f"Verdicts on {len(found)} claims, beside {len(claims) - len(found)} checks: {counts}."


def _describe(run: Results) -> str:
    """Commit, date and time of a run."""
    facts = _read(run, "manifest.json")
    made = f"published at commit `{facts['commit']}`, {facts['date']}"
    return f"{made}, {facts['processor_seconds'] / 60:,.0f} processor minutes"


def _published(row: dict) -> str:
    """The published value, or what the paper says."""
    return f"{row['published']:.3f}" if row["published"] is not None else row["reported"]


def _ours(row: dict) -> str:
    """Our value with its interval and the claimed range."""
    if row["value"] is None:
        return "–"
    out = row["published"] is not None and not row["low"] <= row["published"] <= row["high"]
    said = f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]; claimed {row['claimed']}"
    return f"{said}; not the published value" if out else said


def _texts(row: dict) -> str:
    return f"{row['texts']:.0f}" if row["value"] is not None else "–"


def _made_by(run: Results, notebook: str, profile: str, rule: str) -> list[str]:
    """Command, minutes, and notebook with the heading of the cell, of all claims of a paper."""
    facts = _read(run, "manifest.json")
    steps = facts["steps"]
    own = steps[notebook]["processor_seconds"] if notebook in steps else 0.0
    whole = own + sum(steps[name]["processor_seconds"] for name in steps_before(facts, notebook))
    minutes = f"{own / 60:.1f} / {whole / 60:.0f}" if notebook in steps else "–"
    heading = heading_above(notebook, MAKES_CLAIMS)
    link = f"../results/reference/{run.root.name}/notebooks/{notebook}.ipynb#{quote(heading.replace(' ', '-'))}"
    return [f"`attreval run --profile {profile} -- --until {rule}`", minutes, f"[{notebook}, {heading}]({link})"]


def steps_before(facts: Mapping[str, Any], notebook: str) -> list[str]:
    """The steps of a manifest that a paper's notebook rests on: training, and explaining; 07 explains by itself.

    The manifest is read as plain data: the schema of profiles may have changed since the run was made.
    """
    judge, tasks = JUDGES[notebook], facts["settings"]["tasks"]
    explaining = ("07_sun2024_explanations", "07_sun2024_agents") if judge == "diagnosis" else ("03_explain",)
    explained, trained = [], set()
    for name, record in facts["steps"].items():
        task, model, seed = (record.get("parameters", {}).get(key) for key in ("task", "model", "seed"))
        spec = tasks.get(task, {})
        judges = spec.get("of_model", {}).get(model, {}).get("judges", spec.get("judges", ()))
        if record.get("notebook") in explaining and judge in judges:
            explained.append(name)
            read_by = TASKS[task].trained_on if task in TASKS else None
            trained.add(step_name("02_train", read_by or task, model, seed))
    return [*sorted(trained & set(facts["steps"])), *explained]


@cache
def heading_above(notebook: str, code: str) -> str:
    """The last heading above the cell of a source notebook that holds some code. ValueError: no cell does."""
    heading = ""
    for cell in nbformat.read(project.home() / "notebooks" / f"{notebook}.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            heading = (re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
        elif code in cell.source:
            return heading
    raise ValueError(f"no cell of notebook {notebook} holds {code!r}")
