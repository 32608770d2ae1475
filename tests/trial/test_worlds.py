"""Worlds: the truth is what it is said to be, one seed gives one world, and another gives
another.
"""

import json
from itertools import permutations

import numpy as np
import pytest
from reference import CHECKOUT
from reference.trial_metrics import MADE, SEED, TEXTS

from attreval.models.questions import softmax
from attreval.models.scorer import Scorer
from attreval.trial import WORLDS, load_world
from attreval.trial.exact import GAIN, coalition_logits, coalitions, erase_each, shapley
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
        scorer = Scorer(made.model, 65536, "float64")
        logits = coalition_logits(scorer, text.tokens, text.tokens.content, text.target)
        np.testing.assert_allclose(shapley(logits) / GAIN, text.truth, atol=1e-9)


def test_the_model_predicts_the_class_that_is_explained():
    for name in MADE:
        made = load_world(name, SEED, TEXTS)
        rows = [(text.tokens.ids, text.tokens.segments) for text in made.texts]
        found = Scorer(made.model, precision="float64").logits(rows).argmax(axis=1)
        assert found.tolist() == [text.target for text in made.texts], name
        for text in made.texts:
            assert text.truth.shape == text.tokens.content.shape and text.evidence.any()
            assert (text.instance.evidence.marks[0] > 0).tolist() == text.evidence.tolist()


def test_trained_networks_go_by_what_they_are_said_to_go_by():
    """By every single erasure, and by every word kept alone."""
    for world in ("backdoor", "reliance"):
        made = load_world(world, SEED, TEXTS)
        for text in made.texts:
            used = text.truth > 0
            p = erase_each(made.model, text.tokens)[:, text.target]
            drops = p[0] - p[1:]
            assert p[0] > 0.5 and drops[used].min() > 0.2 > drops[~used].max()
            assert speaks_most(made.model, text) == used.argmax(), world
    models = trained.reliance_models(SEED)[0]
    other = models[1 - trained.which(SEED)]
    for text in made.texts:
        assert speaks_most(other, text) == text.decoy.argmax(), "which is what it goes by"


def speaks_most(model, text):
    """The place of the word that, alone, speaks most for the class."""
    alone = np.where(np.eye(len(text.truth), dtype=bool), text.tokens.ids, 0)
    rows = [(row, text.tokens.segments) for row in alone]
    p = softmax(Scorer(model, precision="float64").logits(rows))
    return p[:, text.target].argmax()


def test_networks_learn_what_they_must():
    found = {}
    for name in ("backdoor", "reliance", "hybrid", "agreement"):
        found[name] = load_world(name, SEED, TEXTS).measured
        assert found[name]["accuracy"] > 0.95
    assert found["backdoor"]["obeys the trigger"] > 0.95
    both = found["reliance"]
    assert abs(both["accuracy"] - both["accuracy of the other"]) < 0.03


def as_bytes(made):
    """What a world is made of, texts and weights."""
    network = made.model.network.parameters() if made.network else ()
    weights = [tensor.numpy().tobytes() for tensor in network]
    texts = [
        (text.instance.segments, text.tokens.ids.tobytes(), text.truth.tobytes())
        for text in made.texts
    ]
    return texts, weights


def test_a_world_follows_from_its_seed():
    for name in MADE:
        few, weights = as_bytes(load_world(name, SEED, 3))
        more, same = as_bytes(load_world(name, SEED, 5))
        assert few == more[:3] and weights == same, name
        if name != "backdoor" and WORLDS[name].order > 9:
            continue  # another network is trained for one of them alone
        others, fresh = as_bytes(load_world(name, SEED + 1, 3))
        for (text, *_), (other, *_) in zip(few, others, strict=True):
            assert text != other, name
        if name == "backdoor":
            trained.backdoor_model.cache_clear()
            assert as_bytes(load_world(name, SEED, 3)) == (few, weights) and fresh != weights


def test_what_stands_around_a_trained_network():
    made = load_world("backdoor", SEED, 3)
    found = around(made, METHODS[:1])
    whose = {METHODS[0], *(name for name in EXPLAINERS if there_is(name, made))}
    for at, text in enumerate(made.texts):
        near = found["neighbours"][at]
        fresh = found["randomised"][at]
        assert {*near} == {*fresh} == whose
        assert near["oracle"].shape == (NEIGHBOURS, len(text.truth))
        assert fresh["oracle"].shape == (3, len(text.truth))
        assert (near["oracle"] == text.truth).all()
        assert (near["random"][0] != near["random"][1]).any()
        assert near[METHODS[0]].std(axis=0).max() > 0
    assert around(load_world("one", SEED, 2), METHODS) == {}


def test_errors_say_what_would_work(tmp_path):
    with pytest.raises(ValueError, match="unknown world 'two'; there are: one, additive"):
        load_world("two", 0)
    with pytest.raises(ValueError, match="its folder 'geco' is expected in"):
        load_world("geco", 0, corpora=str(tmp_path))
    (tmp_path / "geco").mkdir()
    (tmp_path / "geco" / "binary_gender_all_train.jsonl").write_text('{"sentence": ["a"]}\n')
    with pytest.raises(ValueError, match="line 1: no sentence of GECO"):
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
                    row = {"sentence": [one, *words[:3], two, *words[3:]], "target": label}
                    row |= {"ground_truth": [1, 0, 0, 0] * 2, "sentence_idx": number}
                    lines.write(json.dumps(row) + "\n")
    return folder


def test_geco_is_read_split_and_its_use_of_marked_words_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(geco, "STEPS", 40)
    write_geco(tmp_path / "geco")
    made = load_world("geco", SEED, 12, corpora=str(tmp_path))
    assert made.network and made.measured["accuracy"] > 0.9
    assert 0 < made.measured["marked words used"] <= 1
    learnt = {tuple(one.words) for one in geco.read_geco(tmp_path / "geco", "train")}
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
