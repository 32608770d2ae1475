"""Orders of methods of two models: alike, opposed, and no more unlike than the texts make them."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.rank_correlation import halved

from compendium.papers.common.sentences import NOTHING
from compendium.papers.joint import sentences, standing
from compendium.papers.joint.figures import draw_across

METHODS = (
    "random",
    "gradient_l1",
    "gradient_l2",
    "gradient_x_input",
    "occlusion_1",
    "omission_1",
    "lime",
)
OTHERWISE = (
    0,
    4,
    5,
    6,
    1,
    2,
    3,
)  # worths that have a rank correlation of -0.2 with those in order, but for random's
MODELS = {
    name: SimpleNamespace(architecture=kind)
    for name, kind in (("a", "transformer"), ("b", "transformer"))
}


def planted(texts=40, noise=0.3, turned=False, metrics=("nc", "ns"), seeds=(1,), lacking=()):
    """Two models whose methods have the same worths, or, by `nc` and where `turned`, other ones."""
    rng = np.random.default_rng(0)
    rows = []
    for model, metric, seed, text, method in product("ab", metrics, seeds, range(texts), METHODS):
        worth = METHODS.index(method)
        other = turned and (model, metric) == ("b", "nc")
        if (model, method) not in lacking:
            value = (OTHERWISE[worth] if other else worth) + noise * rng.standard_normal()
            rows.append(("sst2", model, seed, f"t{text}", method, metric, value, "tokens"))
    columns = ["task", "model", "seed", "instance", "method", "metric", "value", "granularity"]
    return pd.DataFrame(rows, columns=columns)


def table_of(scores, models=MODELS):
    return standing.across_table(scores, models, 100, 0.95, 99)


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_models_that_differ_by_one_metric_and_not_by_another(seeds):
    table = table_of(planted(turned=True, seeds=seeds)).set_index("metric")
    assert (
        table.tau.to_dict() == {"nc": pytest.approx(-0.2), "ns": 1}
        and table.verdict["nc"] == "differ"
    )
    assert table.verdict["ns"] == "no more than by chance" and table.p["ns"] > 0.05
    assert table.lost["nc"] == pytest.approx(1.2) and table.within["ns"] == table.across["ns"] == 1
    assert (table.methods == len(METHODS) - 1).all() and (
        table.texts == 40
    ).all()  # random is left out
    assert table.low["ns"] <= 1 and table.high["nc"] < 0.5
    by_metric = standing.across_by_metric(table.reset_index())
    assert by_metric.metric.tolist() == ["ns", "nc"] and by_metric.differ.tolist() == [0, 1]
    pair = standing.across_by_pair(table.reset_index()).iloc[0]
    assert (pair.metrics, pair.texts, pair.differ, pair.family) == (2, 40, 1, "transformers")
    assert pair.tau == pytest.approx(0.4)
    said = sentences.say_across(table.reset_index(), by_metric)
    assert said.startswith("Of 2 comparisons") and "1 find another order" in said


def test_noisy_texts_alone_are_no_difference_and_few_decide_nothing():
    table = table_of(planted(noise=30, metrics=("nc", "ns", "soft_nc_equal", "soft_ns_equal")))
    assert (
        table.verdict == "no more than by chance"
    ).all() and table.tau.min() < 0.7  # as unlike as that
    few = table_of(planted(texts=29, turned=True))
    assert (few.verdict == "too few texts").all() and draw_across(few) is not None


def test_only_texts_and_methods_that_both_have_count():
    scores = planted(lacking=[("a", "lime"), ("b", "gradient_l1")])
    scores.loc[(scores.model == "a") & (scores.instance == "t0"), "value"] = np.nan
    table = table_of(scores[(scores.model != "b") | (scores.instance != "t1")])
    assert (table.methods == 4).all() and (table.texts == 38).all()
    mixed = MODELS | {"b": SimpleNamespace(architecture="gru")}
    assert set(table_of(planted(), mixed).family) == {standing.MIXED}


KEPT = {
    "none": lambda row: row.model == "none",
    "one model": lambda row: row.model == "a",
    "other texts": lambda row: (row.model == "a") == (row.instance == "t0"),
    "three methods": lambda row: row.method.isin(METHODS[:4]),
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_nothing_to_compare(kept):
    table = table_of(planted()[kept])
    assert (
        table.empty
        and standing.across_by_metric(table).empty
        and standing.across_by_pair(table).empty
    )
    assert sentences.say_across(table, standing.across_by_metric(table)) == NOTHING
    assert draw_across(table) is not None


values = st.floats(-2, 2).map(lambda x: round(x, 1))


@given(data=st.data(), n=st.integers(2, 6), m=st.integers(4, 6))
def test_the_fast_worlds_are_the_slow_ones(data, n, m):
    array = np.array(data.draw(st.lists(values, min_size=2 * n * m, max_size=2 * n * m))).reshape(
        n, 2, m
    )
    rng = np.random.default_rng(5)
    halves = standing.cut_texts(n, rng)[:3]
    heads = rng.random((4, n)) < 0.5
    fast = standing.halved(array, halves, np.where(heads, -1, 1))
    slow = np.array([halved(array, halves, of_world) for of_world in heads]).T
    np.testing.assert_allclose(fast, slow, atol=1e-9)
