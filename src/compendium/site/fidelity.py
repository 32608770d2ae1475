"""docs/fidelity.md: every claim of the papers beside what the committed runs say of it, and why.

Claims, values and verdicts are those of claims.json; reasons are what turning one thing at a time gave.
"""

from __future__ import annotations

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
from compendium.papers.common import verdicts
from compendium.papers.common.claims import CONCLUSION, objections, say_turned
from compendium.project import Results, step_name
from compendium.site.committed import committed_runs, read_elsewhere, read_json
from compendium.workflow.steps import STEPS

NOT_FOUND = "not yet found"
MAKES_CLAIMS = 'step.table("claims"'
PAPERS = {  # title, notebook, rule of workflow/Snakefile
    "poerner2018": ("Poerner, Schütze and Roth (2018)", "04_poerner2018", "pointing_game"),
    "kamp2023": ("Kamp, Beinborn and Fokkens (2023)", "05_kamp2023", "agreement"),
    "zhao2023": ("Zhao and Aletras (2023)", "06_zhao2023", "faithfulness"),
    "sun2024": ("Sun, Atanasova and Augenstein (2024)", "07_sun2024", "diagnosis"),
}
HEAD = """# Claim by claim

Written by `attreval publish` from the committed runs and from `paper/claims.yml`, never by hand. {runs} {count} No \
reason yet: {unknown}. [The notebooks' page](notebooks.md#verdicts) says what the verdicts mean.

*Published*: the number made from the paper's own tables where they decide it, else what the paper says. *Ours*: the \
value with its interval, followed by the range that the claim asks for. *Minutes*: processor time of the notebook \
alone and, after the slash, with all training and explaining that it rests on. A `+` after a commit: with uncommitted \
files beside it; each step's own commit is in the run's `manifest.json`.
"""
COLUMNS = """
| claim | published | ours | null | texts | verdict | reason | command | minutes | notebook, cell |
|:--|:--|:--|:--|--:|:--|:--|:--|--:|:--|
"""


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
    claims = {profile: {row["claim"]: row for row in read_json(run, "claims.json")} for profile, run in runs.items()}
    main = main_runs(claims)
    rows = [row for paper, profile in main.items() for row in claims[profile].values() if row["paper"] == paper]
    turned = {profile: read_turned(run) for profile, run in runs.items()}
    why = {row["claim"]: reason_of(row, turned[main[row["paper"]]].get(row["claim"], ())) for row in rows}
    unknown, against = list(why.values()).count(NOT_FOUND), objections()
    text = HEAD.format(runs=_name_runs(runs, main), count=_count(rows), unknown=unknown)
    for paper, profile in main.items():
        title, notebook, rule = PAPERS[paper]
        made = _made_by(runs[profile], notebook, profile, rule)
        text += f"\n## {title}\n{COLUMNS}"
        for row in sorted((row for row in rows if row["paper"] == paper), key=lambda row: row["kind"] != CONCLUSION):
            other = {name: claims[name].get(row["claim"], {}) for name in runs if name != profile}
            verdict = _verdict(row, other, read_elsewhere(runs[profile]))
            words = f" “{row['words']}”" if row["words"] else ""
            kind = "" if row["kind"] == CONCLUSION else f"*{row['kind'].capitalize()}*: "
            said = f"{kind}{row['statement']}{words} ({row['where']}; `{row['claim']}`)"
            said += f" *A second reader*: {against[row['claim']]}" if row["claim"] in against else ""
            cells = [said, *_measured(row), verdict, why[row["claim"]], *made]
            text += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    return text


def main_runs(claims: Mapping[str, Mapping[str, dict]]) -> dict[str, str]:
    """By paper, the profile of the first committed run that judges its claims. claims: by profile and id."""
    judged = {profile: {row["paper"] for row in rows.values()} for profile, rows in claims.items()}
    first = {paper: next((profile for profile in judged if paper in judged[profile]), "") for paper in PAPERS}
    return {paper: profile for paper, profile in first.items() if profile}


def _name_runs(runs: Mapping[str, Results], main: Mapping[str, str]) -> str:
    """Which run judges which papers, with its commit, date and time."""
    said = []
    for profile in dict.fromkeys(main.values()):
        facts = read_json(runs[profile], "manifest.json")
        made = f"published at commit `{facts['commit']}`, {facts['date']}"
        papers = [PAPERS[paper][0] for paper in main if main[paper] == profile]
        said.append(f"profile `{profile}`, {made}, {facts['processor_seconds'] / 60:,.0f} processor minutes")
        said[-1] += f" ({'; '.join(papers)})" if len(papers) < len(main) else ""
    return f"Run: {said[0]}." if len(said) == 1 else f"Runs: {', and '.join(said)}."


def _count(rows: Sequence[dict]) -> str:
    """How many claims have which verdict."""
    found = [row["verdict"] for row in rows if row["kind"] == CONCLUSION]
    counts = ", ".join(f"{found.count(name)} “{name}”" for name in verdicts.VERDICTS if name in found)
    return f"Verdicts on {len(found)} claims, beside {len(rows) - len(found)} checks: {counts}."


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
    nulls = {name: row[column] for name, column in verdicts.MADE.items() if row[column] is not None}
    said = ", ".join(f"{name} {value:.3f}" for name, value in nulls.items())
    match row["verdict"]:
        case verdicts.REPRODUCED:
            return f"The null is the edge of the range; beside it, {said}." if said and row["null_p"] is None else "–"
        case verdicts.UNTESTABLE:
            return f"{row['reason']}." if row["reason"] else "nothing in this run tests it."
        case verdicts.INCONCLUSIVE:
            return f"The interval lies on both sides, or near an edge (p = {row['q']:.2f}, adjusted)."
        case verdicts.CHANCE:
            return f"{row['null_p']:.0%} of worlds with {row['null_world']} support it as much (on average: {said})."
        case verdicts.DIRECTION:
            return "Beyond chance on the claimed side, but not surely in the range, after adjusting."
    return say_turned(turned) if turned else NOT_FOUND


def _verdict(row: dict, others: Mapping[str, dict], elsewhere: Sequence[dict]) -> str:
    """The verdict, and what other runs and other machines say where that differs."""
    said = row["verdict"]
    for profile, other in others.items():
        there = other.get("verdict", verdicts.UNTESTABLE)
        said += f" ({profile}: {there})" if there != row["verdict"] else ""
    for other in elsewhere:
        if other["claim"] == row["claim"] and other["verdict"] != row["verdict"]:
            said += f" (on {other['processor']}: {other['verdict'].removesuffix(' here')})"
    return said


def _measured(row: dict) -> tuple[str, str, str, str]:
    """The published value or what the paper says; ours with its interval and the claimed range; null; texts."""
    published, value = row["published"], row["value"]
    reported = f"{published:.3f}" if published is not None else row["reported"]
    if value is None:
        return reported, "–", row["null_world"], "–"
    ours = f"{value:.3f} [{row['low']:.3f}, {row['high']:.3f}]; claimed {row['claimed']}"
    if published is not None and not row["low"] <= published <= row["high"]:
        ours += "; not the published value"
    return reported, ours, row["null_world"], f"{row['texts']:.0f}"


def _made_by(run: Results, notebook: str, profile: str, rule: str) -> list[str]:
    """Command, minutes, and notebook with the heading of the cell, of all claims of a paper."""
    facts = read_json(run, "manifest.json")
    seconds = {name: step["processor_seconds"] for name, step in facts["steps"].items()}
    own, minutes = seconds.get(notebook), "–"
    if own is not None:
        minutes = f"{own / 60:.1f} / {(own + sum(map(seconds.get, steps_before(facts, notebook)))) / 60:.0f}"
    heading = heading_above(notebook, MAKES_CLAIMS)
    link = f"../results/reference/{run.root.name}/notebooks/{notebook}.ipynb#{quote(heading.replace(' ', '-'))}"
    return [f"`attreval run --profile {profile} -- --until {rule}`", minutes, f"[{notebook}, {heading}]({link})"]


def steps_before(facts: Mapping[str, Any], notebook: str) -> list[str]:
    """The steps of a manifest that a paper's notebook rests on: training, and explaining; 07 explains by itself.

    The manifest is read as plain data: the schema of profiles may have changed since the run was made.
    """
    judge = next(step.judge for step in STEPS if step.notebook == notebook)
    explaining = ("07_sun2024_explanations", "07_sun2024_agents") if judge == "diagnosis" else ("03_explain",)
    explained, trained = [], set()
    for name, record in facts["steps"].items():
        task, model, seed = (record.get("parameters", {}).get(key) for key in ("task", "model", "seed"))
        spec = facts["settings"]["tasks"].get(task, {})
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
