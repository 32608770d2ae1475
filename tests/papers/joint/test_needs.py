"""What single scores are made of, and the texts and models that an order needs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference.score_components import mean_products
from reference.variance_components import covariance

from compendium.papers.joint.needs import (
    DEPENDABLE,
    needs_by_metric,
    needs_table,
    order_needs,
    say_needs,
    split_variance,
)

MODELS = dict.fromkeys("abcd", SimpleNamespace(architecture="gru"))
COLUMNS = ["task", "model", "seed", "instance", "method", "metric", "value"]


def plant(variances, methods=150, texts=40, at=0):
    """(u, m, n) scores of networks of four models with two seeds, and the model of each."""
    draw = np.random.default_rng(at).standard_normal
    own, model, seed, text, rest = np.sqrt(variances)
    models = np.repeat(np.arange(4), 2)
    scores = own * draw((1, methods, 1)) + text * draw((1, methods, texts))
    scores = scores + model * draw((4, methods, 1))[models] + seed * draw((8, methods, 1))
    return 5 + scores + rest * draw((8, methods, texts)), models


def test_planted_components_are_found_and_equal_those_of_the_slow_twin():
    planted = (0.3, 0.1, 0.1, 0.2, 0.3)
    scores, models = plant(planted)
    scores -= scores.mean(axis=1, keepdims=True)
    found = split_variance(scores * np.arange(1, 9)[:, None, None], models)
    assert found / found.sum() == pytest.approx(planted, abs=0.07), "whatever a network's scale"
    scores, models = plant(planted, methods=7, texts=5)
    scores -= scores.mean(axis=1, keepdims=True)
    own = np.array([covariance(one, one) for one in scores])
    told = own > 0
    scaled = scores[told] / np.sqrt(own[told])[:, None, None]
    assert split_variance(scores, models) == pytest.approx(mean_products(scaled, models[told]))


def test_what_is_needed_makes_an_order_dependable():
    for components in ((0.3, 0.02, 0.01, 0.2, 0.47), (0.1, 0.1, 0.1, 0.1, 0.6)):
        methods, model, seed, text, rest = components

        def share(*noise, methods=methods):
            return methods / (methods + sum(noise))

        needs = order_needs(np.array(components), 60)
        assert needs.dependable == pytest.approx(share(model, seed, (text + rest) / 60))
        least = DEPENDABLE - 1e-9
        if np.isfinite(needs.texts):
            assert share(model, seed, (text + rest) / needs.texts) >= least
        else:
            assert share(model, seed) <= DEPENDABLE
        assert share((model + seed + rest / 60) / needs.models, text / 60) >= least


def test_nothing_is_enough_where_methods_do_not_differ():
    assert order_needs(np.array([-0.01, 0.2, 0.1, 0.3, 0.4]), 60) == (0, np.inf, np.inf)
    # texts alone make more than is allowed
    assert order_needs(np.array([0.1, 0, 0, 3, 0.1]), 60).models == np.inf


def scores(at):
    made, models = plant((0.4, 0.1, 0.0, 0.2, 0.3), methods=8, texts=12, at=at)
    rows = []
    for (u, m, t), value in np.ndenumerate(made):
        about = ("t", "abcd"[models[u]], u % 2, f"i{t}", f"m{m}" if m else "random", "nc")
        rows.append((*about, value))
    return pd.DataFrame(rows, columns=COLUMNS)


def test_the_table_has_what_all_networks_have():
    values = scores(1)
    row = needs_table(values, MODELS).iloc[0]
    assert (row.networks, row.texts, row.metric) == (8, 12, "nc")
    assert row[["methods", "model", "seed", "text", "rest"]].sum() == pytest.approx(1)
    lacks = (values.instance == "i3") & (values.model == "b") & (values.method == "m2")
    assert needs_table(values[~lacks], MODELS).iloc[0].texts == 11
    for few in (values.instance.isin(["i0", "i1"]), values.model == "a", values.seed == 0):
        assert needs_table(values[few], MODELS).empty


def test_equal_scores_need_what_nobody_has():
    table = needs_table(scores(2).assign(value=1.0), MODELS)
    assert np.isinf(table.texts_needed).all() and (table.dependable == 0).all()
    assert "0 of 1 tasks and metrics" in say_needs(table)
    assert needs_by_metric(table).iloc[0].enough == 0
