"""Orders of methods of two models: alike, opposed, and no more unlike than the texts make them."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.rank_correlation import halved
from test_joint import METHODS

from compendium.config import BootstrapSpec
from compendium.papers.common.sentences import NOTHING
from compendium.papers.joint import across
from compendium.papers.joint.values import MIXED

# worths that have a rank correlation of -0.2 with those in order, but for random's
OTHERWISE = (0, 4, 5, 6, 1, 2, 3)
MODELS = dict.fromkeys("ab", SimpleNamespace(architecture="transformer", weights="x"))


@pytest.fixture(autouse=True)
def fewer_worlds(monkeypatch):
    """A tenth of the worlds: p can be as low as .01."""
    monkeypatch.setattr(across, "WORLDS", 99)


def planted(texts=40, noise=0.3, turned=False, metrics=("nc", "ns"), seeds=(1,), lacking=()):
    """Two models whose methods have the same worths, or, by `nc` and where `turned`, other ones."""
    rng = np.random.default_rng(0)
    rows = []
    for model, metric, seed, text, method in product("ab", metrics, seeds, range(texts), METHODS):
        worth = METHODS.index(method)
        if turned and (model, metric) == ("b", "nc"):
            worth = OTHERWISE[worth]
        if (model, method) not in lacking:
            value = worth + noise * rng.standard_normal()
            rows.append(("sst2", model, seed, f"t{text}", method, metric, value, "tokens"))
    columns = ["task", "model", "seed", "instance", "method", "metric", "value", "granularity"]
    return pd.DataFrame(rows, columns=columns)


def table_of(scores, models=MODELS):
    return across.across_table(scores, models, BootstrapSpec(draws=100))


def test_models_that_differ_by_one_metric_and_not_by_another():
    for seeds in ((1,), (1, 2)):
        table = table_of(planted(turned=True, seeds=seeds))
        by = table.set_index("metric")
        nc = by.loc["nc"]
        ns = by.loc["ns"]
        assert (nc.verdict, ns.verdict) == ("differ", "no more than by chance")
        assert (nc.tau, nc.lost) == pytest.approx((-0.2, 1.2)) and nc.high < 0.5
        assert ns.tau == ns.within == ns.across == 1 >= ns.low and ns.p > 0.05
        assert (table.methods == len(METHODS) - 1).all()  # random is left out
        assert (table.texts == 40).all()
        by_metric = across.across_by_metric(table)
        assert by_metric.metric.tolist() == ["ns", "nc"] and by_metric.differ.tolist() == [0, 1]
        pair = across.across_by_pair(table).iloc[0]
        assert (pair.metrics, pair.texts, pair.differ, pair.family) == (2, 40, 1, "transformers")
        assert pair.tau == pytest.approx(0.4)
        said = across.say_across(table, by_metric)
        assert said.startswith("Of 2 comparisons") and "1 find another order" in said


def test_noisy_texts_alone_are_no_difference_and_few_decide_nothing():
    table = table_of(planted(noise=30, metrics=("nc", "ns", "soft_nc_equal", "soft_ns_equal")))
    assert (table.verdict == "no more than by chance").all()
    assert table.tau.min() < 0.7  # as unlike as that
    few = table_of(planted(texts=29, turned=True))
    assert (few.verdict == "too few texts").all() and across.draw_across(few) is not None


def test_only_texts_and_methods_that_both_have_count():
    scores = planted(lacking=[("a", "lime"), ("b", "gradient_l1")])
    scores.loc[(scores.model == "a") & (scores.instance == "t0"), "value"] = np.nan
    table = table_of(scores[(scores.model != "b") | (scores.instance != "t1")])
    assert (table.methods == 4).all() and (table.texts == 38).all()
    mixed = MODELS | {"b": SimpleNamespace(architecture="gru")}
    assert set(table_of(planted(), mixed).family) == {MIXED}


def test_nothing_to_compare():
    scores = planted()
    other_texts = (scores.model == "a") == (scores.instance == "t0")
    of_one = scores.model == "a"
    for kept in (scores.model == "none", of_one, other_texts, scores.method.isin(METHODS[:4])):
        table = table_of(scores[kept])
        by_metric = across.across_by_metric(table)
        assert table.empty and by_metric.empty and across.across_by_pair(table).empty
        assert across.say_across(table, by_metric) == NOTHING
        assert across.draw_across(table) is not None


values = st.floats(-2, 2).map(lambda x: round(x, 1))


@given(data=st.data(), n=st.integers(2, 6), m=st.integers(4, 6))
def test_the_fast_worlds_are_the_slow_ones(data, n, m):
    flat = data.draw(st.lists(values, min_size=2 * n * m, max_size=2 * n * m))
    array = np.reshape(flat, (n, 2, m))
    rng = np.random.default_rng(5)
    halves = across.cut_texts(n, rng)[:3]
    heads = rng.random((4, n)) < 0.5
    fast = across.tau_within_and_across(array, halves, np.where(heads, -1, 1))
    slow = np.array([halved(array, halves, of_world) for of_world in heads]).T
    np.testing.assert_allclose(fast, slow, atol=1e-9)
