"""Run the workflow: Snakemake decides what is stale, this module says how far it is."""

import contextlib
import fcntl
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attreval.core.tables import sweep_parts
from compendium import config, corpora, project
from compendium.workflow.graph import stamp_path
from compendium.workflow.manifest import count_processors
from compendium.workflow.parallel import end_with_parent
from compendium.workflow.run_notebook import MARK
from compendium.workflow.warm import WarmProcess, warm_process

# also among short words without a value, such as -np
DRY = re.compile(r"--dry-?run|-[^\W\dcjsdCTo]*n\w*")
# words after which steps may run elsewhere
ELSEWHERE = ("--profile", "--workflow-profile", "--executor", "-e")


ELSEWHERE_LOG = re.compile(r"\s+log: (?:.*, )?(\S+) \(check log file")


class WorkflowFailed(RuntimeError):
    """A step of the workflow failed; the message says where to look."""


@contextlib.contextmanager
def lock_results(folder: Path) -> Iterator[None]:
    """Lock a profile's results for this run alone; the kernel lets go when the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkflowFailed(
                f"another run is at work in {folder}; wait for it, or end it"
            ) from None
        yield


def find_incomplete(folder: project.Results, discard: bool) -> list[str]:
    """Steps that have a record whose files are gone. discard: remove it, so that they run again."""
    broken = [
        record["step"]
        for record in folder.records()
        if not all((folder.root / name).exists() for name in record["files"])
    ]
    for name in broken if discard else ():
        folder.record(name).unlink()
    return broken


def run_workflow(profile: str, cores: int | None, extra: Sequence[str]) -> bool:
    """Bring a profile's results and the site up to date; False where there was nothing to do.

    Args:
        profile: its name or file.
        cores: None takes what the machine gives this process, or what a cluster's profile says.
        extra: words passed on to snakemake. A dry run changes nothing, and may stand beside a run
            that is at work.

    Raises:
        WorkflowFailed: a step fails.
    """
    settings = config.load_profile(profile)
    folder = project.results(settings.name)
    dry = is_dry(extra)
    for task in [] if dry else settings.read_tasks():
        if not corpora.table_path(task).exists():
            stamp_path(task).unlink(missing_ok=True)
    with contextlib.nullcontext() if dry else lock_results(folder.root):
        if not dry:
            sweep_parts(folder.root)
        broken = find_incomplete(folder, discard=not dry)
        for name in broken:
            print(f"{name}: files of an earlier run are gone, it runs again", flush=True)
        if dry and broken:
            extra = [*extra, "--forcerun", *(str(folder.record(name)) for name in broken)]
        home = project.home()
        command = [sys.executable, "-m", "snakemake", "--directory", str(home)]
        command += ["--snakefile", str(home / "workflow" / "Snakefile")]
        command += ["--config", f"profile={profile}", *name_cores(cores, extra)]
        command += ["--rerun-incomplete", "--nolock", "--nocolor", *extra]
        log = folder.root / "logs" / ("dry_run.log" if dry else "snakemake.log")
        log.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        report = ProgressReport()
        cold = leaves_machine(extra) or dry
        with contextlib.nullcontext() if cold else warm_process(settings.threads) as warm:
            report.on_steps = warm.start if warm else None
            status = _run_reported(command, log, report, warm)
        if status:
            raise WorkflowFailed(report.explain_failure(log))
        if dry:
            print("\n".join([*report.stats, "a dry run: nothing was run"]), flush=True)
        elif report.steps:
            seconds = time.monotonic() - started
            print(f"all {report.steps} steps done in {seconds:.0f} s", flush=True)
        return bool(report.steps)


def _run_reported(
    command: list[str], log: Path, report: "ProgressReport", warm: WarmProcess | None
) -> int:
    """Run snakemake, let the report read each line, and log it; return the exit status."""
    # steps call `attreval` and start kernels: the warm ones, or those beside this Python
    own = [str(warm.folder)] if warm else []
    given = {"ATTREVAL_HOME": str(project.home()), "ATTREVAL_IN_WORKFLOW": MARK}
    for name, places in (("PATH", [*own, str(Path(sys.executable).parent)]), ("JUPYTER_PATH", own)):
        given[name] = os.pathsep.join([*places, *filter(None, [os.environ.get(name)])])
    with (
        log.open("w", encoding="utf-8") as handle,
        subprocess.Popen(
            command,
            env=os.environ | given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=end_with_parent,
        ) as process,
    ):
        for line in process.stdout or ():
            handle.write(line)
            report.read_line(line.rstrip("\n"))
    return process.returncode


def is_dry(extra: Sequence[str]) -> bool:
    """Whether words for snakemake ask what would be run, and no more."""
    return any(DRY.fullmatch(word) for word in extra)


def leaves_machine(extra: Sequence[str]) -> bool:
    """Whether words for snakemake may make steps run elsewhere."""
    return any(word.partition("=")[0] in ELSEWHERE for word in extra)


def name_cores(cores: int | None, extra: Sequence[str]) -> list[str]:
    """The words that tell snakemake of processors.

    None where extra names a cluster: there the number is the most that one step is given, of which
    the processors of this machine say nothing.
    """
    if cores is None and leaves_machine(extra):
        return []
    return ["--cores", str(cores or count_processors())]


def read_errors(log: Path) -> list[str]:
    """What a step that ran on another machine said of its failure, and where its log is."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    said = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    said = [line for line in said if "failed" in line or "error" in line.lower()]
    ended = [line for line in lines if line.startswith(("slurmstepd:", "srun: error"))]
    return [*(said or ended[-2:]), f"its log is {log}"]


class ProgressReport:
    """Turns what snakemake and the steps print into lines for people."""

    def __init__(self) -> None:
        self.steps = 0
        self.on_steps: Callable[[], None] | None = None  # called when there is something to do
        self.errors: list[str] = []
        self.tail: list[str] = []
        # lines such as `train    3`: how often each rule is to run
        self.stats: dict[str, None] = {}

    def read_line(self, line: str) -> None:
        """Read one line of output, and print what a person wants to know of it."""
        self.tail = [*self.tail[-30:], line]
        if line.startswith(MARK):
            print(line.removeprefix(MARK), flush=True)
            if "failed" in line or "error" in line.lower():
                self.errors.append(line.removeprefix(MARK))
        elif found := ELSEWHERE_LOG.match(line):
            self.errors += read_errors(Path(found[1]))
        elif (found := re.match(r"total\s+(\d+)", line)) and not self.steps:
            self.steps = int(found[1])
            print(f"{self.steps} steps to run", flush=True)
            if self.on_steps:
                self.on_steps()
        elif re.match(r"(?!total)[a-z_]+ +\d+$", line):
            self.stats[line] = None
        elif found := re.match(r"(\d+) of (\d+) steps \(.*\) done", line):
            print(f"step {found[1]} of {found[2]} done", flush=True)

    def explain_failure(self, log: Path) -> str:
        lines = [*dict.fromkeys(self.errors)] or [line for line in self.tail if line.strip()][-12:]
        return "the workflow stopped:\n  " + "\n  ".join(lines) + f"\nThe whole log is {log}"
