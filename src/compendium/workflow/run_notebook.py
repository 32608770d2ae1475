"""Run one notebook: papermill executes it aside; a finished one takes its place."""

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from attreval.core.tables import write_json, write_whole
from compendium import project
from compendium.workflow import step
from compendium.workflow.manifest import commit, describe_machine

MARK = "» "  # the workflow shows people the lines of its steps that begin so


def say_line(line: str, file: TextIO | None = None) -> None:
    """Tell the user a line: with the mark inside a workflow, as it is elsewhere.

    file: None is the standard error. The line is written at once, its end with it: many steps write
    to one pipe, and where output is unbuffered (PYTHONUNBUFFERED) another's line would stand
    between the two.
    """
    print(
        f"{os.environ.get('ATTREVAL_IN_WORKFLOW', '')}{line}\n",
        end="",
        file=file or sys.stderr,
        flush=True,
    )


class StepFailed(RuntimeError):
    """A notebook raised; the message says where the executed copy lies and what it said."""


def run_notebook(notebook: str, given: dict[str, object]) -> Path:
    """Execute notebooks/<notebook>.ipynb with parameters; give the path of the executed copy.

    Raises ValueError for bad parameters before anything runs, StepFailed where a cell raises.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    checked, profile = step.check_run(notebook, given)
    name = project.step_name(notebook, *checked.run())
    folder = project.results(profile.name)
    target = folder.executed(name)
    failed = folder.root / "failed" / target.name
    step.set_threads(profile.threads)
    os.environ["PYTHONHASHSEED"] = "0"
    started = time.monotonic()
    say_line(f"{name}: starting")
    progress = _told_progress(name, folder.root / "logs" / f"{name}.progress")
    with (
        progress,
        write_whole(target) as part,
        tempfile.TemporaryDirectory(prefix="kernel-") as sockets,
    ):
        # Of many steps that start at once, two could be given the same port, and a port is open to
        # every user of the machine: the kernel is spoken to by sockets in a folder of its own.
        place = {"transport": "ipc", "connection_file": str(Path(sockets, "kernel.json"))}
        config = Config({"KernelManager": place})
        source = project.home() / "notebooks" / f"{notebook}.ipynb"
        options = {
            "kernel_name": "python3",
            "progress_bar": False,
            "cwd": project.home(),
            "start_timeout": 300,
        }
        try:
            papermill.execute_notebook(source, part, parameters=given, config=config, **options)
            if given:
                _drop_defaults(part)
        except (PapermillExecutionError, DeadKernelError) as error:
            failed.parent.mkdir(parents=True, exist_ok=True)
            if part.exists():
                os.replace(part, failed)
            said = str(error)
            if isinstance(error, PapermillExecutionError):
                said = f"{error.ename}: {error.evalue}"
            raise StepFailed(f"{name} failed, its notebook is {failed}\n  {said}") from None
    failed.unlink(missing_ok=True)
    record = folder.record(name)
    if record.exists():
        made_by = {"commit": commit(), "machine": describe_machine()}
        write_json(record, project.read_json(record) | made_by)
    say_line(f"{name}: done in {time.monotonic() - started:.0f} s")
    return target


def _drop_defaults(path: Path) -> None:
    """Take the default parameters out of an executed copy, above those that it was given."""
    import nbformat

    node = nbformat.read(path, as_version=4)
    node.cells = [one for one in node.cells if "parameters" not in one.metadata.get("tags", ())]
    nbformat.write(node, path)


@contextlib.contextmanager
def _told_progress(name: str, log: Path) -> Iterator[None]:
    """Give the notebook a log for its progress, and say how far it is whenever that has grown."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    os.environ["ATTREVAL_PROGRESS"] = str(log)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(name, log, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(timeout=2)
        log.unlink(missing_ok=True)


def _watch(name: str, log: Path, done: threading.Event, every: float = 5.0) -> None:
    """Print how far the notebook is, with the time left, whenever its progress log has grown."""
    said = 0
    first: dict[str, dict] = {}  # of each loop, by what it does
    while not done.wait(every):
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            first.setdefault(line["what"].partition(",")[0], line)
        if len(lines) > said:
            now = lines[-1]
            left = time_left(first[now["what"].partition(",")[0]], now)
            say_line(f"{name}: {now['what']}: {now['done']} of {now['of']}{left}")
        said = len(lines)


def time_left(start: dict, now: dict) -> str:
    """ ", about 40 s left", from two lines of a progress log; "" where nobody can tell yet."""
    if now["done"] <= start["done"] or now["done"] >= now["of"]:
        return ""
    seconds = (now["at"] - start["at"]) / (now["done"] - start["done"]) * (now["of"] - now["done"])
    if seconds < 100:
        return f", about {seconds:.0f} s left"
    return f", about {seconds / 60:.0f} min left"
