"""The crossed design: seeds are networks of their own, and which pairs of methods every cell orders
alike.
"""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from reference import models

from attreval.core.bootstrap import bootstrap_mean
from compendium.config import Profile
from compendium.papers.joint import crossed
from compendium.papers.pipeline import training
from compendium.project import Results

MODELS = {
    "a": SimpleNamespace(architecture="gru"),
    "x": SimpleNamespace(architecture="transformer"),
}


def scores(seeds=(1, 2)):
    """Of 8 texts: a method's place, plus what the seed adds."""
    methods = enumerate(("gradient_l2", "lrp", "random"))
    metrics = ("nc", "agreement", "simplicity")
    rows = [
        ("t", model, seed, f"i{text}", method, metric, at + seed / 10 + text / 100)
        for model, seed, text, (at, method), metric in product(
            "ax", seeds, range(8), methods, metrics
        )
    ]
    return pd.DataFrame(
        rows, columns=["task", "model", "seed", "instance", "method", "metric", "value"]
    )


def test_seeds_are_networks_of_their_own():
    summary = crossed.summarise(scores(), 0.95)
    means = summary[(summary.method == "lrp") & (summary.metric == "nc")].set_index(
        ["model", "seed"]
    )["mean"]
    assert means.to_dict() == pytest.approx(
        {(m, s): 1 + s / 10 + 0.035 for m in "ax" for s in (1, 2)}
    )
    assert summary.n.eq(8).all() and (summary.low <= summary["mean"]).all()


def pairs_where(turned=lambda values: values.value):
    """The pairs of methods of scores that are changed so."""
    values = scores()
    return crossed.pairs_table(crossed.summarise(values.assign(value=turned(values)), 0.95), MODELS)


def test_a_pair_is_ordered_everywhere_where_every_cell_says_so():
    found = pairs_where()
    row = found.iloc[-1]
    assert list(found.family) == [
        "recurrent and convolutional networks",
        "transformers",
        "all",
    ]  # one pair of methods
    assert (row["first"], row["second"], row["columns"], row.cells, row.before) == (
        "lrp",
        "gradient_l2",
        8,
        4,
        4,
    )
    assert row.share == 1 and row.everywhere and not found.opposed.any()
    assert crossed.say_pairs(found).endswith("1 of 1 in all 4 cells of both families.")
    table = pairs_where(lambda v: v.value.where((v.model != "x") | (v.metric != "nc"), -v.value))
    row = table.iloc[-1]
    assert (row.share, row.before, row.everywhere) == (0.75, 3, False) and list(
        table.everywhere
    ) == [1, 0, 0]
    table = pairs_where(
        lambda v: v.value.where(v.model != "x", -v.value)
    )  # each family agrees with itself alone
    assert list(table.everywhere) == [1, 1, 0] and list(table.opposed) == [0, 0, 1]
    row = pairs_where(lambda v: 1.0).iloc[0]  # equal methods stand half before each other
    assert (row.share, row.before, row.everywhere) == (0.5, 0, False)


@pytest.mark.parametrize("confidence", [0.5, 0.99])
def test_a_networks_accuracy_is_as_sure_as_the_profile_asks(monkeypatch, confidence):
    """By the bootstrap, as that of every other model is."""
    correct = np.arange(40) % 4 > 0
    network = SimpleNamespace(device=torch.device("cpu"))
    monkeypatch.setattr(crossed, "set_threads", lambda threads: None)
    for name in ("train", "training_set", "pick_precision"):
        monkeypatch.setattr(training, name, lambda *given, **more: [])
    monkeypatch.setattr(training, "new_classifier", lambda *given, **more: network)
    tested = SimpleNamespace(correct=correct, accuracy=0.75, macro_f1=0.7, predicted=correct)
    monkeypatch.setattr(training, "evaluate", lambda *given: tested)
    monkeypatch.setattr(
        training.corpora, "load_task", lambda *given: [models.instance("a film")] * 40
    )
    rows = dict.fromkeys(("train_rows", "dev_rows", "test_rows", "explain_rows"), 40)
    spec = rows | {"models": ["m"], "seeds": [1]}
    given = {
        "models": {"m": {"weights": "x"}},
        "tasks": {"sst2": spec},
        "explain": {"methods": ["random"]},
    }
    profile = Profile(name="made-up", bootstrap={"draws": 200, "confidence": confidence}, **given)
    row = crossed.train_network(Results(Path("unused")), profile, "sst2", "m", 1)
    _, low, _ = bootstrap_mean(correct, 200, confidence, "accuracy", "crossed", "sst2", "m", 1)
    assert (row["accuracy"], row["accuracy_low"]) == (0.75, low)


def test_networks_that_learned_nothing_count_only_where_none_has():
    accuracy = pd.DataFrame(
        {"task": "t", "model": ["a", "x"], "seed": 1, "accuracy": [0.9, 0.5], "majority": 0.5}
    )
    accuracy["accuracy_low"] = accuracy.accuracy - 0.1
    assert list(crossed.learned_networks(accuracy).model) == ["a"]
    assert len(crossed.learned_networks(accuracy[1:])) == 1
    profile = SimpleNamespace(read_by=lambda task: "trained")
    table = crossed.design_table(
        accuracy.assign(task="trained"), scores(seeds=(1,)), profile
    ).set_index("model")
    assert (table.texts == 8).all() and table.seeds["a"] == 1 and np.isnan(table.seeds["x"])
    ends = {"lowest": [0.8, 0.9], "highest": [0.85, 0.97]}
    said = crossed.say_design(
        pd.DataFrame({"task": ["t", "u"], "seeds": [3, 3], "texts": 60} | ends)
    )
    assert said == "6 networks explain 60 texts of each of 2 tasks; their accuracy is 0.80 to 0.97."
