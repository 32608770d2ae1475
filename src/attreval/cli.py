"""The command line: what there is, fetch, run, render, explore, claims, check, explain, doctor."""

from __future__ import annotations

import functools
import json
import sys
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
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


@app.command()
@plain_errors
def fetch(
    profile: ProfileName = "",
    task: Annotated[list[str] | None, typer.Option(help="a task; may be given several times")] = None,
    weights: Annotated[list[str] | None, typer.Option(help="pretrained weights from the registry")] = None,
):
    """Download, check and open what a profile or some tasks need, and make their tables."""
    from attreval import config, corpora
    from attreval.corpora.fetch.fetching import with_tables
    from attreval.workflow.run_notebook import with_mark
    from attreval.workflow.staleness import write_stamps

    tasks, names = list(task or []), list(weights or [])
    if not tasks and not names:
        profile = profile or "quick"
    if profile:
        settings = config.load(profile)
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
    from attreval.workflow.run_snakemake import run_workflow

    settings = load(profile)
    name = settings.name
    if profile.endswith((".yaml", ".yml")):
        profile = str(path_of(profile))  # steps run from the project folder, not from here
    print(f"profile {name}: looking what is to do", flush=True)
    for task in settings.left_out:
        print(f"left out: {task}, whose files are not at hand; ATTREVAL_CORPORA can name a folder that has them")
    if not run_workflow(profile, cores, extra=context.args):
        print("nothing to do: results and site are up to date")
    print(f"results: {project.results(name).root}\nsite:    {project.home() / '_site' / 'index.html'}")


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
):
    """Stage a profile's notebooks, tables and numbers, and render the site into _site/."""
    from attreval import config
    from attreval.report.rendering import render
    from attreval.workflow.manifest import make_manifest

    make_manifest(profile)
    print(render(config.load(profile).name, route=route))


@app.command()
@plain_errors
def explore(profile: ProfileName = "quick"):
    """Make the explorer's page from a profile's results, without the rest of the site, and open it in a browser."""
    import webbrowser

    from attreval import config
    from attreval.explorer.page import write_page
    from attreval.workflow.manifest import make_manifest

    make_manifest(profile)
    page = write_page(config.load(profile).name)
    print(page)
    if sys.stdout.isatty():
        webbrowser.open(page.as_uri())


@app.command(name="list")
@plain_errors
def list_what(
    what: Annotated[str, typer.Argument(help="methods, metrics, corpora, models, notebooks or profiles")],
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """Say what there is."""
    from attreval.catalogue import CATALOGUES

    what = "metrics" if what == "judges" else what
    if what not in CATALOGUES:
        raise ValueError(f"there is no list of {what!r}; there are: {', '.join(CATALOGUES)}")
    rows = CATALOGUES[what]()
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    print_rows(rows)


def print_rows(rows: list[dict]) -> None:
    """Print rows as a table, lists with commas."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*rows[0], box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(", ".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v) for v in row.values()))
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
    text: Annotated[list[str], typer.Option(help="the text; give it twice for a pair")],
    method: Annotated[list[str] | None, typer.Option(help="a method; may be given several times")] = None,
    samples: Annotated[int, typer.Option(help="perturbed texts that LIME may ask for")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
):
    """Explain the prediction of your own model on your own text, on any number of methods."""
    from attreval.methods.own_text import explain_text

    predicted, probability, frame = explain_text(model, text, method, samples)
    if as_json:
        print(json.dumps({"predicted": predicted, "probability": probability, "tokens": frame.to_dict("records")}))
    else:
        print(f"predicted {predicted} with probability {probability:.3f}")
        print(frame.to_string(index=False, float_format=lambda x: f"{x:+.3f}"))
        if dropped := frame.attrs.get("dropped"):
            print(
                f"{dropped} words were not read: the model takes no more tokens, or its tokenizer knows none for them"
            )


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
