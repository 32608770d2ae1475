"""The plan of a profile: a row for every step of the workflow, priced by rates, and the same counts as a run books."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from reference import models
from typer.testing import CliRunner

from attreval import cli, config
from attreval.core.records import Instance
from attreval.methods.run import explain
from attreval.models.scorer import Scorer
from compendium.planning import plan, texts, unit_costs, work
from compendium.planning.counting import fixed
from compendium.planning.unit_costs import Rates, build_random
from compendium.workflow.parameters import NOTEBOOKS

RATE = 1e-3


@pytest.fixture
def smoke(monkeypatch):
    """The smoke profile, none of whose tables is at hand; every token costs a millisecond."""
    monkeypatch.setattr(texts, "known_texts", lambda task, split: ([], 0))
    monkeypatch.setattr(plan, "known_texts", lambda task, split: ([], 0))
    monkeypatch.setattr(plan, "start_seconds", lambda model: 2.0)
    return config.load("smoke")


def even_rates(model):
    """Rates of a network of a thousand weights."""
    network = SimpleNamespace(parameters=lambda: [torch.zeros(1000)])
    return SimpleNamespace(
        seconds=lambda *key: RATE, model=SimpleNamespace(network=network), depth=1, width=8, name=model
    )


def test_every_step_of_the_workflow_is_planned(smoke):
    found = list(work.list_work(smoke))
    steps = {}
    for one in found:
        steps[one.notebook] = steps.get(one.notebook, 0) + one.steps
    assert steps["02_train"] == len(smoke.trained_runs())
    assert steps["03_explain"] == sum(smoke.explaining_of(task).shards for task, _, _ in smoke.explained_runs())
    diagnosed = len(smoke.explained_runs("diagnosis"))
    assert steps["07_sun2024_agents"] == diagnosed and steps["07_sun2024_explanations"] == diagnosed
    single = ("01_data", "03_overview", "04_poerner2018", "05_kamp2023", "05_kamp2023_seeds", "06_zhao2023")
    assert all(steps[name] == 1 for name in (*single, "07_sun2024", "08_joint", "09_planted"))
    assert set(steps) == set(NOTEBOOKS)


def test_a_price_is_what_tokens_and_starts_cost(smoke):
    for one in work.list_work(smoke):
        priced = plan.price(one, smoke, even_rates)
        starts = one.steps * (smoke.workers if one.notebook in plan.SIDE_BY_SIDE else 1) * 2.0
        passed = sum(one.passes.values()) + sum(one.training.values()) if one.model else 0
        assert priced.seconds == pytest.approx(one.own + starts + RATE * passed)
        assert one.tokens <= passed + 1e-6 or any(key[0] == "erased" for key in one.passes)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_few_texts_are_counted_one_by_one_as_the_run_books_them(tiny, smoke, count):
    """Where every text is looked at, evaluations, gradients and tokens of a step are the run's own."""
    words = np.random.default_rng(count).permutation(["the", "film", "was", "not", "good", "plot", "bad", "slow"])
    some = [models.instance(" ".join(words[: 2 + at % 6]), " ".join(words[-3:])) for at in range(count)]
    some = [Instance(f"i{at}", one.segments, 0, one.words) for at, one in enumerate(some)]
    planner = work.Planner(smoke, read=lambda task, model: tiny.tokens)
    methods = [m for m in smoke.explain.methods if m != "partition_shap"]  # its order hangs on the answers
    budget = fixed(smoke.explain)
    counted = planner.explaining("snli", "tiny", some, methods, budget, "float32")
    scorer = Scorer(tiny)
    explained = explain(scorer, some, methods, budget, ())
    costs = [a.cost for e in explained for a in e.attributions.values()] + [scorer.costs["prediction"]]
    assert counted.tokens == pytest.approx(sum(cost.unique_tokens for cost in costs))
    assert counted.evaluations == pytest.approx(sum(cost.unique for cost in costs))


def test_a_made_up_text_has_the_words_of_its_task(smoke):
    (one,) = texts.texts_of("snli", "test", 1)
    assert len(one.segments) == 2 and abs(len(one.words) - texts.WORDS["snli"]) <= 1
    assert len(set(one.word_texts())) == len(one.words)
    assert len(texts.texts_of("bbc", "train", 5)) == 5


def test_a_table_that_is_shorter_than_asked_says_how_many(monkeypatch):
    some = [models.instance("good"), models.instance("not good")]
    monkeypatch.setattr(texts, "known_texts", lambda task, split: (some, 5))
    assert [len(one.words) for one in texts.texts_of("snli", "test", 9)] == [1, 2, 1, 2, 1]
    assert texts.texts_of("snli", "test", 1) == some[:1]


def test_the_same_text_many_times_is_asked_as_often(smoke):
    planner, one = work.Planner(smoke), texts.texts_of("snli", "test", 1)
    few, many = (
        planner.explaining("snli", "tiny", count * one, ["lime"], smoke.explain, "float32") for count in (1, 40)
    )
    assert many.evaluations == 40 * few.evaluations > 40 and many.texts == 40


@pytest.mark.parametrize("model", ["tiny", "tiny_bart", "gru", "cnn"])
def test_rates_are_measured_on_a_network_of_the_shape(smoke, model, monkeypatch):
    monkeypatch.setattr(unit_costs, "LEAST", 0.0)
    spec = smoke.models[model]
    rates = Rates(spec, 3, "cpu")
    asked = [("forward float32", 8), ("gradient", 8), ("train float32", 8, 4)]
    asked += [("erased", 64, 3)] if model in ("gru", "cnn") else []
    assert all(0 < rates.seconds(*key) < 1 and rates.seconds(*key) == rates.known[key] for key in asked)
    built = build_random(spec, 3, "cpu")
    assert built.labels == ("0", "1", "2") and built.max_length == spec.max_length


def test_weights_of_unknown_shape_are_told(smoke):
    spec = smoke.models["tiny"].changed(layers=None, hidden=None, heads=None, tokenizer=None, weights="/nowhere/at/all")
    with pytest.raises((ValueError, OSError), match="nowhere"):
        unit_costs.shape_of(spec)


def test_the_command_says_what_a_profile_costs(smoke, monkeypatch):
    rows = list(work.list_work(smoke))[:3]
    monkeypatch.setattr(plan, "list_work", lambda profile, read: rows)
    monkeypatch.setattr(plan, "Rates", lambda spec, classes, device: even_rates("tiny"))
    done = CliRunner().invoke(cli.app, ["plan", "--profile", "smoke", "--json"])
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["processor_hours"] == pytest.approx(sum(row["seconds"] for row in found["rows"]) / 3600, abs=2e-3)
    assert found["wall_hours"] == pytest.approx(found["processor_hours"] / 2, abs=1e-3) and "snli" in found["made_up"]
    shown = CliRunner().invoke(cli.app, ["plan", "--profile", "smoke"]).stdout
    assert "02_train" in shown and "processor hours" in shown and "lengths declared" in shown
