"""What single scores are made of: planted components are found, and the texts and models that an
order needs.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference.score_components import mean_products
from reference.variance_components import covariance

from compendium.papers.joint.needs import (
    DEPENDABLE,
    needed,
    needs_by_metric,
    needs_table,
    say_needs,
    split_variance,
)

MODELS = {name: SimpleNamespace(architecture="gru") for name in "abcd"}


def plant(variances, methods=150, texts=40, seeds=2, rng=None):
    """(u, m, n) scores of networks of four models, and of which model each is one."""
    rng = rng or np.random.default_rng(0)
    own, model, seed, text, rest = np.sqrt(variances)
    models = np.repeat(np.arange(4), seeds)
    scores = own * rng.standard_normal((1, methods, 1)) + text * rng.standard_normal(
        (1, methods, texts)
    )
    scores = scores + model * rng.standard_normal((4, methods, 1))[models]
    scores = scores + seed * rng.standard_normal((len(models), methods, 1))
    return 5 + scores + rest * rng.standard_normal((len(models), methods, texts)), models


def test_planted_components_are_found_and_equal_those_of_the_slow_twin():
    planted = (0.3, 0.1, 0.1, 0.2, 0.3)
    scores, models = plant(planted)
    found = split_variance(scores * np.arange(1, 9)[:, None, None], models)
    assert found / found.sum() == pytest.approx(planted, abs=0.07), (
        "whatever the scale of a network"
    )
    scores, models = plant(planted, methods=7, texts=5)
    centred = scores - scores.mean(axis=1, keepdims=True)
    own = np.array([covariance(one, one) for one in scores])
    told = own > 0
    scaled = centred[told] / np.sqrt(own[told])[:, None, None]
    assert split_variance(scores, models) == pytest.approx(mean_products(scaled, models[told]))


@pytest.mark.parametrize("components", [(0.3, 0.02, 0.01, 0.2, 0.47), (0.1, 0.1, 0.1, 0.1, 0.6)])
def test_what_is_needed_makes_an_order_dependable(components):
    methods, model, seed, text, rest = components
    one, texts, models = needed(np.array(components), 60)
    assert one == pytest.approx(methods / (methods + model + seed + (text + rest) / 60))
    if np.isfinite(texts):
        assert methods / (methods + model + seed + (text + rest) / texts) >= DEPENDABLE - 1e-9
    else:
        assert methods / (methods + model + seed) <= DEPENDABLE
    assert (
        methods / (methods + (model + seed + rest / 60) / models + text / 60) >= DEPENDABLE - 1e-9
    )


def test_nothing_is_enough_where_methods_do_not_differ():
    assert needed(np.array([-0.01, 0.2, 0.1, 0.3, 0.4]), 60) == (0, float("inf"), float("inf"))
    assert needed(np.array([0.1, 0, 0, 3, 0.1]), 60)[2] == float(
        "inf"
    )  # texts alone make more than is allowed


def scores(rng, constant=False):
    made, models = plant((0.4, 0.1, 0.0, 0.2, 0.3), methods=8, texts=12, rng=rng)
    rows = [
        (
            "t",
            "abcd"[models[u]],
            u % 2,
            f"i{t}",
            f"m{m}" if m else "random",
            "nc",
            1.0 if constant else value,
        )
        for (u, m, t), value in np.ndenumerate(made)
    ]
    return pd.DataFrame(
        rows, columns=["task", "model", "seed", "instance", "method", "metric", "value"]
    )


def test_the_table_has_what_all_networks_have():
    values = scores(np.random.default_rng(1))
    row = needs_table(values, MODELS).iloc[0]
    assert (row.networks, row.texts, row.metric) == (8, 12, "nc")
    assert row[["methods", "model", "seed", "text", "rest"]].sum() == pytest.approx(1)
    values.loc[
        (values.instance == "i3") & (values.model == "b") & (values.method == "m2"), "value"
    ] = np.nan
    assert needs_table(values, MODELS).iloc[0].texts == 11
    for few in (values.instance.isin(["i0", "i1"]), values.model == "a", values.seed == 0):
        assert needs_table(values[few], MODELS).empty


def test_equal_scores_need_what_nobody_has():
    table = needs_table(scores(np.random.default_rng(2), constant=True), MODELS)
    assert np.isinf(table.texts_needed).all() and (table.dependable == 0).all()
    assert "0 of 1 tasks and metrics" in say_needs(table)
    assert needs_by_metric(table).iloc[0].enough == 0
