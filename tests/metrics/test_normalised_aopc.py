"""Limits of erasure: against every order, between each other, and where there is nothing to be
told.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import models
from reference import orders as slow

from attreval.core.seeds import generator
from attreval.metrics import METRICS
from attreval.metrics.erasure import erase, rationale_sizes
from attreval.metrics.normalised_aopc import MEASURES, Limits, areas_in_limits, find_limits
from attreval.metrics.protocol import Protocol
from attreval.metrics.scored_text import ScoredText, Settings
from attreval.models.scorer import Scorer

WORDS = ["the", "film", "was", "good", "not", "bad", "a", "very", "brave", "plot"]
SOME = (0.2, 0.5)
EACH = (0.2, 0.4, 0.6, 0.8, 1.0)


def answer(scorer, talk):
    return scorer.converse([("x", talk)])[0]


def shares_of(scorer, tokens, scores, **settings):
    """Both metrics of one explanation, by measure."""
    text = ScoredText(models.instance("any"), tokens, {"m": scores}, settings=Settings(**settings))
    return {
        measure: answer(scorer, METRICS[f"naopc_{measure}"].ask(text, "m")) for measure in MEASURES
    }


@pytest.mark.parametrize("ratios", [SOME, EACH])
@pytest.mark.parametrize("text", [("the film was bad",), ("good film", "plot"), ("good",)])
def test_limits_of_short_texts_are_those_of_all_orders(tiny, exact, ratios, text):
    tokens = tiny.tokens(models.instance(*text))
    found = answer(exact, find_limits(tokens, Protocol(ratios=ratios)))
    wanted = slow.limits(tiny.at("float64"), tokens, rationale_sizes(len(tokens.content), ratios))
    assert found.exact
    np.testing.assert_allclose([found.comprehensiveness, found.sufficiency], wanted, atol=1e-9)


@settings(max_examples=10)
@given(
    words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=7),
    beam=st.integers(1, 4),
    data=st.data(),
)
def test_a_beam_search_stays_within_exact_limits_and_reaches_them_when_wide(
    tiny, words, beam, data
):
    tokens = tiny.tokens(models.instance(" ".join(words)))
    scorer = Scorer(tiny, precision="float64")
    protocol = Protocol(ratios=data.draw(st.sampled_from([SOME, EACH])))
    widths = ((1, 9), (beam, 0), (99, 0))  # and up to how many tokens the limits are exact
    true, found, wide = (
        answer(scorer, find_limits(tokens, protocol, beam=b, exact=least)) for b, least in widths
    )
    assert true.exact and not found.exact
    for measure in MEASURES:
        low, high = getattr(true, measure)
        least, greatest = getattr(found, measure)
        assert low - 1e-9 <= least <= greatest + 1e-9 <= high + 2e-9
        np.testing.assert_allclose(getattr(wide, measure), [low, high], atol=1e-9)


@settings(max_examples=10)
@given(seed=st.integers(0, 999), beam=st.integers(1, 3))
def test_limits_found_by_a_beam_search_hold_for_the_explanations_that_are_named(tiny, seed, beam):
    rng = np.random.default_rng(seed)
    tokens = tiny.tokens(models.instance(" ".join(rng.choice(WORDS, 12))))
    scorer = Scorer(tiny, precision="float64")
    scores = rng.integers(0, 4, len(tokens.content)).astype(float)
    order = np.argsort(-scores, kind="stable")
    limits = answer(scorer, find_limits(tokens, beam=beam, orders=[order]))
    hard = answer(scorer, erase(tokens, scores))
    assert not limits.exact
    for measure in MEASURES:
        assert -1e-9 <= limits.place(measure, getattr(hard, measure).mean()) <= 1 + 1e-9
    assert all(0 <= share <= 1 for share in shares_of(scorer, tokens, scores, beam=beam).values())


def test_nothing_can_be_told_of_one_token_or_of_a_model_that_never_moves(tiny, exact):
    one = tiny.tokens(models.instance("good"))
    assert np.isnan([*shares_of(exact, one, np.ones(1)).values()]).all()
    still = Scorer(models.Graded(40, gain=0.0), precision="float64")
    tokens = tiny.tokens(models.instance("the film was good"))
    limits = answer(still, find_limits(tokens))
    np.testing.assert_array_equal([limits.comprehensiveness, limits.sufficiency], np.zeros((2, 2)))
    assert np.isnan(limits.place("sufficiency", 0.0))
    close = Limits(np.array([0, 1e-12]), np.array([0, 1e-12]), exact=True)
    assert np.isnan(close.place("sufficiency", 1e-12))


def test_the_query_takes_no_place_in_orders_of_many_tokens(tiny, exact):
    """With more tokens than all orders are tried of, those of the explanations count for the
    limits.
    """
    tokens = tiny.tokens(models.instance(" ".join([*WORDS, "film", "good"]), "good plot"))
    scores = np.random.default_rng(0).integers(0, 4, len(tokens.content)).astype(float)
    rng = generator("ties", "m")
    limits, areas = answer(
        exact, areas_in_limits(tokens, [scores], [rng], Settings().protocol, query=1)
    )
    assert not limits.exact
    found = shares_of(exact, tokens, scores, query=1)
    for measure, area in zip(MEASURES, areas[0], strict=True):
        assert found[measure] == pytest.approx(limits.place(measure, area), abs=1e-9)


def test_limits_of_two_parts_leave_the_query_alone_and_need_a_beam(tiny, exact):
    tokens = tiny.tokens(models.instance("the film was good", "good plot"))
    asked = answer(exact, find_limits(tokens, query=1))
    both = answer(exact, find_limits(tokens, query=None))
    assert asked.comprehensiveness[1] != both.comprehensiveness[1]
    with pytest.raises(ValueError, match="at least one order; got beam=0"):
        answer(exact, find_limits(tokens, beam=0))


@settings(max_examples=15)
@given(
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_no_explanation_lies_outside_exact_limits(tiny, words, seed, data):
    tokens = tiny.tokens(models.instance(" ".join(words)))
    scorer = Scorer(tiny, precision="float64")
    ratios = data.draw(st.sampled_from([SOME, EACH, Protocol().ratios]))
    limits = answer(scorer, find_limits(tokens, Protocol(ratios=ratios)))
    for draw in range(4):
        scores = (
            np.random.default_rng([seed, draw]).integers(0, 3, len(tokens.content)).astype(float)
        )
        hard = answer(scorer, erase(tokens, scores, ratios))
        for measure in MEASURES:
            least, greatest = getattr(limits, measure)
            assert least - 1e-9 <= getattr(hard, measure).mean() <= greatest + 1e-9
