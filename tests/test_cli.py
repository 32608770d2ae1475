"""The command line: it lists what there is, says what is wrong in one line, and explains one's own model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from reference import CHECKOUT, models
from typer.testing import CliRunner

from attreval import config, corpora
from attreval.cli import app
from attreval.methods import METHODS, methods_for
from attreval.papers.common.claims import read_claims, score
from attreval.papers.common.verdicts import Finding
from attreval.workflow.parameters import NOTEBOOKS
from attreval.workflow.run_notebook import MARK, with_mark
from attreval.workflow.run_snakemake import ProgressReport


@pytest.fixture(autouse=True)
def checkout(monkeypatch):
    """Commands run in this checkout."""
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))


def call(*words: str):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A classifier of one's own, as transformers would save it."""
    path = tmp_path_factory.mktemp("own") / "model"
    models.tiny_model().save(path)
    return path


def test_lists_name_everything_there_is():
    names = {w: [row["name"] for row in json.loads(call("list", w, "--json").stdout)] for w in ("methods", "corpora")}
    assert names == {"methods": list(METHODS), "corpora": list(corpora.TASKS)}
    assert [row["name"] for row in json.loads(call("list", "profiles", "--json").stdout)] == config.profiles()
    assert [row["name"] for row in json.loads(call("list", "notebooks", "--json").stdout)] == list(NOTEBOOKS)


@pytest.mark.parametrize("what", ["methods", "metrics", "judges", "corpora", "models", "notebooks", "profiles"])
def test_lists_are_tables_for_people(what):
    done = call("list", what)
    rows = json.loads(call("list", what, "--json").stdout)
    assert done.exit_code == 0 and rows
    assert all(row["name"].split()[0][:12] in done.stdout for row in rows)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list", "things"), "there are: methods, metrics"),
        (("run", "--profile", "quik"), "did you mean 'quick'?"),
        (("notebook", "03_explain", "-p", "sharrd=1"), "sharrd: unknown parameter"),
        (("notebook", "03_explain", "-p", "shard=one"), "shard: Input should be a valid integer"),
        (("notebook", "03_explain", "-p", "task=yelp"), "profile 'quick' has no task 'yelp'; it has: snli"),
        (("notebook", "03_explain", "-p", "shard"), "a parameter is given as name=value"),
        (("notebook", "99_none"), "unknown notebook '99_none'; there are: 01_data"),
        (("fetch", "--task", "nope"), "unknown task 'nope'; there are: snli"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, said):
    done = call(*words)
    assert done.exit_code == 1
    assert said in done.stderr and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_a_profile_without_results_is_not_rendered(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_RESULTS", str(tmp_path))
    done = call("render", "--profile", "paper")
    assert done.exit_code == 1 and "has no results yet: `attreval run --profile paper`" in done.stderr


def test_own_model_is_explained(folder):
    words = ("explain", "--model", str(folder), "--text", "the film was good .", "--samples", "50", "--json")
    found = json.loads(call(*words).stdout)
    assert 0 < found["probability"] <= 1
    applicable = methods_for("transformer")
    assert list(found["tokens"][0]) == ["token", *applicable]
    again = json.loads(call(*words).stdout)
    assert again == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--text", ""), "nothing to explain"),
        (("--text", " \t\n "), "nothing to explain"),
        (("--text", "x", "--method", "nope"), "unknown method 'nope'"),
    ],
)
def test_own_model_refuses_with_a_reason(folder, words, said):
    done = call("explain", "--model", str(folder), *words)
    assert done.exit_code == 1 and said in done.stderr


def test_a_folder_that_is_not_there(tmp_path):
    done = call("explain", "--model", str(tmp_path / "nothing"), "--text", "x")
    assert done.exit_code == 1 and "no folder" in done.stderr


def test_doctor_says_what_follows(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path))
    done = call("doctor")
    assert done.exit_code == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    names = ["python", "device", "memory", "disk", "quarto", "pandoc", "browser", "corpora", "tables", "results"]
    assert sorted(lines) == sorted(names)
    assert "read from there" in lines["corpora"]


def test_lines_are_marked_inside_a_workflow_only(monkeypatch):
    monkeypatch.delenv("ATTREVAL_IN_WORKFLOW", raising=False)
    assert with_mark("x") == "x"
    monkeypatch.setenv("ATTREVAL_IN_WORKFLOW", "1")
    assert with_mark("x") == f"{MARK}x"


def test_the_narrator_tells_people_what_matters(capsys, tmp_path):
    said = ProgressReport()
    for line in ("Building DAG of jobs...", "total 7", "3 of 7 steps (43%) done", f"{MARK}03_explain: 1 of 2"):
        said.read_line(line)
    assert capsys.readouterr().out.splitlines() == ["7 steps to run", "step 3 of 7 done", "03_explain: 1 of 2"]
    said.read_line(f"{MARK}error: 03_explain failed, its notebook is x.ipynb")
    why = said.explain_failure(tmp_path / "log")
    assert "03_explain failed" in why and str(tmp_path / "log") in why


def test_claims_print_what_notebooks_have_found(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_RESULTS", str(tmp_path))
    done = call("claims", "--profile", "smoke")
    assert done.exit_code == 1 and "no claims at" in done.stderr
    claims = read_claims("poerner2018")
    drawn = np.concatenate([np.full(50, 0.125), np.full(400, 0.25), np.full(50, 0.5)])
    found = {claims[0].id: Finding(0.25, drawn, np.linspace(-0.1, 0.1, 99), texts=40, basis="1 of 1 columns")}
    (tmp_path / "smoke" / "tables").mkdir(parents=True)
    score(claims, found).to_csv(tmp_path / "smoke" / "tables" / "04_poerner2018_claims.csv", index=False)
    said = json.loads(call("claims", "--profile", "smoke", "--json").stdout)
    assert len(said) == len(claims) and said[0]["verdict"] == "reproduced" and said[0]["value"] == 0.25
    assert said[1]["value"] is None and said[1]["verdict"] == "not testable here"
    printed = call("claims", "--profile", "smoke").stdout
    assert "+0.250 [+0.125, +0.500]" in printed and "nan" not in printed
    assert "with random scores +0.000" in printed and "would decide" in printed and "claimed above 0" in printed
    assert f"{len(claims) - 1} not testable here" in printed and "1 reproduced" in printed
