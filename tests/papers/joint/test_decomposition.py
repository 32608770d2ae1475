"""Variance components: planted ones are found."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import variance_components as slow

from compendium.papers.joint import decomposition
from compendium.papers.joint.decomposition import (
    SEEDS,
    average_papers,
    decomposition_table,
    gather_columns,
)
from compendium.papers.joint.shares_figure import draw_decomposition, say_decomposition
from compendium.papers.joint.values import OF_TWO

# of three papers
METRICS = {"pointing": "p", "people": "a", "agreement": "a", "nc": "f", "ns": "f"}
KINDS = dict.fromkeys("abcde", "gru") | dict.fromkeys("xy", "transformer")
MODELS = {
    name: SimpleNamespace(architecture=kind, weights=None, start="x", same_as=None)
    for name, kind in KINDS.items()
}
FAMILY = "recurrent and convolutional networks"
PARTS = ["methods", "paper", "metric", "model", "both"]
KEY = ["model", "seed", "metric", "instance", "method"]


def plant(*variances, of_seed=0.0, models="abcd", seeds=1, number=150, texts=4, error=0.0, at=0):
    """Scores that are sums of normal effects with these variances of PARTS.

    error: what a text makes of a method's score on all networks alike; besides, texts differ much
    in how high they are.
    """
    methods, paper, metric, model, both = variances
    rng = np.random.default_rng(at)
    draw = rng.standard_normal
    own = draw(number)
    of_paper = {name: draw(number) for name in "paf"}
    of_metric = {name: draw(number) for name in METRICS}
    noise = error * draw((texts, number))
    height = 5 * draw(texts)
    values = []
    for _ in models:
        of_model = draw(number)
        for _ in range(seeds):
            retrained = draw(number)
            for one, letter in METRICS.items():
                effects = [own, of_paper[letter], of_metric[one], of_model, retrained, draw(number)]
                value = np.sqrt([methods, paper, metric, model, of_seed, both]) @ effects
                scale = 1 + len(values) % 3
                values.append(7 + scale * (value + noise + height[:, None]))  # (texts, number)
    names = [[*models], range(seeds), METRICS, range(texts), range(number)]
    frame = pd.MultiIndex.from_product(names, names=KEY).to_frame(index=False)
    named = {"instance": "i" + frame.instance.astype(str), "method": "m" + frame.method.astype(str)}
    return frame.assign(**named, task="t", value=np.ravel(values))


def first_row(values, draws=30, kind=None):
    table = decomposition_table(values, MODELS, draws, 0.95)
    return table[(table.reading == "all") & (table.kind == kind if kind else True)].iloc[0]


# variances, how far texts move all scores alike
PLANTED = {
    (0.4, 0.2, 0.1, 0.2, 0.1): 0.8,
    (0.2, 0.1, 0.0, 0.6, 0.1): 0.0,
    (0.9, 0.0, 0.0, 0.0, 0.1): 0.8,
}


def test_planted_components_are_found_whatever_texts_do_to_all_alike():
    for planted, error in PLANTED.items():
        row = first_row(plant(*planted, error=error, texts=6))
        assert row[PARTS].to_numpy(float) == pytest.approx(planted, abs=0.14)
        assert row[PARTS].sum() == pytest.approx(1)
        assert row.judge == pytest.approx(row.paper + row.metric)
        cut = np.maximum(0, row[PARTS].to_numpy(float))
        assert row[[f"{part}_cut" for part in PARTS]].to_numpy(float) == pytest.approx(
            cut / cut.sum()
        )
        assert row.judge_cut == pytest.approx(row.paper_cut + row.metric_cut)
        assert row.lead_low <= row.lead <= row.lead_high
        assert (row.networks, row.metrics, row.compared, row.judges.count(",")) == (4, 5, 150, 2)


def test_covariances_equal_their_slow_twin():
    values = plant(0.3, 0.2, 0.1, 0.2, 0.2, models="abx", number=7, texts=5, error=0.3)
    one_text = (values.instance == "i2") & (values.metric == "nc") & (values.model == "b")
    values = values[~one_text & ~((values.model == "x") & (values.metric == "ns"))]
    covariances = gather_columns(values).covariances(np.ones(5)).reshape(3, 5, 3, 5)
    wide = values.pivot(index=["model", "metric", "method"], columns="instance", values="value")
    wide.loc[(slice(None), "nc"), "i2"] = np.nan  # not every network has it
    for (u, one), (v, other) in product(enumerate("abx"), repeat=2):
        for (j, first), (k, second) in product(enumerate(METRICS), repeat=2):
            if "ns" not in (first, second):
                expected = slow.covariance(
                    wide.loc[one, first].to_numpy(), wide.loc[other, second].to_numpy()
                )
                assert covariances[u, j, v, k] == pytest.approx(expected), (one, other, first)


def test_means_by_paper_equal_their_slow_twin():
    made = np.random.default_rng(3).uniform(-1, 1, (3, 5, 3, 5))
    # the last network lacks the last metric
    made[2, 4] = np.nan
    made[:, :, 2, 4] = np.nan
    judges = list(METRICS.values())
    found = average_papers(made, np.array(judges))
    for (at, level), a, b in product(enumerate(("metric", "paper", "neither")), range(3), range(3)):
        expected = slow.mean_by_paper(made, judges, a, b, level)
        assert found[at, a, b] == pytest.approx(expected, nan_ok=True)


def test_texts_drawn_twice_are_no_two_texts():
    values = plant(0.5, 0.2, 0.1, 0.1, 0.1, models="ab", number=9, error=1.0)
    columns = gather_columns(values)
    once = columns.covariances(np.ones(4))
    assert not np.allclose(columns.covariances(np.array([2.0, 1, 1, 0])), once)
    # of two texts, however often they are there
    only = columns.covariances(np.array([3.0, 2, 0, 0]))
    assert only == pytest.approx(columns.covariances(np.array([1.0, 1, 0, 0])))


def test_the_share_of_training_anew_is_told_from_that_of_another_model():
    """Each of five models has three seeds: .1 of the variance is the seed's, .2 the model's."""
    values = plant(0.4, 0.2, 0.0, 0.2, 0.1, of_seed=0.1, seeds=3, models="abcde")
    anew = first_row(values, 30, SEEDS)
    other = first_row(values, 30, FAMILY)
    assert (anew.networks, other.networks) == (15, 15)
    assert (anew.model, other.model) == pytest.approx((0.1, 0.3), abs=0.08)
    assert (anew.methods, other.methods) == pytest.approx((0.6, 0.4), abs=0.12)
    assert anew.judge == pytest.approx(other.judge, abs=0.06)
    assert anew.model_low - 0.03 <= 0.1 <= anew.model_high + 0.03
    assert other.model_low - 0.03 <= 0.3 <= other.model_high + 0.03


def test_models_are_drawn_with_all_their_seeds():
    rng = np.random.default_rng(0)

    def often(pairs, of_model):
        drawn = [decomposition._draw_pairs(pairs, of_model, rng, True) for _ in range(2000)]
        return (np.array(drawn) > 0).mean(axis=0)

    pairs = np.array([(0, 1), (0, 2), (0, 3), (2, 3)])
    # a model is there .75 of the time, both of its seeds half of that; one of each model's with
    # both models (.5)
    expected = [0.375, 0.5 * 0.75**2, 0.5 * 0.75**2, 0.375]
    assert often(pairs, np.array([0, 0, 1, 1])) == pytest.approx(expected, abs=0.04)
    assert often(np.array([(0, 1)]), np.arange(2)) == pytest.approx([0.5], abs=0.04)


def test_kinds_of_models_and_what_the_sentence_says():
    alike = plant(0.5, 0.4, 0.0, 0.0, 0.1, models="abc")
    apart = plant(0.5, 0.4, 0.0, 0.0, 0.1, models="xy", at=5)
    table = decomposition_table(pd.concat([alike, apart]), MODELS, 30, 0.95)
    assert set(table.kind) == {"transformers", FAMILY, "one of each"}
    mixed = table[(table.kind == "one of each") & (table.reading == "all")].iloc[0]
    assert (mixed.methods, mixed.model) == pytest.approx((0, 0.5), abs=0.15)
    said = say_decomposition(table)
    assert said.startswith("Within a family of models the judge makes 0.")
    assert "from one family" in said
    assert draw_decomposition(table).get_legend_handles_labels()[1][1] == "with the paper"


def test_of_few_models_each_pair_is_told_by_itself_and_none_is_drawn():
    few = plant(0.4, 0.2, 0.1, 0.2, 0.1, models="abc", seeds=2, number=30)
    table = decomposition_table(few, MODELS, 5, 0.95)
    single = table[table.reading == "single"]
    assert set(single.models) == {"a | b", "a | c", "b | c"} and single.lead_low.isna().all()
    row = table[(table.reading == "all") & (table.kind == FAMILY)].iloc[0]
    assert single.lead.min() < row.lead < single.lead.max()
    assert row.models == ""
    many = plant(0.4, 0.2, 0.1, 0.2, 0.1, models="abcde", number=9)
    assert "single" not in set(decomposition_table(many, MODELS, 5, 0.95).reading)


def test_another_models_network_is_left_out():
    values = plant(0.4, 0.2, 0.1, 0.2, 0.1, models="abc", number=9)
    copied = MODELS | {"c": SimpleNamespace(**vars(MODELS["c"]) | {"same_as": "a"})}
    table = decomposition_table(values, copied, 2, 0.95)
    expected = decomposition_table(values[values.model != "c"], MODELS, 2, 0.95)
    pd.testing.assert_frame_equal(table, expected)


def test_merged_methods_count_once():
    values = plant(0.4, 0.2, 0.1, 0.2, 0.1, models="ab", number=9)
    pairs = pd.DataFrame({"first": ["m0"], "second": ["m1"], "same": [True]})
    table = decomposition_table(values, MODELS, 2, 0.95, pairs).set_index("reading")
    assert (table.compared["all"], table.compared["merged"]) == (9, 8)
    without = decomposition_table(values, MODELS, 2, 0.95, pairs.assign(same=False))
    assert "merged" not in set(without.reading)


def test_columns_that_tell_too_little_are_counted():
    values = plant(0.5, 0.2, 0.1, 0.1, 0.1, models="ab", number=20)
    noise = np.random.default_rng(0).normal(0, 99, len(values))
    noisy = values.assign(value=values.value.where(values.metric != "ns", noise))
    assert first_row(values, 2).untold == 0
    assert first_row(noisy, 2).untold == 2


def test_families_of_transformers_are_told_apart():
    spec = vars(MODELS["x"])
    models = MODELS | {"y": SimpleNamespace(**spec | {"start": None})}
    values = plant(0.4, 0.2, 0.1, 0.2, 0.1, models="axy", number=9)
    table = decomposition_table(values, models, 2, 0.95)
    assert set(table.kind) == set(OF_TWO.values())


def test_one_rule_leaves_out_the_methods_whose_rules_differ():
    """Its components are those of the other methods alone.

    Without such a method there is no such reading.
    """
    values = plant(0.4, 0.1, 0.1, 0.2, 0.2, models="abx", number=8, texts=20)
    named = values.assign(method=values.method.replace({"m0": "lrp", "m1": "deeplift"}))
    table = decomposition_table(named, MODELS, 5, 0.95).set_index("reading")
    others = decomposition_table(values[~values.method.isin(["m0", "m1"])], MODELS, 5, 0.95)
    assert set(others.reading) == {"all", "right", "single"}
    assert set(table.compared["one rule"]) == {6}
    expected = others[others.reading == "all"][PARTS]
    assert np.allclose(table.loc["one rule", PARTS], expected)
    assert not np.allclose(table.loc["all", PARTS], expected)


def test_nothing_to_compare():
    table = decomposition_table(plant(0.5, 0.2, 0.1, 0.1, 0.1, models="a"), MODELS, 2, 0.95)
    assert table.empty and "no rows" in say_decomposition(table)
    assert draw_decomposition(table) is not None
    noisy = plant(0.5, 0.2, 0.1, 0.1, 0.1, error=6.0)  # the texts make nearly all of what is seen
    shares = decomposition_table(noisy, MODELS, 2, 0.95)[list(decomposition.SHARES)]
    assert shares.isna().all(axis=None)


def test_intervals_hold_what_many_models_would_give():
    names = [f"m{at}" for at in range(16)]
    models = dict.fromkeys(names, MODELS["a"])
    held = []
    for at in range(10):
        many = plant(0.4, 0.2, 0.1, 0.1, 0.2, models=names, number=20, error=0.5, at=at)
        truth = decomposition_table(many, models, 1, 0.95).iloc[0]
        few = many[many.model.isin(names[:5])]
        told = decomposition_table(few, models, 60, 0.95).iloc[0]
        held.append(told.lead_low <= truth.lead <= told.lead_high)
    assert np.mean(held) >= 0.8
