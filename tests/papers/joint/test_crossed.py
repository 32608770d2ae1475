"""The crossed design: seeds are networks, and pairs that every cell orders alike."""

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
from compendium.papers.joint.values import COLUMNS
from compendium.papers.pipeline import training
from compendium.project import Results

KINDS = {"a": "gru", "x": "transformer"}
MODELS = {
    name: SimpleNamespace(architecture=kind, weights=None, start="x", same_as=None)
    for name, kind in KINDS.items()
}


def scores(seeds=(1, 2)):
    """Of 8 texts: a method's place, plus what the seed adds."""
    methods = ("gradient_l2", "lrp", "random")
    metrics = ("nc", "agreement", "simplicity")
    rows = []
    for model, seed, text, method, metric in product("ax", seeds, range(8), methods, metrics):
        value = methods.index(method) + seed / 10 + text / 100
        rows.append(("t", model, seed, f"i{text}", method, metric, value))
    return pd.DataFrame(rows, columns=COLUMNS)


def test_seeds_are_networks_of_their_own():
    means = crossed.network_means(scores(), 0.95)
    assert means.n.eq(8).all() and (means.low <= means["mean"]).all()
    one = means[(means.method == "lrp") & (means.metric == "nc")].set_index(["model", "seed"])
    expected = {(m, s): 1 + s / 10 + 0.035 for m, s in product("ax", (1, 2))}
    assert one["mean"].to_dict() == pytest.approx(expected)


def pairs_where(turned=None, to=-1):
    """The pairs of methods (there is one) of scores that are turned where this holds."""
    values = scores()
    if turned is not None:
        values["value"] = values.value.where(~turned(values), to * values.value)
    return crossed.pairs_table(crossed.network_means(values, 0.95), MODELS)


def test_a_pair_is_ordered_everywhere_where_every_cell_says_so():
    table = pairs_where()
    assert list(table.family) == ["recurrent and convolutional networks", "transformers", "all"]
    names = ["first", "second", "columns", "cells", "before", "share"]
    assert table.iloc[-1][names].tolist() == ["lrp", "gradient_l2", 8, 4, 4, 1]
    assert table.everywhere.all()
    assert crossed.say_pairs(table).endswith("1 of 1 in all 4 cells of both families.")
    table = pairs_where(lambda v: (v.model == "x") & (v.metric == "nc"))
    assert table.iloc[-1][["share", "before"]].tolist() == [0.75, 3]
    assert list(table.everywhere) == [1, 0, 0]
    table = pairs_where(lambda v: v.model == "x")  # each family agrees with itself alone
    assert list(table.everywhere) == [1, 1, 0]
    row = pairs_where(lambda v: v.model != "", to=0).iloc[0]
    assert row[["share", "before", "everywhere"]].tolist() == [0.5, 0, False], "equal methods"


def test_a_networks_accuracy_is_as_sure_as_the_profile_asks(monkeypatch):
    """By the bootstrap, as that of every other model is."""
    correct = np.arange(40) % 4 > 0
    network = SimpleNamespace(device=torch.device("cpu"))
    monkeypatch.setattr(crossed, "set_threads", lambda threads: None)
    for name in ("train", "training_set", "pick_precision"):
        monkeypatch.setattr(training, name, lambda *given, **more: [])
    monkeypatch.setattr(training, "new_classifier", lambda *given, **more: network)
    tested = SimpleNamespace(correct=correct, accuracy=0.75, macro_f1=0.7, predicted=correct)
    monkeypatch.setattr(training, "measure_performance", lambda *given: tested)
    monkeypatch.setattr(
        training.corpora, "load_task", lambda *given: [models.instance("a film")] * 40
    )
    rows = dict.fromkeys(("train_rows", "dev_rows", "test_rows", "explain_rows"), 40)
    profile = Profile(
        name="made-up",
        models={"m": {"weights": "x"}},
        tasks={"sst2": rows | {"models": ["m"], "seeds": [1]}},
        explain={"methods": ["random"]},
    )
    for confidence in (0.5, 0.99):
        asked = profile.bootstrap.changed(draws=200, confidence=confidence)
        run = ("sst2", "m", 1)
        row = crossed.train_crossed(Results(Path("unused")), profile.changed(bootstrap=asked), run)
        _, low, _ = bootstrap_mean(correct, 200, confidence, "accuracy", "crossed", *run)
        assert (row["accuracy"], row["accuracy_low"]) == (0.75, low)


def test_networks_that_learned_nothing_count_only_where_none_has():
    about = {"task": "trained", "model": ["a", "x"], "seed": 1, "majority": 0.5}
    accuracy = pd.DataFrame(about | {"accuracy": [0.9, 0.5], "accuracy_low": [0.8, 0.4]})
    assert list(crossed.learned_networks(accuracy).model) == ["a"]
    assert len(crossed.learned_networks(accuracy[1:])) == 1
    profile = SimpleNamespace(read_by=lambda task: "trained")
    table = crossed.design_table(accuracy, scores(seeds=(1,)), profile).set_index("model")
    assert (table.texts == 8).all() and table.seeds["a"] == 1 and np.isnan(table.seeds["x"])
    ends = {"lowest": [0.8, 0.9], "highest": [0.85, 0.97]}
    made = pd.DataFrame({"task": ["t", "u"], "seeds": [3, 3], "texts": 60} | ends)
    said = crossed.say_design(made)
    assert said == "6 networks explain 60 texts of each of 2 tasks; their accuracy is 0.80 to 0.97."
