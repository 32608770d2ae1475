"""Judges compared: tau-b against scipy and its definition, the bootstrap, prices and overlaps against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from reference import rank_correlation as slow
from scipy.stats import kendalltau

from attreval.core.seeds import generator
from attreval.metrics import pareto, rank_correlation

few = st.sampled_from([-1.0, -0.25, 0.0, 0.5, 2.0])  # few, so that ties are common; sums are exact
holes = st.one_of(few, st.just(float("nan")))
pairs = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.lists(few, min_size=n, max_size=n)] * 2))


@given(pair=pairs)
def test_tau_b_is_that_of_scipy_and_of_its_definition(pair):
    a, b = map(np.array, pair)
    found = float(rank_correlation.tau_b(a, b))
    np.testing.assert_allclose(found, slow.tau_b(a, b), atol=1e-12)
    if len(a) > 1:
        np.testing.assert_allclose(found, kendalltau(a, b, variant="b").statistic, atol=1e-12)


def test_tau_b_of_many_draws_is_that_of_each():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 30, 7)).astype(float)
    found = rank_correlation.tau_b(a, b)
    assert found.shape == (30,)
    np.testing.assert_allclose(found, [slow.tau_b(x, y) for x, y in zip(a, b, strict=True)], atol=1e-12)


def test_rounding_orders_nobody_and_nan_stays():
    a = np.array([0.1 + 0.2, 0.3, 0.7])
    assert rank_correlation.tau_b(a, np.array([1.0, 2.0, 3.0])) == pytest.approx(slow.tau_b([0, 0, 1], [1, 2, 3]))
    assert np.isnan(rank_correlation.tau_b(np.array([1.0, np.nan, 2.0]), np.arange(3.0)))
    assert np.isnan(rank_correlation.tau_b(np.ones(4), np.arange(4.0)))
    with pytest.raises(ValueError, match="same methods"):
        rank_correlation.tau_b(np.ones(3), np.ones(4))


@given(values=arrays.arrays(float, st.tuples(*[st.integers(1, 4)] * 3), elements=holes))
def test_drawn_means_are_those_of_the_drawn_texts_and_seeds(values):
    seeds, texts, methods = values.shape
    found = rank_correlation.draw_judges({"x": values}, [f"m{i}" for i in range(methods)], 6, "test")
    rng = generator("judges", "test")
    of_seed, of_text = (rng.multinomial(n, np.full(n, 1 / n), size=6) for n in (seeds, texts))
    for draw in range(6):
        expected = slow.resampled_mean(values, of_seed[draw], of_text[draw])
        np.testing.assert_allclose(found.drawn["x"][draw], expected, atol=1e-12)
    np.testing.assert_allclose(
        found.means["x"], slow.resampled_mean(values, np.ones(seeds), np.ones(texts)), atol=1e-12
    )
    assert found.counts["x"].tolist() == (~np.isnan(values)).sum(axis=(0, 1)).tolist()


def test_all_judges_see_the_same_draws():
    values = np.random.default_rng(1).random((2, 9, 5))
    one = rank_correlation.draw_judges({"a": values, "b": values}, list("vwxyz"), 20, "run")
    assert (one.drawn["a"] == one.drawn["b"]).all()
    alone = rank_correlation.draw_judges({"b": values}, list("vwxyz"), 20, "run")
    assert (one.drawn["b"] == alone.drawn["b"]).all()
    with pytest.raises(ValueError, match="every judge needs"):
        rank_correlation.draw_judges({"a": values, "b": values[:, 1:]}, list("vwxyz"), 20, "run")


@given(rows=st.lists(st.tuples(few, holes), min_size=1, max_size=7))
def test_undominated_is_that_of_every_comparison(rows):
    cost, quality = np.array(rows).T
    assert pareto.pareto_front(cost, quality).tolist() == slow.undominated(cost, quality)
    assert (pareto.pareto_front(cost, np.stack([quality, -quality]))[1] == slow.undominated(cost, -quality)).all()


@given(pair=pairs, k=st.integers(1, 4))
def test_overlap_is_the_mean_over_tie_breaks(pair, k):
    a, b = map(np.array, pair)
    np.testing.assert_allclose(pareto.overlap_at_k(a, b, k), slow.overlap_at_k(a, b, k), atol=1e-12)


def test_overlap_of_nothing_and_of_different_texts():
    assert np.isnan(pareto.overlap_at_k(np.zeros(0), np.zeros(0), 3))
    with pytest.raises(ValueError, match="same tokens"):
        pareto.overlap_at_k(np.zeros(2), np.zeros(3), 1)
    with pytest.raises(ValueError, match="one cost a method"):
        pareto.pareto_front(np.zeros(2), np.zeros(3))
