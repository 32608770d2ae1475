"""What a protocol lays out, and what the released code changes."""

from __future__ import annotations

import numpy as np
import pytest
from reference import models
from reference.words import tiny_words

from attreval.metrics import soft_erasure as soft
from attreval.metrics.erasure import erase
from attreval.metrics.protocol import Protocol, find_layout
from attreval.models.scorer import Scorer

PAIR = models.instance("the film was good , not bad", "good plot")


def suite(tokens, scores, name, softly):
    """Hard erasure and, if asked, soft erasure of one attribution."""
    hard = yield from erase(tokens, scores)
    if softly:
        yield from soft.soft_erase(tokens, scores, hard.target, ("x", name), Protocol(draws=4))


def test_a_query_is_never_erased_and_its_separators_stay_in_the_baseline(tiny):
    tokens = tiny.tokens(PAIR)
    alone = find_layout(tokens, Protocol())
    asked = find_layout(tokens, Protocol(), query=1)
    assert alone.erasable.sum() == len(tokens.content) and alone.base.all()
    of_query = tokens.offsets[:, 0] == 1
    assert not (asked.erasable & (of_query | tokens.special)).any() and asked.size == 7
    places = np.flatnonzero(tokens.special)
    assert list(np.flatnonzero(~asked.base)) == list(range(places[1], places[2] + 1))
    assert not asked.beside.any()
    assert (find_layout(tokens, Protocol(query_erased=True), query=1).beside == of_query).all()


def test_layouts_count_what_the_protocol_says(tiny):
    tokens = tiny.tokens(models.instance("the film was good"))
    assert (
        find_layout(tokens, Protocol()).size == 4
        and find_layout(tokens, Protocol(count_first=True)).size == 5
    )
    assert list(find_layout(tokens, Protocol(separator=True)).scored) == [1, 2, 3, 4, 5]
    assert (find_layout(tokens, Protocol(baseline="content")).base == ~tokens.special).all()
    words = tiny_words("gru").tokens(models.instance("the film"))
    assert find_layout(words, Protocol(separator=True, count_first=True)).size == 2
    with pytest.raises(ValueError, match="no token can be erased: all 4"):
        find_layout(tiny.tokens(models.instance("good film")), Protocol(), query=0)


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"ratios": (0.0,)}, "ratios are shares"),
        ({"draws": 0}, "one draw"),
        ({"keep_rate": 1}, "mean"),
    ],
)
def test_protocols_refuse_what_means_nothing(fields, words):
    with pytest.raises(ValueError, match=words):
        Protocol(**fields)


def test_scores_must_fit_the_layout(tiny):
    tokens = tiny.tokens(PAIR)
    for scores, protocol in (
        (np.zeros(3), Protocol()),
        (np.zeros(len(tokens.content)), Protocol(separator=True)),
    ):
        with pytest.raises(ValueError, match=f"got {len(scores)} scores"):
            next(erase(tokens, scores, protocol=protocol))
    both = np.arange(9.0)
    document = np.arange(7.0)
    scorer = Scorer(tiny, precision="float64")
    found = scorer.converse(("x", erase(tokens, s, query=1)) for s in (both, document))
    np.testing.assert_array_equal(found[0].comprehensiveness, found[1].comprehensiveness)


def test_drift_lowers_the_baseline_call_by_call(tiny):
    tokens = tiny.tokens(models.instance("plot slow bad was good the"))
    scores = np.arange(6.0)
    scorer = Scorer(tiny, precision="float64")
    plain, first, later = scorer.converse(
        ("x", erase(tokens, scores, protocol=Protocol(drift=drift), calls=calls))
        for drift, calls in ((False, 0), (True, 0), (True, 30))
    )
    room = plain.full - plain.erased
    assert all(
        0 < value < 1
        for value in (*plain.normalised_sufficiency, *plain.normalised_comprehensiveness)
    )
    for found, calls in ((first, 0), (later, 30)):
        sunk = calls + np.arange(5)
        kept = 1 - plain.sufficiency / (room + 1e-4 * (1 + sunk))
        np.testing.assert_allclose(found.normalised_sufficiency, kept)
        np.testing.assert_allclose(
            found.normalised_comprehensiveness, plain.comprehensiveness / (room + 1e-4 * sunk)
        )


def test_the_soft_suite_costs_two_batched_passes_at_most(tiny):
    """Six methods, two measures, four draws: beyond hard erasure of one text at most two more
    passes of the model.
    """
    tokens = tiny.tokens(
        models.instance("a very very brave plot was believable - was it not ? the film is good")
    )
    rows = np.random.default_rng(0).standard_normal((6, len(tokens.content)))
    passes = []
    evaluations = []
    for softly in (False, True):
        recorder = models.Recorder(tiny)
        scorer = Scorer(recorder, token_budget=65_536)  # what a GPU takes at once
        scorer.converse((f"m{i}", suite(tokens, s, i, softly)) for i, s in enumerate(rows))
        passes.append(len(recorder.batches))
        evaluations.append(sum(cost.unique for cost in scorer.costs.values()))
    assert passes[1] - passes[0] <= 2
    assert evaluations[1] - evaluations[0] == 6 * 2 * 4
