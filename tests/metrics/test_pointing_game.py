"""The pointing game against its slow twin and where the answer is known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import pointing as slow
from reference.models import SIGNAL, Planted, instance, tiny_tokenizer

from attreval.core.alignment import tokenize
from attreval.core.records import Attribution, Evidence
from attreval.metrics import pointing_game as pointing
from compendium.config import BootstrapSpec
from compendium.papers.poerner2018.accuracy import summarise_hits

few_values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])  # few, so that ties are common


@st.composite
def scored(draw, longest=9):
    n = draw(st.integers(1, longest))
    scores = np.array(draw(st.lists(few_values, min_size=n, max_size=n)))
    return scores, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


@given(given=scored())
def test_pointing_equals_enumeration_of_ties(given):
    scores, evidence = given
    assert pointing.point(scores, evidence) == pytest.approx(
        float(slow.point(scores, evidence)), abs=1e-15
    )
    assert pointing.point(scores, evidence, "first") == evidence[np.argmax(scores)]


def test_what_is_no_number_points_nowhere():
    wrong = {
        "position 1 is nan": [1.0, np.nan],
        "position 0 is inf": [np.inf, 0.0],
        "one score a word": [1.0],
    }
    for said, scores in wrong.items():
        with pytest.raises(ValueError, match=said):
            pointing.point(scores, [True, False])
    with pytest.raises(ValueError, match="'expectation' or to the 'first'; got 'last'"):
        pointing.point([1.0], [True], "last")


def attribute(tokens, scores, method="m"):
    """An Attribution of (n,) scores to the content tokens."""
    return Attribution(
        "x", method, 0, "token", tuple((int(t),) for t in tokens.content), np.asarray(scores, float)
    )


def hits_of(rows, metric):
    return {row["method"]: row["hit"] for row in rows if row["metric"] == metric}


# two of them in several pieces
WORDS = (
    "unbelievably",
    "the",
    "film",
    "was",
    "good",
    "unbelievable",
    "slow",
)


@pytest.mark.parametrize("seed", range(4))
def test_hybrid_documents_with_pieces_of_words_and_truncation_equal_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    text = " ".join(rng.choice(WORDS, 12))
    classes = tuple(rng.integers(0, 3, 12).tolist())
    made = instance(text, label=0, evidence=Evidence(classes=classes))
    tokens = tokenize(made, tiny_tokenizer(), 10 + seed)  # cuts most of these texts
    scores = rng.integers(-2, 3, len(tokens.content)).astype(float)
    by_word = slow.word_scores(scores, tokens.word[tokens.content], 12)
    for predicted in range(3):
        rows = pointing.play(made, tokens, predicted, {"m": attribute(tokens, scores)})
        expected = slow.hybrid_hit(by_word, classes, predicted)
        hit = hits_of(rows, "hybrid")["m"]
        if expected is None:
            assert np.isnan(hit) and all(row["discarded"] for row in rows)
        else:
            assert hit == pytest.approx(float(expected))
            read = [c for c, score in zip(classes, by_word, strict=True) if score is not None]
            assert hits_of(rows, "hybrid")["random"] == pytest.approx(
                np.mean(np.array(read) == predicted)
            )


def agreeing(text, tags, subject, label, attractors=0):
    spans = ((subject, subject + 1, 0),)
    return instance(
        text, label=label, evidence=Evidence(spans=spans, tags=tags, attractors=attractors)
    )


def test_agreement_counts_the_subject_and_words_of_the_predicted_number():
    made = agreeing("the films was the film", ("DT", "NNS", "VBZ", "DT", "NN"), 1, 1)
    tokens = tokenize(made, tiny_tokenizer(), 64)
    by_word = {"films": 1, "was": 2, "film": 4, "the": 0}
    for predicted, feature in ((1, {"films"}), (0, {"was", "film"})):
        for word, at in by_word.items():
            scores = np.zeros(len(tokens.content))
            scores[np.flatnonzero(tokens.word[tokens.content] == at)[0]] = 1
            rows = pointing.play(made, tokens, predicted, {"m": attribute(tokens, scores)})
            assert hits_of(rows, "hit_target")["m"] == (word == "films")
            assert hits_of(rows, "hit_feat")["m"] == (word in feature)
            assert {row["correct"] for row in rows} == {predicted == 1}
            assert hits_of(rows, "hit_feat")["last"] == (predicted == 0)
            assert hits_of(rows, "hit_target")["random"] == pytest.approx(1 / 5)
            assert hits_of(rows, "hit_feat")["random"] == pytest.approx(len(feature) / 5)


@given(
    tags=st.lists(st.sampled_from(["NN", "NNS", "VBZ", "VBP", "DT", "PRP"]), min_size=1, max_size=6)
)
def test_features_are_those_of_the_paper(tags):
    made = agreeing(" ".join("a" for _ in tags), tuple(tags), 0, 0)
    for predicted in (0, 1):
        games = {
            game.metric: game
            for game in pointing.find_games(made, predicted, np.ones(len(tags), bool))
        }
        assert games["hit_feat"].evidence.tolist() == [
            slow.feature(tag) == predicted for tag in tags
        ]
        assert games["hit_target"].evidence.tolist() == [at == 0 for at in range(len(tags))]


def test_manual_lists_go_by_the_chosen_rule_and_discard_wrong_predictions():
    marks = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    made = instance("good bad slow", label=1, evidence=Evidence(marks=marks))
    tokens = tokenize(made, tiny_tokenizer(), 64)
    for affix, hits in {"code": (1, 0, 0), "paper": (0, 1, 0), "both": (1, 1, 0)}.items():
        for at, hit in enumerate(hits):
            rows = pointing.play(
                made, tokens, 1, {"m": attribute(tokens, np.eye(3)[at])}, affix=affix
            )
            assert hits_of(rows, "manual")["m"] == hit
    of_people = replace(made, evidence=Evidence(marks=np.vstack([marks, [0, 0, 1.0]])))
    for at in range(
        3
    ):  # rows are rules only where the task says so; of people, what anybody marked counts
        assert (
            hits_of(
                pointing.play(of_people, tokens, 1, {"m": attribute(tokens, np.eye(3)[at])}),
                "manual",
            )["m"]
            == 1
        )
    rows = pointing.play(made, tokens, 0, {"m": attribute(tokens, np.eye(3)[0])})
    assert {row["discarded"] for row in rows} == {"the prediction is wrong"}
    with pytest.raises(ValueError, match=r"unknown rule 'codes'.*code, paper, both"):
        pointing.play(made, tokens, 1, {}, affix="codes")
    with pytest.raises(ValueError, match="says nothing of where its evidence lies"):
        pointing.play(replace(made, evidence=Evidence()), tokens, 1, {})


def test_drawn_words_hit_as_often_as_random_says_and_do_not_depend_on_other_methods():
    made = agreeing("a the film was slow", ("DT", "DT", "NN", "VBD", "JJ"), 2, 0)
    tokens = tokenize(made, tiny_tokenizer(), 64)
    more = {"m": attribute(tokens, np.arange(5)), "random": attribute(tokens, np.arange(5))}
    hits = [
        [
            hits_of(pointing.play(made, tokens, 0, given, "first", names=(at,)), "hit_target")
            for at in range(300)
        ]
        for given in ({}, more)
    ]
    alone, beside = ([row["random_drawn"] for row in rows] for rows in hits)
    assert alone == beside and abs(np.mean(alone) - 0.2) < 0.06
    assert all(row["random"] == pytest.approx(0.2) for row in hits[1]), (
        "a drawn attribution is not the exact random"
    )


def test_on_a_planted_model_the_oracle_hits_random_hits_by_chance_and_the_reverse_never():
    model = Planted()
    rng = np.random.default_rng(5)
    rows = []
    for seed, number in product((1, 2), range(24)):
        words = [*rng.choice(["film", "slow", "the", "good"], 9), SIGNAL]
        order = rng.permutation(10)
        evidence = Evidence(classes=tuple(int(at == 9) for at in order))
        made = instance(
            " ".join(words[at] for at in order), name=f"d{number}", label=1, evidence=evidence
        )
        tokens = model.tokens(made)
        oracle = np.array([float(tokens.texts[t] == SIGNAL) for t in tokens.content])
        found = {"oracle": oracle, "reversed": -oracle, "noise": rng.standard_normal(10)}
        found = {name: attribute(tokens, scores, name) for name, scores in found.items()}
        about = {"task": "hybrid_imdb", "model": "lstm", "architecture": "LSTM", "seed": seed}
        rows += [row | about for row in pointing.play(made, tokens, 1, found, names=(seed,))]
    table = summarise_hits(pd.DataFrame(rows), BootstrapSpec(draws=200)).set_index("method")
    assert table.accuracy["oracle"] == 1 and table.accuracy["reversed"] == 0
    assert table.accuracy["random"] == pytest.approx(0.1)
    assert table.low["noise"] <= 0.1 <= table.high["noise"] < table.low["oracle"]
    assert set(table.instances) == {24} and set(table.discarded) == {0.0}
