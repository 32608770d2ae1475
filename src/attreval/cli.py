"""The command line: what there is, fetch, plan, run, render, publish, explore, claims, check, explain, doctor."""

from __future__ import annotations

import functools
import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

import attreval

app = typer.Typer(
    name="attreval", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__
)
ProfileName = Annotated[str, typer.Option("--profile", "-p", help="a name from config/, or the path of a .yaml file")]


def plain_errors(command):
    """Print errors that people can act on as one message, without a traceback, and exit with 1."""

    @functools.wraps(command)
    def run(*args, **kwargs):
        from attreval.workflow.run_notebook import with_mark

        try:
            return command(*args, **kwargs)
        except (ValueError, OSError, RuntimeError) as error:
            for line in f"error: {error}".splitlines():
                print(with_mark(line), file=sys.stderr)
            raise typer.Exit(1) from None

    return run


def say_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        print(f"attreval {attreval.__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=say_version, is_eager=True, help="say the version and end")
    ] = False,
):
    """Judge token attributions of text classifiers: the commands."""


@app.command()
@plain_errors
def fetch(
    profile: ProfileName = "",
    task: Annotated[list[str] | None, typer.Option(help="a task; may be given several times")] = None,
    weights: Annotated[list[str] | None, typer.Option(help="pretrained weights from the registry")] = None,
):
    """Download, check and open what a profile or some tasks need, and make their tables.

    With both, of the tasks alone: the profile says what those are that are its own.
    """
    from attreval import config, corpora
    from attreval.corpora.fetch.fetching import with_tables
    from attreval.workflow.run_notebook import with_mark
    from attreval.workflow.staleness import write_stamps

    tasks, names = list(task or []), list(weights or [])
    settings = config.load(profile or "quick") if profile or not (tasks or names) else None
    if settings and not (tasks or names):
        tasks += [needed.name for needed in with_tables(tuple(settings.read_tasks()))]
        named = [name for m in settings.models.values() for name in (m.weights, m.tokenizer, m.start, m.embeddings)]
        names += [name for name in named if name in corpora.WEIGHTS]
    tasks, names = list(dict.fromkeys(tasks)), list(dict.fromkeys(names))
    corpora.fetch(tasks, names, say=lambda text: print(with_mark(text), flush=True))
    write_stamps(tasks, names)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@plain_errors
def run(
    context: typer.Context,
    profile: ProfileName = "quick",
    cores: Annotated[int | None, typer.Option(help="processors to use; all that there are where not given")] = None,
):
    """Bring results and site up to date; what follows -- goes to snakemake, such as an executor for a cluster."""
    from attreval.config import load, path_of
    from attreval.core import project
    from attreval.workflow.run_snakemake import is_dry, run_workflow

    settings = load(profile)
    name = settings.name
    if profile.endswith((".yaml", ".yml")):
        profile = str(path_of(profile))  # steps run from the project folder, not from here
    print(f"profile {name}: looking what is to do", flush=True)
    for task in settings.left_out:
        print(f"left out: {task}, whose files are not at hand; ATTREVAL_CORPORA can name a folder that has them")
    if not run_workflow(profile, cores, extra=context.args):
        print("nothing to do: results and site are up to date")
    if not is_dry(context.args):
        print(f"results: {project.results(name).root}\nsite:    {project.home() / '_site' / 'index.html'}")


@app.command()
@plain_errors
def plan(
    profile: ProfileName = "quick",
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """Evaluations, tokens, processor time and memory of each step of a profile, before anything of it runs."""
    from attreval.config import load
    from attreval.planning.plan import make_plan

    found = make_plan(load(profile), notify=lambda step: print(f"measuring: {step}", file=sys.stderr))
    if as_json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
        return
    print_rows(found.table())
    print("\n".join(found.notes()))


@app.command()
@plain_errors
def notebook(
    name: Annotated[str, typer.Argument(help="such as 03_explain")],
    parameter: Annotated[list[str] | None, typer.Option("--parameter", "-p", help="name=value")] = None,
):
    """Run one notebook with typed parameters; the executed copy goes to results/<profile>/notebooks."""
    import yaml

    from attreval.workflow.run_notebook import end_with_parent, run_notebook

    if not sys.stdin.isatty():
        end_with_parent()
    pairs = [text.partition("=") for text in parameter or []]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise ValueError(f"a parameter is given as name=value; got {wrong[0]!r}")
    print(run_notebook(name, {key: yaml.safe_load(value) for key, _, value in pairs}))


@app.command()
@plain_errors
def render(
    profile: ProfileName = "quick",
    route: Annotated[str, typer.Option(help="auto, quarto or pandoc")] = "auto",
    committed: Annotated[
        bool, typer.Option("--committed", help="of the committed run, as happens where there is no other")
    ] = False,
):
    """Stage a profile's notebooks, tables and numbers, and render the site into _site/."""
    from attreval import config
    from attreval.core import project
    from attreval.report.publishing.places import committed as place_of
    from attreval.report.publishing.places import committed_runs
    from attreval.report.rendering import render
    from attreval.workflow.manifest import make_manifest

    name = config.load(profile).name
    results = project.results(name)
    if committed or (not any(results.steps.glob("*.json")) and name in committed_runs()):
        results = place_of(name)
        print(f"the committed run of {name}, without what shows single texts: the explorer, examples", file=sys.stderr)
    else:
        make_manifest(profile)
    print(render(name, route, results))


@app.command()
@plain_errors
def publish(
    profile: ProfileName = "quick",
    partial: Annotated[bool, typer.Option("--partial", help="also of a run that lacks steps")] = False,
):
    """Copy a whole run into results/reference, without any corpus text; write docs/fidelity.md and links to it."""
    from attreval.report.publishing.publish import publish

    print(publish(profile, partial))


@app.command()
@plain_errors
def explore(profile: ProfileName = "quick"):
    """Make the explorer's page from a profile's results, without the rest of the site, and open it in a browser."""
    import webbrowser

    from attreval import config
    from attreval.core import project
    from attreval.explorer.page import write_page
    from attreval.workflow.manifest import make_manifest

    make_manifest(profile)
    page = write_page(project.results(config.load(profile).name))
    print(page)
    if sys.stdout.isatty():
        webbrowser.open(page.as_uri())


@app.command(name="list")
@plain_errors
def list_what(
    what: Annotated[str, typer.Argument(help="methods, metrics, corpora, models, notebooks or profiles")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """Say what there is; alone, what can be listed."""
    from attreval.catalogue import CATALOGUES

    if not what:
        rows = [
            {"list": name, "what": function.__doc__.split(":")[0].rstrip(".")} for name, function in CATALOGUES.items()
        ]
    else:
        what = "metrics" if what == "judges" else what
        if what not in CATALOGUES:
            raise ValueError(f"there is no list of {what!r}; there are: {', '.join(CATALOGUES)}")
        rows = CATALOGUES[what]()
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    # a file and function, and what is said of each pair, are too long for a table of so many columns
    long = ("function", "computed", "why_not", "missing")
    print_rows([{key: value for key, value in row.items() if key not in long} for row in rows])
    for row in rows:
        if row.get("missing"):
            print(f"{row['name']} {row['missing']}")


def print_rows(rows: list[dict]) -> None:
    """Print rows as a table, lists with commas."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*rows[0], box=None, header_style="bold", pad_edge=False)
    for row in rows:
        cells = (", ".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v) for v in row.values())
        table.add_row(*map(escape, cells))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@app.command()
@plain_errors
def check(
    model: Annotated[str, typer.Argument(help="a folder with a trained classifier, or a hub name")],
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """Say what a classifier of your own is, whether it is read as transformers reads it, and which methods apply."""
    from attreval.methods.applicable import try_methods
    from attreval.models.examine import examine_model
    from attreval.models.loading import load_classifier

    loaded = load_classifier(model, max_length=512)
    rows, methods = examine_model(loaded), try_methods(loaded)
    if as_json:
        print(json.dumps({"model": dict(rows), "methods": methods}, indent=1, ensure_ascii=False))
        return
    refused: dict[str, list[str]] = {}
    for name, reason in methods.items():
        refused.setdefault(reason, []).append(name)
    rows += [("methods that apply", ", ".join(refused.pop("", ["none"])))]
    rows += [("methods that do not", f"{', '.join(names)}: {reason}") for reason, names in refused.items()]
    print_rows([{"what": what, "": how} for what, how in rows])


@app.command()
@plain_errors
def explain(
    model: Annotated[str, typer.Option(help="a folder with a trained classifier, or a hub name")],
    text: Annotated[list[str] | None, typer.Option(help="a text; may be given several times")] = None,
    pair: Annotated[list[str] | None, typer.Option(help="the second text of a pair, one for each --text")] = None,
    file: Annotated[Path | None, typer.Option(help="more texts: a .csv, .tsv, .jsonl or .txt file")] = None,
    column: Annotated[str | None, typer.Option(help="of the file, where the texts stand; else `text`")] = None,
    pair_column: Annotated[str | None, typer.Option(help="of the file, where second texts stand")] = None,
    method: Annotated[
        list[str] | None, typer.Option("--methods", "--method", help="names with commas between them, or `all`")
    ] = None,
    unit: Annotated[str, typer.Option(help="score whole words (`word`) or the model's tokens (`token`)")] = "word",
    target: Annotated[str | None, typer.Option(help="the class to explain; else the one predicted")] = None,
    against: Annotated[str | None, typer.Option(help="explain why the target rather than this class")] = None,
    samples: Annotated[int, typer.Option(help="texts that LIME and Shapley methods may ask for, 2 or more")] = 500,
    max_length: Annotated[int | None, typer.Option(help="tokens read of a text; else all that the model reads")] = None,
    out: Annotated[Path | None, typer.Option(help="write a .html, .json, .png or .svg file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """Explain what your own model says of your own texts, by any number of methods."""
    from attreval.api.explaining import check_samples, explain
    from attreval.api.explanations import check_ending, check_unit
    from attreval.api.loading import load
    from attreval.api.method_names import find_methods
    from attreval.api.text_files import join_pairs, read_texts
    from attreval.api.texts import read_segments

    # what is asked for wrongly is told before a model is loaded
    find_methods(method or None)
    check_unit(unit)
    check_samples(samples)
    if out is not None:
        check_ending(out)
    texts = join_pairs(text or [], pair or []) + (read_texts(file, column, pair_column) if file else [])
    read_segments(texts)
    loaded = load(model, max_length)
    found = explain(
        *(loaded, texts, method or None),
        **{"unit": unit, "target": target, "against": against, "samples": samples, "notify": ProgressLine()},
    )
    if out is not None:
        print(found.save(out), file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    elif out is None:
        from attreval.api.show.terminal import show

        show(found)


class ProgressLine:
    """Says on standard error how far a slow command is, every few seconds."""

    PAUSE = 3.0  # seconds

    def __init__(self):
        self.last = time.monotonic()

    def __call__(self, done: int, of: int, evaluations: int) -> None:
        if (now := time.monotonic()) - self.last >= self.PAUSE:
            self.last = now
            print(f"{done} of {of} texts explained, {evaluations} model evaluations", file=sys.stderr, flush=True)


@app.command()
@plain_errors
def evaluate(
    model: Annotated[str, typer.Option(help="a folder with a trained classifier, or a hub name")],
    data: Annotated[Path, typer.Option(help="labelled texts: csv, tsv, jsonl, Parquet, ERASER's, a `datasets` folder")],
    out: Annotated[Path, typer.Option(help="the folder that the report goes to")],
    text: Annotated[str, typer.Option(help="the column of the texts")] = "text",
    label: Annotated[str, typer.Option(help="the column of the labels")] = "label",
    pair: Annotated[str, typer.Option(help="the column of second texts")] = "",
    rationale: Annotated[str, typer.Option(help="the column of what people marked")] = "",
    split: Annotated[str, typer.Option(help="the column of splits; `test` is explained")] = "",
    id: Annotated[str, typer.Option(help="the column of names of texts")] = "",
    classes: Annotated[str, typer.Option(help="the model's classes in its order, with commas between them")] = "",
    method: Annotated[
        list[str] | None, typer.Option("--methods", "--method", help="names with commas between them")
    ] = None,
    attributions: Annotated[
        list[Path] | None, typer.Option(help="a .jsonl or .parquet of scores made elsewhere")
    ] = None,
    texts: Annotated[int | None, typer.Option(help="texts to draw, at most")] = None,
    minutes: Annotated[float, typer.Option(help="begin no larger sample that would not end by then")] = 10.0,
    cores: Annotated[int | None, typer.Option(help="processors to use; all that there are where not given")] = None,
):
    """Which explanation to trust for your own model and texts: a report with a recommendation and what it rests on."""
    from attreval.evaluation.running import evaluate_own

    columns = {"text": text, "label": label, "pair": pair, "rationale": rationale, "split": split, "id": id}
    labels = [name.strip() for name in classes.split(",") if name.strip()]
    chosen = {
        "methods": method or [],
        "attributions": attributions or [],
        "most": texts,
        "labels": labels,
        "cores": cores,
        "minutes": minutes,
    }
    evaluate_own(model, data, columns, out, **chosen)


@app.command()
@plain_errors
def claims(
    profile: ProfileName = "quick",
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """The scorecard: each claim with our value, what chance gives, a verdict, and how many texts would decide it."""
    from attreval import config
    from attreval.core import project
    from attreval.papers.common.claims import for_people, scorecard

    table = scorecard(project.results(config.load(profile).name).tables)
    if as_json:
        print(table.to_json(orient="records", indent=1, force_ascii=False))
        return
    print(for_people(table))


@app.command()
@plain_errors
def doctor():
    """Say what this machine has, and what follows."""
    from attreval.workflow.doctor import examine

    for line in examine():
        print(line)


if __name__ == "__main__":
    app()
