"""Every measure against a slow twin: ties, constants, one token, and inputs that are no numbers."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import agreement as slow_agreement
from reference import faithfulness as slow_erasure
from reference import intervals as slow_intervals
from reference import models

from attreval.core import bootstrap as intervals
from attreval.core.seeds import generator
from attreval.metrics import agreement
from attreval.metrics import erasure as faithfulness
from attreval.models.scorer import Scorer

few_values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])  # few, so that ties are common


@st.composite
def voters(draw, most=3, longest=6):
    most = draw(st.integers(1, most))
    n = draw(st.integers(1, longest if most < 4 else 4))
    return [np.array(draw(st.lists(few_values, min_size=n, max_size=n))) for _ in range(most)]


@settings(max_examples=120)
@given(votes=voters(most=4), k=st.integers(1, 8))
def test_agreement_equals_enumeration_of_ties(votes, k):
    found = agreement.agreement_at_k(votes, k)
    np.testing.assert_allclose(found, slow_agreement.agreement_at_k(votes, k), atol=1e-12)


@given(votes=voters(), k=st.integers(1, 8))
def test_relevance_equals_enumeration_of_ties(votes, k):
    found = agreement.relevance_at_k(votes, k)
    np.testing.assert_allclose(found, slow_agreement.relevance_at_k(votes, k), atol=1e-12)
    np.testing.assert_allclose(found.sum(), min(k, len(votes[0])), atol=1e-12)


def test_agreement_is_rounded_to_nothing_less_than_nothing_shared():
    first = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    for k in (1, 2, 3):
        assert 0.5 <= agreement.agreement_at_k([first, 1 - first], k) < 0.5 + 1e-12
        assert agreement.agreement_at_k([first] * 3, k) <= 1


def test_many_tied_tokens_stay_quick_and_right():
    value = agreement.agreement_at_k([np.zeros(400), np.arange(400.0)], 1)
    np.testing.assert_allclose(value, 1 / 400 + 399 / 400 / 2)
    half = agreement.agreement_at_k([np.zeros(300)] * 2, 150)
    assert half == pytest.approx(2 / 3, abs=1e-3)


def test_six_voters_of_zeros_and_ones_agree_as_draws_do_and_take_no_minutes():
    for n in (20, 60):
        rng = np.random.default_rng(n)
        votes = list(rng.integers(0, 2, (6, n)).astype(float))
        drawn = [agreement.agreement_at_k(votes, 4, rng) for _ in range(1000)]
        error = np.std(drawn) / np.sqrt(len(drawn))
        assert abs(agreement.agreement_at_k(votes, 4) - np.mean(drawn)) <= 4 * error


def test_agreement_refuses_bad_calls():
    for votes, k, said in (
        ([[1.0, np.nan, 0.0], [1.0, 0.0, 0.0]], 1, "position 1 is nan"),
        ([[1.0, 0.0, 0.0], [np.inf, 0.0, 0.0]], 1, "position 0 is inf"),
        ([[0.0, 1.0], [1.0, 0.0]], 0, "at least 1; got 0"),
        ([[0.0, 0.0, 0.0], [0.0]], 1, r"lengths \[3, 1\]"),
        ([], 1, "at least one voter"),
    ):
        for judge in (agreement.agreement_at_k, agreement.relevance_at_k):
            with pytest.raises(ValueError, match=said):
                judge([np.array(vote) for vote in votes], k)
    assert np.isnan(agreement.agreement_at_k([np.zeros(0), np.zeros(0)], 1))


RATIOS = (0.01, 0.1, 0.3, 0.5, 1.0)
words = st.lists(
    st.sampled_from(["good", "bad", "film", "unbelievable", "slow"]), min_size=1, max_size=8
).map(" ".join)


@settings(max_examples=8)
@given(texts=st.lists(words, min_size=1, max_size=3), data=st.data())
def test_hard_erasure_equals_the_twin(tiny, texts, data):
    scorer = Scorer(tiny, 50, "float64")
    network = tiny.at("float64")
    tokens = [tiny.tokens(models.instance(t)) for t in texts]
    scores = [
        np.array(data.draw(st.lists(few_values, min_size=(n := len(t.content)), max_size=n)))
        for t in tokens
    ]
    found = scorer.converse(
        ("x", faithfulness.erase(t, s, RATIOS)) for t, s in zip(tokens, scores, strict=True)
    )
    for t, s, one in zip(tokens, scores, found, strict=True):
        expected = np.array([slow_erasure.erase(network, t, s, ratio) for ratio in RATIOS]).T
        measures = ("comprehensiveness", "sufficiency")
        names = [*measures, *(f"normalised_{measure}" for measure in measures)]
        for name, row in zip(names, expected, strict=True):
            np.testing.assert_allclose(getattr(one, name), row, atol=1e-9, err_msg=name)
        # all kept is the whole text
        assert one.sufficiency[-1] == 0 and one.normalised_sufficiency[-1] == 1


@given(n=st.integers(1, 600), percent=st.integers(1, 100))
@example(n=50, percent=14)  # 0.14 * 50 is 7.000000000000001
def test_rationale_sizes_are_ceilings(n, percent):
    assert faithfulness.rationale_sizes(n, [percent / 100]) == [-(-n * percent // 100)]


unit = st.floats(0, 1)
two = st.lists(unit, min_size=2, max_size=2)


@given(full=unit, erased=unit, without=two, only=two)
def test_normalised_measures_lie_between_nought_and_one(full, erased, without, only):
    nc = faithfulness.normalised_comprehensiveness(full, erased, np.array(without))
    ns = faithfulness.normalised_sufficiency(full, erased, np.array(only))
    for values in (nc, ns):
        assert ((values >= 0) & (values <= 1)).all()
    assert erased < full or not nc.any(), "the erased text is as sure, so nothing can be told"


@given(scores=st.lists(few_values, min_size=1, max_size=9), seed=st.integers(0, 99))
def test_ranks_fall_and_ties_are_drawn(scores, seed):
    scores = np.array(scores)
    order = faithfulness.rank_tokens(scores, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(scores)))
    assert (np.diff(scores[order]) <= 0).all()
    first = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    assert faithfulness.rank_tokens(scores).tolist() == first
    rng = np.random.default_rng(seed)
    assert {int(faithfulness.rank_tokens(np.zeros(3), rng)[0]) for _ in range(40)} == {0, 1, 2}


def test_erasure_refuses_what_is_not_finite_and_scores_of_other_tokens(tiny, exact):
    tokens = tiny.tokens(models.instance("good bad"))
    for scores, said in (
        ([0.0, np.nan], "position 1 is nan"),
        ([0.0, np.inf], "position 1 is inf"),
        ([0.0], "1 scores for 2 content tokens"),
        ([0.0] * 4, "4 scores for 2 content tokens"),
    ):
        with pytest.raises(ValueError, match=said):
            exact.converse([("x", faithfulness.erase(tokens, np.array(scores), [0.5]))])


@settings(max_examples=20)
@given(
    columns=st.lists(
        st.lists(st.one_of(few_values, st.just(np.nan)), min_size=4, max_size=4),
        min_size=1,
        max_size=3,
    ),
    level=st.sampled_from([0.5, 0.95]),
)
def test_bootstrap_equals_resampling_one_by_one(columns, level):
    values = np.array(columns).T
    values = values[:, ~np.isnan(values).all(axis=0)]
    if not values.size:
        return
    mean, low, high = intervals.bootstrap_mean(values, 60, level, "twin", 1)
    counts = generator("bootstrap", "twin", 1).multinomial(4, np.full(4, 0.25), size=60)
    for j, column in enumerate(values.T):
        expected = slow_intervals.bootstrap_mean(column, counts, level)
        np.testing.assert_allclose([mean[j], low[j], high[j]], expected, atol=1e-9)


def test_bootstrap_draws_by_name_keeps_shapes_and_refuses_what_has_no_mean():
    values = np.random.default_rng(0).random((30, 2, 3))
    _, first, _ = intervals.bootstrap_mean(values, 50, 0.9, "a")
    _, again, _ = intervals.bootstrap_mean(values, 50, 0.9, "a")
    _, other, _ = intervals.bootstrap_mean(values, 50, 0.9, "b")
    assert first.shape == (2, 3) and (first == again).all() and (first != other).any()
    # whatever is compared gets the same draws
    _, alone, _ = intervals.bootstrap_mean(values[:, 1, 2], 50, 0.9, "a")
    np.testing.assert_allclose(alone, first[1, 2], atol=1e-12)
    with pytest.raises(ValueError, match="infinite"):
        intervals.bootstrap_mean(np.array([1.0, -np.inf]), 10, 0.95)
    with pytest.raises(ValueError, match="at least one instance"):
        intervals.bootstrap_mean(np.zeros((0, 2)), 10, 0.95)


def test_a_constant_scores_exactly_what_random_scores():
    """Contract 6, for agreement: random scores expect the mean over all orders of the tokens."""
    other = np.array([2.0, 0.0, 1.0, 1.0, -3.0])
    orders = [np.array(p, float) for p in permutations(range(5))]
    # a constant beside some scores, and beside another constant, which is as good as any order
    for k, (constant, rival, ordered) in product(
        range(1, 6), ((np.zeros(5), other, other), (np.ones(5), np.zeros(5), orders[0]))
    ):
        random = np.mean([agreement.agreement_at_k([order, ordered], k) for order in orders])
        found = agreement.agreement_at_k([constant, rival], k)
        np.testing.assert_allclose(found, random, atol=1e-12)
