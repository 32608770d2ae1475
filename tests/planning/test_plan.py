"""The plan of a profile: a row for every step, priced by methods and this machine."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from attreval import cli
from attreval.methods import METHODS
from attreval.methods.method import Budget
from compendium import config, corpora
from compendium.planning import plan, speed
from compendium.planning.plan import Pair, Work, make_plan, settled
from compendium.workflow.steps import STEPS, Graph

RATE = 1e-3


@pytest.fixture
def smoke(monkeypatch, tmp_path):
    """The smoke profile, none of whose tables is at hand; every token costs a millisecond."""
    monkeypatch.setattr(corpora, "table_path", lambda task: tmp_path / task)
    monkeypatch.setattr(plan, "start_seconds", lambda: 2.0)
    even = SimpleNamespace(
        seconds=lambda length, rows=None: RATE, memory=lambda trains, tokens: 1.0, depth=2
    )
    monkeypatch.setattr(plan, "Speed", lambda spec, device: even)
    plan.mean_words.cache_clear()
    yield config.load_profile("smoke")
    plan.mean_words.cache_clear()


def test_every_step_of_the_workflow_is_planned(smoke):
    planned: dict[str, int] = {}
    for row in make_plan(smoke).rows:
        planned[row.notebook] = planned.get(row.notebook, 0) + row.steps
    assert planned == {step.notebook: len(step.runs(Graph(smoke))) for step in STEPS}


def test_a_price_is_what_tokens_and_starts_cost(smoke):
    found = make_plan(smoke).rows
    (data,) = [row for row in found if row.notebook == "01_data"]
    assert (data.seconds, data.evaluations) == (2.0, 0)
    (explained,) = [
        row
        for row in found
        if (row.notebook, row.task, row.model) == ("03_explain", "snli", "tiny")
    ]
    length, content = Pair(smoke, "snli", "tiny", speed.Speed(smoke.models["tiny"])).lengths()
    assert (length, content) == (round(23 * 1.25 + 3), 29)
    methods = [METHODS[name] for name in smoke.explain.methods]
    costs = [method.cost(length, content, settled(smoke.explain)) for method in methods]
    assert explained.texts == 7 and explained.steps == 2  # six, and one example; two shards
    assert (
        explained.evaluations == 7 * (1 + sum(costs))
        and explained.tokens == length * explained.evaluations
    )
    passes = explained.tokens + 2 * length * explained.gradients  # a gradient counts as three
    assert explained.seconds == pytest.approx(2 * 2.0 + RATE * passes)
    (trained,) = [
        row for row in found if (row.notebook, row.task, row.model) == ("02_train", "bbc", "gru")
    ]
    read = 3 * 48 + 2 * 16 + 16  # trained on, checked twice, tested
    assert (
        trained.seconds == pytest.approx(2.0 + RATE * 200 * read)
        and trained.evaluations == 48 + 2 * 16 + 16
    )


def test_more_of_anything_costs_more(smoke):
    first = make_plan(smoke).processor_hours
    for section, changes in {
        "explain": {"lime_samples": 600},
        "training": {"epochs": 9},
        "faithfulness": {"draws": 20},
        "diagnosis": {"rows": 40},
        "joint": {"asked": {"snli": 4}},
    }.items():
        assert (
            make_plan(
                smoke.changed(**{section: getattr(smoke, section).changed(**changes)})
            ).processor_hours
            > first
        )


def test_a_task_without_agents_costs_less(smoke):
    agents = smoke.diagnosis.agents.changed(tasks=["rotten_tomatoes"])
    without = smoke.changed(diagnosis=smoke.diagnosis.changed(agents=agents))
    costs = [
        Pair(one, "snli", "tiny", plan.Speed(None, "")).agents().seconds for one in (smoke, without)
    ]
    assert costs[0] > costs[1] == 0


def test_the_agents_that_are_shown_nothing_and_a_planted_explanation_are_counted(smoke):
    agents = smoke.diagnosis.agents.changed(techniques=["shapley"], types=["token"], seeds=[1, 2])
    works = []
    for forms in ([], ["symbol"], ["symbol", "text"]):
        diagnosis = smoke.diagnosis.changed(agents=agents.changed(forms=forms))
        given = smoke.changed(diagnosis=diagnosis)
        works.append(Pair(given, "snli", "tiny", plan.Speed(None, "")).agents().seconds)
    assert np.allclose(works, [works[0], 2 * works[0], 3 * works[0]])  # 2, 2 + 2 and 2 + 2 * 2


def test_lengths_are_of_the_table_where_it_is_at_hand(monkeypatch, tmp_path):
    (tmp_path / "t.parquet").touch()
    monkeypatch.setattr(corpora, "table_path", lambda task: tmp_path / "t.parquet")
    texts = [SimpleNamespace(words=np.zeros((count, 3))) for count in (4, 8)]
    monkeypatch.setattr(corpora, "load_task", lambda task, split, limit: texts)
    plan.mean_words.cache_clear()
    assert plan.mean_words("snli") == 6
    plan.mean_words.cache_clear()


def test_a_path_that_may_grow_is_given_the_nodes_that_paths_need():
    for first, most, nodes in [(4, 64, 24), (50, 50, 50), (8, 16, 16), (32, 512, 32)]:
        budget = settled(Budget(path_steps=first, path_steps_most=most))
        assert (budget.path_steps, budget.path_steps_most) == (nodes, nodes)


@pytest.mark.parametrize("model", ["tiny", "tiny_bart", "gru", "cnn"])
def test_speed_is_measured_on_a_network_of_the_shape(model, monkeypatch):
    monkeypatch.setattr(speed, "LEAST", 0.0)
    found = speed.Speed(config.load_profile("smoke").models[model], "cpu")
    assert (
        0 < found.seconds(8) < 1
        and found.seconds(9) == found.seconds(8)
        and 0 < found.seconds(64, 4) < 1
    )
    assert found.memory(True, 1024) > found.memory(False, 1024) > 0.3


def test_weights_of_unknown_shape_are_told():
    spec = config.ModelSpec(weights="/nowhere/at/all")
    with pytest.raises((ValueError, OSError), match="nowhere"):
        speed.shape_of(spec)


def test_the_command_says_what_a_profile_costs(smoke, monkeypatch):
    rows = [
        Work("02_train", "snli", "tiny", 1, 96, 200.4, 96, 5000.2, 30.0, 1.0),
        Work("01_data", seconds=2.0),
    ]
    monkeypatch.setattr(
        plan, "make_plan", lambda profile, notify: plan.Plan(profile, rows, ["snli"])
    )
    done = CliRunner().invoke(cli.app, ["plan", "--profile", "smoke", "--json"])
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["processor_hours"] == pytest.approx(32 / 3600, abs=1e-3) and found["made_up"] == [
        "snli"
    ]
    workers = config.load_profile("smoke").workers
    assert found["wall_hours"] == pytest.approx(found["processor_hours"] / workers, abs=1e-3)
    assert found["rows"][0]["evaluations"] == 200
    shown = CliRunner().invoke(cli.app, ["plan", "--profile", "smoke"]).stdout
    assert "02_train" in shown and "processor hours" in shown and "lengths declared" in shown
