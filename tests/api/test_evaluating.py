"""av.evaluate: the package's metrics on explanations at hand, intervals, random scores beside them,
and refusals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reference import models, words

import attreval as av
from attreval.api.evaluating import COLUMNS, TEXT_COLUMNS, find_metrics
from attreval.core.bootstrap import bootstrap_mean
from attreval.core.records import Evidence
from attreval.core.seeds import generator
from attreval.metrics import EVALUATED, METRICS
from attreval.metrics.agreement import agreement_at_k
from attreval.metrics.erasure import erase
from attreval.metrics.metric import NEEDS
from attreval.metrics.scored_text import FOUR_DRAWS, relevance, token_marks
from attreval.metrics.soft_erasure import soft_erase, soft_values
from attreval.metrics.unified.complexity import entropy
from attreval.models.loading import new_classifier
from attreval.models.questions import SoftErasure
from attreval.models.scorer import Scorer
from compendium.config import ModelSpec

TEXTS = [
    "the film was very good , the plot was slow !",
    ("the brave film", "not unbelievably bad"),
    "an unbelievable plot",
    "slow slow good plot is not a film",
]
LIMITED = [name for name, metric in METRICS.items() if metric.by_name]
# what metrics need and these texts alone do not offer
BESIDE = {
    "marks",
    "neighbours",
    "randomised",
    "infill",
}
METHODS = ["integrated_gradients", "occlusion_1", "gradient_l1"]


@pytest.fixture(scope="module")
def found(tiny):
    return av.explain(tiny, TEXTS, METHODS)


@pytest.fixture(scope="module")
def table(tiny, found):
    return av.evaluate(tiny, found, draws=100)


def value(table, method, metric, column="mean"):
    (row,) = table[(table.method == method) & (table.metric == metric)].itertuples()
    return getattr(row, column)


def test_the_table_holds_every_metric_that_can_be_asked(table):
    assert tuple(table.columns) == COLUMNS
    usual = [name for name in EVALUATED if name not in LIMITED]
    unmarked = [name for name in usual if "marks" not in METRICS[name].needs]
    assert list(table.metric.unique()) == unmarked and len(unmarked) > 15
    for _, part in table.groupby("metric"):
        assert part.method.tolist() == [*METHODS, "random"]
    assert (table.low <= table["mean"] + 1e-12).all() and (
        table["mean"] <= table.high + 1e-12
    ).all()
    for row in table.itertuples():
        low, high = METRICS[row.metric].range
        assert low <= row.mean <= high and 1 <= row.n <= 4
        assert {"higher": 1, "lower": -1, "neither": 0}[row.direction] == METRICS[row.metric].sign


def test_random_scores_win_half_and_values_of_each_text_have_the_means_of_the_table(
    tiny, found, table
):
    for name in [name for name, metric in METRICS.items() if "random" in metric.needs]:
        assert value(table, "random", name) == 0.5
    values = av.evaluate(tiny, found, draws=1, each_text=True)
    assert tuple(values.columns) == TEXT_COLUMNS and set(values.text) == set(range(len(found)))
    means = values.groupby(["method", "metric"]).value.agg(["mean", "count"])
    for row in table.itertuples():
        assert means["mean"][row.method, row.metric] == pytest.approx(row.mean, abs=1e-6)
        assert means["count"][row.method, row.metric] == row.n


def test_values_are_those_of_the_packages_functions(tiny, found, table):
    scorer = Scorer(tiny)
    first, *others = METHODS
    scores = [{m: one.attributions[m].scores for m in METHODS} for one in found]
    expected = np.mean([agreement_at_k([s[first], s[m]], 4) for m in others for s in scores])
    assert value(table, first, "agreement") == pytest.approx(expected)
    name = others[0]
    scores = [s[others[0]] for s in scores]
    expected = np.mean([1 - entropy(s) / np.log(len(s)) for s in scores])
    assert value(table, name, "simplicity") == pytest.approx(expected)
    hard = []
    soft = []
    for one, s in zip(found, scores, strict=True):
        names = ("evaluate", 0, one.instance.id, name)
        (erasure,) = scorer.converse([("x", erase(one.tokens, s, None, generator("ties", *names)))])
        (drawn,) = scorer.converse(
            [("x", soft_erase(one.tokens, s, erasure.target, names, FOUR_DRAWS))]
        )
        hard.append([erasure.comprehensiveness.mean(), erasure.normalised_sufficiency.mean()])
        soft.append(soft_values(erasure, drawn).comprehensiveness)
    values = [value(table, name, m) for m in ("comprehensiveness", "ns")]
    assert values == pytest.approx(np.mean(hard, axis=0).tolist(), abs=1e-6)
    values = [value(table, name, "soft_nc", column) for column in ("mean", "low", "high")]
    assert values[0] == pytest.approx(np.mean(soft), abs=1e-6)
    assert values == pytest.approx(
        [float(x) for x in bootstrap_mean(np.array(soft), 100, 0.95, "evaluate", 0)], abs=1e-6
    )


def test_names_aliases_and_needs_that_are_not_met(tiny, found):
    asked = av.evaluate(
        tiny, found, metrics=["soft_comprehensiveness", "Agreement", "rank-correlation"], draws=20
    )
    assert list(asked.metric.unique()) == ["soft_nc", "agreement", "score_tau_b"]
    for name, metric in METRICS.items():
        assert set(metric.needs) <= set(NEEDS)
        if metric.notebook:
            with pytest.raises(ValueError, match=f"the metric '{name}' needs .{{10}}"):
                find_metrics(name, {"scores", "model", "random", "marks", "rivals"}, False)


def test_the_same_seed_gives_the_same_table_and_the_unit_shown_moves_nothing(tiny, found, table):
    again = av.evaluate(tiny, found.by("token"), draws=100)
    np.testing.assert_array_equal(again["mean"], table["mean"])
    other = av.evaluate(tiny, found, "agreement", draws=100, seed=1)
    assert value(other, METHODS[0], "agreement") == value(table, METHODS[0], "agreement")
    assert value(other, "random", "agreement") != value(table, "random", "agreement")


def test_a_planted_truth_made_elsewhere_beats_random_scores(planted):
    texts = ["the film was good and the key plot is slow", "key the film was a slow film and bad"]
    texts.append("a plot a key a film a b")
    found = av.explain(planted, texts, "occlusion_1")
    marks = [[(text.index(models.SIGNAL), text.index(models.SIGNAL) + 3)] for text in texts]
    for name, sign in (("theirs", 1.0), ("turned", -1.0)):
        found.add(name, [[(*span, sign)] for (span,) in marks])
    asked = av.evaluate(
        planted,
        found,
        ["comprehensiveness", "win_nc", "people", "pointing", "phrase_f1"],
        marks,
        k=1,
    )
    for metric in ("comprehensiveness", "people", "pointing"):
        best = value(asked, "theirs", metric)
        worst = value(asked, "turned", metric)
        assert best > value(asked, "random", metric) >= worst, metric
    assert value(asked, "theirs", "pointing") == 1 and value(asked, "turned", "pointing") == 0
    assert value(asked, "theirs", "phrase_f1") == 1


def test_marks_come_as_words_people_or_characters(tiny, found):
    by_word = [np.eye(len(one.instance.words))[1] for one in found]
    spans = [[tuple(int(x) for x in one.instance.words[1])] for one in found]
    people = [np.stack([row, row]) for row in by_word]
    tables = [
        av.evaluate(tiny, found, "people", marks, draws=20) for marks in (by_word, spans, people)
    ]
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])
    marked = replace(found[0].instance, evidence=Evidence(marks=by_word[0][None]))
    share = relevance(token_marks(marked, found[0].tokens))
    expected = agreement_at_k([found[0].attributions["occlusion_1"].scores, share], 4)
    one = av.evaluate(tiny, found[:1], "people", by_word[:1], draws=20)
    assert value(one, "occlusion_1", "people") == pytest.approx(expected)
    some = av.evaluate(tiny, found, "people", [by_word[0], None, [], by_word[3]], draws=20)
    assert set(some.n) == {2}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"metrics": "agreemnt"}, "unknown metric 'agreemnt'; .*; did you mean 'agreement'"),
        ({"metrics": []}, "no metric is named"),
        ({"metrics": "people"}, "'people' needs marks of people: give marks="),
        ({"metrics": "simulatability"}, "needs agents"),
        ({"metrics": "tau_b"}, "needs values of several metrics"),
        ({"metrics": "unified_comprehensiveness"}, "what explanations of tokens do not tell"),
        ({"metrics": "average_pairwise_difference"}, "models trained with other seeds"),
        ({"marks": [[(0, 3)]]}, "marks are given of each of 4 texts"),
        (
            {"marks": [[(0, 3)], [(0, 300)], None, None]},
            r"text 1: the span \[0, 0, 300\] is not in the text",
        ),
        ({"marks": [[0.0], None, None, None]}, "text 0 has 11 words; got marks of 1"),
        ({"marks": [[("a", "b")], None, None, None]}, "text 0: a span is"),
        ({"k": 0}, "k and draws are 1 or more"),
        ({"confidence": 95}, "confidence between 0 and 1"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_reason(tiny, found, asked, said):
    with pytest.raises(ValueError, match=said):
        av.evaluate(tiny, found, **asked)


def test_agreement_needs_a_rival(tiny, found):
    alone = av.explain(tiny, TEXTS[:2], "occlusion_1")
    assert "agreement" not in set(av.evaluate(tiny, alone, draws=10).metric)
    with pytest.raises(ValueError, match="needs scores of another method"):
        av.evaluate(tiny, alone, "agreement")
    with pytest.raises(ValueError, match="no explanation to evaluate"):
        av.evaluate(tiny, found[:0])
    with pytest.raises(ValueError, match="nothing to compare with random"):
        av.evaluate(tiny, av.explain(tiny, "good", "random"))


def test_erasure_says_nothing_of_another_class_or_of_two_or_of_another_model(tiny, found):
    for_no = av.explain(tiny, TEXTS, METHODS, target="no")
    table = av.evaluate(tiny, for_no, ["nc", "simplicity"], draws=10)
    predicted = sum(one.predicted == "no" for one in for_no)
    assert set(table[table.metric == "nc"].n) <= {predicted} and set(
        table[table.metric == "simplicity"].n
    ) == {4}
    two = av.explain(tiny, TEXTS, METHODS, target="no", against="yes")
    assert "nc" not in set(av.evaluate(tiny, two, draws=10).metric)
    with pytest.raises(ValueError, match="tell two classes apart"):
        av.evaluate(tiny, two, "nc")
    others = (models.tiny_model(seed=seed) for seed in range(1, 6))
    other = next(m for m in others if av.explain(m, TEXTS, "random").predicted != found.predicted)
    with pytest.raises(ValueError, match="evaluate with the model that was explained"):
        av.evaluate(other, found, "nc")


def test_a_model_that_cannot_be_disturbed_softly_has_hard_erasure_still(tmp_path):
    tiny = models.tiny_model()
    tiny.save(tmp_path / "body")
    spec = ModelSpec(
        architecture="encoder_decoder",
        layers=1,
        decoder_layers=1,
        hidden=32,
        heads=2,
        tokenizer="local",
    )
    model = new_classifier(
        spec, ("a", "b"), ("m",), [], "small", "cpu", resolve=lambda name: str(tmp_path / "body")
    )
    made = av.explain(av.wrap(model.network, model.tokenizer, max_length=64), TEXTS[:2], METHODS)
    asked = set(av.evaluate(model, made, draws=10).metric)
    assert {"nc", "win_ns", "simplicity"} <= asked and not {"soft_nc", "diagnosticity"} & asked
    with pytest.raises(ValueError, match="what enters it is not disturbed"):
        av.evaluate(model, made, "soft_nc", draws=10)


def test_an_error_of_the_model_drops_no_metric_silently(tiny, found, monkeypatch):
    """Only a model that says so is taken to have no soft erasure."""

    def fails(question, ledger):
        raise ValueError("a batch that went wrong")

    monkeypatch.setattr(SoftErasure, "items", fails)
    with pytest.raises(ValueError, match="a batch that went wrong"):
        av.evaluate(tiny, found, draws=10)


@pytest.mark.parametrize("architecture", ["lstm", "cnn"])
def test_word_models_are_evaluated(architecture):
    model = words.tiny_words(architecture)
    made = av.explain(model, TEXTS, ["lrp", "gradient_x_input"])
    table = av.evaluate(model, made, draws=10)
    assert {"nc", "soft_nc", "agreement"} <= set(table.metric) and set(table.method) == {
        *made.methods,
        "random",
    }


def test_what_a_text_allows_is_asked_by_name_and_bounds_every_method(tiny, found):
    limited = [name for name in LIMITED if not BESIDE & set(METRICS[name].needs)]
    table = av.evaluate(tiny, found, [*limited, "comprehensiveness"], draws=20)
    assert list(table.metric.unique()) == [*limited, "comprehensiveness"]
    for name, part in table.groupby("metric"):
        low, high = METRICS[name].range
        assert part["mean"].between(low - 1e-6, high + 1e-6).all() and part["mean"].nunique() > 1, (
            name
        )


def test_scores_of_other_texts_and_models_and_an_infiller_are_taken_where_they_are_given(
    tiny, found
):
    """Marks as well: every metric that is asked by name has a value then, random scores among the
    methods.
    """
    rng = np.random.default_rng(0)
    lengths = [len(one.tokens.content) for one in found]
    others = [{m: rng.standard_normal((3, n)) for m in METHODS} for n in lengths]
    asked = [name for name in LIMITED if BESIDE & set(METRICS[name].needs)]
    given = {
        "neighbours": others,
        "randomised": others,
        "infill": lambda t, kept: np.where(kept, t.ids, t.mask_id),
    }
    marks = [[(4, 8)] if isinstance(text, str) else [(0, 4, 9)] for text in TEXTS]
    table = av.evaluate(tiny, found, asked, marks, draws=10, **given)
    assert set(table.metric) == set(asked) and (table.n == len(TEXTS)).all()
    assert all(part.method.tolist() == [*METHODS, "random"] for _, part in table.groupby("metric"))
    with pytest.raises(ValueError, match="neighbours are given of each of 4 texts; got 3"):
        av.evaluate(tiny, found, asked, marks, **given | {"neighbours": others[1:]})
    for need in ("neighbours", "randomised", "infill"):
        name = next(name for name in asked if need in METRICS[name].needs)
        with pytest.raises(ValueError, match=f"the metric '{name}' needs .*{need}="):
            av.evaluate(tiny, found, name)


def test_a_text_that_occurs_again_counts_once(tiny):
    """Five texts of which each stands there six times are five, with the interval of five."""
    texts = [f"the {word} film was {other} ." for word, other in zip("abcde", "vwxyz", strict=True)]
    once = av.explain(tiny, texts, METHODS)
    often = av.explain(tiny, texts * 6, METHODS)
    few, many = (av.evaluate(tiny, found, ["nc", "ns"], draws=200) for found in (once, often))
    assert set(many.n) == {5}
    pd.testing.assert_frame_equal(few, many, atol=1e-6)
    each = av.evaluate(tiny, often, ["nc"], each_text=True)
    assert each.text.nunique() == 30
