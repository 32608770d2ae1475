"""The app that commands belong to, how errors are told, and how rows are printed."""

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

import attreval

ABOUT = (
    "Judge explanations of text classifiers: check, explain and evaluate for your own model, run "
    "for the study."
)
WIDEST = 10_000  # columns of what goes to a file: a row is a line there
# the environment variable that says what lines for people begin with, where a workflow runs this
LINE_START = "ATTREVAL_IN_WORKFLOW"
# modules whose CATALOGUES say what there is; the study adds its own
CATALOGUES = ["attreval.api.catalogue"]
STUDY = ("run", "plan", "fetch", "claims", "explore", "render", "publish", "verify", "doctor")
app = typer.Typer(
    name="attreval",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=ABOUT,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def option(said: str, *names: str, **how: Any) -> Any:
    """An option of a command: what `--help` says of it, and its names where they are not the
    parameter's.
    """
    return typer.Option(*names, help=said, **how)


AsJson = Annotated[bool, option("machine-readable", "--json")]


def plain_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Print errors that people can act on as one message, without a traceback, and exit.

    With 1, or the error's own `status`.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            return command(*args, **kwargs)
        except (ValueError, OSError, RuntimeError, ImportError) as error:
            for line in f"error: {error}".splitlines():
                print(os.environ.get(LINE_START, "") + line, file=sys.stderr)
            raise typer.Exit(getattr(error, "status", 1)) from None
        except KeyboardInterrupt as stop:
            print(f"interrupted{stop}", file=sys.stderr)
            raise typer.Exit(130) from None

    return run


def command(name: str | None = None, **how: Any) -> Callable[..., Callable[..., None]]:
    """A decorator that makes a function a command, whose errors are plain."""

    def make(function: Callable[..., None]) -> Callable[..., None]:
        return app.command(name, **how)(plain_errors(function))

    return make


def print_json(value: Any) -> None:
    """Print a value for machines."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def refuse_study() -> None:
    """Let each command of the study say what to install, where the study is not."""

    def refuse() -> None:
        raise ValueError(
            "this command is of the study, which comes with a checkout of the project: "
            "pip install -e '.[compendium]' there"
        )

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    for name in STUDY:
        command(name, hidden=True, context_settings=anything)(refuse)


def print_rows(rows: list[dict]) -> None:
    """Print rows as a table, lists with commas."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for at, name in enumerate(rows[0]):
        table.add_column(name, no_wrap=at == 0, overflow="fold")
    for row in rows:
        cells = []
        for value in row.values():
            several = isinstance(value, (list, tuple))
            cells.append(escape(", ".join(map(str, value)) if several else str(value)))
        table.add_row(*cells)
    console = Console(width=None if sys.stdout.isatty() else WIDEST, soft_wrap=True)
    with console.capture() as printed:
        console.print(table)
    print("\n".join(map(str.rstrip, printed.get().splitlines())))  # cells are filled up with spaces


def say_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        print(f"attreval {attreval.__version__}")
        raise typer.Exit()


@app.callback()
def say_what_it_is(
    version: Annotated[
        bool,
        option("say the version and end", "--version", callback=say_version, is_eager=True),
    ] = False,
) -> None:
    """Judge token attributions of text classifiers: the commands."""
