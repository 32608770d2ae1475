"""Where things live: the project folder, its data and a profile's results."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    import pandas as pd

# libyaml's, ten times as fast, where PyYAML has it
SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def home() -> Path:
    """The project folder: ATTREVAL_HOME, or the nearest one upwards that looks like a checkout.

    It holds `_quarto.yml` and `notebooks/`. Outside any, the checkout that this package was
    installed from in place, if it was.
    """
    if given := os.environ.get("ATTREVAL_HOME"):
        return Path(given).resolve()
    here = Path.cwd().resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / "_quarto.yml").exists() and (folder / "notebooks").is_dir():
            return folder
    raise FileNotFoundError(
        f"no project at or above {here}: go to a checkout (with _quarto.yml and notebooks/) or "
        "set ATTREVAL_HOME to one"
    )


def read_yaml(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=SafeLoader)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _data_folder() -> Path:
    """The folder for downloads and task tables: ATTREVAL_DATA, or `data/` in the project."""
    given = os.environ.get("ATTREVAL_DATA")
    return Path(given).resolve() if given else home() / "data"


def raw() -> Path:
    """Downloaded archives, never changed after their hash was checked."""
    return _data_folder() / "raw"


def processed() -> Path:
    """Task tables made from the downloads."""
    return _data_folder() / "processed"


@dataclass(frozen=True)
class Results:
    """The folders and files of one profile's results: no path of them is put together elsewhere."""

    root: Path

    @property
    def tables(self) -> Path:
        """CSV, the same bytes from every run."""
        return self.root / "tables"

    @property
    def figures(self) -> Path:
        """PNG and SVG."""
        return self.root / "figures"

    @property
    def values(self) -> Path:
        """What is said of single texts, without a word of them: Step.keep."""
        return self.root / "values"

    @property
    def notebooks(self) -> Path:
        """Executed notebooks."""
        return self.root / "notebooks"

    @property
    def steps(self) -> Path:
        """Records: what each step was given and took."""
        return self.root / "steps"

    def table(self, name: str, notebook: str, *run: str | int) -> Path:
        """A CSV table of a notebook. run: task, model, seed and part, where it runs for each."""
        return self.tables / f"{step_name(notebook, *run)}_{name}.csv"

    def read_table(self, name: str, notebook: str, *run: str | int) -> "pd.DataFrame":
        """Such a table; FileNotFoundError, where the notebook has not run, says how it does."""
        from attreval.core.tables import read_csv

        return read_csv(self.existing(self.table(name, notebook, *run), notebook))

    def kept(self, name: str, notebook: str) -> Path:
        """A table of single texts that a notebook has kept."""
        return self.values / f"{notebook}_{name}.parquet"

    def existing(self, path: Path, notebook: str) -> Path:
        """The path, if it is there; FileNotFoundError says what to run otherwise."""
        if not path.exists():
            raise FileNotFoundError(
                f"no {path}: run notebook {notebook}, or `attreval run --profile {self.root.name}`"
            )
        return path

    def executed(self, step: str) -> Path:
        return self.notebooks / f"{step}.ipynb"

    def record(self, step: str) -> Path:
        return self.steps / f"{step}.json"

    def records(self) -> list[dict]:
        """What the steps that have run were given and took."""
        return [read_json(path) for path in sorted(self.steps.glob("[!.]*.json"))]

    def facts(self) -> dict[str, Any]:
        """The manifest; empty where there is none, as before the site is made."""
        path = self.root / "manifest.json"
        return read_json(path) if path.exists() else {}

    def model(self, *run: object) -> Path:
        """The folder of a trained model. run: here and below task, model and seed."""
        return self.root / "models" / run_name(*run)

    def parts(self, step: str) -> Path:
        """The folder of what a step that has not ended has finished; see workflow.parallel."""
        return self.root / "parts" / step

    def agent(self, *run: object) -> Path:
        """The folder of an agent that learns to predict a model. run: and its kind."""
        return self.root / "agents" / run_name(*run)

    def attributions(self, *part: object) -> Path:
        """The attribution table. part: a run, and one of its shards or the `examples`."""
        return self.root / "attributions" / f"{run_name(*part)}.parquet"

    def tokens(self, *part: object) -> Path:
        """How the model reads the instances. part: the same, or all `marked` ones of a run."""
        return self.root / "tokens" / f"{run_name(*part)}.parquet"

    def typed_attributions(self, *part: object) -> Path:
        """The attributions of units, pairs and spans. part: a run, and a part of the diagnosis."""
        return self.root / "attributions" / f"types-{run_name(*part)}.parquet"

    def typed_tokens(self, *part: object) -> Path:
        """How the model reads the instances of one part of these."""
        return self.root / "tokens" / f"types-{run_name(*part)}.parquet"


def run_name(task: object, model: object, seed: object, *part: object) -> str:
    """What the files of a run (and of a part of it) are named by."""
    return "-".join(map(str, (task, model, f"s{seed}", *part)))


def step_name(notebook: str, *run: object) -> str:
    """The name of a notebook's run: `03_explain-snli-minilm-s1-0`."""
    return f"{notebook}-{run_name(*run)}" if run else notebook


def results(profile: str) -> Results:
    """The results of a profile: `results/<profile>`, or below ATTREVAL_RESULTS if that is set."""
    base = os.environ.get("ATTREVAL_RESULTS")
    return Results((Path(base).resolve() if base else home() / "results") / profile)


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder, which takes the place of `folder` if the block ends well.

    A kill leaves the old folder or the new one. One process at a time works on a folder.
    """
    part = folder.with_name(f"{folder.name}.part")
    old = folder.with_name(f"{folder.name}.old.part")
    if old.exists() and not folder.exists():  # a kill fell between the two renames
        os.rename(old, folder)
    for left in (part, old):
        shutil.rmtree(left, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        if folder.exists():
            os.rename(folder, old)
        os.rename(part, folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)
