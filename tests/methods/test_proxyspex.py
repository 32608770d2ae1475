"""ProxySPEX: exact on short texts, by least squares over all coalitions; else planted pairs."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import case, coalitions, erasures, models
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from attreval.api.catalogue import list_methods
from attreval.cli import app
from attreval.core.units import find_units, mask_units
from attreval.methods import METHODS, method, methods_for, proxyspex
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.methods.shapley import all_coalitions
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
    np.testing.assert_allclose(found, coalitions.faithful_banzhaf(values, n), atol=1e-10)


def test_coalitions_are_different_uniform_and_seeded(masks):
    assert masks.shape == (SAMPLES, UNITS) and masks.dtype == bool
    assert len(np.unique(masks, axis=0)) == SAMPLES and not masks[0].any() and masks[1].all()
    np.testing.assert_allclose(masks.mean(axis=0), 0.5, atol=0.01)  # complements
    assert (
        0.1 < (masks.sum(axis=1) == UNITS // 2).mean() < 0.4
    )  # of all coalitions 25 % have this size
    assert not np.array_equal(proxyspex.draw_uniform(UNITS, SAMPLES, seed=6), masks)


def test_a_planted_pair_comes_out_on_top_and_an_additive_game_has_none(masks, planted_scores):
    sizes = np.triu(np.abs(planted_scores), 1)
    assert np.unravel_index(sizes.argmax(), sizes.shape) == PAIR and sizes.max() == pytest.approx(
        1, abs=0.05
    )
    assert np.sort(sizes, axis=None)[-2] < 0.1
    np.testing.assert_array_equal(planted_scores, planted_scores.T)
    additive = proxyspex.fit_interactions(masks, planted_game(masks, together=0), seed=5)
    assert np.abs(additive).max() < 0.05 * sizes.max()


def test_the_same_scores_with_any_threads_and_at_any_scale(masks, planted_scores):
    """A sure model's probabilities differ by less than float32, in which trees are fitted, can
    tell.
    """
    with threadpool_limits(2):
        sure = proxyspex.fit_interactions(masks, 1 - 1e-3 + 1e-9 * planted_game(masks), seed=5)
    np.testing.assert_allclose(1e9 * sure, planted_scores, atol=1e-4)
    with pytest.raises(RuntimeError, match="other coalitions"):
        proxyspex.fit_interactions(masks, planted_game(masks), seed=6)


def test_where_trees_cannot_split_no_pair_has_a_score(masks):
    parity = (
        masks[:, 0] ^ masks[:, 1]
    )  # the same for a coalition and its complement: no unit alone moves it
    for values in (np.full(SAMPLES, 0.3), parity.astype(float)):
        assert not proxyspex.fit_interactions(masks, values, seed=5).any()


def test_short_texts_are_exact(tiny, texts):
    """Texts of one and of two parts, one of them a single token; neither shapiq nor LightGBM is
    asked.
    """
    for which, unit in (
        (0, "word"),
        (1, "word"),
        (3, "subword"),
    ):
        with case(which, unit):
            tokens = tiny.tokens(
                models.instance(*[" ".join(s.split()[:2]) for s in texts[which].segments])
            )
            units = find_units(tokens, unit)
            n = len(units)
            values = []
            for row in mask_units(tokens, units, all_coalitions(n)):
                z = np.exp(erasures.logits(tiny.at("float64"), row.tolist(), tokens.segments))
                values.append(z[1] / z.sum())
            matrix = coalitions.faithful_banzhaf(values, n)
            talks = [
                (m, METHODS[m].converse(tokens, 1, budget_of(2**n, unit), np.random.default_rng(0)))
                for m in NAMES
            ]
            scorer = Scorer(tiny, precision="float64")
            pairs, spans = scorer.converse(talks)
            assert scorer.costs["proxyspex"].requested == 2**n and len(pairs.values) == len(
                units.pairs()
            )
            for (a, b), feature, score in zip(
                units.pairs().tolist(), pairs.features, pairs.values, strict=True
            ):
                assert set(feature) == {*units.groups[a], *units.groups[b]}
                assert score == pytest.approx(matrix[a, b], abs=1e-9)
            assert len(spans.values) <= len(units.pairs())


def test_the_oracle_asks_it_of_values_that_it_knows():
    n = 7
    values = np.random.default_rng(2).random(2**7)
    exact, found = (
        explanations.proxyspex_from_values(values, some, np.random.default_rng(0))
        for some in (2**n, 80)
    )
    np.testing.assert_allclose(exact, coalitions.faithful_banzhaf(values, n), atol=1e-10)
    seed = int(np.random.default_rng(0).integers(2**31))
    drawn = proxyspex.draw_uniform(n, 80, seed)
    of_drawn = values[drawn @ (1 << np.arange(n))]
    np.testing.assert_array_equal(found, proxyspex.fit_interactions(drawn, of_drawn, seed))


def test_a_text_of_too_many_units_is_an_error_that_says_what_would_work(tiny, monkeypatch):
    monkeypatch.setattr(proxyspex, "MOST_UNITS", 4)
    tokens = tiny.tokens(models.instance("the film was not good"))
    with pytest.raises(ValueError, match=r"at most 4 units.* has 5.*unit: word"):
        next(METHODS["proxyspex"].converse(tokens, 0, budget_of(16), np.random.default_rng(0)))


def test_without_the_extra_methods_say_so_and_lists_leave_them_out(tiny, monkeypatch):
    with (
        monkeypatch.context() as patched,
        pytest.raises(ValueError, match=r"pip install 'attreval\[interactions\]'"),
    ):
        patched.setitem(sys.modules, "lightgbm", None)  # it cannot be opened
        proxyspex.draw_uniform(UNITS, SAMPLES, seed=0)
    assert (
        methods_for("recurrent", "pair")[-1] == "proxyspex" and not METHODS["proxyspex"].missing()
    )
    monkeypatch.setattr(method, "find_spec", lambda name: None if name == "lightgbm" else name)
    assert METHODS["proxyspex"].missing() == f"needs lightgbm, not installed: {INSTALL}"
    assert not set(NAMES) & {*methods_for("recurrent", "pair"), *methods_for("recurrent", "span")}
    for name in NAMES:
        with pytest.raises(ValueError, match=r"lightgbm.*pip install 'attreval\[interactions\]'"):
            explain_instances(Scorer(tiny), [models.instance("good film")], [name], budget_of(16))
    missing = {row["name"]: row["missing"] for row in list_methods()}
    assert {name for name, reason in missing.items() if reason} == set(NAMES)
    assert (
        f"proxyspex {missing['proxyspex']}" in CliRunner().invoke(app, ["list", "methods"]).output
    )


def test_below_so_many_coalitions_it_finds_no_pair_and_is_not_asked(monkeypatch):
    for samples, found in (
        (12, False),
        (78, False),
        (79, True),
    ):
        with case(samples, found):
            drawn = proxyspex.draw_uniform(12, samples, seed=5)
            values = planted_game(drawn, together=5)
            assert proxyspex.fit_interactions(drawn, values, seed=5).any() == found
            if samples == 78:
                monkeypatch.setattr(proxyspex, "FEWEST_COALITIONS", 0)
                assert not proxyspex.fit_interactions(drawn, values, seed=5).any()


def test_longer_texts_score_as_the_library_does_by_itself(tiny):
    """Not to the last digit: its ridge regression holds a large mean against large penalties, ours
    knows none.
    """
    tokens = tiny.tokens(models.instance("the film was not good", "the plot was very bad"))
    units = find_units(tokens, "word")
    seed = int(np.random.default_rng(3).integers(2**31))

    def game(rows):
        ids = mask_units(tokens, units, rows)
        z = np.array(
            [erasures.logits(tiny.at("float64"), row.tolist(), tokens.segments) for row in ids]
        )
        return np.exp(z[:, 1]) / np.exp(z).sum(axis=1)

    from shapiq.approximator import ProxySPEX

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ProxySPEX(
            n=len(units), index="FBII", max_order=2, random_state=seed
        ).approximate(100, game)
    scorer = Scorer(tiny, precision="float64")
    method = METHODS["proxyspex"]
    (found,) = scorer.converse(
        [("x", method.converse(tokens, 1, budget_of(100), np.random.default_rng(3)))]
    )
    theirs = [expected.dict_values.get(tuple(pair), 0.0) for pair in units.pairs().tolist()]
    assert scorer.costs["x"].requested == 100 and np.abs(theirs).max() > 0
    np.testing.assert_allclose(found.values, theirs, atol=0.05 * np.abs(theirs).max())
