"""Where things live: the project folder, its data and the results of a profile."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def home() -> Path:
    """The project folder: ATTREVAL_HOME, or the nearest folder upwards that holds `_quarto.yml` and `notebooks/`."""
    if given := os.environ.get("ATTREVAL_HOME"):
        return Path(given).resolve()
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "_quarto.yml").exists() and (folder / "notebooks").is_dir():
            return folder
    raise FileNotFoundError(
        f"no project at or above {here}: go to a checkout (with _quarto.yml and notebooks/) or set ATTREVAL_HOME to one"
    )


def data_folder() -> Path:
    """The folder for downloads and task tables: ATTREVAL_DATA, or `data/` in the project."""
    return Path(os.environ["ATTREVAL_DATA"]).resolve() if os.environ.get("ATTREVAL_DATA") else home() / "data"


def raw() -> Path:
    """Downloaded archives, never changed after their hash was checked."""
    return data_folder() / "raw"


def processed() -> Path:
    """Task tables made from the downloads."""
    return data_folder() / "processed"


@dataclass(frozen=True)
class Results:
    """The folders of one profile's results."""

    root: Path

    @property
    def tables(self) -> Path:
        """CSV tables, the same bytes from every run."""
        return self.root / "tables"

    @property
    def figures(self) -> Path:
        """Figures as PNG and SVG."""
        return self.root / "figures"

    @property
    def instances(self) -> Path:
        """What judges say of single instances, one Parquet file a notebook run; see Step.per_instance."""
        return self.root / "instances"

    @property
    def notebooks(self) -> Path:
        """Executed notebooks."""
        return self.root / "notebooks"

    @property
    def numbers(self) -> Path:
        """Numbers that the text looks up by key, one JSON file a notebook run."""
        return self.root / "numbers"

    @property
    def steps(self) -> Path:
        """What each step was given and what it took: seconds, evaluations, versions."""
        return self.root / "steps"

    def model(self, task: str, model: str, seed: int) -> Path:
        """The folder of one trained model."""
        return self.root / "models" / f"{task}-{model}-s{seed}"

    def attributions(self, task: str, model: str, seed: int, shard: int | str) -> Path:
        """The attribution table of one shard, or of the `examples`."""
        return self.root / "attributions" / f"{task}-{model}-s{seed}-{shard}.parquet"

    def tokens(self, task: str, model: str, seed: int, part: int | str) -> Path:
        """How the model reads the instances of one shard, the `examples`, or all that people marked (`marked`)."""
        return self.root / "tokens" / f"{task}-{model}-s{seed}-{part}.parquet"

    def typed_attributions(self, task: str, model: str, seed: int, part: int) -> Path:
        """The attributions of units, pairs and spans of one part of the instances that the diagnosis looks at."""
        return self.root / "attributions" / f"types-{task}-{model}-s{seed}-{part}.parquet"

    def typed_tokens(self, task: str, model: str, seed: int, part: int) -> Path:
        """How the model reads the instances of one part of these."""
        return self.root / "tokens" / f"types-{task}-{model}-s{seed}-{part}.parquet"


def results(profile: str) -> Results:
    """The results of a profile: `results/<profile>`, or below ATTREVAL_RESULTS where that is set."""
    base = os.environ.get("ATTREVAL_RESULTS")
    return Results((Path(base).resolve() if base else home() / "results") / profile)
