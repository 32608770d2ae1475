"""The study's commands: fetch run plan notebook render publish explore claims verify doctor."""

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from attreval.cli.app import CATALOGUES, AsJson, command, option, print_json, print_rows
from compendium import project

CATALOGUES.append("compendium.catalogue")
ProfileName = Annotated[
    str, option("a name from config/, or the path of a .yaml file", "--profile", "-p")
]
ShownName = Annotated[
    str | None,
    option(
        "of it; where not given: quick's run here, else the committed reference run",
        "--profile",
        "-p",
    ),
]
Committed = Annotated[bool, option("a committed run, as happens where there is no other")]


@command("fetch")
def fetch_command(
    profile: ProfileName = "",
    task: Annotated[list[str] | None, option("a task; may be given several times")] = None,
    weights: Annotated[list[str] | None, option("pretrained weights from the registry")] = None,
) -> None:
    """Download, check and open what a profile or some tasks need, and make their tables.

    With both, of the tasks alone: the profile says what those are that are its own.
    """
    from compendium import config, corpora
    from compendium.corpora.fetch.fetching import with_tables
    from compendium.workflow.graph import write_stamps
    from compendium.workflow.run_notebook import say_line

    tasks = list(task or [])
    names = list(weights or [])
    settings = config.load_profile(profile or "quick") if profile or not (tasks or names) else None
    if settings and not (tasks or names):
        tasks += [needed.name for needed in with_tables(tuple(settings.read_tasks()))]
        for model in settings.models.values():
            named = (model.weights, model.tokenizer, model.start, model.embeddings)
            names += [name for name in named if name in corpora.WEIGHTS]
    corpora.fetch_tasks(tasks, names, say=lambda text: say_line(text, sys.stdout))
    write_stamps(tasks, names)


@command("run", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_command(
    context: typer.Context,
    profile: ProfileName = "quick",
    cores: Annotated[
        int | None, option("processors to use; all that there are where not given")
    ] = None,
) -> None:
    """Bring results and site up to date; what follows -- goes to snakemake."""
    from compendium.config import load_profile, path_of
    from compendium.site.verify import NothingToCompareError, verify_run
    from compendium.workflow.run_snakemake import is_dry, run_workflow

    settings = load_profile(profile)
    if profile.endswith((".yaml", ".yml")):
        profile = str(path_of(profile))  # steps run from the project folder, not from here
    print(f"profile {settings.name}: looking what is to do", flush=True)
    for task in settings.left_out:
        print(
            f"left out: {task}, whose files are not at hand; ATTREVAL_CORPORA can name a folder "
            "that has them"
        )
    if not run_workflow(profile, cores, extra=context.args):
        print("nothing to do: results and site are up to date")
    if not is_dry(context.args):
        print(f"results: {project.results(settings.name).root}")
        print(f"site:    {project.home() / '_site' / 'index.html'}")
        with suppress(NothingToCompareError):
            print(f"beside the committed run: {verify_run(settings.name).line}")


@command()
def plan(profile: ProfileName = "quick", as_json: AsJson = False) -> None:
    """Evaluations, tokens, processor time and memory of each step, before anything runs."""
    from compendium.config import load_profile
    from compendium.planning.plan import make_plan

    found = make_plan(
        load_profile(profile), lambda step: print(f"measuring: {step}", file=sys.stderr)
    )
    if as_json:
        print_json(found.to_json())
    else:
        print_rows(found.table())
        print("\n".join(found.notes()))


@command()
def notebook(
    name: Annotated[str, typer.Argument(help="such as 03_explain")],
    parameter: Annotated[list[str] | None, option("name=value", "--parameter", "-p")] = None,
) -> None:
    """Run one notebook with typed parameters; its copy goes to results/<profile>/notebooks."""
    import yaml

    from compendium.config import path_of
    from compendium.workflow.parallel import end_with_parent
    from compendium.workflow.run_notebook import run_notebook

    if os.environ.get("ATTREVAL_IN_WORKFLOW"):
        end_with_parent()
    given = {}
    for text in parameter or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"a parameter is given as name=value; got {text!r}")
        try:
            given[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ValueError(
                f"the parameter {key} is {value!r}, which is no YAML; put quotes around a text"
            ) from None
    if str(given.get("profile", "")).endswith((".yaml", ".yml")):
        # the notebook runs from the project folder, not from here
        given["profile"] = str(path_of(given["profile"]))
    print(f"{run_notebook(name, given)}\n", end="")  # at once, as `say` does


@command("stage")
def stage_command(profile: ShownName = None, committed: Committed = False) -> None:
    """Put a run's notebooks, tables and numbers where pages read them, for `quarto render`."""
    from compendium.site.rendering import stage

    name, results, _ = _find_results(profile, committed)
    stage(name, results)


@command("render")
def render_command(
    profile: ShownName = None,
    route: Annotated[str, option("auto, quarto or pandoc")] = "auto",
    committed: Committed = False,
) -> None:
    """Stage a run's notebooks, tables and numbers, and render the site into _site/."""
    from compendium.site.committed import OWN
    from compendium.site.rendering import render_site
    from compendium.workflow.manifest import make_manifest

    name, results, own = _find_results(profile, committed)
    if own or any(project.results(OWN).steps.glob("*.json")):
        make_manifest(profile if profile and own else OWN)
    print(render_site(name, route, results))


def _find_results(profile: str | None, committed: bool) -> tuple[str, project.Results, bool]:
    """(name, results, whether they are this machine's): of a run here, else the committed ones.

    Where no profile is named: of quick here, else of the main committed run. committed: whether a
    committed run is asked for.
    """
    from compendium import config
    from compendium.site import committed as runs

    name = config.load_profile(profile or runs.OWN).name
    results = project.results(name)
    there = runs.committed_runs()
    shown = name if profile else next(iter(there), runs.MAIN)
    if not committed and (any(results.steps.glob("*.json")) or shown not in there):
        return name, results, True
    print(
        f"the committed run of {shown}, without what shows texts of corpora",
        file=sys.stderr,
    )
    return shown, runs.committed(shown), False


@command("publish")
def publish_command(
    profile: ProfileName = "quick",
    step: Annotated[
        list[str] | None,
        option("this alone, beside the committed others: 04_*, repeatable"),
    ] = None,
) -> None:
    """Copy a run into results/reference, without any corpus text; write docs/fidelity.md."""
    from compendium.site.publish import publish_run

    print(publish_run(profile, step or []))


@command()
def explore(profile: ProfileName = "quick") -> None:
    """Make the explorer's page alone from a profile's results, and open it in a browser."""
    import webbrowser

    from compendium import config
    from compendium.explorer.page import write_page
    from compendium.workflow.manifest import make_manifest

    make_manifest(profile)
    results = project.results(config.load_profile(profile).name)
    page = write_page(results)
    if page is None:
        raise ValueError(
            f"no explained text of {results.root} is there to be shown; `attreval run --profile "
            f"{profile}` makes them"
        )
    print(page)
    if sys.stdout.isatty():
        webbrowser.open(page.as_uri())


@command()
def claims(
    profile: ShownName = None,
    as_json: AsJson = False,
    committed: Committed = False,
    again: Annotated[
        bool,
        option(
            "judged anew by what the run keeps of single texts; fails, and names the claims, "
            "where a verdict or a number differs"
        ),
    ] = False,
    published: Annotated[
        bool,
        option("instead, how near our cells of the papers' tables are, part by part"),
    ] = False,
) -> None:
    """The scorecard: each claim with our value, what chance gives, and a verdict."""
    from compendium.papers.common.claims import for_people, scorecard

    results = _find_results(profile, committed)[1]
    if published:
        from compendium.site.beside import parts_table, read_cells
        from compendium.site.tables import csv_files

        parts = parts_table(read_cells(csv_files(results.tables)))
        print(
            parts.to_json(orient="records", indent=1)
            if as_json
            else parts.round(2).to_string(index=False)
        )
        return
    table = scorecard(results.tables)
    differing: list[str] = []
    if again:
        from compendium.site.again import judge_again

        table, differing = judge_again(results)
    if as_json:
        print(table.to_json(orient="records", indent=1, force_ascii=False))
    else:
        print(for_people(table))
    if differing:
        raise ValueError(f"these claims come out otherwise than they are kept: {differing}")


@command()
def verify(
    profile: ProfileName = "quick",
    as_json: AsJson = False,
    table: Annotated[
        list[str] | None,
        option("its cells alone: a name such as 03_overview_models, or 05_*; repeatable"),
    ] = None,
) -> None:
    """A run's numbers and verdicts beside those of its committed run; fails where they differ.

    With 0 if all are as committed, or within tolerance; with 1 if not, with 2 if there is nothing
    to compare.
    """
    from compendium.config import load_profile
    from compendium.site.verify import verify_run

    found = verify_run(load_profile(profile).name, table or [])
    if as_json:
        counts = found.counts("table").to_dict("records")
        print_json({"summary": found.line, "tables": counts, "verdicts": found.turned})
    else:
        shown = found.otherwise if table else found.tables_otherwise
        for rows in (shown.to_dict("records"), found.turned):
            if rows:
                print_rows(rows)
        print(found.line)
    sys.exit(not found.as_committed)


@command()
def doctor() -> None:
    """Say what this machine has, and what follows."""
    import shutil
    from importlib.metadata import version
    from pathlib import Path

    import pypandoc
    import torch

    from attreval.models.placing import pick_device, pick_precision
    from compendium import config, corpora
    from compendium.workflow.manifest import describe_machine

    device = pick_device()
    machine = describe_machine()
    memory = float(machine["memory_gb"])
    precision = pick_precision("auto", device)
    free = shutil.disk_usage(project.home()).free / 1e9
    quarto = shutil.which("quarto")
    programs = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    browser = next(filter(None, programs), None)
    folder = os.environ.get("ATTREVAL_CORPORA")
    given = f"ATTREVAL_CORPORA = {folder}" if folder else "ATTREVAL_CORPORA is not set"
    read = "external corpora come from their own addresses"
    if folder and Path(folder).is_dir():
        read = "read from there"
    tables = [task for task in corpora.TASKS if corpora.table_path(task).exists()]
    ran = [p for p in config.profiles() if project.results(p).facts()]
    found = [
        (
            "python",
            f"{sys.version.split()[0]}, torch {torch.__version__}",
            f"attreval {version('attreval')}",
        ),
        (
            "device",
            f"{device.type}, {machine['cores']} processors",
            f"training and sampled methods run in {precision}",
        ),
        ("memory", f"{memory:.0f} GB", "enough" if memory >= 8 else "the quick profile wants 8 GB"),
        (
            "disk",
            f"{free:.0f} GB free",
            "enough" if free >= 5 else "quick wants about 5 GB: make room first",
        ),
        (
            "quarto",
            quarto or "not here",
            "renders the site" if quarto else "`attreval render` goes through pandoc",
        ),
        ("pandoc", pypandoc.get_pandoc_version(), "the route without quarto"),
        (
            "browser",
            browser or "not here",
            f"site tests in a browser {'run' if browser else 'are skipped'}",
        ),
        ("corpora", given, read),
        ("tables", ", ".join(tables) or "none made yet", "`attreval fetch --task NAME` makes one"),
        ("results", ", ".join(ran) or "none yet", "`attreval run --profile quick` makes them"),
    ]
    for name, there, follows in found:
        print(f"{name:<10} {there:<44} {follows}")
