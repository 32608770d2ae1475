"""Notebooks run aside: a finished one takes its place, a failed one is kept apart."""

import nbformat
import pytest
import yaml
from nbformat import v4

from compendium import project
from compendium.workflow.run_notebook import StepFailed, run_notebook, time_left

PROFILE = {
    "name": "mine",
    "models": {"small": {"layers": 1, "hidden": 8, "heads": 2, "tokenizer": "minilm"}},
    "tasks": {
        "snli": {
            "models": ["small"],
            "train_rows": 1,
            "dev_rows": 1,
            "test_rows": 1,
            "explain_rows": 1,
        }
    },
    "explain": {"methods": ["lime"]},
}
CELL = """import json
from pathlib import Path
from ipykernel.connect import get_connection_info
print("profile is", profile, "by", json.loads(get_connection_info())["transport"])
if Path("broken").exists():
    raise ArithmeticError("the plot was lost")"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A project with one notebook, which fails while a file named `broken` is there."""
    threads = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    for name in ("ATTREVAL_PROGRESS", "PYTHONHASHSEED", *threads):
        monkeypatch.setenv(name, "1")  # so that what the run sets is undone
    monkeypatch.delenv("ATTREVAL_RESULTS", raising=False)
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    for name in ("config", "notebooks"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "mine.yaml").write_text(yaml.safe_dump(PROFILE))
    first = v4.new_code_cell('profile = "quick"', metadata={"tags": ["parameters"]})
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    made = v4.new_notebook(cells=[first, v4.new_code_cell(CELL)], metadata=about)
    nbformat.write(made, tmp_path / "notebooks" / "01_data.ipynb")
    return tmp_path


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def outputs(path):
    return "".join(
        o.get("text", "") for cell in nbformat.read(path, 4).cells for o in cell.get("outputs", [])
    )


def test_a_notebook_fails_then_runs_then_fails(home, capsys):
    results = project.results("mine").root
    (home / "broken").touch()
    words = r"(?s)01_data failed, its notebook is .*failed.*ArithmeticError: the plot was lost"
    with pytest.raises(StepFailed, match=words):
        run_notebook("01_data", {"profile": "mine"})
    assert files(results) == ["failed/01_data.ipynb"]
    assert "profile is mine" in outputs(results / "failed" / "01_data.ipynb")

    (home / "broken").unlink()
    assert run_notebook("01_data", {"profile": "mine"}) == results / "notebooks" / "01_data.ipynb"
    assert files(results) == ["notebooks/01_data.ipynb"]
    said = outputs(results / "notebooks" / "01_data.ipynb")
    assert "profile is mine by ipc" in said, "no port, which two kernels could share"
    cells = nbformat.read(results / "notebooks" / "01_data.ipynb", 4).cells
    assert [cell.metadata.tags for cell in cells] == [["injected-parameters"], []], "no defaults"
    assert capsys.readouterr().err.count("01_data: ") == 3  # started twice, done once

    finished = (results / "notebooks" / "01_data.ipynb").read_bytes()
    (home / "broken").touch()
    with pytest.raises(StepFailed):
        run_notebook("01_data", {"profile": "mine"})
    assert files(results) == ["failed/01_data.ipynb", "notebooks/01_data.ipynb"]
    assert (results / "notebooks" / "01_data.ipynb").read_bytes() == finished


def test_bad_parameters_stop_before_anything_runs(home):
    for notebook, given, words in [
        ("01_date", {}, "unknown notebook '01_date'; there are: 01_data"),
        ("01_data", {"profil": "mine"}, "profil: unknown parameter. Allowed are: profile"),
        (
            "01_data",
            {"profile": "mien"},
            "unknown profile 'mien'; there are: mine; did you mean 'mine'",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            run_notebook(notebook, given)
        assert not (home / "results").exists()


def test_time_left_follows_the_pace():
    for done, left in [
        (10, ""),
        (11, ", about 90 s left"),
        (20, ""),
        (15, ", about 10 s left"),
        (10.1, ", about 17 min left"),
    ]:
        start = {"done": 10, "at": 100.0, "of": 20}
        assert time_left(start, {"done": done, "at": 110.0, "of": 20}) == left
