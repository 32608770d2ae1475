"""The crossed design: seeds are networks of their own, and which pairs of methods every cell orders alike."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from compendium.papers.joint import crossed

MODELS = {"a": SimpleNamespace(architecture="gru"), "x": SimpleNamespace(architecture="transformer")}


def scores(
    models=("a", "x"), seeds=(1, 2), methods=("gradient_l2", "lrp", "random"), metrics=("nc", "agreement", "simplicity")
):
    """Of 8 texts: a method's place, plus what the seed adds."""
    return pd.DataFrame(
        [
            ("t", model, seed, f"i{text}", method, metric, at + seed / 10 + text / 100)
            for model in models
            for seed in seeds
            for text in range(8)
            for at, method in enumerate(methods)
            for metric in metrics
        ],
        columns=["task", "model", "seed", "instance", "method", "metric", "value"],
    )


def test_seeds_are_networks_of_their_own():
    summary = crossed.summarise(scores(), 0.95)
    means = summary[(summary.method == "lrp") & (summary.metric == "nc")].set_index(["model", "seed"])["mean"]
    assert means.to_dict() == pytest.approx({(m, s): 1 + s / 10 + 0.035 for m in "ax" for s in (1, 2)})
    assert summary.n.eq(8).all() and (summary.low <= summary["mean"]).all()


def test_a_pair_is_ordered_everywhere_where_every_cell_says_so():
    found = crossed.pairs_table(crossed.summarise(scores(), 0.95), MODELS)
    row = found.iloc[-1]
    assert list(found.family) == ["recurrent and convolutional networks", "transformers", "all"]  # one pair of methods
    assert (row["first"], row["second"], row["columns"], row.cells, row.before) == ("lrp", "gradient_l2", 8, 4, 4)
    assert row.share == 1 and row.everywhere
    turned = scores()
    here = (turned.model == "x") & (turned.metric == "nc")
    turned.loc[here, "value"] *= -1
    table = crossed.pairs_table(crossed.summarise(turned, 0.95), MODELS)
    row = table.iloc[-1]
    assert (row.share, row.before, row.everywhere) == (0.75, 3, False) and list(table.everywhere) == [1, 0, 0]
    assert crossed.say_pairs(found).endswith(
        "1 of 1 in all 2 cells of transformers; 1 of 1 in all 4 cells of both families."
    )
    turned = scores()
    turned.loc[turned.model == "x", "value"] *= -1  # each family agrees with itself, and none with the other
    table = crossed.pairs_table(crossed.summarise(turned, 0.95), MODELS)
    assert list(table.everywhere) == [1, 1, 0] and list(table.opposed) == [0, 0, 1] and not found.opposed.any()


def test_equal_methods_stand_half_before_each_other():
    alike = scores().assign(value=1.0)
    row = crossed.pairs_table(crossed.summarise(alike, 0.95), MODELS).iloc[0]
    assert (row.share, row.before, row.everywhere) == (0.5, 0, False)


def test_networks_that_learned_nothing_count_only_where_none_has():
    accuracy = pd.DataFrame({"task": "t", "model": ["a", "x"], "seed": 1, "accuracy": [0.9, 0.5], "majority": 0.5})
    accuracy["accuracy_low"] = accuracy.accuracy - 0.1
    assert list(crossed.learned_networks(accuracy).model) == ["a"]
    assert len(crossed.learned_networks(accuracy[1:])) == 1
    profile = SimpleNamespace(read_by=lambda task: "trained")
    table = crossed.design_table(accuracy.assign(task="trained"), scores(seeds=(1,)), profile).set_index("model")
    assert (table.texts == 8).all() and table.seeds["a"] == 1 and np.isnan(table.seeds["x"])


def test_the_design_in_one_sentence():
    table = pd.DataFrame(
        {"task": ["t", "u"], "seeds": [3, 3], "texts": 60, "lowest": [0.8, 0.9], "highest": [0.85, 0.97]}
    )
    said = "6 networks explain 60 texts of each of 2 tasks; their accuracy is 0.80 to 0.97."
    assert crossed.say_design(table) == said
