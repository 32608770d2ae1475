"""docs/fidelity.md: every claim of the papers beside what the committed runs say of it, and why.

Claims, values and verdicts are those of claims.json, and so is what turning one thing at a time
gave.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

import nbformat

from compendium import project
from compendium.corpora import TASKS
from compendium.papers.common import verdicts
from compendium.papers.common.claims import CONCLUSION, claim_objections
from compendium.project import Results, step_name
from compendium.site.committed import committed_runs, read_elsewhere
from compendium.site.markdown import pipe_rows
from compendium.workflow.steps import STEPS, StepKind

NOT_FOUND = "not yet found"
MAKES_CLAIMS = 'step.table("claims"'
PAPERS = {
    "poerner2018": "Poerner, Schütze and Roth (2018)",
    "kamp2023": "Kamp, Beinborn and Fokkens (2023)",
    "zhao2023": "Zhao and Aletras (2023)",
    "sun2024": "Sun, Atanasova and Augenstein (2024)",
}
# by paper, the step that judges its claims
STEP_OF = {step.notebook.partition("_")[2]: step for step in STEPS}
HEAD = """# Claim by claim

Written by `attreval publish` from the committed runs and from `paper/claims.yml`, never by hand. \
{runs} {count} No reason yet: {unknown}. [The notebooks' page](notebooks.md#verdicts) says what \
the verdicts mean.

*Published*: the number made from the paper's own tables where they decide it, else what the paper \
says. *Ours*: the value with its interval, followed by the range that the claim asks for. \
*Minutes*: processor time of the notebook alone and, after the slash, with all training and \
explaining that it rests on. A `+` after a commit: with uncommitted files beside it; each step's \
own commit is in the run's `manifest.json`.
"""
COLUMNS = """
| claim | published | ours | null | texts | verdict | reason | command | minutes | notebook, cell |
|:--|:--|:--|:--|--:|:--|:--|:--|--:|:--|
"""


def fidelity_markdown() -> str:
    """The text of docs/fidelity.md: each paper by its main run, and where other runs differ."""
    runs = committed_runs()
    if not runs:
        raise FileNotFoundError(
            "no run is committed: `attreval publish --profile quick` commits one"
        )
    claims = {
        profile: {row["claim"]: row for row in project.read_json(run.root / "claims.json")}
        for profile, run in runs.items()
    }
    judging = [profile for profile, rows in claims.items() if rows]
    main = main_runs(claims)
    against = claim_objections()
    found = []  # verdicts on conclusions
    reasons = []
    tables = ""
    for paper, profile in main.items():
        rows = [row for row in claims[profile].values() if row["paper"] == paper]
        made = _made_by(runs[profile], profile, STEP_OF[paper])
        tables += f"\n## {PAPERS[paper]}\n{COLUMNS}"
        for row in sorted(rows, key=lambda row: row["kind"] != CONCLUSION):
            claim = row["claim"]
            others = {name: claims[name].get(claim, {}) for name in judging if name != profile}
            verdict = _verdict(row, others, read_elsewhere(runs[profile]))
            reasons.append(reason_of(row))
            words = f" “{row['words']}”" if row["words"] else ""
            kind = f"*{row['kind'].capitalize()}*: "
            if row["kind"] == CONCLUSION:
                found.append(row["verdict"])
                kind = ""
            said = f"{kind}{row['statement']}{words} ({row['where']}; `{claim}`)"
            if claim in against:
                said += f" *A second reader*: {against[claim]}"
            cells = [said, *_measured(row), verdict, reasons[-1], *made]
            tables += pipe_rows([[cell.replace("|", "\\|") for cell in cells]]) + "\n"
    named = [f"{found.count(name)} “{name}”" for name in verdicts.Verdict if name in found]
    checks = len(reasons) - len(found)
    count = f"Verdicts on {len(found)} claims, beside {checks} checks: {', '.join(named)}."
    unknown = reasons.count(NOT_FOUND)
    return HEAD.format(runs=_name_runs(runs, main), count=count, unknown=unknown) + tables


def main_runs(claims: Mapping[str, Mapping[str, dict]]) -> dict[str, str]:
    """By paper, the profile of the first committed run that judges its claims.

    claims: by profile and id.
    """
    first: dict[str, str] = {}
    for profile, rows in claims.items():
        for row in rows.values():
            first.setdefault(row["paper"], profile)
    return {paper: first[paper] for paper in PAPERS if paper in first}


def _name_runs(runs: Mapping[str, Results], main: Mapping[str, str]) -> str:
    """Which run judges which papers, with its commit, date and time."""
    said = []
    for profile in dict.fromkeys(main.values()):
        facts = runs[profile].facts()
        made = f"published at commit `{facts['commit']}`, {facts['date']}"
        papers = [PAPERS[paper] for paper in main if main[paper] == profile]
        said.append(
            f"profile `{profile}`, {made}, {facts['processor_seconds'] / 60:,.0f} processor minutes"
        )
        said[-1] += f" ({'; '.join(papers)})" if len(papers) < len(main) else ""
    return f"Run: {said[0]}." if len(said) == 1 else f"Runs: {', and '.join(said)}."


def reason_of(row: dict) -> str:
    """Why a claim has its verdict, and what turns it; NOT_FOUND where nobody knows."""
    made = {"random scores": "null_scores", "exchanged names": "null_names"}
    said = ", ".join(f"{name} {row[key]:.3f}" for name, key in made.items() if row[key] is not None)
    turned = row["turned_by"]
    match row["verdict"]:
        case verdicts.Verdict.REPRODUCED:
            beside = said and row["null_p"] is None
            edge = f"The null is the edge of the range; beside it, {said}. " if beside else ""
            turns = f"Turned by {turned}." if turned else ""
            return (edge + turns).strip() or "–"
        case verdicts.Verdict.RULE:
            return f"Another conclusion by {row['rule']}. Turned by {turned}."
        case verdicts.Verdict.UNTESTABLE:
            return f"{row['reason']}." if row["reason"] else "nothing in this run tests it."
        case verdicts.Verdict.INCONCLUSIVE:
            where = "on both sides, or near an edge"
            return f"The interval lies {where} (p = {row['q']:.2f}, adjusted)."
        case verdicts.Verdict.CHANCE:
            return f"{row['null_p']:.0%} of null worlds support it as much (on average: {said})."
        case verdicts.Verdict.DIRECTION:
            return "Beyond chance on the claimed side, but not surely in the range."
    return f"Turned by {turned}." if turned else NOT_FOUND


def _verdict(row: dict, others: Mapping[str, dict], elsewhere: Sequence[dict]) -> str:
    """The verdict, and what other runs and other machines say where that differs."""
    said = row["verdict"]
    for profile, other in others.items():
        there = other.get("verdict", verdicts.Verdict.UNTESTABLE)
        if there != row["verdict"]:
            said += f" ({profile}: {there})"
    for other in elsewhere:
        if other["claim"] == row["claim"] and other["verdict"] != row["verdict"]:
            said += f" (on {other['processor']}: {other['verdict'].removesuffix(' here')})"
    return said


def _measured(row: dict) -> tuple[str, str, str, str]:
    """The published value or words; ours with its interval and the claimed range; null; texts."""
    published = row["published"]
    value = row["value"]
    reported = f"{published:.3f}" if published is not None else row["reported"]
    if value is None:
        return reported, "–", row["null_world"], "–"
    ours = f"{value:.3f} [{row['low']:.3f}, {row['high']:.3f}]; claimed {row['claimed']}"
    if published is not None and not row["low"] <= published <= row["high"]:
        ours += "; not the published value"
    return reported, ours, row["null_world"], f"{row['texts']:.0f}"


def _made_by(run: Results, profile: str, judging: StepKind) -> list[str]:
    """Command, minutes, and notebook with the heading of the cell, of all claims of a paper."""
    facts = run.facts()
    notebook = judging.notebook
    minutes = "–"
    if notebook in facts["steps"]:
        steps = [notebook, *steps_before(facts, judging.judge)]
        own, *before = [facts["steps"][name]["processor_seconds"] for name in steps]
        minutes = f"{own / 60:.1f} / {(own + sum(before)) / 60:.0f}"
    heading = heading_above(notebook, MAKES_CLAIMS)
    page = f"../results/reference/{run.root.name}/notebooks/{notebook}.ipynb"
    link = f"{page}#{quote(heading.replace(' ', '-'))}"
    return [
        f"`attreval run --profile {profile} -- --until {judging.rule}`",
        minutes,
        f"[{notebook}, {heading}]({link})",
    ]


def steps_before(facts: Mapping[str, Any], judge: str) -> list[str]:
    """The steps of a manifest that a judge's notebook rests on: training and explaining.

    The manifest is read as plain data: profiles may have had other keys when the run was made.
    """
    explaining = ["03_explain"]
    if judge == "diagnosis":  # explains by itself
        explaining = ["07_sun2024_explanations", "07_sun2024_agents"]
    explained = []
    trained = set()
    for name, record in facts["steps"].items():
        given = record.get("parameters", {})
        task = given.get("task")
        model = given.get("model")
        spec = facts["settings"]["tasks"].get(task, {})
        judges = spec.get("of_model", {}).get(model, {}).get("judges", spec.get("judges", ()))
        if record.get("notebook") in explaining and judge in judges:
            explained.append(name)
            read_by = TASKS[task].trained_on if task in TASKS else None
            trained.add(step_name("02_train", read_by or task, model, given.get("seed")))
    return [*sorted(trained & set(facts["steps"])), *explained]


@cache
def heading_above(notebook: str, code: str) -> str:
    """The last heading above the cell of a source notebook that holds this code.

    Raises ValueError where no cell does.
    """
    heading = ""
    path = project.home() / "notebooks" / f"{notebook}.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            heading = (re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
        elif code in cell.source:
            return heading
    raise ValueError(f"no cell of notebook {notebook} holds {code!r}")
