"""A copy of the project that tests may run, change and break, with the checkout's downloads."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from reference import CHECKOUT

PARTS = (
    "config",
    "notebooks",
    "workflow",
    "paper",
    "results/reference/benchmark",
    "_quarto.yml",
    "index.qmd",
    "CITATION.cff",
)


@dataclass(frozen=True)
class Copy:
    """A project of its own, and the environment that makes commands work in it."""

    home: Path
    env: dict[str, str]

    @property
    def results(self) -> Path:
        """The smoke profile's results."""
        return self.results_of("smoke")

    def results_of(self, profile: str) -> Path:
        """A profile's results."""
        return self.home / "results" / profile

    def command(self, *words: str) -> list[str]:
        """A command of this environment's Python."""
        return [sys.executable, "-m", *words]

    def run(self, *words: str, **given) -> subprocess.CompletedProcess:
        """Run `python -m words`, output captured."""
        return subprocess.run(
            self.command(*words),
            cwd=self.home,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=2400,
            **given,
        )

    def tables(self, profile: str) -> dict[str, bytes]:
        """Every table, attribution, value of single texts and number of a profile, by name."""
        kinds = ("tables/*.csv", "attributions/*.parquet", "values/*.parquet", "numbers/*.json")
        root = self.results_of(profile)
        return {
            str(p.relative_to(root)): p.read_bytes() for k in kinds for p in sorted(root.glob(k))
        }


def copy_project(home: Path) -> Copy:
    """Copy the parts of the checkout that a run reads."""
    home.mkdir()
    for part in PARTS:
        source = CHECKOUT / part
        if source.is_dir():
            shutil.copytree(
                source, home / part, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "_*.md")
            )
        else:
            shutil.copy(source, home / part)
    for staged in ("paper/notebooks", "paper/tables"):
        shutil.rmtree(home / staged, ignore_errors=True)
    (home / "data").mkdir()
    for name in ("registry.lock", "sources.toml"):
        shutil.copy(CHECKOUT / "data" / name, home / "data" / name)
    data = os.environ.get("ATTREVAL_DATA", str(CHECKOUT / "data"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # corpora from elsewhere would add to what the profile does
    left = {
        k: value
        for k, value in os.environ.items()
        if k not in ("ATTREVAL_RESULTS", "ATTREVAL_CORPORA")
    }
    return Copy(home, left | {"ATTREVAL_HOME": str(home), "ATTREVAL_DATA": data, "PATH": path})


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Copy:
    """A project in which the smoke profile has run, start to end, without a break."""
    copy = copy_project(tmp_path_factory.mktemp("finished") / "project")
    done = copy.run("attreval.cli", "run", "--profile", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    (copy.home / "said.txt").write_text(done.stdout)
    return copy
