"""Worlds: the truth is what it is said to be, one seed gives one world, and another gives
another.
"""

import json
from itertools import permutations

import numpy as np
import pytest
from reference import CHECKOUT
from reference.trial_metrics import MADE, SEED, TEXTS

from attreval.models.scorer import Scorer
from attreval.trial import WORLDS, load_world
from attreval.trial.exact import GAIN, ask_coalitions, coalitions, shapley
from attreval.trial.explainers import EXPLAINERS, METHODS, NEIGHBOURS, around, there_is
from attreval.trial.worlds import geco, trained
from attreval.trial.worlds.rules import RULES


def test_shapley_values_are_the_mean_over_orders():
    values = np.random.default_rng(0).standard_normal(2**4)
    of = {tuple(row): value for row, value in zip(coalitions(4), values, strict=True)}
    drawn = np.zeros(4)
    for order in permutations(range(4)):
        held = [False] * 4
        for player in order:
            before = of[tuple(held)]
            held[player] = True
            drawn[player] += (of[tuple(held)] - before) / 24
    np.testing.assert_allclose(shapley(values), drawn, atol=1e-12)


def test_exact_truths_of_rules_are_those_of_the_network_by_brute_force():
    """All 2^n subsets of all words of a text, asked of the network."""
    made = load_world("rules", SEED, 2 * len(RULES))
    for text in made.texts:
        logits = ask_coalitions(
            Scorer(made.model, 65536, "float64"), text.tokens, text.tokens.content, text.target
        )
        np.testing.assert_allclose(shapley(logits) / GAIN, text.truth, atol=1e-9)


@pytest.mark.parametrize("name", MADE)
def test_the_model_predicts_the_class_that_is_explained(name):
    made = load_world(name, SEED, TEXTS)
    rows = [(text.tokens.ids, text.tokens.segments) for text in made.texts]
    found = Scorer(made.model, precision="float64").logits(rows).argmax(axis=1)
    assert found.tolist() == [text.target for text in made.texts]
    for text in made.texts:
        assert text.truth.shape == text.tokens.content.shape and text.evidence.any()
        assert (text.instance.evidence.marks[0] > 0).tolist() == text.evidence.tolist()


@pytest.mark.parametrize("world, model", [("backdoor", 0), ("reliance", 0), ("reliance", 1)])
def test_trained_networks_go_by_what_they_are_said_to_go_by(world, model):
    """By every single erasure, and by every word kept alone."""
    made = load_world(world, SEED, TEXTS)
    network = made.model
    other = model != trained.which(SEED) and world == "reliance"
    if other:  # the network that is not explained goes by the decoy
        network = trained.reliance_models(SEED)[0][model]
    for text in made.texts:
        used = (text.decoy if other else text.truth) > 0
        n = len(used)
        ids = text.tokens.ids
        one = np.eye(len(used), dtype=bool)
        rows = np.concatenate([ids[None], np.where(one, 0, ids), np.where(one, ids, 0)])
        logits = Scorer(network, precision="float64").logits(
            [(row, text.tokens.segments) for row in rows]
        )
        p = (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))[:, text.target]
        if not other:
            assert (
                p[0] > 0.5
                and (p[0] - p[1 : n + 1])[used].min() > 0.2 > (p[0] - p[1 : n + 1])[~used].max()
            )
        assert p[n + 1 :].argmax() == used.argmax(), (
            "alone, the word that is used speaks most for the class"
        )


def test_networks_learn_what_they_must():
    found = {
        name: load_world(name, SEED, TEXTS).measured
        for name in ("backdoor", "reliance", "hybrid", "agreement")
    }
    assert all(one["accuracy"] > 0.95 for one in found.values())
    assert found["backdoor"]["obeys the trigger"] > 0.95
    assert abs(found["reliance"]["accuracy"] - found["reliance"]["accuracy of the other"]) < 0.03


def as_bytes(made):
    """What a world is made of, texts and weights."""
    weights = (
        b"".join(w.numpy().tobytes() for w in made.model.network.parameters())
        if made.network
        else b""
    )
    texts = [
        (text.instance.segments, text.tokens.ids.tobytes(), text.truth.tobytes())
        for text in made.texts
    ]
    return texts, weights


@pytest.mark.parametrize("name", MADE)
def test_a_world_follows_from_its_seed(name):
    few = as_bytes(load_world(name, SEED, 3))
    more = as_bytes(load_world(name, SEED, 5))
    assert few[0] == more[0][:3] and few[1] == more[1]
    if name != "backdoor" and WORLDS[name].order > 9:
        return  # another network is trained for one of them alone
    other = as_bytes(load_world(name, SEED + 1, 3))
    assert all(a[0] != b[0] for a, b in zip(few[0], other[0], strict=True))
    if name == "backdoor":
        trained.backdoor_model.cache_clear()
        assert as_bytes(load_world(name, SEED, 3)) == few and other[1] != few[1]


def test_what_stands_around_a_trained_network():
    made = load_world("backdoor", SEED, 3)
    found = around(made, METHODS[:1])
    for at, text in enumerate(made.texts):
        near = found["neighbours"][at]
        fresh = found["randomised"][at]
        assert (
            set(near)
            == set(fresh)
            == {METHODS[0], *(name for name in EXPLAINERS if there_is(name, made))}
        )
        assert near["oracle"].shape == (NEIGHBOURS, len(text.truth)) and fresh["oracle"].shape == (
            3,
            len(text.truth),
        )
        assert (near["oracle"] == text.truth).all() and not np.array_equal(
            near["random"][0], near["random"][1]
        )
        assert near[METHODS[0]].std(axis=0).max() > 0
    assert around(load_world("one", SEED, 2), METHODS) == {}


def test_errors_say_what_would_work(tmp_path):
    with pytest.raises(ValueError, match="unknown world 'two'; there are: one, additive"):
        load_world("two", 0)
    with pytest.raises(
        ValueError, match="the world 'geco' is made from a corpus: its folder 'geco' is expected in"
    ):
        load_world("geco", 0, corpora=str(tmp_path))
    (tmp_path / "geco").mkdir()
    (tmp_path / "geco" / "binary_gender_all_train.jsonl").write_text(
        '{"sentence": ["a"]}\n', encoding="utf-8"
    )
    with pytest.raises(
        ValueError, match=r"binary_gender_all_train\.jsonl, line 1: no sentence of GECO"
    ):
        load_world("geco", 0, corpora=str(tmp_path))


def write_geco(folder, forms=40):
    """Made-up sentences in two forms, the marked words as two of six."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for split, start in (("train", 0), ("test", forms - 2)):  # the last two of train are in both
        with (folder / f"binary_gender_all_{split}.jsonl").open("w", encoding="utf-8") as lines:
            for number in range(start, start + forms):
                words = [f"w{at}" for at in rng.integers(20, size=6)]
                for label, (one, two) in enumerate((("she", "her"), ("he", "him"))):
                    row = {
                        "sentence": [one, *words[:3], two, *words[3:]],
                        "ground_truth": [1, 0, 0, 0, 1, 0, 0, 0],
                    }
                    lines.write(json.dumps(row | {"target": label, "sentence_idx": number}) + "\n")
    return folder


def test_geco_is_read_split_and_its_use_of_marked_words_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(geco, "STEPS", 40)
    write_geco(tmp_path / "geco")
    made = load_world("geco", SEED, 12, corpora=str(tmp_path))
    assert (
        made.network
        and made.measured["accuracy"] > 0.9
        and 0 < made.measured["marked words used"] <= 1
    )
    learnt = {tuple(words) for words, *_ in geco.read_sentences(tmp_path / "geco", "train")}
    assert not learnt & {tuple(text.instance.word_texts()) for text in made.texts}
    assert all(text.evidence.tolist() == [True, False, False, False] * 2 for text in made.texts)
    with pytest.raises(ValueError, match="39 were asked for"):
        load_world("geco", SEED, 39, corpora=str(tmp_path))


def test_every_world_says_what_it_asks_and_why_its_truth_is_known():
    assert len(WORLDS) >= 14 and len(MADE) >= 10
    assert all(one.question.endswith("?") and one.truth and one.source for one in WORLDS.values())
    files = {path.stem for path in (CHECKOUT / "src/attreval/trial/worlds").glob("*.py")} - {
        "__init__"
    }
    assert {one.make.__module__.rpartition(".")[2] for one in WORLDS.values()} == files
