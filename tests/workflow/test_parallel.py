"""Side by side gives what one after the other gives; an interrupted step goes on."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from reference import models

from compendium import project
from compendium.config import Profile
from compendium.project import Results
from compendium.workflow import parallel
from compendium.workflow.parallel import kept_or_made, map_side_by_side, part_paths
from compendium.workflow.step import Step


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers):
    seen = []
    jobs = [(n, 2) for n in (5, 1, 4, 2, 3)]
    found = map_side_by_side(math.pow, jobs, workers, lambda done, of: seen.append((done, of)))
    assert found == [25, 1, 16, 4, 9] and seen == [(n, 5) for n in range(1, 6)]


def test_several_workers_are_other_processes():
    assert os.getpid() not in map_side_by_side(os.getpid, [(), ()], 2)
    assert set(map_side_by_side(os.getpid, [(), ()], 1)) == {os.getpid()}


def test_an_error_in_a_job_is_raised():
    for workers in [1, 2]:
        with pytest.raises(ValueError, match=r"math domain|nonnegative"):
            map_side_by_side(math.sqrt, [(1.0,), (-1.0,)], workers)


def profile_of(**more) -> Profile:
    return Profile.model_validate(
        {"name": "made-up", "models": {"tiny": {"weights": "minilm"}}, "tasks": {}} | more
    )


@pytest.fixture
def step(tmp_path, monkeypatch) -> Step:
    monkeypatch.setattr(project, "processed", lambda: tmp_path / "processed")
    parameters = SimpleNamespace(run=lambda: (), model_dump=dict)
    return Step("06_made_up", parameters, profile_of(workers=1), Results(tmp_path / "results"))


def halve(folder: Path, number: int) -> float:
    """Half of a number; leaves a line each time, and fails for odd ones while a file is there."""
    with (folder / "made").open("a") as handle:
        handle.write(f"{number}\n")
    if number % 2 and (folder / "bad").exists():
        raise RuntimeError("interrupted")
    return number / 2


def made(folder: Path) -> list[str]:
    return (folder / "made").read_text().split()


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(
        parallel, "_as_text", lambda thing: getattr(thing, "__qualname__", str(thing))
    )
    return [(tmp_path, number) for number in (2, 3, 4)]


def test_an_interrupted_step_goes_on_and_removes_its_parts_at_the_end(step, jobs, tmp_path):
    (tmp_path / "bad").touch()
    with pytest.raises(RuntimeError, match="interrupted"):
        step.side_by_side(halve, jobs, "halving")
    (tmp_path / "bad").unlink()
    assert step.side_by_side(halve, jobs, "halving") == [1, 1.5, 2]
    assert made(tmp_path) == ["2", "3", "3", "4"]
    assert len(list(step.results.parts(step.name).glob("*.pickle"))) == 3
    step.finish()
    assert not step.results.parts(step.name).exists()
    step.side_by_side(halve, jobs, "halving")
    assert made(tmp_path)[4:] == ["2", "3", "4"]


def test_the_record_holds_what_parts_taken_up_have_cost(step, jobs, tmp_path):
    step.side_by_side(halve, jobs, "halving")
    assert step.spent_elsewhere == 0
    prices = list(step.results.parts(step.name).glob("*.seconds"))
    assert len(prices) == 3 and all(0 <= float(price.read_text()) < 5 for price in prices)
    for price in prices:
        price.write_text("100.5")
    again = replace(step, notes={}, spent_elsewhere=0.0)
    again.side_by_side(halve, jobs, "halving")
    again.finish()
    record = json.loads(again.results.record(again.name).read_text())
    assert record["parts_taken_up"] == 3 and record["processor_seconds"] >= 301.5
    assert record["processor_seconds"] - sum(os.times()[:4]) == pytest.approx(301.5, abs=1)


@pytest.mark.parametrize("changed", ["profile", "model", "explanations", "table", "code"])
def test_parts_are_made_anew_where_what_they_depend_on_has_changed(
    step, jobs, tmp_path, monkeypatch, changed
):
    root = step.results.root
    folders = [root / "models" / "snli-tiny-s1", root / "attributions", tmp_path / "processed"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "file").write_text("one")
    step.side_by_side(halve, jobs, "halving")
    if changed == "profile":
        step.profile = profile_of(workers=1, seed=1)
    elif changed == "code":
        monkeypatch.setattr(parallel, "PACKAGES", {"code": tmp_path})
    else:
        (folders[["model", "explanations", "table"].index(changed)] / "file").write_text("two")
    step.side_by_side(halve, jobs, "halving")
    assert made(tmp_path) == ["2", "3", "4"] * 2


def test_a_part_that_trains_its_own_models_does_not_look_at_those_of_the_run(step, jobs, tmp_path):
    step.side_by_side(halve, jobs, "halving", of_models=False)
    (step.results.root / "models").mkdir(parents=True)
    (step.results.root / "models" / "file").write_text("new")
    step.side_by_side(halve, jobs, "halving", of_models=False)
    assert made(tmp_path) == ["2", "3", "4"]


def test_a_part_of_a_step_on_one_model_does_not_look_at_others(step):
    def of(name):
        return part_paths(name, step.profile, step.results, [(1,)])[0].name

    steps = ("07_sun2024", "07_sun2024_agents-snli-tiny-s1")
    before = [of(name) for name in steps]
    folder = step.results.root / "attributions"
    folder.mkdir(parents=True)
    (folder / "types-snli-other-s1-0.parquet").touch()
    between = [of(name) for name in steps]
    (folder / "types-snli-tiny-s1-0.parquet").touch()
    assert before[0] != between[0] and before[1] == between[1] != of(steps[1])


def test_what_names_a_part(step):
    def path(*name):
        return part_paths("x", step.profile, step.results, [name])[0]

    same = [
        path(halve, (step.profile, step.results, "snli", 1, [models.instance("a", name="i")]))
        for _ in "ab"
    ]
    assert same[0] == same[1] and same[0].parent == step.results.parts("x")
    assert path(halve, ("snli", 2)) != path(halve, ("snli", 1)) != path(kept_or_made, ("snli", 1))
    with pytest.raises(TypeError, match="cannot be named by a set"):
        path({1})
