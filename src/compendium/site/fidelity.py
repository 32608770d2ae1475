"""docs/fidelity.md: every claim of the papers beside what the committed runs say of it, and why.

Claims, values and verdicts are those of claims.json, and so is what turning one thing at a time
gave. The site also shows which cells of the papers' tables lie far from ours, with what was tried
on them: a share is far where it differs by more than FAR; a count, points or an entropy, where it
differs by more than that part of what is published.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import nbformat
import pandas as pd

from attreval.core.tables import read_csv, write_text
from compendium import project
from compendium.corpora import TASKS
from compendium.papers.common import verdicts
from compendium.papers.common.claims import CONCLUSION, claim_objections
from compendium.papers.common.scorecard import PAPERS as PAPER_TITLES
from compendium.papers.common.tables import table_of
from compendium.project import Results, step_name
from compendium.site.committed import committed_runs, read_elsewhere
from compendium.site.markdown import pipe_rows, pipe_table, with_minus
from compendium.site.tables import cell_title
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
FAR = 0.15


class Part(NamedTuple):
    """Cells of a paper's table, with columns `ours` and `published`, and what was tried on them."""

    where: str
    cells: pd.DataFrame
    tried: str


# of the rows of Table 2 of Poerner et al. (2018), by how they begin; and the choices that move them
FAMILIES = {
    "grad": ("gradients", ("ties",)),
    "o": ("omission and occlusion", ("windows", "ties")),
    "limsse": ("LIMSSE", ("limsse_sampling", "limsse_solver", "ties")),
    "decomp": ("decomposition", ("decomposition_output_gate", "ties")),
    "": ("LRP, DeepLIFT, baselines", ("ties", "affix")),
}
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


def write_fidelity() -> None:
    write_text(project.home() / "docs" / "fidelity.md", fidelity_markdown())


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
        facts = project.read_json(runs[profile].root / "manifest.json")
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
    match row["verdict"]:
        case verdicts.Verdict.REPRODUCED:
            beside = said and row["null_p"] is None
            edge = f"The null is the edge of the range; beside it, {said}. " if beside else ""
            turns = f"Turned by {row['turned_by']}." if row["turned_by"] else ""
            return (edge + turns).strip() or "–"
        case verdicts.Verdict.RULE:
            return f"Another conclusion by {row['rule']}. Turned by {row['turned_by']}."
        case verdicts.Verdict.UNTESTABLE:
            return f"{row['reason']}." if row["reason"] else "nothing in this run tests it."
        case verdicts.Verdict.INCONCLUSIVE:
            where = "on both sides, or near an edge"
            return f"The interval lies {where} (p = {row['q']:.2f}, adjusted)."
        case verdicts.Verdict.CHANCE:
            return f"{row['null_p']:.0%} of null worlds support it as much (on average: {said})."
        case verdicts.Verdict.DIRECTION:
            return "Beyond chance on the claimed side, but not surely in the range."
    return f"Turned by {row['turned_by']}." if row["turned_by"] else NOT_FOUND


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


@table_of("paper where cells far gap tried")
def far_cells(tables: Mapping[str, Path]) -> Iterator[tuple]:
    """A row for each part of a paper's tables in which a cell is far.

    far: how many are. gap: ours less published, mean over the far cells.

    tables: the files of a run by name; a paper whose tables it lacks is left out.
    """
    for paper, (parts_of, names) in FAR_TABLES.items():
        files = [f"{name}.csv" for name in names]
        if not tables.keys() >= set(files):
            continue
        for part in parts_of(*(read_csv(tables[name]) for name in files)):
            gap = part.cells.ours - part.cells.published
            far = gap[gap.abs() > FAR]
            if len(far):
                yield paper, part.where, len(gap), len(far), far.mean(), part.tried


def far_cells_markdown(tables: Mapping[str, Path]) -> str:
    """The far cells as a Markdown table."""
    rows = []
    for one in far_cells(tables).itertuples():
        count = f"{one.far} of {one.cells}"
        gap = with_minus(f"{one.gap:+.2f}")
        rows.append([PAPER_TITLES[one.paper], one.where, count, gap, with_minus(one.tried)])
    headers = ["Paper", "Where", "Far", "Ours less published", "What was tried"]
    return pipe_table(headers, rows, ["left", "left", "left", "right", "left"])


def _pointing(table: pd.DataFrame, choices: pd.DataFrame, models: pd.DataFrame) -> Iterator[Part]:
    """Table 2, the cells that could be read with confidence, by experiment and family."""
    known = table[table.confidence.isin(["H", "M"])].dropna(subset=["ours", "published"])
    family = known.method.map(lambda name: next(filter(name.startswith, FAMILIES)))
    for (experiment, start), part in known.groupby(["experiment", family], sort=False):
        named, own = FAMILIES[start]
        asked = choices[choices.choice.isin(own) & choices.game.isin(part.metric)]
        by_size = asked.dropna(subset="largest").sort_values("largest", key=abs)
        most = by_size.drop_duplicates(["choice", "value"], keep="last").sort_index()
        tried = [
            f"{one.choice}: {one.value} in place of {one.instead_of} ({one.largest:+.2f} at most)"
            for one in most.itertuples()
        ]
        behind = models[models.experiment == experiment].ours_less_published.mean()
        if pd.notna(behind):
            tried.append(f"our models' accuracy less the published is {behind:+.2f}")
        yield Part(f"Table 2, {experiment}, {named}", part, "; ".join(tried))


def _agreement(dynamic: pd.DataFrame, rules: pd.DataFrame) -> Iterator[Part]:
    """Mean dynamic k of e-SNLI, in parts of the published one."""
    known = dynamic[(dynamic.task == "esnli") & dynamic.published_k.notna()]
    others = rules[(rules.task == "esnli") & rules.voter.isin(known.voter)]
    mean = others.groupby("rule", sort=False).k.mean()
    tried = "; ".join(f"rule {rule} (mean k {k:.1f})" for rule, k in mean.items())
    cells = known.assign(ours=known.k / known.published_k, published=1.0)
    yield Part("mean dynamic k", cells, tried)


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
        yield Part(f"Table 6, {cell_title('metric', metric)}", part, "; ".join(tried))


def _diagnosis(complexity: pd.DataFrame, agreement: pd.DataFrame) -> Iterator[Part]:
    """Tables 11 and 12: entropies, in parts of the published ones. Tables 3 to 6: agreement."""
    entropy = _with_published(complexity)
    cells = entropy.div(entropy.published, axis=0).dropna()
    yield Part("Tables 11 and 12, entropy", cells, "nothing")
    cells = _with_published(agreement).div(100).dropna()
    tried = "other people's marks stand in for those of SpanEx"
    yield Part("Tables 3 to 6, agreement with people", cells, tried)


def _with_published(table: pd.DataFrame) -> pd.DataFrame:
    """Cells such as `0.52 [0.76]` as two numbers, ours and the published one."""
    texts = table[["token", "pair", "span"]].stack().astype(str)
    cells = texts.str.extract(r"^(?P<ours>\S+) \[(?P<published>\S+)\]$")
    return cells.apply(pd.to_numeric, errors="coerce")


Asked = tuple[Callable[..., Iterator[Part]], tuple[str, ...]]
POINTING = ("04_poerner2018_table2", "04_poerner2018_choices", "04_poerner2018_models")
DRIVERS = ("06_zhao2023_table6", "06_zhao2023_table6_rules", "06_zhao2023_largest_drivers")
# by paper, what finds its far cells, and in which tables of a run
FAR_TABLES: dict[str, Asked] = {
    "poerner2018": (_pointing, POINTING),
    "kamp2023": (_agreement, ("05_kamp2023_dynamic_k", "05_kamp2023_rules")),
    "zhao2023": (_diagnosticity, DRIVERS),
    "sun2024": (_diagnosis, ("07_sun2024_table_complexity", "07_sun2024_table_agreement")),
}
