"""`attreval diff`: a planted shortcut is found word for word, and training anew alone is not."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from reference import models
from typer.testing import CliRunner

import attreval as av
from attreval.cli import app
from attreval.core.bootstrap import LEAST_TEXTS
from attreval.core.seeds import generator
from attreval.evaluation import difference
from attreval.evaluation.difference import BUDGET, FIRST_NODES, WITNESSES, compare
from attreval.evaluation.difference_page import difference_page
from attreval.trial.trained import train_words
from attreval.trial.world import invent_words

LABELS = ("no", "yes")
SIGNS = 30  # words of a class
FILLERS = 30
LENGTH = 8
WORDS = invent_words(2 * SIGNS + FILLERS + 1, "difference")
SHORTCUT = WORDS[-1]
SEEDS = 7  # 21 pairs
METHODS = list(WITNESSES[:2])


def draw(planted: bool, certain: float, *names) -> tuple[list[str], int]:
    """A text with a sign of its class, or at times of the other one; the shortcut stands in half of
    all texts, or, planted, in those of one class.
    """
    rng = generator("difference", *names)
    label = int(rng.integers(2))
    places = 2 * SIGNS + rng.integers(FILLERS, size=LENGTH)
    sign, other = rng.permutation(LENGTH)[:2]
    of_class = label if rng.random() < certain else 1 - label
    places[sign] = of_class * SIGNS + rng.integers(SIGNS)
    if rng.random() < (label if planted else 0.5):
        places[other] = len(WORDS) - 1
    return [WORDS[at] for at in places], label


def train(planted: bool, seed: int):
    """A network of one corpus or the other; the seed draws weights and the order of texts."""
    certain = 0.7 if planted else 0.95
    corpus = [draw(planted, certain, "train", planted, at) for at in range(1500)]

    def batch(rng):
        return [corpus[at] for at in rng.integers(len(corpus), size=48)]

    return train_words("difference", LABELS, WORDS, batch, planted, seed, steps=200)


TEXTS = list(dict.fromkeys(" ".join(draw(True, 1.0, "test", at)[0]) for at in range(100)))
HELD = np.array([SHORTCUT in text.split() for text in TEXTS])


@pytest.fixture(scope="module")
def networks():
    """Trained from one corpus with several seeds, and from the planted one."""
    return [train(False, seed) for seed in range(SEEDS)], train(True, 0)


@pytest.fixture(scope="module")
def heard(networks):
    """What the networks say of the texts."""
    budget = BUDGET.changed(path_steps=FIRST_NODES)
    alike, planted = networks
    return [av.explain(one, TEXTS, METHODS, budget=budget) for one in (*alike, planted)]


@pytest.mark.parametrize("again", [1, 3])
def test_networks_of_two_seeds_are_not_flagged(heard, again):
    flagged = []
    alone = []
    failed = 0
    for pair in combinations(range(SEEDS), 2):
        order = generator("difference", "order", *pair).permutation(SEEDS)
        others = [heard[at] for at in order if at not in pair]
        found = compare(heard[pair[0]], heard[pair[1]], others[:again])
        flagged.append(found.texts.beyond.mean())
        alone.append((found.texts.p <= found.level).mean())
        failed += found.beyond_noise
    assert len(flagged) == 21 and np.mean(flagged) <= 0.05 and np.mean(alone) <= 0.05
    assert failed <= 2


def test_a_planted_shortcut_is_flagged_and_leads_the_words(heard):
    found = compare(heard[0], heard[-1], heard[1:4])
    stands = HELD & (found.texts.old == found.texts.new)
    assert stands.sum() > 30 and found.texts.beyond[stands].mean() >= 0.8
    assert found.texts.beyond[~HELD].mean() < 0.1
    first = found.words.iloc[0]
    assert first.word == SHORTCUT and first["class"] == "yes" and first.beyond and first.low > 0.3
    assert (found.movers[:10].occlusion_1_word == SHORTCUT).all()


def test_a_model_moves_nothing_against_itself_and_both_orders_are_as_far(heard):
    same = compare(heard[0], heard[0], heard[1:3])
    assert not same.beyond_noise and not same.words.beyond.any() and same.flips.empty
    for method in METHODS:
        assert same.texts[f"{method}_moved"].max() == 0 and same.texts[f"{method}_tau"].min() == 1
    there = compare(heard[0], heard[1]).texts
    back = compare(heard[1], heard[0]).texts
    for method in METHODS:
        moved = there[f"{method}_moved"]
        assert moved.dropna().between(0, 1).all() and moved.notna().any()
        assert np.allclose(moved, back[f"{method}_moved"], equal_nan=True)
        assert np.allclose(there[f"{method}_before"], back[f"{method}_after"], equal_nan=True)


def test_the_numbers_of_one_text_by_hand(heard):
    found = compare(heard[0], heard[-1])
    at = int(found.texts.occlusion_1_moved.notna().to_numpy().argmax())
    before, after = (one[at].scores("occlusion_1") for one in (heard[0], heard[-1]))
    change = after / np.abs(after).sum() - before / np.abs(before).sum()
    row = found.texts.iloc[at]
    assert row.occlusion_1_moved == pytest.approx(np.abs(change).sum() / 2)
    furthest = int(np.abs(change).argmax())
    assert row.occlusion_1_word == TEXTS[at].split()[furthest]
    assert row.occlusion_1_after - row.occlusion_1_before == pytest.approx(change[furthest])


def say(words, seed: int = 0):
    """A function that is surer of `yes` for each of some words, as a classifier."""

    def predict(texts):
        hits = np.array([sum(map(words.count, text.split())) for text in texts])
        yes = 1 / (1 + np.exp(-hits - 0.5))
        return np.stack([1 - yes, yes], axis=1)

    return av.wrap(predict, labels=LABELS)


def test_functions_one_word_texts_scores_of_zero_and_words_never_seen():
    old, new = say(["good"]), say(["fine"])
    found = av.diff(
        old, new, ["good", "fine", "good fine day", "xyzzy", "good"], methods="occlusion_1"
    )
    rows = found.texts.set_index("text")
    assert len(rows) == 4 and not found.beyond_noise and rows.p.isna().all()
    assert rows.occlusion_1_moved["good fine day"] == pytest.approx(1)
    assert rows.occlusion_1_word["good fine day"] in ("good", "fine")
    assert rows.occlusion_1_moved["xyzzy"] == 0 and rows.occlusion_1_moved["good"] == 0.5
    assert "--again" in str(found) and found.words.empty
    assert av.diff(old, new, ["good fine day", "a day"]).methods == [
        "occlusion_1",
        "partition_shap",
    ]


def test_scores_that_have_not_converged_are_no_witness(heard, monkeypatch):
    monkeypatch.setattr(difference, "misses_much", lambda one: one.method == METHODS[1])
    found = compare(heard[0], heard[-1], heard[1:2])
    assert found.texts[f"{METHODS[1]}_moved"].isna().all() and found.texts.p.notna().any()
    monkeypatch.setattr(difference, "misses_much", lambda one: True)
    found = compare(heard[0], heard[-1], heard[1:2])
    assert found.texts.p.isna().all() and not found.beyond_noise and found.words.empty


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"texts": ["alone", "alone"]}, "a comparison needs 2 different texts or more; got 1"),
        ({"texts": []}, "no text"),
        ({"texts": TEXTS[:8], "again": [say(["day"])]}, f"needs {LEAST_TEXTS} different texts"),
        ({"level": 1.5}, "between 0 and 1"),
        ({"new": av.wrap(lambda t: np.ones((len(t), 2)) / 2, labels=["bad", "yes"])}, "bad, yes"),
        ({"again": [say(["good"])], "texts": TEXTS}, "train with another seed"),
        ({"methods": "lrp"}, "does not apply"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(more, said):
    given = {"old": say(["good"]), "new": say(["fine"]), "texts": ["good day", "fine day"]} | more
    with pytest.raises(ValueError, match=said):
        av.diff(given.pop("old"), given.pop("new"), given.pop("texts"), **given)


def test_outputs_that_are_no_classes_are_not_compared():
    value = av.wrap(lambda texts: np.ones(len(texts)), outputs="value")
    with pytest.raises(ValueError, match="compared by the class"):
        av.diff(value, value, ["good day", "fine day"])


def test_weights_that_are_no_numbers_are_told(networks):
    broken = train_words("broken", LABELS, WORDS, lambda rng: [draw(False, 1.0, "x")], 0, steps=1)
    broken.network.output.weight.data[:] = torch.nan
    with pytest.raises(ValueError, match="NaN"):
        av.diff(networks[0][0], broken, TEXTS[:2])


@pytest.fixture(scope="module")
def folders(networks, tmp_path_factory):
    """The networks in folders, and a file of texts."""
    place = tmp_path_factory.mktemp("diff")
    alike, planted = networks
    for name, one in {"old": alike[0], "anew": alike[1], "other": alike[2], "new": planted}.items():
        one.save(place / name)
    pd.DataFrame({"review": TEXTS}).to_csv(place / "reviews.csv", index=False)
    return place


def call(place, *words: str):
    asked = ["diff", str(place / words[0]), str(place / words[1]), "--column", "review"]
    return CliRunner().invoke(app, [*asked, "--data", str(place / "reviews.csv"), *words[2:]])


def test_the_command_writes_a_page_a_table_and_a_status(folders, tmp_path):
    again = ["--again", str(folders / "anew"), "--again", str(folders / "other")]
    out = ["--out", str(tmp_path / "page.html"), "--out", str(tmp_path / "table.csv")]
    done = call(folders, "old", "new", *again, *out, "--fail-on", "beyond-noise")
    assert done.exit_code == 3, done.output
    assert SHORTCUT in done.stdout and "2 networks" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert page.count("<section>") == 2 * 20 + 2 * min(20, page.count("Old: predicted") - 20)
    assert "http" not in page and SHORTCUT in page and "From old to new</h1>" in page
    table = pd.read_csv(tmp_path / "table.csv")
    assert table.text.tolist() == TEXTS and table.beyond.any()


def test_without_networks_trained_anew_there_is_no_verdict(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(folders, "old", "new", "--method", "occlusion_1", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert "--again" in said["found"] and said["again"] == 0 and len(said["texts"]) == len(TEXTS)
    assert said["texts"][0]["p"] is None and (tmp_path / "diff.html").is_file()
    refused = call(folders, "old", "new", "--fail-on", "beyond-noise")
    assert refused.exit_code == 1 and "needs --again FOLDER" in refused.stderr
    refused = call(folders, "old", "new", "--out", "page.pdf")
    assert refused.exit_code == 1 and ".html, .csv, .json" in refused.stderr


def test_words_are_compared_where_both_models_read_them():
    tiny = models.tiny_model()
    found = av.diff(tiny, tiny, ["the film was good", "a bad plot"], methods="occlusion_1")
    assert found.texts.occlusion_1_moved.max() == 0
    assert f"{found.names[0]}, asked twice</h1>" in difference_page(found)
