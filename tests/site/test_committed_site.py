"""A clean clone has no run of its own: the site is made from the committed one."""

import subprocess
import sys

import nbformat
import pytest
from madeup import copy_pages, make_run
from typer.testing import CliRunner

from attreval.cli import app
from compendium import project
from compendium.site.committed import LEAD, committed
from compendium.site.markdown import ReportError
from compendium.site.pictures import NOT_HERE
from compendium.site.rendering import stage


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A project with the real pages and a made-up run that is committed as quick's."""
    home = tmp_path / "project"
    monkeypatch.setenv("ATTREVAL_HOME", str(home))
    copy_pages(home)
    make_run(home, "quick")
    place = committed("quick").root
    place.parent.mkdir(parents=True)
    (home / "results" / "quick").rename(place)
    (place / "claims.json").write_text("[]")
    for path in (place / "notebooks").glob("*.ipynb"):
        node = nbformat.read(path, as_version=4)
        node.cells[
            0
        ].source += f"\n\n{LEAD} [quick](../results/reference/quick/notebooks/{path.name})"
        nbformat.write(node, path)
    return home


def test_the_committed_run_is_staged_without_links_to_its_other_copies(clone):
    assert stage("quick", committed("quick"))["run.profile"] == "quick"
    notebooks = [
        path.read_text(encoding="utf-8") for path in (clone / "paper" / "notebooks").glob("*.ipynb")
    ]
    assert notebooks and not any(LEAD in text for text in notebooks)
    assert not list(clone.glob("*explorer*"))
    assert not (clone / "results" / "quick").exists()


def test_what_is_newer_than_the_committed_run_is_named(clone):
    """Tables and labelled cells say that the run lacks them; a run of one's own must have them."""
    old = committed("quick")
    for path in old.tables.glob("08_joint_places*"):
        path.unlink()
    (table,) = old.tables.glob("08_joint_pareto_by_metric.csv")
    table.unlink()
    notebook = old.notebooks / "08_joint.ipynb"
    node = nbformat.read(notebook, as_version=4)
    node.cells = [cell for cell in node.cells if "label: places" not in cell.source]
    nbformat.write(node, notebook)
    stage("quick", old)
    paths = [
        path for folder in ("tables", "notebooks") for path in (clone / "paper" / folder).iterdir()
    ]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    assert NOT_HERE in texts["_joint-pareto.md"] and NOT_HERE not in texts["_joint-random.md"]
    assert "#| label: places" in texts["08_joint.ipynb"] and NOT_HERE in texts["08_joint.ipynb"]
    old.root.rename(clone / "results" / "quick")
    with pytest.raises(ReportError, match="joint-pareto"):
        stage("quick", project.results("quick"))


QUICK = ["--profile", "quick"]


def write_profile(clone, monkeypatch):
    """A profile quick of the project."""
    monkeypatch.setattr("compendium.workflow.manifest.make_manifest", lambda profile: None)
    (clone / "config").mkdir()
    (clone / "config" / "quick.yaml").write_text(
        "name: quick\nmodels: {a: {weights: minilm}}\ntasks: {snli: {models: [a], train_rows: 1, "
        "dev_rows: 1, "
        "test_rows: 1, explain_rows: 1}}\nexplain: {methods: [lime]}\n"
    )


def test_without_explained_texts_there_is_no_explorer(clone, monkeypatch):
    write_profile(clone, monkeypatch)
    done = CliRunner().invoke(app, ["explore"])
    assert done.exit_code and "`attreval run --profile quick` makes them" in " ".join(
        done.output.split()
    )
    assert not list(clone.glob("*explorer*"))


SHOWN = [  # whether there is a run of one's own, words of the command, which committed run is shown
    (False, [], "reference"),
    (False, QUICK, "quick"),
    (True, [], None),
    (True, ["--committed"], "reference"),
    (True, ["--committed", *QUICK], "quick"),
]


def test_a_committed_run_is_rendered_where_there_is_no_other_or_it_is_asked_for(clone, monkeypatch):
    """The reference run, unless another is named."""
    calls = []
    render = "compendium.site.rendering.render_site"
    monkeypatch.setattr(render, lambda *given: calls.append(given) or clone)
    write_profile(clone, monkeypatch)
    committed("reference").root.mkdir()
    (committed("reference").root / "claims.json").write_text("[]")
    for own, words, shown in SHOWN:
        if own:
            record = project.results("quick").record("01_data")
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text("{}")
        done = CliRunner().invoke(app, ["render", *words])
        assert done.exit_code == 0, done.output
        results = committed(shown) if shown else project.results("quick")
        assert calls.pop() == (shown or "quick", "auto", results), (own, words)
        assert (f"the committed run of {shown}" in done.output) == bool(shown)


def test_before_quarto_renders_a_run_is_staged_once(clone, tmp_path):
    """By the command that is installed, which is named where there is none."""

    def before_quarto(path):
        words = [sys.executable, clone / "paper" / "stage.py"]
        return subprocess.run(
            words, env={"PATH": str(path)}, capture_output=True, text=True, check=False
        )

    assert "`attreval stage`" in before_quarto(tmp_path / "nothing").stderr
    command = tmp_path / "attreval"
    command.write_text("#!/bin/sh\necho $1 in $PWD; echo {} > _variables.yml\n")
    command.chmod(0o755)
    assert before_quarto(tmp_path).stdout == f"stage in {clone}\n"
    assert before_quarto(tmp_path).stdout == "", "what is staged stays"


def test_a_committed_run_is_staged_by_a_command(clone, monkeypatch):
    write_profile(clone, monkeypatch)
    done = CliRunner().invoke(app, ["stage", *QUICK])
    assert done.exit_code == 0, done.output
    assert "profile: quick" in (clone / "_variables.yml").read_text()
    assert not (clone / "_site").exists()
