"""The site: a profile's results are put where pages look for them, then the pages rendered.

The places are fixed (paper/notebooks/, paper/tables/, paper/figures/, paper/reference/,
_variables.yml): paths in a page cannot be parameters. The explorer's page is made here too, since
both routes copy it as it is, with _explorer.yml, which puts it into the menu; neither is there for
a run without texts. So are the pages that come from the package's own docstrings and registries,
which say the same in every profile. Quarto renders where it is installed, else pandoc: same pages,
same sources, one look (paper/styles.css). The PDF is always by pandoc.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import yaml

import attreval
from attreval.core.tables import write_text
from compendium import project
from compendium.explorer.page import PAGE, write_page
from compendium.papers.common.claims import read_claims
from compendium.papers.common.verdicts import Verdict
from compendium.project import Results, replace_folder
from compendium.site.beside import parts_markdown, parts_table, read_cells
from compendium.site.committed import CONTROLS, MAIN, OWN, committed, strip_run
from compendium.site.declarations import DeclaredNumber, DeclaredTable, read_declared
from compendium.site.dumbbells import draw_beside
from compendium.site.markdown import ReportError, escape, pipe_table, raw_html, read_notebook
from compendium.site.pandoc_route.pdf import make_pdf
from compendium.site.pandoc_route.site import build_site, staged_site
from compendium.site.pictures import (
    NO_FIGURE,
    NOT_HERE,
    court,
    draw_cards,
    draw_scorecards,
    draw_table,
    judged_claims,
    say_no_figure,
    time_to_accuracy,
)
from compendium.site.quotes import outputs_of
from compendium.site.reference import methods_markdown, metrics_markdown, python_markdown
from compendium.site.tables import (
    cell_title,
    csv_files,
    html_with_titles,
    read_numbers,
    replace_keys,
    table_markdown,
)
from compendium.site.verify import machine_markdown, other_runs
from compendium.workflow.manifest import JUDGES

# the text is written for these: what is missing is an error; in a run of one's own it is named
WRITTEN_FOR = ("smoke", "quick", "reference", "paper")
EMBED = re.compile(r"\{\{<\s*embed\s+\S*?([\w-]+)\.ipynb#([\w-]+)\s*>\}\}")
VARIABLE = re.compile(r"\{\{<\s*var\s+(\S+)\s*>\}\}")
MISSING_TABLE = f"| |\n|:--|\n| This table is {NOT_HERE}. |\n"
STUDY = "08_joint_crossed"
ROUTES = ("auto", "quarto", "pandoc")
NOT_RECORDED = "not recorded"
EXPLORER = {  # of _quarto.yml, where a run has explained texts
    "project": {"resources": [PAGE]},
    "website": {"navbar": {"left": [{"text": "Explorer", "href": PAGE}]}},
}
EXPLORED = f"[Explore single texts]({PAGE}): any two methods, and what each judge says of them.\n"
NOT_EXPLORED = (
    "Single texts, any two methods beside each other: `attreval explore`, for a run of your own "
    "(a committed run holds no texts).\n"
)


def stage(profile: str, results: Results | None = None) -> dict[str, str]:
    """Copy a profile's notebooks, tables and numbers to where the pages read them.

    What an earlier stage left is removed.

    Args:
        profile: its name.
        results: of `results/<profile>` where not given; a committed copy has all but single texts.

    Returns:
        The texts of numbers by dotted key.

    Raises:
        ReportError: the profile has no results, or paper/tables.yml asks for a table or column that
            is not there. For a profile of one's own, and a committed copy, the gaps say so.
    """
    home = project.home()
    own = project.results(profile)
    results = results or own
    gaps = allows_gaps(profile) or results.root != own.root
    sources = {path.name: path for path in sorted(results.notebooks.glob("[!.]*.ipynb"))}
    if not sources:
        raise ReportError(
            f"profile {profile!r} has no executed notebooks in {results.notebooks}; "
            f"make them with: attreval run --profile {profile}"
        )
    # no run measures what `make bench` does
    measured = home / "results" / "reference" / "benchmark"
    tables = csv_files(measured) | csv_files(results.tables)
    _add_studies(results, sources, tables)
    variables, beside = _read_variables(profile, results, tables)
    # texts are left out of a committed run, but for our own, which quick's has
    explained = (results, committed(OWN)) if gaps else (results,)
    explorer = next(filter(None, map(write_page, explained)), None)
    cells = read_cells(tables)
    copies = {name: _for_readers(name, path) for name, path in sorted(sources.items())}
    texts = {
        "_notebooks.md": _list_notebooks(sources),
        "_other-runs.md": beside,
        "_this-machine.md": machine_markdown(profile if results.root == own.root else OWN),
        "_explorer.md": EXPLORED if explorer else NOT_EXPLORED,
        "_second-reading.md": _second_reading(results.tables),
        "_beside.md": parts_markdown(parts_table(cells)),
    }
    if gaps:
        pages = _read_pages(home)
        variables = dict.fromkeys(VARIABLE.findall(pages), NOT_HERE) | variables
        copies = with_missing_cells(pages, copies)
    texts |= _declared_tables(tables, variables, gaps)
    _draw(results.tables, variables, cells, measured, home / "paper" / "figures")
    reference = reference_pages(home / "paper" / "references.bib")
    for folder, made in (("notebooks", copies), ("tables", texts), ("reference", reference)):
        for name, text in made.items():
            write_text(home / "paper" / folder / name, text)
        _remove_others(home / "paper" / folder, set(made))
    numbers = yaml.safe_dump(nest(variables), allow_unicode=True, width=10_000)
    write_text(home / "_variables.yml", numbers)
    menu = home / "_explorer.yml"
    menu.unlink(missing_ok=True)
    if explorer:
        menu.write_text(yaml.safe_dump(EXPLORER), encoding="utf-8")
    return variables


def _add_studies(results: Results, sources: dict[str, Path], tables: dict[str, Path]) -> None:
    """Add the notebook and tables of the crossed design, and of its controls, where there are some.

    The first takes hours: a run without it shows the committed one's. Networks of the controls are
    in no other run; where they are not committed, those of this run stand for them.
    """
    for prefix, places in (
        ("", (results, committed(MAIN))),
        (f"{CONTROLS}_", (committed(CONTROLS), results)),
    ):
        place = next((one for one in places if one.executed(STUDY).exists()), None)
        if place:
            sources[f"{prefix}{STUDY}.ipynb"] = place.executed(STUDY)
            made = place.tables.glob(f"{STUDY}_*.csv")
            tables.update({prefix + path.name: path for path in made})


def _draw(
    tables: Path, variables: dict[str, str], cells: pd.DataFrame, measured: Path, folder: Path
) -> None:
    """The pictures that no notebook draws; cells: ours beside the published."""
    drawn = draw_scorecards(tables, folder)
    drawn += draw_cards(variables, folder)
    drawn += draw_beside(cells, folder)
    prices = measured / "benchmark_accuracy.csv"
    drawn += draw_table(time_to_accuracy, prices, folder / "time-to-accuracy")
    drawn += draw_table(court, measured / "court.csv", folder / "court")
    _remove_others(folder, {path.name for path in drawn})


def _read_pages(home: Path) -> str:
    paths = [home / "index.qmd", *sorted((home / "paper").rglob("*.qmd"))]
    return "\n\n".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def _declared_tables(
    tables: dict[str, Path], variables: dict[str, str], gaps: bool
) -> dict[str, str]:
    """The tables of paper/tables.yml, by file name. gaps: whether one may be missing."""
    texts = {}
    declarations = read_declared(project.home() / "paper" / "tables.yml", DeclaredTable)
    for name, declared in declarations.items():
        try:
            texts[f"_{name}.md"] = table_markdown(name, declared, tables, variables)
        except ReportError:
            if not gaps:
                raise
            texts[f"_{name}.md"] = MISSING_TABLE
    return texts


def _list_notebooks(sources: dict[str, Path]) -> str:
    """A line for each notebook, and below it one for each task that it ran on."""
    lines: list[str] = []
    last: list[str] = []
    for name, path in sorted(sources.items()):
        stem, several, _ = name.removesuffix(".ipynb").partition("-")
        lead, title = f"- **{escape(stem)}**. ", escape(read_notebook(path).title)
        if not several:
            lines.append(f"{lead}[{title}](notebooks/{name})")
            continue
        if lead + title not in lines:
            lines.append(lead + title)
            last = []
        run = name_run(name)
        new = [part for at, part in enumerate(run, 1) if run[:at] != last[:at]]
        link = f"[{escape(' / '.join(run[1:] if new == run else new))}](notebooks/{name})"
        if new == run:
            lines.append(f"  - {escape(run[0])}: {link}")
        else:
            lines[-1] += f" · {link}"
        last = run
    return "\n".join(lines) + "\n"


def name_run(name: str) -> list[str]:
    """What tells a run from others of its notebook: titles of task and model, seed and part."""
    parts = name.removesuffix(".ipynb").split("-")[1:]
    named = [re.sub(r"^(?=\d+$)", "part ", cell_title("", part)) for part in parts]
    named = [re.sub(r"^s(?=\d+$)", "seed ", part) for part in named]
    return [CONTROLS, *named] if name.startswith(f"{CONTROLS}_") else named


def _read_variables(
    profile: str, results: Results, tables: dict[str, Path]
) -> tuple[dict[str, str], str]:
    """The texts of numbers by dotted key, and a table of verdicts that differ in other runs."""
    declared = read_declared(project.home() / "paper" / "numbers.yml", DeclaredNumber)
    variables = _run_facts(profile, results.facts())
    variables |= read_numbers(tables, declared)
    variables |= _count_verdicts(results.tables)
    variables["run.others"], beside = other_runs(profile, results)
    return variables, beside


def _second_reading(tables: Path) -> str:
    """What a second reader objects to in claims, and what our numbers rest on."""
    basis = judged_claims(tables).set_index("claim").basis.dropna()
    rows = [
        [one.statement, one.objection, basis.get(one.id, "not tested")]
        for one in read_claims()
        if one.objection
    ]
    return pipe_table(["Conclusion", "A second reader", "Ours"], rows, ["left"] * 3)


def reference_pages(bibliography: Path) -> dict[str, str]:
    """The parts of the reference pages, by file name. bibliography: of the works to be cited."""
    text = bibliography.read_text(encoding="utf-8")
    works = re.findall(r"^@\w+\{\s*([^,\s]+)", text, re.MULTILINE)
    return {
        "_api.md": python_markdown(),
        "_methods.md": methods_markdown(works),
        "_metrics.md": metrics_markdown(works),
    }


def _for_readers(name: str, path: Path) -> str:
    """An executed notebook with titles in its tables, without traces of the machine, or links.

    Its title starts with what tells the run from others. Quarto embeds a cell by its id before it
    looks for a label, so none is both.
    """
    node = nbformat.read(path, as_version=4)
    strip_run(node)
    for at, cell in enumerate(node.cells, 1):
        cell.id = f"at-{at}"
    if run := name_run(name):
        first = node.cells[0]
        first.source = re.sub(r"^#(?= )", f"# {escape(' / '.join(run))} ·", first.source, count=1)
    for _, output in outputs_of(node, path.stem):
        # for HTML, Quarto loads scripts from afar
        if html := output.get("data", {}).pop("text/html", None):
            output.data["text/markdown"] = raw_html(html_with_titles("".join(html)))
    return nbformat.writes(node)


def _remove_others(folder: Path, keep: set[str]) -> None:
    """Remove what an earlier stage left in a staged folder: files not in `keep`, and folders."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in keep:
            path.unlink()


def _run_facts(profile: str, facts: dict[str, Any]) -> dict[str, str]:
    """The `run` group: profile, version, commit, date and samples of the run, from its manifest."""
    told = {
        "run.profile": profile,
        "run.version": str(facts.get("attreval") or attreval.__version__),
        "run.commit": str(facts.get("commit") or NOT_RECORDED)[:12],
        "run.date": str(facts.get("date") or NOT_RECORDED)[:10],
    }
    for judge in JUDGES:
        sample = replace_keys(facts.get("samples", {}).get(judge, NOT_RECORDED))
        told[f"run.sample_{judge}"] = sample
        told[f"run.texts_{judge}"] = sample.partition(" Intervals:")[0]
    return told


def _count_verdicts(tables: Path) -> dict[str, str]:
    """How many claims of all papers got which verdict, as `run.claims...`; 0 where none is judged.

    alone: tested on one model, trained once.
    """
    found = judged_claims(tables, checks=False)
    counts = {verdict.replace(" ", "_"): (found.verdict == verdict).sum() for verdict in Verdict}
    alone = (found.models == 1) & (found.seeds == 1)
    counts["alone"] = (alone & (found.verdict != Verdict.UNTESTABLE)).sum()
    told = {f"run.claims_{name}": str(count) for name, count in counts.items()}
    return {"run.claims": str(len(found))} | told


def nest(variables: dict[str, str]) -> dict:
    """Dotted keys as nested mappings, texts escaped: both routes read a variable as Markdown."""
    tree: dict = {}
    for key, text in sorted(variables.items()):
        *groups, last = key.split(".")
        place = tree
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise ReportError(f"{key!r} lies inside {group!r}, which is itself a number")
        if last in place:
            raise ReportError(f"{key!r} is a number and a group of numbers at once")
        place[last] = escape(text)
    return tree


def allows_gaps(profile: str) -> bool:
    """Whether a run of this profile may be without what the text asks for."""
    return profile not in WRITTEN_FOR


def with_missing_cells(pages: str, notebooks: dict[str, str]) -> dict[str, str]:
    """Notebooks as JSON, by file name, with every cell that pages embed.

    A cell that the run does not have says so.
    """
    out = dict(notebooks)
    for stem, label in dict.fromkeys(EMBED.findall(pages)):
        name = f"{stem}.ipynb"
        if re.search(rf"#\| label: {label}\b(?!-)", notebooks.get(name, "")):
            continue
        title = nbformat.v4.new_markdown_cell(f"# {stem}: {NOT_HERE}", id="title")
        node = nbformat.v4.new_notebook(cells=[title])
        if name in out:
            node = nbformat.reads(out[name], as_version=4)
        outputs = [say_no_figure(NO_FIGURE)]
        cell = nbformat.v4.new_code_cell(f"#| label: {label}", id=label, outputs=outputs)
        node.cells.append(cell)
        out[name] = nbformat.writes(node)
    return out


def render_site(profile: str, route: str = "auto", results: Results | None = None) -> Path:
    """Stage a profile's results and render the site; return its folder, `_site` in the project.

    The folder changes all at once: a broken run leaves the site that was there.

    Args:
        profile: its name.
        route: `quarto` (needs that program), `pandoc`, or `auto`: Quarto where it is installed.
        results: those of `results/<profile>` where not given.
    """
    if route not in ROUTES:
        raise ReportError(f"unknown route {route!r}; there are: {', '.join(ROUTES)}")
    quarto = None if route == "pandoc" else shutil.which("quarto")
    if route == "quarto" and not quarto:
        raise ReportError(
            "route 'quarto' needs the program `quarto`, which is not on the PATH: install Quarto "
            "1.9 (the extra `attreval[quarto]` does, where GitHub can be reached), or use route "
            "'pandoc'"
        )
    stage(profile, results)
    home = project.home()
    with replace_folder(home / "_site") as folder:
        if quarto:
            command = [quarto, "render", str(home), "--output-dir", folder.name]
            status = subprocess.call(command, cwd=home)
            if status or not (folder / "index.html").exists():
                raise ReportError(f"quarto render ended with {status}, as it says above")
        else:
            for address, data in sorted(build_site(home).items()):
                path = folder / address
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        (folder / "paper").mkdir(exist_ok=True)
        made = make_pdf(staged_site(home), home / "paper" / "index.qmd")
        (folder / "paper" / "attreval.pdf").write_bytes(made)
    return home / "_site"
