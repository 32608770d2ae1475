"""Pairs of networks by the things that are moved, and networks that are another's."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reference import models

from attreval.models.loading import new_classifier
from compendium import corpora
from compendium.config import Profile
from compendium.papers.common.trained_models import load_model
from compendium.papers.joint import crossed, lattice, values
from compendium.project import Results

WORDS = {"architecture": "gru", "hidden": 4, "embedding_size": 4}
BERT = {"layers": 2, "hidden": 4, "heads": 2, "tokenizer": "words"}
MODELS = {
    "gru": WORDS | {"embeddings": "glove"},
    "gru_scratch": WORDS,
    "gru_pieces": WORDS | {"tokenizer": "minilm"},
    "gru_mean": {"same_as": "gru_scratch", "erase": "mean"},
    "uni_gru": WORDS | {"bidirectional": False},
    "lstm": WORDS | {"architecture": "lstm"},
    "bert": BERT,
    "bert_pad": {"same_as": "bert", "erase": "pad"},
    "bert_early": BERT | {"training": {"watch": "accuracy", "enough": 0.8}},
    "minilm": {"weights": "minilm"},
    "bart": BERT | {"architecture": "encoder_decoder", "start": "minilm", "tokenizer": "minilm"},
    "smollm2": {"weights": "smollm2"},
}
METHODS = ("lrp", "gradient_l2", "occlusion_1", "lime", "random")


def make_profile(*names):
    rows = dict.fromkeys(("train_rows", "dev_rows", "test_rows", "explain_rows"), 8)
    return Profile(
        name="made-up",
        models=MODELS,
        tasks={"sst2": rows | {"models": list(names), "seeds": [1, 2]}},
        explain={"methods": ["random"]},
    )


PROFILE = make_profile(*MODELS)
LAYERS = {"bert": 2, "bert_pad": 2, "bert_early": 2, "minilm": 6}
FACTS = {
    name: lattice.facts_of(PROFILE, "sst2", name, LAYERS.get(name, 1), name == "smollm2")
    for name in MODELS
}


@pytest.mark.parametrize(
    ("first", "second", "moved"),
    [
        ("gru", "gru_scratch", ["vectors"]),
        ("gru_scratch", "gru_pieces", ["tokens"]),
        ("gru_scratch", "gru_mean", ["erasing"]),
        ("gru_scratch", "uni_gru", ["direction"]),
        ("gru_scratch", "lstm", ["architecture"]),
        ("gru_scratch", "bert_pad", ["kind"]),
        ("gru_scratch", "bert", ["kind", "erasing"]),
        ("bert", "bert_early", ["training"]),
        ("bert", "minilm", ["layers", "tokens", "vectors", "pretrained"]),
        ("minilm", "bart", ["architecture", "layers", "pretrained"]),
    ],
)
def test_what_two_networks_differ_in(first, second, moved):
    assert lattice.things_moved(FACTS[first], FACTS[second]) == moved
    assert lattice.things_moved(FACTS[second], FACTS[first]) == moved


def test_a_decoder_reads_ahead_and_erases_to_what_is_most_like_nothing():
    assert FACTS["smollm2"]["direction"] == "ahead"
    assert FACTS["smollm2"]["erasing"] == "most like nothing"


def values_of(orders, texts=4):
    """Of each network and text the places of the methods under two metrics, and of another one."""
    rows = []
    for (model, seed), places in orders.items():
        for metric, text in product(("nc", "agreement", "simplicity"), range(texts)):
            for method, place in zip(METHODS, places, strict=False):
                value = -place if metric == "simplicity" else place
                rows.append(("sst2", model, seed, f"x{text}", method, metric, value))
            rows.append(("sst2", model, seed, f"x{text}", "random", "nc", 99.0))
    return pd.DataFrame(rows, columns=values.COLUMNS)


def accuracy_of(*names):
    return pd.DataFrame({"task": "sst2", "model": names, "layers": 1, "causal": False})


UP, SWAPPED, DOWN = (1, 2, 3, 4), (1, 2, 4, 3), (4, 3, 2, 1)
ORDERS = {
    ("gru", 1): UP,
    ("gru", 2): SWAPPED,
    ("gru_scratch", 1): DOWN,
    ("gru_scratch", 2): DOWN,
    ("gru_mean", 1): UP,
    ("gru_mean", 2): DOWN,
    ("minilm", 1): UP,
}


def compare(scores):
    return lattice.compare_models(scores, accuracy_of(*scores.model.unique()), PROFILE, 20)


def test_pairs_are_compared_network_by_network():
    scores = values_of(ORDERS)
    table = lattice.lattice_table(compare(scores), 0.95)
    assert len(table) == 6
    rows = table.set_index(["first", "second"])
    row = rows.loc["gru", "gru_scratch"]
    assert (row.moved, row.networks, row.kind, row.vectors) == (
        *("vectors", 4, "recurrent"),
        "glove / scratch",
    )
    # tau of one exchanged pair of four methods is 2/3
    assert row.correlation == pytest.approx((-1 - 1 - 2 / 3 - 2 / 3) / 4)
    assert row.retrained == pytest.approx((2 / 3 + 1) / 2)
    same = rows.loc["gru_scratch", "gru_mean"]
    assert (same.moved, same.networks, same.correlation) == ("erasing", 2, 0)  # seed by seed
    assert rows.loc["gru", "minilm"].retrained == pytest.approx(2 / 3)
    assert "," in rows.loc["gru", "minilm"].moved
    said = lattice.say_lattice(table)
    assert said.startswith("2 of 6 pairs of models differ in one thing at most; they order")
    few = scores[scores.method.isin(METHODS[:3])]  # of three methods chance orders too many alike
    assert np.isnan(compare(few).alike).all()
    assert not len(lattice.moved_table(compare(scores[:0]), 0.95))


def test_intervals_are_over_texts():
    scores = values_of(ORDERS)
    apart = (scores.model == "gru_scratch") & scores.instance.isin(["x0", "x1"])
    scores.loc[apart & (scores.method == "lrp"), "value"] *= -1  # on half of the texts
    table = lattice.lattice_table(compare(scores), 0.95).set_index(["first", "second"])
    certain = table.loc["gru", "minilm"]
    assert certain[["low", "high"]].tolist() == pytest.approx([certain.correlation] * 2)
    row = table.loc["gru_scratch", "minilm"]
    assert row.low < row.correlation < row.high


def test_a_thing_counts_where_it_is_moved_alone():
    rows = [
        ("sst2", "vectors", "cnn", 0.2, 0.8),
        ("sst2", "vectors", "cnn", 0.4, np.nan),
        ("yelp", "vectors", "cnn", 0.1, np.nan),
        ("sst2", "kind", "quasi / attention", 0.7, 0.8),
        ("sst2", "kind", "attention / quasi", 0.5, 0.8),
        ("sst2", "nothing", "cnn", 0.9, 0.8),
        ("sst2", "tokens, vectors", "cnn", -0.2, 0.6),
        ("sst2", "erasing", "cnn", np.nan, 0.6),
    ]
    made = pd.DataFrame(rows, columns=["task", "moved", "kind", "correlation", "retrained"])
    numbers = [made.pop(name).to_numpy()[:, None].repeat(5, axis=1) for name in made.columns[3:]]
    table = lattice.moved_table(lattice.Compared(made, *numbers), 0.95)
    assert list(table.moved) == ["attention / quasi", "nothing", "vectors", "vectors"]
    assert list(table.task) == ["sst2", "sst2", "sst2", "yelp"]
    vectors = table.iloc[2]
    assert (vectors.pairs, vectors.lowest, vectors.highest) == (2, 0.2, 0.4)
    assert vectors[["correlation", "retrained", "lost"]].tolist() == pytest.approx([0.3, 0.8, 0.6])
    assert lattice.say_moved(table).endswith(
        "first; sst2: input vectors (0.30), attention / quasi (0.60); yelp: input vectors (0.10)."
    )
    assert lattice.say_moved(table[table.moved == "nothing"]).startswith("This run has no rows")


def test_anothers_network_is_as_accurate_and_loads_from_its_folder(tmp_path):
    profile = make_profile("gru_scratch", "gru_mean")
    trained = pd.DataFrame(
        {"task": "sst2", "model": "gru_scratch", "seed": [1, 2], "accuracy": [0.8, 0.9]}
    )
    found = crossed.with_same_networks(trained, profile)
    assert found[found.model == "gru_mean"][["seed", "accuracy"]].to_numpy().tolist() == [
        [1, 0.8],
        [2, 0.9],
    ]
    assert len(found) == 4
    labels = corpora.TASKS["sst2"].labels
    network = new_classifier(
        profile.models["gru_scratch"], labels, (1,), models.toy(4), "gru_scratch", "cpu"
    )
    results = Results(tmp_path)
    network.save(results.model("sst2", "gru_scratch", 1))
    text = models.toy(1)[0]
    for name, erased in {"gru_scratch": 0, "gru_mean": network.sizes.words}.items():
        assert load_model(results, profile, "sst2", name, 1).tokens(text).mask_id == erased


def test_what_turns_a_pair_of_methods():
    scores = values_of(ORDERS)
    table = lattice.turned_table(scores, compare(scores))
    of_pairs = table.set_index(["moved", "first", "second"])
    anew = of_pairs.retrained["vectors"]
    assert len(anew) == 6  # pairs of four methods
    # of three models with two seeds: GRU turns one pair, its twin none, that erased otherwise all
    assert anew["occlusion_1", "lime"] == pytest.approx(2 / 3)
    assert anew["lrp", "lime"] == pytest.approx(1 / 3)
    turned = of_pairs.turned
    assert turned["vectors", "lrp", "gradient_l2"] == 1
    assert turned["vectors", "occlusion_1", "lime"] == 0.5
    # networks of one seed alone are compared
    assert turned["erasing", "lrp", "lime"] == 0.5
    assert lattice.SEVERAL not in set(table.moved)
    assert "no rows" in lattice.say_turned(table)
    assert lattice.turned_table(scores[:0], compare(scores[:0])).empty
    said = lattice.say_turned(table.assign(retrained=0.0))
    assert "sst2: of 6 pairs of methods input vectors 5" in said
