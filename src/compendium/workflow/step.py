"""One run of one notebook: its parameters, profile and folders, and what it leaves.

Tables and figures are the same bytes from every run; what is not (seconds, versions) goes into the
step's own record, from which the manifest is made.
"""

import json
import os
import platform
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from attreval import __version__
from attreval.core.tables import seconds_of, write_csv, write_json, write_parquet, write_whole
from compendium import config, project
from compendium.workflow import parameters
from compendium.workflow.parallel import (
    kept_or_made,
    map_side_by_side,
    part_paths,
    thread_variables,
)

VERSIONS = (
    "torch",
    "transformers",
    "captum",
    "shap",
    "numpy",
    "pandas",
    "scikit-learn",
    "pyarrow",
    "papermill",
)
PRINTED = 6.2  # inches that a figure has on the printed page, within its margin
SMALLEST = 7.0  # points of a letter there
MOST_ROWS = 20  # of a table that a notebook shows


def write_picture(axes: Any, stem: Path, svg_text: bool = False) -> list[Path]:
    """Write a figure as <stem>.png and <stem>.svg, the same bytes each time, and close it.

    axes: matplotlib's, or seaborn's grid. It is laid out once, for both. svg_text: whether text
    stays text in the SVG.
    """
    from matplotlib import pyplot as plt

    figure = axes.get_figure() if hasattr(axes, "get_figure") else axes.figure
    paths = []
    fonts = "none" if svg_text else "path"
    figure.set_dpi(200)
    _enlarge_text(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    box = figure.get_tightbbox().padded(plt.rcParams["savefig.pad_inches"])
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        paths.append(stem.with_name(f"{stem.name}.{kind}"))
        with (
            plt.rc_context({"svg.hashsalt": stem.name, "svg.fonttype": fonts}),
            write_whole(paths[-1]) as part,
        ):
            figure.savefig(part, format=kind, dpi=200, bbox_inches=box, metadata=metadata)
    plt.close(figure)
    return paths


def _enlarge_text(figure: Any) -> None:
    """Make letters larger that would be too small to read on the printed page."""
    from matplotlib.text import Text

    for _ in range(3):  # the figure grows with its letters
        figure.draw_without_rendering()
        least = SMALLEST * max(1.0, figure.get_tightbbox().width / PRINTED)
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                own = max((label.get_fontsize() for label in axis.get_ticklabels()), default=least)
                axis.set_tick_params(labelsize=max(own, least))
        for text in figure.findobj(Text):
            text.set_fontsize(max(text.get_fontsize(), least))


@dataclass
class Step:
    """A notebook run, with a name such as `03_explain-snli-minilm-s1-0`.

    spent_elsewhere: processor seconds of parts that other processes, or an earlier start, made.
    """

    notebook: str
    parameters: Any
    profile: config.Profile
    results: project.Results
    started: float = field(default_factory=time.monotonic)
    files: list[Path] = field(default_factory=list)
    notes: dict = field(default_factory=dict)
    spent_elsewhere: float = 0.0

    @property
    def name(self) -> str:
        return project.step_name(self.notebook, *self.parameters.run())

    def table(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        """Write a table to tables/<run>_<name>.csv and give it back."""
        path = self.results.table(name, self.notebook, *self.parameters.run())
        write_csv(path, frame)
        self.files.append(path)
        frame.attrs["whole"] = f"tables/{path.name}"  # said where a part of it is shown
        return frame

    def keep(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        """Keep what is said of single texts, by id, in values/<run>_<name>.parquet; give it back.

        Without a word of a text: it is committed with the run.
        """
        path = self.results.kept(name, self.name)
        write_parquet(path, pa.Table.from_pandas(frame, preserve_index=False))
        self.files.append(path)
        return frame

    def kept(self, name: str) -> pd.DataFrame:
        """What this step has kept by that name; FileNotFoundError, where it has not run."""
        path = self.results.kept(name, self.notebook)
        return pd.read_parquet(self.results.existing(path, self.notebook))

    def figure(self, name: str, axes: Any) -> Any:
        """Write a figure to figures/<run>_<name>.png and .svg and give it back for display."""
        from IPython.display import Image

        paths = write_picture(axes, self.results.figures / f"{self.name}_{name}", svg_text=True)
        self.files += paths
        return Image(filename=str(paths[0]), width=int(axes.figure.get_figwidth() * 100), alt=name)

    def side_by_side(
        self, work: Callable[..., Any], jobs: list[tuple], what: str, of_models: bool = True
    ) -> list[Any]:
        """What `work(*job)` gives for each job, in order, in as many processes as the profile says.

        Finished jobs are kept until the step ends, so that an interrupted one goes on; see
        workflow.parallel. what: for the display of progress.
        """
        if not jobs:
            return []
        named = [(work, *job) for job in jobs]
        paths = self.parts(named, of_models)
        missing = [path for path in paths if not path.exists()]
        wrapped = [(path, *one) for path, one in zip(paths, named, strict=True)]
        settings = self.profile.model_dump()
        workers = min(self.profile.workers, len(jobs))
        found = map_side_by_side(kept_or_made, wrapped, workers, self.progress(what), settings)
        if workers > 1:
            self.spent_elsewhere += sum(map(seconds_of, missing))
        return found

    def ask_side_by_side(
        self, work: Callable[..., Any], jobs: list[tuple], what: str, of_models: bool = True
    ) -> list[Any]:
        """The same of work that asks models: (results, profile, run, ...) -> (found, costs).

        The record says what was asked and what was computed, by task and account; what was found
        is given.
        """
        found = []
        total: dict[str, dict[str, int]] = {}
        answers = self.side_by_side(work, jobs, what, of_models)
        for (_, _, run, *_), (made, costs) in zip(jobs, answers, strict=True):
            found.append(made)
            for account, cost in costs.items():
                of = total.setdefault(f"{run[0]}.{account}", {"requested": 0, "unique": 0})
                of["requested"] += cost.requested
                of["unique"] += cost.unique
        self.notes["evaluations"] = total
        return found

    def parts(self, names: list[tuple], of_models: bool = True) -> list[Path]:
        """Where parts of these names are kept until the step ends; the record counts old ones."""
        paths = part_paths(self.name, self.profile, self.results, names, of_models)
        there = sum(path.exists() for path in paths)
        self.notes["parts_taken_up"] = self.notes.get("parts_taken_up", 0) + there
        self.spent_elsewhere += sum(map(seconds_of, paths))
        return paths

    def progress(self, what: str) -> Callable[..., None]:
        """A callback (done, of, words=None) that shows a bar, or writes to the workflow's log."""
        log = os.environ.get("ATTREVAL_PROGRESS")
        if not log:
            from tqdm.auto import tqdm

            bar = tqdm(desc=what)

        def show(done: int, of: int, words: str | None = None) -> None:
            if log:
                line = {"what": words or what, "done": done, "of": of, "at": time.time()}
                with Path(log).open("a", encoding="utf-8") as handle:
                    handle.write(json.dumps(line) + "\n")
                return
            bar.total = of
            bar.n = done
            bar.set_description(words or what, refresh=False)
            bar.refresh()
            if done >= of:
                bar.close()

        return show

    def finish(self) -> None:
        """Write the record of this step, which lists the files written."""
        record = {
            "step": self.name,
            "notebook": self.notebook,
            "parameters": self.parameters.model_dump(),
            "attreval": __version__,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in VERSIONS},
            "threads": self.profile.threads,
            "seed": self.profile.seed,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.started, 1),
            # of this process, kernel start and imports included, and of parts that others have made
            "processor_seconds": round(sum(os.times()[:4]) + self.spent_elsewhere, 1),
            "files": sorted(str(path.relative_to(self.results.root)) for path in set(self.files)),
        }
        path = self.results.record(self.name)
        if path.exists():  # what an earlier run wrote and this one did not is out of date
            for name in set(project.read_json(path)["files"]) - set(record["files"]):
                (self.results.root / name).unlink(missing_ok=True)
        write_json(path, record | self.notes)
        shutil.rmtree(self.results.parts(self.name), ignore_errors=True)


def check_run(notebook: str, given: dict) -> tuple[parameters.Parameters, config.Profile]:
    """The checked parameters of a notebook run, and its profile.

    Raises ValueError for a wrong parameter, profile, task, model, seed or shard.
    """
    checked = parameters.check_parameters(notebook, given)
    profile = config.load_profile(checked.profile)
    if isinstance(checked, parameters.OneModel):
        check_choice(profile, checked, notebook)
    return checked, profile


def begin(notebook: str, namespace: dict) -> Step:
    """Start a notebook run from the notebook's own globals(); raises what check_run raises."""
    given, profile = check_run(notebook, parameters.read_namespace(namespace))
    set_threads(profile.threads)
    set_display()
    # without widgets, bars are text: no harm done
    warnings.filterwarnings("ignore", message="IProgress not found")
    return Step(notebook, given, profile, project.results(profile.name))


def set_display() -> None:
    """Show tables with all columns, few rows, and a dash where there is no value."""
    from IPython import get_ipython

    pd.set_option("display.max_colwidth", None)
    pd.set_option("display.max_columns", None)  # the default depends on where pandas was imported
    if shell := get_ipython():
        shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, _as_html)


def _as_html(frame: pd.DataFrame) -> str:
    """The first rows as pandas shows a table, but for the dashes, and where the whole is."""
    shown = frame.head(MOST_ROWS).to_html(na_rep="–", notebook=True)
    if len(frame) <= MOST_ROWS:
        return shown
    place = f"; the whole: <code>{frame.attrs['whole']}</code>" if "whole" in frame.attrs else ""
    return f"{shown}<p>The first {MOST_ROWS} of {len(frame)} rows{place}</p>"


def check_choice(profile: config.Profile, given: parameters.OneModel, notebook: str) -> None:
    """Raise ValueError where the profile has no such task, model, seed or shard."""
    if given.task not in profile.tasks:
        raise ValueError(
            f"profile {profile.name!r} has no task {given.task!r}; it has: "
            f"{', '.join(profile.tasks)}"
        )
    shard = getattr(given, "shard", None)
    task = profile.tasks[given.task]
    reader = profile.read_by(given.task)
    if notebook == "02_train" and reader != given.task:
        raise ValueError(f"task {given.task!r} trains no model; it is read by those of {reader!r}")
    if given.model not in task.models:
        raise ValueError(
            f"task {given.task!r} has no model {given.model!r}; it has: {', '.join(task.models)}"
        )
    if shard is not None and not profile.rows_explained(given.task, given.model):
        raise ValueError(
            f"profile {profile.name!r} trains models on {given.task!r} and explains nothing of it"
        )
    used = profile.task_of(given.task, given.model)
    if given.seed not in used.seeds:
        raise ValueError(
            f"task {given.task!r} has no seed {given.seed}; it has: "
            f"{', '.join(map(str, used.seeds))}"
        )
    if notebook.startswith("07") and "diagnosis" not in used.judges:
        raise ValueError(
            f"the profile {profile.name!r} does not put {given.model!r} on {given.task!r} before "
            "the diagnosis; name `diagnosis` among the task's judges"
        )
    shards = profile.explaining_of(given.task).shards
    if shard is not None and shard >= shards:
        raise ValueError(
            f"there is no shard {shard}; profile {profile.name!r} has {shards} of {given.task}, "
            "from 0"
        )


def set_threads(threads: int) -> None:
    """Fix the number of threads: sums in another order would be other floats in the tables."""
    os.environ.update(thread_variables(threads))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
