"""A run that is committed in pieces: what one lacks stays, what it has anew is put in its place and told."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from report.test_publishing import home  # noqa: F401

from attreval.core.tables import write_csv, write_json
from compendium import project
from compendium.site.publishing.machines import FILE, describe_elsewhere, read_elsewhere
from compendium.site.publishing.pieces import processor_of, step_of
from compendium.site.publishing.places import committed
from compendium.site.publishing.publish import publish, publish_beside
from compendium.site.publishing.restore import restore

TRAINED, AGREEMENT, JOINT = "02_train-snli-small-s1", "05_kamp2023", "08_joint"


def run_step(step, tables=None, finished="2001-02-03T04:05:06", processor="One"):
    """Write what a step leaves: tables, each a column of numbers, an executed notebook, and the record of its files."""
    run = project.results("quick")
    for name, column in (tables or {}).items():
        write_csv(run.tables / f"{step}_{name}.csv", pd.DataFrame(column))
    if not run.executed(step).exists():
        run.executed(step).write_bytes(committed("quick").executed(AGREEMENT).read_bytes())
    files = [f"{path.parent.name}/{path.name}" for at in (run.tables, run.figures) for path in at.glob(f"{step}_*")]
    seconds = {"seconds": 1.0, "processor_seconds": 60.0}
    record = {"step": step, "files": files, "finished": finished, "machine": {"processor": processor}}
    write_json(run.record(step), record | seconds)


def drop_step(step):
    """Make the run one that has not made a step."""
    run = project.results("quick")
    for name in json.loads(run.record(step).read_text())["files"]:
        (run.root / name).unlink(missing_ok=True)
    run.record(step).unlink()
    run.executed(step).unlink()


def facts():
    return json.loads((committed("quick").root / "manifest.json").read_text())


@pytest.fixture
def first(home):  # noqa: F811
    """A first piece is committed, which lacks the joint study; then another machine starts anew. Gives all steps."""
    steps = sorted(path.stem for path in project.results("quick").steps.glob("*.json"))
    for step in steps:
        run_step(step)
    run_step(TRAINED, {"accuracy": {"accuracy": [0.75]}})
    run_step(AGREEMENT, {"x": {"x": [1]}, "instances": {"text": [1]}})
    drop_step(JOINT)
    publish("quick", partial=True)
    for step in set(steps) - {JOINT}:
        drop_step(step)
    return steps


def test_a_later_piece_is_added_to_what_is_committed(first):
    place = committed("quick")
    assert "these steps lack: 08_joint" in (place.root / "README.md").read_text()
    notebook = place.executed(AGREEMENT).read_bytes()
    run_step(JOINT, {"y": {"y": [2]}}, processor="Two")
    publish("quick", partial=True)
    assert place.executed(AGREEMENT).read_bytes() == notebook and (place.tables / f"{AGREEMENT}_x.csv").exists()
    assert (place.figures / "05_kamp2023_plain.png").exists()
    assert (place.tables / f"{JOINT}_y.csv").read_text() == "y\n2\n"
    assert sorted(facts()["steps"]) == first and facts()["processor_seconds"] == 60 * len(first)
    said = (place.root / "README.md").read_text()
    assert "these steps lack" not in said and f"One: {len(first) - 1} steps; Two: 1 steps" in said
    assert "`*_predictions.csv`): 1\n" in said and said.count("05_kamp2023, cell 2, output 1: words of") == 1
    kept = {path: path.read_bytes() for path in place.root.rglob("*.*")}
    publish("quick", partial=True)
    assert all(path.read_bytes() == data for path, data in kept.items())


def test_what_is_made_again_replaces_and_says_how_right_its_model_was(first):
    place = committed("quick")
    for accuracy, day in ((0.5, 4), (0.25, 5)):
        run_step(TRAINED, {"accuracy": {"accuracy": [accuracy]}}, f"2001-02-0{day}T04:05:06", "Two")
        publish("quick", partial=True)
    assert facts()["made_again"] == {"snli-small-s1": [0.75, 0.5, 0.25]}
    assert "snli-small-s1 0.750, then 0.500, then 0.250" in (place.root / "README.md").read_text()
    assert (place.tables / f"{TRAINED}_accuracy.csv").read_text() == "accuracy\n0.25\n"


def test_files_of_a_step_that_did_not_end_are_not_committed(first):
    place, run = committed("quick"), project.results("quick")
    run_step("03_overview")
    write_csv(run.tables / f"{JOINT}_half.csv", pd.DataFrame({"y": [2]}))
    write_csv(run.tables / f"{AGREEMENT}_x.csv", pd.DataFrame({"x": [3]}))
    publish("quick", partial=True)
    assert not (place.tables / f"{JOINT}_half.csv").exists()
    assert (place.tables / f"{AGREEMENT}_x.csv").read_text() == "x\n1\n"


def test_named_steps_alone_are_published(first):
    place = committed("quick")
    run_step(TRAINED, {"accuracy": {"accuracy": [0.5]}}, "2001-02-04T04:05:06", "Two")
    run_step(JOINT, {"y": {"y": [2]}}, processor="Two")
    publish("quick", only=["08_*"])
    assert (place.tables / f"{JOINT}_y.csv").exists() and facts()["made_again"] == {}
    assert (place.tables / f"{TRAINED}_accuracy.csv").read_text() == "accuracy\n0.75\n"
    with pytest.raises(ValueError, match=r"no step is named '9\*'; at hand are: 02_train-snli-small-s1, 08_joint"):
        publish("quick", only=["08_joint", "9*"])


def test_a_committed_run_comes_back_but_for_steps_that_are_there(first):
    run, place = project.results("quick"), committed("quick")
    run_step(AGREEMENT, {"x": {"x": [3]}})
    given = run.record(AGREEMENT).read_bytes()
    assert sorted(restore("quick")) == sorted(set(first) - {JOINT, AGREEMENT})
    assert run.record(AGREEMENT).read_bytes() == given and run.table("x", AGREEMENT).read_text() == "x\n3\n"
    assert json.loads(run.record(TRAINED).read_text()) == facts()["steps"][TRAINED]
    for path in (f"tables/{TRAINED}_accuracy.csv", f"notebooks/{TRAINED}.ipynb"):
        assert (run.root / path).read_bytes() == (place.root / path).read_bytes()
    assert restore("quick") == []


def test_without_a_committed_run_there_is_nothing_to_restore(home):  # noqa: F811
    with pytest.raises(FileNotFoundError, match="no committed run of 'quick'"):
        restore("quick")


def test_a_kept_table_is_left_out_by_todays_rules_and_named_once(first):
    place, name = committed("quick"), f"{AGREEMENT}_predictions.csv"
    manifest = facts()
    manifest["left_out"].append(f"table {name}: an earlier reason")
    manifest["steps"][AGREEMENT]["files"].append(f"tables/{name}")
    (place.root / "manifest.json").write_text(json.dumps(manifest))
    (place.tables / name).write_text("text,correct\n1,1\n")
    run_step(JOINT, processor="Two")
    publish("quick", partial=True)
    assert not (place.tables / name).exists()
    assert [line for line in facts()["left_out"] if name in line] == [f"table {name}: a row for each single text"]


def test_settings_that_an_earlier_piece_had_otherwise_are_named(first, home):  # noqa: F811
    profile = home / "config" / "quick.yaml"
    profile.write_text(profile.read_text() + "meta: { instances: 7 }\n")
    run_step(JOINT, processor="Two")
    (project.results("quick").root / "manifest.json").unlink()
    publish("quick", partial=True)
    assert facts()["settings_changed"] == ["meta.instances"]
    assert "pieces had otherwise: `meta.instances`." in (committed("quick").root / "README.md").read_text()


def test_a_piece_of_fewer_tasks_leaves_the_settings_those_of_the_profile(first, home):  # noqa: F811
    profile, before = home / "config" / "quick.yaml", facts()
    run_step(JOINT, processor="Two")
    manifest = json.loads((project.results("quick").root / "manifest.json").read_text())
    manifest["steps"] = {JOINT: json.loads(project.results("quick").record(JOINT).read_text())}
    task = next(iter(manifest["settings"]["tasks"]))
    for name in [name for name in manifest["settings"]["tasks"] if name != task]:
        del manifest["settings"]["tasks"][name]  # a piece may do without
    manifest["settings"]["tasks"][task]["explain_rows"] = 7
    manifest["samples"] = {"agreement": "of the piece", "pointing": "of the piece"}
    write_json(project.results("quick").root / "manifest.json", manifest)
    text = profile.read_text()
    publish("quick", partial=True)
    assert profile.read_text() == text and facts()["settings"] == before["settings"]
    assert facts()["settings_changed"] == [f"tasks.{task}.explain_rows"]
    assert facts()["samples"]["agreement"] == before["samples"]["agreement"], "its notebook stayed as it was"


def claims_of_the_run(monkeypatch, **verdicts):
    """Make the run's scorecard say this, by claim of Kamp et al.; values do not matter."""
    rows = [
        {"claim": name, "paper": "kamp2023", "verdict": verdict, "value": 0.5, "low": 0.25, "high": 0.75}
        for name, verdict in verdicts.items()
    ]
    monkeypatch.setattr("compendium.site.publishing.publish.claims_json", lambda tables: json.dumps(rows))
    monkeypatch.setattr("compendium.site.publishing.publish.write_fidelity", lambda: None)


def test_another_machine_leaves_its_verdicts_beside_those_of_the_first(first, monkeypatch):
    place, many = committed("quick"), "100 of 2 texts"
    claims_of_the_run(monkeypatch, a="reproduced", b="inconclusive", gone=many)
    run_step(AGREEMENT, {"x": {"x": [1]}}, processor="One (x86_64)")
    publish("quick", partial=True)
    assert read_elsewhere(place) == []
    claims_of_the_run(monkeypatch, a="reproduced", b="contradicted")
    run_step(AGREEMENT, {"x": {"x": [2]}}, "2001-02-04T04:05:06", "Two")
    publish("quick", partial=True)
    assert [(row["claim"], row["processor"], row["verdict"]) for row in read_elsewhere(place)] == [
        ("a", "One", "reproduced"),
        ("b", "One", "inconclusive"),
    ]
    said = (place.root / "README.md").read_text()
    same = "the same verdict on 1 of the 2 claims that both could test."
    assert f"Made on another machine too, One (commit `None`, 2001-02-03): {same}" in said
    assert "Others: `b` there inconclusive (0.500 [0.250, 0.750]), here contradicted (0.500 [0.250, 0.750])." in said
    publish("quick", partial=True)
    assert len(read_elsewhere(place)) == 2, "the same machine again adds nothing"
    run_step(AGREEMENT, {"x": {"x": [3]}}, "2001-02-05T04:05:06", "One")
    publish("quick", partial=True)
    assert {row["processor"] for row in read_elsewhere(place)} == {"Two"}, "back on the first, the second is elsewhere"


def test_verdicts_of_another_machine_alone_are_laid_beside(first, home, monkeypatch):  # noqa: F811
    place, run = committed("quick"), project.results("quick")
    claims_of_the_run(monkeypatch, a="reproduced", b="inconclusive")
    run_step(AGREEMENT, {"x": {"x": [1]}}, processor="One")
    publish("quick", partial=True)
    before = {path: path.read_bytes() for path in place.root.rglob("*.*") if path.name not in ("README.md", FILE)}
    with pytest.raises(ValueError, match="05_kamp2023 is committed from One already"):
        publish_beside("quick")
    claims_of_the_run(monkeypatch, a="reproduced", b="contradicted", new="reproduced")
    run_step(AGREEMENT, {"x": {"x": [2]}}, "2001-02-04T04:05:06", "Two (x86_64)")
    manifest = json.loads((run.root / "manifest.json").read_text())
    left_out = next(iter(manifest["settings"]["tasks"]))
    manifest["settings"]["tasks"] = {}
    manifest["settings"]["meta"]["instances"] = 7
    manifest["steps"][AGREEMENT] = json.loads(run.record(AGREEMENT).read_text())
    write_json(run.root / "manifest.json", manifest)
    publish_beside("quick")
    assert [(row["claim"], row["processor"], row["verdict"]) for row in read_elsewhere(place)] == [
        ("a", "Two", "reproduced"),
        ("b", "Two", "contradicted"),
    ]
    said = (place.root / "README.md").read_text()
    otherwise = f"with other `meta.instances`, without {left_out}"
    assert f"Two (commit `None`, 2001-02-04), {otherwise}: the same verdict on 1 of the 2" in said
    assert all(path.read_bytes() == data for path, data in before.items()), "nothing else changes"
    drop_step(AGREEMENT)
    run_step(JOINT)
    with pytest.raises(ValueError, match=r"no verdict to lay beside .* 04_poerner2018, 05_kamp2023"):
        publish_beside("quick")


def test_nothing_is_laid_beside_a_run_that_is_not_committed(home):  # noqa: F811
    with pytest.raises(ValueError, match="no run of 'quick' is committed"):
        publish_beside("quick")


def test_verdicts_are_compared_where_both_machines_could_give_one():
    told = {"verdict": "reproduced", "value": 0.5, "low": 0.25, "high": 0.75}
    open_ = {"verdict": "inconclusive", "value": 0.1, "low": -0.1, "high": 0.3}
    none = {"verdict": "not testable here", "value": None, "low": None, "high": None}
    here = {"same": told, "turned": told, "there": none, "here": told, "neither": none}
    there = {"same": told, "turned": open_, "there": open_, "here": none, "neither": none}
    (line,) = describe_elsewhere(
        [{"claim": name} | row for name, row in here.items()],
        [{"claim": name, "processor": "One", "commit": "c", "date": "d"} | row for name, row in there.items()],
    )
    assert line == (
        "Made on another machine too, One (commit `c`, d): the same verdict on 1 of the 2 claims that both could test. "
        "Others: `turned` there inconclusive (0.100 [-0.100, 0.300]), here reproduced (0.500 [0.250, 0.750]). "
        "Tested on one of the two: `there` there inconclusive (0.100 [-0.100, 0.300]), here not testable; "
        "`here` there not testable, here reproduced (0.500 [0.250, 0.750])."
    )
    assert processor_of({}) == "not recorded"


def test_a_file_belongs_to_the_step_with_the_longest_name():
    steps = ["05_kamp2023", "05_kamp2023_seeds"]
    assert step_of("table 05_kamp2023_seeds_apd.csv: 7.0 MB", steps) == "05_kamp2023_seeds"
    assert step_of("05_kamp2023_x.csv", steps) == "05_kamp2023" and step_of("04_x.csv", steps) == ""
