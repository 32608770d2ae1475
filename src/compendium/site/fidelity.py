"""docs/fidelity.md: every claim of the papers beside what the committed runs say of it, and why;
and far cells.

Claims, values and verdicts are those of claims.json; reasons are what turning one thing at a time
gave. Cells of the papers' tables from which ours lie far stand on the site with what was tried on
them: a share is far where it differs by more than FAR; a count, points or an entropy, by more than
    that part of what is published.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
import pandas as pd

from attreval.core.tables import read_csv, write_whole
from compendium import project
from compendium.corpora import TASKS
from compendium.papers.common import verdicts
from compendium.papers.common.claims import CONCLUSION, claim_objections, say_turned
from compendium.papers.common.scorecard import PAPERS as PAPER_TITLES
from compendium.project import Results, step_name
from compendium.site.committed import committed_runs, read_elsewhere
from compendium.site.markdown import pipe_rows, pipe_table, with_minus
from compendium.site.tables import title_of
from compendium.workflow.steps import STEPS, Step

NOT_FOUND = "not yet found"
MAKES_CLAIMS = 'step.table("claims"'
PAPERS = {
    "poerner2018": "Poerner, Schütze and Roth (2018)",
    "kamp2023": "Kamp, Beinborn and Fokkens (2023)",
    "zhao2023": "Zhao and Aletras (2023)",
    "sun2024": "Sun, Atanasova and Augenstein (2024)",
}
STEP_OF = {
    step.notebook.partition("_")[2]: step for step in STEPS
}  # by paper, the step that judges its claims
FAR = 0.15
Part = tuple[
    str, pd.DataFrame, str
]  # where, cells with columns `ours` and `published`, what was tried on them
# of the rows of Table 2 of Poerner et al. (2018), by how they begin; and the choices that move them
FAMILIES = {
    "grad": ("gradients", ("ties",)),
    "o": ("omission and occlusion", ("windows", "ties")),
    "limsse": ("LIMSSE", ("limsse_sampling", "limsse_solver", "ties")),
    "decomp": ("decomposition", ("decomposition_output_gate", "ties")),
    "": ("LRP, DeepLIFT, baselines", ("ties", "affix")),
}
HEAD = """# Claim by claim

Written by `attreval publish` from the committed runs and from `paper/claims.yml`, never by hand. {runs} {count} No \
reason yet: {unknown}. [The notebooks' page](notebooks.md#verdicts) says what the verdicts mean.

*Published*: the number made from the paper's own tables where they decide it, else what the paper says. *Ours*: the \
value with its interval, followed by the range that the claim asks for. *Minutes*: processor time of the notebook \
alone and, after the slash, with all training and explaining that it rests on. A `+` after a commit: with uncommitted \
files beside it; each step's own commit is in the run's `manifest.json`.
"""  # noqa: E501
COLUMNS = """
| claim | published | ours | null | texts | verdict | reason | command | minutes | notebook, cell |
|:--|:--|:--|:--|--:|:--|:--|:--|--:|:--|
"""


def write_fidelity() -> Path:
    path = project.home() / "docs" / "fidelity.md"
    with write_whole(path) as part:
        part.write_text(fidelity_markdown(), encoding="utf-8")
    return path


def fidelity_markdown() -> str:
    """The text of docs/fidelity.md: of each paper by its main run, with another run's verdict where
    it differs.
    """
    runs = committed_runs()
    if not runs:
        raise FileNotFoundError(
            "no run is committed: `attreval publish --profile quick` commits one"
        )
    claims = {
        profile: {row["claim"]: row for row in project.read_json(run.root / "claims.json")}
        for profile, run in runs.items()
    }
    main = main_runs(claims)
    rows = [
        row
        for paper, profile in main.items()
        for row in claims[profile].values()
        if row["paper"] == paper
    ]
    turned = {profile: read_turned(run) for profile, run in runs.items()}
    why = {
        row["claim"]: reason_of(row, turned[main[row["paper"]]].get(row["claim"], ()))
        for row in rows
    }
    found = [row["verdict"] for row in rows if row["kind"] == CONCLUSION]
    against = claim_objections()
    counts = ", ".join(
        f"{found.count(name)} “{name}”" for name in verdicts.Verdict if name in found
    )
    count = f"Verdicts on {len(found)} claims, beside {len(rows) - len(found)} checks: {counts}."
    text = HEAD.format(
        runs=_name_runs(runs, main), count=count, unknown=list(why.values()).count(NOT_FOUND)
    )
    for paper, profile in main.items():
        made = _made_by(runs[profile], profile, STEP_OF[paper])
        text += f"\n## {PAPERS[paper]}\n{COLUMNS}"
        for row in sorted(
            (row for row in rows if row["paper"] == paper),
            key=lambda row: row["kind"] != CONCLUSION,
        ):
            other = {name: claims[name].get(row["claim"], {}) for name in runs if name != profile}
            verdict = _verdict(row, other, read_elsewhere(runs[profile]))
            words = f" “{row['words']}”" if row["words"] else ""
            kind = "" if row["kind"] == CONCLUSION else f"*{row['kind'].capitalize()}*: "
            said = f"{kind}{row['statement']}{words} ({row['where']}; `{row['claim']}`)"
            if row["claim"] in against:
                said += f" *A second reader*: {against[row['claim']]}"
            cells = [said, *_measured(row), verdict, why[row["claim"]], *made]
            text += pipe_rows([[cell.replace("|", "\\|") for cell in cells]]) + "\n"
    return text


def main_runs(claims: Mapping[str, Mapping[str, dict]]) -> dict[str, str]:
    """By paper, the profile of the first committed run that judges its claims. claims: by profile
    and id.
    """
    judged = {profile: {row["paper"] for row in rows.values()} for profile, rows in claims.items()}
    first = {
        paper: next((profile for profile in judged if paper in judged[profile]), "")
        for paper in PAPERS
    }
    return {paper: profile for paper, profile in first.items() if profile}


def _name_runs(runs: Mapping[str, Results], main: Mapping[str, str]) -> str:
    """Which run judges which papers, with its commit, date and time."""
    said = []
    for profile in dict.fromkeys(main.values()):
        facts = project.read_json(runs[profile].root / "manifest.json")
        made = f"published at commit `{facts['commit']}`, {facts['date']}"
        papers = [PAPERS[paper] for paper in main if main[paper] == profile]
        said.append(
            f"profile `{profile}`, {made}, {facts['processor_seconds'] / 60:,.0f} processor minutes"
        )
        said[-1] += f" ({'; '.join(papers)})" if len(papers) < len(main) else ""
    return f"Run: {said[0]}." if len(said) == 1 else f"Runs: {', and '.join(said)}."


def read_turned(run: Results) -> dict[str, list[dict]]:
    """By contradicted claim, what turning one thing at a time gave: the rows of the run's tables
    `claims_turned`.
    """
    out: dict[str, list[dict]] = defaultdict(list)
    for path in sorted(run.tables.glob("[!.]*_claims_turned.csv")):
        for row in read_csv(path).to_dict("records"):
            out[row["claim"]].append(row)
    return out


def reason_of(row: dict, turned: Sequence[dict] = ()) -> str:
    """Why a claim has its verdict, in words; a dash where it holds, `not yet found` where nobody
    knows.

    turned: of a contradicted claim, rows of `claims_turned`.
    """
    nulls = {name: row[column] for name, column in verdicts.MADE.items() if row[column] is not None}
    said = ", ".join(f"{name} {value:.3f}" for name, value in nulls.items())
    match row["verdict"]:
        case verdicts.Verdict.REPRODUCED:
            return (
                f"The null is the edge of the range; beside it, {said}."
                if said and row["null_p"] is None
                else "–"
            )
        case verdicts.Verdict.UNTESTABLE:
            return f"{row['reason']}." if row["reason"] else "nothing in this run tests it."
        case verdicts.Verdict.INCONCLUSIVE:
            return (
                f"The interval lies on both sides, or near an edge (p = {row['q']:.2f}, adjusted)."
            )
        case verdicts.Verdict.CHANCE:
            return (
                f"{row['null_p']:.0%} of worlds with {row['null_world']} support it as much (on "
                f"average: {said})."
            )
        case verdicts.Verdict.DIRECTION:
            return (
                "Beyond chance on the claimed side, but not surely in the range, after adjusting."
            )
    return say_turned(turned) if turned else NOT_FOUND


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
    """The published value or what the paper says; ours with its interval and the claimed range;
    null; texts.
    """
    published = row["published"]
    value = row["value"]
    reported = f"{published:.3f}" if published is not None else row["reported"]
    if value is None:
        return reported, "–", row["null_world"], "–"
    ours = f"{value:.3f} [{row['low']:.3f}, {row['high']:.3f}]; claimed {row['claimed']}"
    if published is not None and not row["low"] <= published <= row["high"]:
        ours += "; not the published value"
    return reported, ours, row["null_world"], f"{row['texts']:.0f}"


def _made_by(run: Results, profile: str, judging: Step) -> list[str]:
    """Command, minutes, and notebook with the heading of the cell, of all claims of a paper."""
    facts = project.read_json(run.root / "manifest.json")
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
    """The steps of a manifest that a judge's notebook rests on: training, and explaining; 07
    explains by itself.

    The manifest is read as plain data: the schema of profiles may have changed since the run was
    made.
    """
    explaining = (
        ("07_sun2024_explanations", "07_sun2024_agents")
        if judge == "diagnosis"
        else ("03_explain",)
    )
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
    """The last heading above the cell of a source notebook that holds some code. ValueError: no
    cell does.
    """
    heading = ""
    for cell in nbformat.read(
        project.home() / "notebooks" / f"{notebook}.ipynb", as_version=4
    ).cells:
        if cell.cell_type == "markdown":
            heading = (re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
        elif code in cell.source:
            return heading
    raise ValueError(f"no cell of notebook {notebook} holds {code!r}")


def far_cells(tables: Mapping[str, Path]) -> pd.DataFrame:
    """One row for each part of a paper's tables with a cell that is far: how many are, by how much,
    what was tried.

    tables: the files of a run by name; a paper whose tables it lacks is left out. Columns paper,
    where, cells, far, gap (ours less published, mean over those that are far), tried.
    """
    rows = []
    for paper, (ask, *names) in FAR_TABLES.items():
        files = [f"{name}.csv" for name in names]
        if not tables.keys() >= set(files):
            continue
        for where, part, tried in ask(*(read_csv(tables[name]) for name in files)):
            gap = part.ours - part.published
            far = gap.abs() > FAR
            if far.any():
                rows.append((paper, where, len(part), int(far.sum()), gap[far].mean(), tried))
    return pd.DataFrame(rows, columns=["paper", "where", "cells", "far", "gap", "tried"])


def far_cells_markdown(tables: Mapping[str, Path]) -> str:
    rows = []
    for one in far_cells(tables).itertuples():
        count = f"{one.far} of {one.cells}"
        gap = with_minus(f"{one.gap:+.2f}")
        rows.append([PAPER_TITLES[one.paper], one.where, count, gap, with_minus(one.tried)])
    headers = ["Paper", "Where", "Far", "Ours less published", "What was tried"]
    return pipe_table(headers, rows, ["left", "left", "left", "right", "left"])


def _pointing(table: pd.DataFrame, choices: pd.DataFrame, models: pd.DataFrame) -> Iterator[Part]:
    """Table 2, the cells that could be read with confidence, by experiment and family of
    methods.
    """
    known = table[table.confidence.isin(["H", "M"])].dropna(subset=["ours", "published"])
    family = known.method.map(
        lambda name: next(start for start in FAMILIES if name.startswith(start))
    )
    for (experiment, start), part in known.groupby(["experiment", family], sort=False):
        named, own = FAMILIES[start]
        asked = choices[choices.choice.isin(own) & choices.game.isin(part.metric)].dropna(
            subset="largest"
        )
        most = (
            asked.sort_values("largest", key=abs)
            .drop_duplicates(["choice", "value"], keep="last")
            .sort_index()
        )
        tried = [
            f"{one.choice}: {one.value} in place of {one.instead_of} ({one.largest:+.2f} at most)"
            for one in most.itertuples()
        ]
        behind = models[models.experiment == experiment].ours_less_published.mean()
        if pd.notna(behind):
            tried.append(f"our models' accuracy less the published is {behind:+.2f}")
        yield f"Table 2, {experiment}, {named}", part, "; ".join(tried)


def _agreement(dynamic: pd.DataFrame, rules: pd.DataFrame) -> Iterator[Part]:
    """Mean dynamic k of e-SNLI, in parts of the published one."""
    known = dynamic[(dynamic.task == "esnli") & dynamic.published_k.notna()]
    other = (
        rules[(rules.task == "esnli") & rules.voter.isin(known.voter)]
        .groupby("rule", sort=False)
        .k.mean()
    )
    tried = "; ".join(f"rule {rule} (mean k {k:.1f})" for rule, k in other.items())
    yield "mean dynamic k", known.assign(ours=known.k / known.published_k, published=1.0), tried


def _diagnosticity(
    table: pd.DataFrame, rules: pd.DataFrame, drivers: pd.DataFrame
) -> Iterator[Part]:
    """Table 6, by metric; other rules, and what moves the level of hard metrics most."""
    known = table.dropna(subset="published").rename(columns={"diagnosticity": "ours"})
    keys = ["task", "method", "metric"]
    for metric, part in known.groupby("metric", sort=False):
        far = part[(part.ours - part.published).abs() > FAR]
        tried = []
        for rule, other in rules[rules.metric == metric].groupby("rule", sort=False):
            near = far.merge(other[[*keys, "diagnosticity"]], on=keys)
            count = ((near.diagnosticity - near.published).abs() <= FAR).sum()
            if rule != "published" and len(near):
                tried.append(f"rule {rule} (brings {count} of {len(near)} near)")
        for one in drivers[drivers.metric == metric].itertuples():
            tried.append(f"{one.title} (mean {one.diagnosticity:.2f} in place of {one.before:.2f})")
        yield f"Table 6, {title_of('metric', metric)}", part, "; ".join(tried)


def _diagnosis(complexity: pd.DataFrame, agreement: pd.DataFrame) -> Iterator[Part]:
    """Tables 3 to 6, 11 and 12: entropies in parts of the published ones, agreement with people as
    it is.
    """
    for where, table, tried in (
        ("Tables 11 and 12, entropy", complexity, "nothing"),
        (
            "Tables 3 to 6, agreement with people",
            agreement,
            "other people's marks stand in for those of SpanEx",
        ),
    ):
        cells = (
            table[["token", "pair", "span"]].stack().astype(str).str.extract(r"^(\S+) \[(\S+)\]$")
        )
        numbers = cells.apply(pd.to_numeric, errors="coerce").set_axis(
            ["ours", "published"], axis=1
        )
        scale = numbers.published if table is complexity else 100
        yield where, numbers.div(scale, axis=0).dropna(), tried


FAR_TABLES = {  # of a run, from which a paper's far cells are found
    "poerner2018": (
        _pointing,
        "04_poerner2018_table2",
        "04_poerner2018_choices",
        "04_poerner2018_models",
    ),
    "kamp2023": (_agreement, "05_kamp2023_dynamic_k", "05_kamp2023_rules"),
    "zhao2023": (
        _diagnosticity,
        "06_zhao2023_table6",
        "06_zhao2023_table6_rules",
        "06_zhao2023_largest_drivers",
    ),
    "sun2024": (_diagnosis, "07_sun2024_table_complexity", "07_sun2024_table_agreement"),
}
