"""Choices: each field of the paper's variants is tried where it differs, and hits move as far as they must."""

from __future__ import annotations

import numpy as np
import pytest
from reference import models
from test_hits import step, word_tokens  # noqa: F401 - a fixture

from attreval.core.records import Attribution
from attreval.core.tables import write_attributions, write_csv
from attreval.methods.method import Budget
from compendium import config
from compendium.config.reading import VARIANTS
from compendium.papers.pipeline.other_choices import other_choices, tried_run
from compendium.papers.poerner2018 import hits, same_word


def test_every_field_of_the_variants_and_every_rule_of_windows_is_tried_at_every_other_value():
    found = {(one.field, one.value): one for one in other_choices(Budget())}
    assert {field for field, _ in found} == {*VARIANTS["poerner2018"]["paper"]["explain"], "windows"}
    assert set(found) == {
        ("limsse_sampling", "random"),
        ("limsse_solver", "exact"),
        ("decomposition_output_gate", False),
        *(("windows", rule) for rule in ("cut_right", "mean", "whole")),
    }
    gate = found["decomposition_output_gate", False]
    assert gate.methods == ("decomposition",) and gate.budget == Budget(decomposition_output_gate=False)
    assert found["limsse_solver", "exact"].methods == ("limsse_class", "limsse_logit", "limsse_probability")
    assert found["windows", "mean"].methods == ("occlusion_3", "occlusion_7", "omission_3", "omission_7")
    other = {(one.field, one.value) for one in other_choices(gate.budget)}
    assert ("decomposition_output_gate", True) in other and len(other) == 6


@pytest.mark.parametrize("name", ["smoke", "quick", "reference"])
def test_windows_are_cut_at_agreement_and_whole_on_documents(name):
    profile = config.load(name)
    rules = {task: profile.explaining_of(task).windows for task, _, _ in profile.explained_runs("pointing")}
    assert rules == {task: "cut" if task.startswith("agreement") else "whole" for task in rules}


def test_choices_are_tried_on_a_gated_model_that_reads_short_texts():
    profile = config.load("quick")
    task, model, _ = tried_run(profile)
    assert task == "agreement_parsed" and profile.models[model].architecture == "gru"


def test_ties_move_hits_as_far_as_they_must(step):  # noqa: F811
    """Gradient norms tie on all words but the key; 3 of 7, 3 of 6 and 2 of 4 of these are evidence."""
    played = hits.pointing_hits(step)
    found = hits.choice_table(step, played).set_index(["choice", "value"])
    row = found.loc["ties", "first"]
    assert row.largest == pytest.approx((4 / 7 - 3 / 6 + 2 / 4) / 3) and row.method == "gradient_l2"
    assert (row.texts, row.methods, row.on, row.instead_of) == (3, 3, "all stored scores", "expectation")
    assert row.moved == pytest.approx(6 / 9), "LRP has no tie, the two others have one in every text"
    assert found.loc["affix"].texts.eq(0).all() and len(found.loc["affix"]) == 2


def test_a_choice_that_was_explained_again_is_compared_on_those_texts_alone(step, monkeypatch):  # noqa: F811
    run, played = ("hybrid_bbc", "cnn", 1), hits.pointing_hits(step)
    monkeypatch.setattr(hits, "tried_run", lambda profile: run)
    (exact,) = [one for one in other_choices(Budget()) if one.value == "exact"]
    some = models.instance("a key b . c d e .", name="doc-0")
    wrong = np.array([0, -1, 0, 0, 5, 0, 0, 0.0])
    places = tuple((i,) for i in range(len(wrong)))
    path = step.results.attributions(*run, exact.part)
    write_attributions(path, [Attribution(some.id, "lrp", 0, "token", places, wrong)])
    found = hits.choice_table(step, played).set_index(["choice", "value"]).loc["limsse_solver", "exact"]
    assert (found.change, found.largest, found.moved, found.texts, found.methods) == (-1, -1, 1, 1, 1)
    assert found.on == "1 texts of cnn, hybrid_bbc" and found.instead_of == "descent"


def test_two_methods_point_at_the_same_word_as_often_as_a_count_says(step, monkeypatch):  # noqa: F811
    """LRP points at the key; the negated scores tie on all other words; a constant hits any word."""
    monkeypatch.setattr(same_word, "to_explain", hits.to_explain)
    met = {text: (methods, common) for _, text, methods, common, _ in same_word.words_in_common(step)}
    expected = {  # in doc-3 all scores are constant, and each method breaks its ties by itself
        "gradient_l2": [0, 0, 0, 1 / 6],
        "deeplift": [1 / 8, 1 / 7, 1 / 5, 1 / 6],
        "lrp": [1, 1, 1, 1 / 6],
    }
    for other, chances in expected.items():
        found = [common[methods.index("lrp"), methods.index(other)] for methods, common in met.values()]
        assert found == pytest.approx(chances)
        (share,) = same_word.same_word_share(step, "lrp", other).itertuples()
        assert share.instances == 4 and share.share == pytest.approx(np.mean(chances))
        assert share.low <= share.share <= share.high
    assert not len(same_word.same_word_share(step, "lrp", "lime"))


def test_pointed_words_are_those_of_the_pointing_game():
    """With a word's indicator as evidence, the game's expected hit is the probability of that word."""
    rng = np.random.default_rng(0)
    one = models.instance("a b c d e f", name="x")
    for _ in range(50):
        scores = rng.integers(0, 3, 6).astype(float)
        record = Attribution("x", "lrp", 0, "token", tuple((i,) for i in range(6)), scores)
        found = same_word.pointed_words(one, word_tokens(one), record)
        expected = [hits.pointing_game.point(scores, np.arange(6) == word) for word in range(6)]
        assert found == pytest.approx(expected) and found.sum() == pytest.approx(1)


def test_accuracies_stand_beside_the_published(step):  # noqa: F811
    write_csv(step.results.table("accuracy", "02_train", "bbc", "cnn", 1), hits.pd.DataFrame({"accuracy": [0.8]}))
    summary = hits.accuracy_table(step, hits.pointing_hits(step))
    (row,) = hits.accuracy_beside_published(step, summary).to_dict("records")
    assert (row["experiment"], row["architecture"], row["trained_on"]) == ("20newsgroups hybrid", "CNN", "bbc")
    assert row["published"] == 0.705 and row["ours_less_published"] == pytest.approx(0.095)
    assert (row["discarded"], row["published_low"], row["published_high"]) == (0.25, 0.14, 0.2)
