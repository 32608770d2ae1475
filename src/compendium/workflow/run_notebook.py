"""Run one notebook: papermill executes it aside; a finished one takes its place, a failed one is kept apart."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from attreval.core.tables import write_json, write_whole
from compendium import config, project
from compendium.workflow import parameters, step
from compendium.workflow.machine import commit, describe_machine

WARM_KERNEL = "compendium.workflow.warm_kernel.WarmKernelManager"
MARK = "» "  # the workflow shows people the lines of its steps that begin so


def with_mark(line: str) -> str:
    """A message to the user: with the mark inside a workflow, as it is elsewhere."""
    return os.environ.get("ATTREVAL_IN_WORKFLOW", "") + line


class StepFailed(RuntimeError):
    """A notebook raised; the message says where the executed copy lies and what it said."""


def run_notebook(notebook: str, given: dict[str, object]) -> Path:
    """Execute notebooks/<notebook>.ipynb with parameters; give the path of the executed copy.

    Raises ValueError for bad parameters before anything runs, StepFailed where a cell raises.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    checked = parameters.check(notebook, given)
    profile = config.load(checked.profile)
    if isinstance(checked, parameters.OneModel):
        step.check_choice(profile, checked, notebook)
    name = project.step_name(notebook, *checked.run())
    folder = project.results(profile.name)
    target = folder.executed(name)
    failed = folder.root / "failed" / target.name
    step.set_threads(profile.threads)
    os.environ["PYTHONHASHSEED"] = "0"
    progress = folder.root / "logs" / f"{name}.progress"
    progress.parent.mkdir(parents=True, exist_ok=True)
    progress.write_text("")
    os.environ["ATTREVAL_PROGRESS"] = str(progress)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(name, progress, done), daemon=True)
    watcher.start()
    started = time.monotonic()
    print(with_mark(f"{name}: starting"), file=sys.stderr, flush=True)
    try:
        with write_whole(target) as part:
            try:
                papermill.execute_notebook(
                    project.home() / "notebooks" / f"{notebook}.ipynb",
                    part,
                    parameters=given,
                    kernel_name="python3",
                    progress_bar=False,
                    cwd=project.home(),
                    start_timeout=300,
                    **({"kernel_manager_class": WARM_KERNEL} if os.environ.get("ATTREVAL_WARM", "0") != "0" else {}),
                )
            except (PapermillExecutionError, DeadKernelError) as error:
                failed.parent.mkdir(parents=True, exist_ok=True)
                if part.exists():
                    os.replace(part, failed)
                said = f"{error.ename}: {error.evalue}" if isinstance(error, PapermillExecutionError) else str(error)
                raise StepFailed(f"{name} failed, its notebook is {failed}\n  {said}") from None
    finally:
        done.set()
        watcher.join(timeout=2)
        progress.unlink(missing_ok=True)
    failed.unlink(missing_ok=True)
    if (path := folder.record(name)).exists():
        ran_on = {"commit": commit(), "machine": describe_machine()}
        write_json(path, json.loads(path.read_text(encoding="utf-8")) | ran_on)
    print(with_mark(f"{name}: done in {time.monotonic() - started:.0f} s"), file=sys.stderr, flush=True)
    return target


def _watch(name: str, log: Path, done: threading.Event, every: float = 5.0) -> None:
    """Print how far the notebook is, with the time left, whenever its progress log has grown."""
    said, first = None, {}
    while not done.wait(every):
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        for line in lines:
            first.setdefault(json.loads(line)["what"].split(",")[0], json.loads(line))
        if not lines or lines[-1] == said:
            continue
        said = lines[-1]
        now = json.loads(said)
        start = first[now["what"].split(",")[0]]
        line = f"{name}: {now['what']}: {now['done']} of {now['of']}{time_left(start, now)}"
        print(with_mark(line), file=sys.stderr, flush=True)


def time_left(start: dict, now: dict) -> str:
    """ ", about 40 s left", from two lines of a progress log; nothing where that cannot be told yet."""
    if now["done"] <= start["done"] or now["done"] >= now["of"]:
        return ""
    seconds = (now["at"] - start["at"]) / (now["done"] - start["done"]) * (now["of"] - now["done"])
    return f", about {seconds:.0f} s left" if seconds < 100 else f", about {seconds / 60:.0f} min left"
