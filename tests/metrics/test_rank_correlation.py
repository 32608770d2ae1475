"""Judges compared: tau-b against scipy and its definition, the bootstrap, prices and overlaps
against slow twins.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from reference import rank_correlation as slow
from scipy.stats import kendalltau

from attreval.core.seeds import generator
from attreval.metrics import agreement, rank_correlation
from compendium.papers.joint import over_runs

few = st.sampled_from([-1.0, -0.25, 0.0, 0.5, 2.0])  # few, so that ties are common; sums are exact
holes = st.one_of(few, st.just(float("nan")))
pairs = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.lists(few, min_size=n, max_size=n)] * 2))


@given(pair=pairs)
def test_tau_b_is_that_of_scipy_and_of_its_definition(pair):
    a, b = map(np.array, pair)
    found = rank_correlation.tau_b(np.stack([a, b]), np.stack([b, b]))
    np.testing.assert_allclose(found, [slow.tau_b(a, b), slow.tau_b(b, b)], atol=1e-12)
    if len(a) > 1:
        np.testing.assert_allclose(found[0], kendalltau(a, b, variant="b").statistic, atol=1e-12)


def test_rounding_orders_nobody_and_nan_stays():
    a = np.array([0.1 + 0.2, 0.3, 0.7])
    assert rank_correlation.tau_b(a, np.array([1.0, 2.0, 3.0])) == pytest.approx(
        slow.tau_b([0, 0, 1], [1, 2, 3])
    )
    assert np.isnan(rank_correlation.tau_b(np.array([1.0, np.nan, 2.0]), np.arange(3.0)))
    assert np.isnan(rank_correlation.tau_b(np.ones(4), np.arange(4.0)))
    with pytest.raises(ValueError, match="same methods"):
        rank_correlation.tau_b(np.ones(3), np.ones(4))


@given(values=arrays.arrays(float, st.tuples(*[st.integers(1, 4)] * 3), elements=holes))
def test_drawn_means_are_those_of_the_drawn_texts_and_seeds(values):
    seeds, texts, methods = values.shape
    found = rank_correlation.draw_judges(
        {"x": values}, [f"m{i}" for i in range(methods)], 6, "test"
    )
    rng = generator("judges", "test")
    of_seed, of_text = (rng.multinomial(n, np.full(n, 1 / n), size=6) for n in (seeds, texts))
    for draw in range(6):
        expected = slow.resampled_mean(values, of_seed[draw], of_text[draw])
        np.testing.assert_allclose(found.drawn["x"][draw], expected, atol=1e-12)
    plain = slow.resampled_mean(values, np.ones(seeds), np.ones(texts))
    np.testing.assert_allclose(found.means["x"], plain, atol=1e-12)
    assert found.counts["x"].tolist() == (~np.isnan(values)).sum(axis=(0, 1)).tolist()


def test_all_judges_see_the_same_draws():
    values = np.random.default_rng(1).random((2, 9, 5))
    one = rank_correlation.draw_judges({"a": values, "b": values}, list("vwxyz"), 20, "run")
    alone = rank_correlation.draw_judges({"b": values}, list("vwxyz"), 20, "run")
    assert (one.drawn["a"] == one.drawn["b"]).all() and (one.drawn["b"] == alone.drawn["b"]).all()
    with pytest.raises(ValueError, match="every judge needs"):
        rank_correlation.draw_judges({"a": values, "b": values[:, 1:]}, list("vwxyz"), 20, "run")


@given(pair=pairs, k=st.integers(1, 4))
def test_overlap_is_the_mean_over_tie_breaks(pair, k):
    a, b = map(np.array, pair)
    np.testing.assert_allclose(
        agreement.overlap_at_k(a, b, k), slow.overlap_at_k(a, b, k), atol=1e-12
    )
    assert np.isnan(agreement.overlap_at_k(a[:0], b[:0], k))
    with pytest.raises(ValueError, match="same tokens"):
        agreement.overlap_at_k(a, np.append(b, 0), k)


# pooled together, and of the texts
RUNS = 19
DRAWS = 120


def covered(methods, texts, tau, tails, rng):
    """(runs,) and (pools,) whether nominal 95 % intervals hold the tau-b of true means, and their
    own estimate.
    """
    worlds = RUNS * 12
    shape = (worlds, texts, methods, 2)
    rho = np.sin(np.pi * tau / 2)
    true = rng.normal(size=(worlds, methods, 2)) @ np.linalg.cholesky([[1, rho], [rho, 1]]).T
    noise = rng.standard_t(3, shape) / np.sqrt(3) if tails else rng.normal(size=shape)
    if tails:  # and noise that is unequal
        true /= np.sqrt(rng.chisquare(4, (worlds, methods, 1)) / 4)
        noise *= rng.choice([0.4, 1, 1.4], (worlds, 1, methods, 2))
    values = true[:, None] + noise + rng.normal(size=(worlds, texts, 1, 1))
    weights = rng.multinomial(texts, np.full(texts, 1 / texts), DRAWS) / texts
    drawn = (weights @ values.reshape(worlds, texts, -1)).reshape(worlds, DRAWS, methods, 2)
    taus = rank_correlation.true_tau_b(values.mean(axis=1), drawn, rng)
    truth = rank_correlation.tau_b(true[..., 0], true[..., 1])
    single = [(float(np.median(one)), one) for one in taus]
    runs = [(0.0, one, methods) for one in taus]
    pooled = [over_runs.pool(runs[at : at + RUNS])[:2] for at in range(0, worlds, RUNS)]
    assert all(
        low <= middle <= high for middle, one in single + pooled for low, high in [ends(one)]
    )
    truths = (truth, truth.reshape(-1, RUNS).mean(axis=1))
    return [
        [
            low <= t <= high
            for t, (_, one) in zip(of, found, strict=True)
            for low, high in [ends(one)]
        ]
        for of, found in zip(truths, (single, pooled), strict=True)
    ]


def ends(drawn):
    return np.quantile(drawn, [0.025, 0.975])


@pytest.mark.parametrize("texts", [20, 300])
def test_an_interval_of_rank_correlation_holds_the_truth_as_often_as_it_says(texts):
    """The percentile bootstrap holds .00-.97 of these, and .00-.9 of those that are pooled."""
    rng = np.random.default_rng(texts)
    cells = {}
    for methods, tau, tails in product((12,), (0.5, 0.9), (False, True)):
        cells[methods, tau, tails] = covered(methods, texts, tau, tails, rng)
    said = {cell: [round(float(np.mean(held)), 3) for held in of] for cell, of in cells.items()}
    single, pooled = (np.mean(np.concatenate(held)) for held in zip(*cells.values(), strict=True))
    most = 0.98 if texts < 100 else 1  # of the few that are pooled all may hold
    assert 0.92 <= single <= 0.98 and 0.92 <= pooled <= most, (
        f"{single:.3f}, {pooled:.3f} pooled; of each: {said}"
    )
    assert min(one for one, _ in said.values()) >= 0.89, said
