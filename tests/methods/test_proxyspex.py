"""ProxySPEX: exact on short texts, by least squares over all coalitions; else planted pairs."""

import re
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import case, coalitions, erasures, models
from reference.pieces import check_pairs
from shapiq.approximator import ProxySPEX
from shapiq.approximator.sparse import base
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from attreval.api.catalogue import list_methods
from attreval.cli import app
from attreval.core.units import all_coalitions, find_units, mask_units
from attreval.methods import METHODS, method, methods_for, proxyspex
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer
from compendium.papers.sun2024 import explanations

NAMES = ("proxyspex", "proxyspex_spans")
INSTALL = "pip install 'attreval[interactions]'"
UNITS = 10
SAMPLES = 128
PAIR = (3, 8)


def budget_of(samples, unit="word"):
    return Budget(units=UnitSettings(unit=unit, shapley_samples=samples))


def planted_game(masks, together=1.0):
    """Some units matter alone; two count more where both are there."""
    alone = np.random.default_rng(1).normal(size=masks.shape[1]) * (np.arange(masks.shape[1]) % 2)
    return 0.1 * masks @ alone + together * masks[:, PAIR].all(axis=1)


def model_values(model, tokens, units, masks):
    """The probability of class 1 of each masked text, by the network itself."""
    values = []
    for row in mask_units(tokens, units, masks):
        z = np.exp(erasures.logits(model.at("float64"), row.tolist(), tokens.segments))
        values.append(z[1] / z.sum())
    return np.array(values)


@pytest.fixture(scope="module", autouse=True)
def quick_search():
    """One setting of the trees in place of forty fits that look for the best of eight."""

    def search(param_grid, **more):
        one = {name: values[-1:] for name, values in param_grid.items()}
        return GridSearchCV(param_grid=one, **more | {"cv": 2})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "GridSearchCV", search)
        yield


@pytest.fixture(scope="module")
def masks():
    return proxyspex.draw_uniform(UNITS, SAMPLES, seed=5)


@pytest.fixture(scope="module")
def planted_scores(masks):
    return proxyspex.fit_interactions(masks, planted_game(masks), seed=5)


@given(n=st.integers(1, 5), seed=st.integers(0, 999), constant=st.booleans())
def test_all_coalitions_give_the_interactions_of_least_squares(n, seed, constant):
    values = np.full(2**n, 0.3) if constant else np.random.default_rng(seed).random(2**n)
    found = proxyspex.banzhaf_interactions(all_coalitions(n), values)
    assert_allclose(found, coalitions.faithful_banzhaf(values, n), atol=1e-10)


def test_coalitions_are_different_uniform_and_seeded(masks):
    assert masks.shape == (SAMPLES, UNITS) and masks.dtype == bool
    assert len(np.unique(masks, axis=0)) == SAMPLES and not masks[0].any() and masks[1].all()
    assert_allclose(masks.mean(axis=0), 0.5, atol=0.01)  # complements
    # of all coalitions 25 % have this size
    assert 0.1 < (masks.sum(axis=1) == UNITS // 2).mean() < 0.4
    assert not np.array_equal(proxyspex.draw_uniform(UNITS, SAMPLES, seed=6), masks)


def test_a_planted_pair_comes_out_on_top_and_an_additive_game_has_none(masks, planted_scores):
    sizes = np.triu(np.abs(planted_scores), 1)
    assert sizes[PAIR] == sizes.max() == pytest.approx(1, abs=0.05)
    assert np.sort(sizes, axis=None)[-2] < 0.1
    assert_array_equal(planted_scores, planted_scores.T)
    additive = proxyspex.fit_interactions(masks, planted_game(masks, together=0), seed=5)
    assert np.abs(additive).max() < 0.05 * sizes.max()


def test_the_same_scores_with_any_threads_and_at_any_scale(masks, planted_scores):
    """A sure model's probabilities differ by less than float32, in which trees are fitted, can
    tell.
    """
    with threadpool_limits(2):
        sure = proxyspex.fit_interactions(masks, 1 - 1e-3 + 1e-9 * planted_game(masks), seed=5)
    assert_allclose(1e9 * sure, planted_scores, atol=1e-4)
    with pytest.raises(RuntimeError, match="other coalitions"):
        proxyspex.fit_interactions(masks, planted_game(masks), seed=6)


def test_where_trees_cannot_split_no_pair_has_a_score(masks):
    # the same for a coalition and its complement: no unit alone moves it
    parity = masks[:, 0] ^ masks[:, 1]
    for values in (np.full(SAMPLES, 0.3), parity.astype(float)):
        assert not proxyspex.fit_interactions(masks, values, seed=5).any()


def test_short_texts_are_exact(tiny, texts):
    """Texts of one and of two parts, one of them a single token; neither shapiq nor LightGBM is
    asked.
    """
    for which, unit in ((0, "word"), (1, "word"), (3, "subword")):
        short = [" ".join(s.split()[:2]) for s in texts[which].segments]
        tokens = tiny.tokens(models.instance(*short))
        units = find_units(tokens, unit)
        n = len(units)
        values = model_values(tiny, tokens, units, all_coalitions(n))
        scorer = Scorer(tiny, precision="float64")
        asked = (tokens, 1, budget_of(2**n, unit), scorer)
        with case(which, unit):
            pairs = models.scores_of(tiny, "proxyspex", *asked)
            check_pairs(pairs, units, coalitions.faithful_banzhaf(values, n))
            assert scorer.costs["proxyspex"].requested == 2**n
            spans = models.scores_of(tiny, "proxyspex_spans", *asked)
            assert len(spans.values) <= len(units.pairs())


def test_the_oracle_asks_it_of_values_that_it_knows():
    n = 7
    values = np.random.default_rng(2).random(2**n)
    exact = explanations.proxyspex_from_values(values, 2**n, np.random.default_rng(0))
    assert_allclose(exact, coalitions.faithful_banzhaf(values, n), atol=1e-10)
    found = explanations.proxyspex_from_values(values, 80, np.random.default_rng(0))
    seed = int(np.random.default_rng(0).integers(2**31))
    drawn = proxyspex.draw_uniform(n, 80, seed)
    of_drawn = values[drawn @ (1 << np.arange(n))]
    assert_array_equal(found, proxyspex.fit_interactions(drawn, of_drawn, seed))


def test_a_text_of_too_many_units_is_an_error_that_says_what_would_work(tiny, monkeypatch):
    monkeypatch.setattr(proxyspex, "MOST_UNITS", 4)
    tokens = tiny.tokens(models.instance("the film was not good"))
    with pytest.raises(ValueError, match=r"at most 4 units.* has 5.*unit: word"):
        models.scores_of(tiny, "proxyspex", tokens, budget=budget_of(16))


def test_without_the_extra_methods_say_so_and_lists_leave_them_out(tiny, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(ValueError, match=re.escape(INSTALL)):
        patch.setitem(sys.modules, "lightgbm", None)  # it cannot be opened
        proxyspex.draw_uniform(UNITS, SAMPLES, seed=0)
    assert methods_for("recurrent", "pair")[-1] == "proxyspex"
    assert not METHODS["proxyspex"].missing()
    monkeypatch.setattr(method, "find_spec", lambda name: None if name == "lightgbm" else name)
    assert METHODS["proxyspex"].missing() == f"needs lightgbm, not installed: {INSTALL}"
    assert not set(NAMES) & {*methods_for("recurrent", "pair"), *methods_for("recurrent", "span")}
    for name in NAMES:
        with pytest.raises(ValueError, match=re.escape(INSTALL)):
            explain_instances(Scorer(tiny), [models.instance("good film")], [name], budget_of(16))
    missing = {row["name"]: row["missing"] for row in list_methods() if row["missing"]}
    assert set(missing) == set(NAMES)
    listed = CliRunner().invoke(app, ["list", "methods"]).output
    assert f"proxyspex {missing['proxyspex']}" in listed


def test_below_so_many_coalitions_it_finds_no_pair_and_is_not_asked(monkeypatch):
    for samples, found in ((12, False), (78, False), (79, True)):
        drawn = proxyspex.draw_uniform(12, samples, seed=5)
        values = planted_game(drawn, together=5)
        with case(samples), monkeypatch.context() as patch:
            assert proxyspex.fit_interactions(drawn, values, seed=5).any() == found
            if samples == 78:
                patch.setattr(proxyspex, "FEWEST_COALITIONS", 0)
                assert not proxyspex.fit_interactions(drawn, values, seed=5).any()


def test_longer_texts_score_as_the_library_does_by_itself(tiny):
    """Not to the last digit: its ridge regression holds a large mean against large penalties, ours
    knows none.
    """
    tokens = tiny.tokens(models.instance("the film was not good", "the plot was very bad"))
    units = find_units(tokens, "word")
    seed = int(np.random.default_rng(0).integers(2**31))
    made = ProxySPEX(n=len(units), index="FBII", max_order=2, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = made.approximate(100, lambda rows: model_values(tiny, tokens, units, rows))
    scorer = Scorer(tiny, precision="float64")
    found = models.scores_of(tiny, "proxyspex", tokens, 1, budget_of(100), scorer)
    theirs = [expected.dict_values.get(tuple(pair), 0.0) for pair in units.pairs().tolist()]
    size = np.abs(theirs).max()
    assert scorer.costs["proxyspex"].requested == 100 and size > 0
    assert_allclose(found.values, theirs, atol=0.05 * size)
