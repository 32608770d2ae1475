"""What a run of a notebook leaves: tables and figures in the same bytes, and a record of itself."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from reference.profiles import TASK, TINY

from compendium import config, project
from compendium.workflow import parameters, step
from compendium.workflow import run_snakemake as workflow
from compendium.workflow.run_snakemake import (
    ProgressReport,
    WorkflowFailed,
    find_incomplete,
    is_dry,
    lock_results,
)
from compendium.workflow.step import set_display

GIVEN = {"models": {"tiny": TINY}, "tasks": {"snli": TASK}, "explain": {"methods": ["random"]}}
PROFILE = config.Profile(name="mine", seed=4, threads=1, workers=2, **GIVEN)


def begun(folder):
    """A run of notebook 02 that writes into a folder."""
    given = parameters.check_parameters("02_train", {"profile": "mine", "model": "tiny"})
    return step.Step("02_train", given, PROFILE, project.Results(folder / "mine"))


def leave(folder):
    """One run with a table and a figure; the list of what it wrote."""
    import seaborn
    from matplotlib import pyplot as plt

    _, axes = plt.subplots()
    one = begun(folder)
    table = one.table("accuracy", pd.DataFrame({"x": [1.0, 1 / 3]}))
    assert table.x.tolist() == [1.0, 1 / 3]
    one.figure("curve", seaborn.lineplot(table, ax=axes))
    one.notes["evaluations"] = 3
    one.finish()


def test_a_run_leaves_the_same_bytes_and_a_record(tmp_path):
    leave(tmp_path / "a")
    leave(tmp_path / "b")
    names = [f"mine/figures/02_train-snli-tiny-s1_curve.{ending}" for ending in ("png", "svg")]
    names.insert(0, "mine/tables/02_train-snli-tiny-s1_accuracy.csv")
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    record = json.loads(
        (tmp_path / "a" / "mine" / "steps" / "02_train-snli-tiny-s1.json").read_text()
    )
    assert record["files"] == sorted(name.removeprefix("mine/") for name in names)
    assert (record["seed"], record["threads"], record["evaluations"]) == (4, 1, 3)
    assert record["parameters"] == {"profile": "mine", "task": "snli", "model": "tiny", "seed": 1}
    assert set(record["packages"]) == set(step.VERSIONS)


def test_progress_goes_to_the_log_of_the_workflow(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_PROGRESS", str(tmp_path / "log"))
    show = begun(tmp_path).progress("explaining")
    show(1, 3)
    show(3, 3, "done with it")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(x["what"], x["done"], x["of"]) for x in lines] == [
        ("explaining", 1, 3),
        ("done with it", 3, 3),
    ]


def test_the_record_of_a_step_goes_with_its_files(tmp_path):
    leave(tmp_path)
    results = project.Results(tmp_path / "mine")
    assert find_incomplete(results, discard=True) == [] and len(list(results.steps.iterdir())) == 1
    (results.tables / "02_train-snli-tiny-s1_accuracy.csv").unlink()
    assert find_incomplete(results, discard=True) == ["02_train-snli-tiny-s1"]
    assert list(results.steps.iterdir()) == []


def test_results_are_held_by_one_run_at_a_time(tmp_path):
    refused = pytest.raises(WorkflowFailed, match="another run is at work in")
    with lock_results(tmp_path), refused, lock_results(tmp_path):
        pass
    with lock_results(tmp_path):
        assert os.listdir(tmp_path) == [".lock"]


def test_a_dry_run_says_how_often_each_rule_would_run(capsys):
    said = ProgressReport()
    for line in (
        "job            count",
        "-------  -------",
        "train   3",
        "fetch_table    1",
        "total      4",
    ) * 2:
        said.read_line(line)
    assert [line.split() for line in said.stats] == [["train", "3"], ["fetch_table", "1"]]
    assert capsys.readouterr().out == "4 steps to run\n"
    assert is_dry(["--keep-going", "-n"]) and not is_dry(["--keep-going"])
    assert all(is_dry([word]) for word in ("-np", "-pn", "--dry-run", "--dryrun"))
    assert not any(
        is_dry([word])
        for word in ("-p", "-k", "-j2", "--printshellcmds", "-Cname=x", "--until", "notes")
    )


def test_what_the_workflow_prints_is_told_in_plain_words(tmp_path, capsys):
    said = ProgressReport()
    for line in (
        "host: x",
        "total    7",
        f"{workflow.MARK}01_data: starting",
        "3 of 7 steps (43%) done",
    ):
        said.read_line(line)
    assert capsys.readouterr().out == "7 steps to run\n01_data: starting\nstep 3 of 7 done\n"
    assert said.steps == 7 and not said.stats
    # nothing better is known
    assert "3 of 7 steps (43%) done" in said.explain_failure(tmp_path / "log")
    said.read_line(f"{workflow.MARK}02_train failed, its notebook is there")
    why = said.explain_failure(tmp_path / "log")
    assert "02_train failed" in why and "3 of 7" not in why and str(tmp_path / "log") in why


def test_tables_of_notebooks_show_a_dash_where_there_is_no_value(monkeypatch):
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    set_display()
    shown = shell.display_formatter.formatters["text/html"]
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]})
    assert "NaN" not in shown(frame) and shown(frame).count("–") == 2
    few = pd.DataFrame({"a": range(20)})
    assert shown(few) == few._repr_html_(), "all else is as pandas shows it"


def test_a_long_table_shows_its_first_rows_and_says_where_the_others_are(tmp_path, monkeypatch):
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    set_display()
    shown = shell.display_formatter.formatters["text/html"]
    long = pd.DataFrame({"a": range(30), "b": "x"})
    assert shown(long).count("<tr") == 21 and "The first 20 of 30 rows</p>" in shown(long)
    kept = begun(tmp_path).table("long", long)
    wide = kept.pivot_table(index="a", columns="b", aggfunc="size").round(1)
    said = "The first 20 of 30 rows; the whole: <code>tables/02_train-snli-tiny-s1_long.csv</code>"
    assert said in shown(kept[kept.a >= 0]) and said in shown(wide)
