"""Kernel SHAP, Bivariate Shapley and interactions against brute force, and against the shap
library.
"""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import coalitions, erasures, models
from reference.pieces import check_pairs

from attreval.core.units import find_units
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.shapley import (
    CoalitionGame,
    bivariate_values,
    draw_coalitions,
    fit_values,
    shapley_values,
)
from compendium.papers.sun2024 import explanations

sizes = st.integers(2, 5)
seeds = st.integers(0, 999)


def play(n, values, samples, seed=0):
    """A game of coalitions of which all (2^n,) values are known."""
    masks, weights = draw_coalitions(n, samples, np.random.default_rng(seed))
    found = values[masks @ (1 << np.arange(n))]
    return CoalitionGame(masks, weights, found, values[0], values[-1])


@given(n=sizes, seed=seeds, constant=st.booleans())
def test_all_coalitions_give_exact_values(n, seed, constant):
    values = np.full(2**n, 0.3) if constant else np.random.default_rng(seed).random(2**n)
    game = play(n, values, 2**n)
    assert_allclose(shapley_values(game), coalitions.shapley(values, n), atol=1e-10)
    pairs = coalitions.bivariate(values, n)
    assert_allclose(bivariate_values(game), pairs, atol=1e-10)
    oracle = explanations.bivariate_from_values(values, len(values), np.random.default_rng(0))
    assert_allclose(oracle, pairs, atol=1e-10)
    links = coalitions.interactions(values, n)
    assert_allclose(explanations.shapley_interactions(values), links, atol=1e-10)


@given(n=st.integers(6, 9), seed=seeds, offset=st.floats(-1, 1))
def test_an_additive_game_shares_each_unit_in_half(n, seed, offset):
    """Even a sample of coalitions says so exactly, since every one of them comes with its
    complement.
    """
    single = np.random.default_rng(seed).random(n)
    values = offset + explanations.all_coalitions(n) @ single
    half = np.tile(single[:, None] / 2, (1, n)) * ~np.eye(n, dtype=bool)
    for samples in (2**n, 50):
        found = explanations.bivariate_from_values(values, samples, np.random.default_rng(seed))
        assert_allclose(found, half, atol=1e-9)


@given(n=st.integers(1, 40), samples=st.integers(2, 300), seed=seeds)
def test_drawn_coalitions_are_proper_within_budget_and_mirrored(n, samples, seed):
    masks, weights = draw_coalitions(n, samples, np.random.default_rng(seed))
    if n == 1:
        assert len(masks) == 0
        return
    size = masks.sum(axis=1)
    assert len(masks) <= max(samples, 2) and size.min() >= 1 and size.max() <= n - 1
    assert len({m.tobytes() for m in masks}) == len(masks)
    assert_allclose(weights.sum(), 1, atol=1e-9)
    by_row = {m.tobytes(): w for m, w in zip(masks, weights, strict=True)}
    assert_allclose([by_row[m.tobytes()] for m in ~masks], weights, atol=1e-12)


def test_too_few_coalitions_treat_units_alike():
    """Two coalitions cannot tell three units apart that are always together."""
    masks = np.array([[True, True, True, False], [False, False, False, True]])
    found = fit_values(masks, np.ones(2), np.array([[0.6], [0.4]]), 1.0)
    assert_allclose(found[:, 0], [0.2, 0.2, 0.2, 0.4], atol=1e-12)


def library_values(game, n, samples, seed):
    """What the shap library's own estimator gives."""
    import shap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.seed(seed)  # noqa: NPY002 - the library draws from the global generator
        explainer = shap.KernelExplainer(game, np.zeros((1, n)))
        whole = np.ones((1, n))
        found = explainer.shap_values(whole, nsamples=samples, l1_reg=False, silent=True)
        return found[0]


def test_the_shap_library():
    """The same values where every coalition is enumerated, and as close to them where coalitions
    are drawn.
    """
    n = 9
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=n)
        b = rng.normal(size=(n, n)) / n

        def game(rows, a=a, b=b):
            rows = np.asarray(rows, float)
            return np.tanh(0.7 * rows @ a + np.einsum("ri,ij,rj->r", rows, b, rows))

        values = game(explanations.all_coalitions(n))
        exact = shapley_values(play(n, values, 2**n))
        assert_allclose(library_values(game, n, 2**n, seed), exact, atol=1e-6)
        found = shapley_values(play(n, values, 200, seed))
        library = library_values(game, n, 200, seed)
        errors.append([np.abs(found - exact).mean(), np.abs(library - exact).mean()])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 1.2 * theirs


def test_methods_on_a_model_are_brute_force_over_masked_texts(tiny):
    """Kernel SHAP and Bivariate Shapley of all coalitions against their definitions."""
    for segments, unit, n in (
        (("good",), "subword", 1),
        (("the film",), "word", 2),
        (("the brave", "not unbelievably"), "word", 4),
        (("brave", "unbelievably"), "subword", 6),
        (("A film. It was good. Was it?", "Nobody saw it. Nobody will."), "sentence", 5),
    ):
        tokens = tiny.tokens(models.instance(*segments))
        units = find_units(tokens, unit)
        assert len(units) == n
        values = np.zeros(2**n)
        for code in range(2**n):
            gone = {p for u in range(n) if not code >> u & 1 for p in units.groups[u]}
            row = [tokens.mask_id if p in gone else i for p, i in enumerate(tokens.ids)]
            z = np.exp(erasures.logits(tiny.at("float64"), row, tokens.segments))
            values[code] = z[1] / z.sum()
        budget = Budget(units=UnitSettings(unit=unit, shapley_samples=2**n))
        single = models.scores_of(tiny, "kernel_shap", tokens, budget=budget)
        assert_allclose(single.values, coalitions.shapley(values, n), atol=1e-9)
        assert single.features == units.groups
        pairs = models.scores_of(tiny, "bivariate_shapley", tokens, budget=budget)
        check_pairs(pairs, units, coalitions.bivariate(values, n))
