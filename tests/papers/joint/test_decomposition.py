"""Variance components of orders of methods: planted ones are found, and exchanged names give what chance gives."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference.variance_components import expected_mean_squares

from compendium.papers.joint import decomposition
from compendium.papers.joint.decomposition import (
    SEEDS,
    SHARES,
    decomposition_table,
    draw_decomposition,
    say_decomposition,
)

METRICS = ("pointing", "agreement", "nc", "simplicity")  # one a judge
KINDS = dict.fromkeys("abcd", "gru") | dict.fromkeys("xy", "transformer")
MODELS = {name: SimpleNamespace(architecture=kind) for name, kind in KINDS.items()}


@pytest.fixture(autouse=True)
def fewer_worlds(monkeypatch):
    """A tenth of the exchanges, each of them dear: p can be as low as .01."""
    monkeypatch.setattr(decomposition, "EXCHANGES", 99)


def plant(methods, judge, model, both, models="abcd", number=200, error=0.0, seed=0):
    """A summary whose scores are sums of normal effects with these variances; `error` is of the texts."""
    rng, scale = np.random.default_rng(seed), np.sqrt([methods, judge, model, both])
    own, of_judge = rng.standard_normal(number), rng.standard_normal((len(METRICS), number))
    of_model, rows = rng.standard_normal((len(models), number)), []
    for (a, name), (j, metric) in product(enumerate(models), enumerate(METRICS)):
        value = scale @ np.stack([own, of_judge[j], of_model[a], rng.standard_normal(number)])
        value = 7 + 3 * (value + error * rng.standard_normal(number))
        half = 3 * error * 1.959964
        rows += [("t", name, "tokens", f"m{at}", metric, x, x - half, x + half) for at, x in enumerate(value)]
    columns = ["task", "model", "granularity", "method", "metric", "mean", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("planted", [(0.5, 0.3, 0.1, 0.1), (0.2, 0.1, 0.6, 0.1), (0.9, 0.0, 0.0, 0.1)])
@pytest.mark.parametrize("error", [0.0, 0.5])
def test_planted_components_are_found(planted, error):
    row = decomposition_table(plant(*planted, error=error), MODELS, 40, 0.95).set_index("reading").loc["all"]
    assert row[["methods", "judge", "model", "both"]].to_numpy(float) == pytest.approx(planted, abs=0.13)
    assert row[["methods", "judge", "model", "both"]].sum() == pytest.approx(1)
    assert row.p_judge < 0.05 or not planted[1]
    assert row.p_model < 0.05 or not planted[2]
    assert row.lead_low <= row.lead <= row.lead_high and (row.models, row.metrics, row.methods_low < 1) == (4, 4, True)


def test_equals_the_analysis_of_variance_of_a_balanced_design():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((1, 1, 50)) + rng.standard_normal((3, 1, 50)) + rng.standard_normal((3, 4, 50))
    columns -= columns.mean(axis=-1, keepdims=True)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    same_judge, same_model, neither = decomposition.share_variance(columns, np.arange(4), pairs, np.ones(3))
    method, model, judge, _ = expected_mean_squares(columns)
    shrink = 49 / 50  # sums of squares over methods are divided by their number here
    by_hand = method * shrink, model * shrink, judge * shrink
    assert (neither, same_model - neither, same_judge - neither) == pytest.approx(by_hand)


def test_kinds_of_models_and_what_the_sentence_says():
    alike, apart = plant(0.5, 0.4, 0.0, 0.1, "abc"), plant(0.5, 0.4, 0.0, 0.1, "xy", seed=5)
    table = decomposition_table(pd.concat([alike, apart]), MODELS, 40, 0.95)
    assert set(table.kind) == {"transformers", "recurrent and convolutional networks", "one of each"}
    mixed = table[(table.kind == "one of each") & (table.reading == "all")].iloc[0]
    assert mixed.methods == pytest.approx(0, abs=0.1) and mixed.model == pytest.approx(0.5, abs=0.12)
    said = say_decomposition(table)
    assert said.startswith("Within a family of models the judge makes 0.") and "from one family" in said
    assert draw_decomposition(table).get_legend_handles_labels()[1][1] == "with the judge"


def test_the_share_of_training_anew_is_told_from_that_of_another_model():
    """Each of four models has three seeds: .1 of the variance is the seed's, .2 the model's."""
    rng, number, rows = np.random.default_rng(7), 300, []
    own, of_judge = rng.standard_normal(number), rng.standard_normal((len(METRICS), number))
    for name in "abcd":
        of_model = rng.standard_normal(number)
        for seed in (1, 2, 3):
            of_seed = rng.standard_normal(number)
            for j, metric in enumerate(METRICS):
                parts = np.stack([own, of_judge[j], of_model, of_seed, rng.standard_normal(number)])
                value = np.sqrt([0.4, 0.2, 0.2, 0.1, 0.1]) @ parts
                rows += [("t", name, seed, "tokens", f"m{at}", metric, x, x, x) for at, x in enumerate(value)]
    columns = ["task", "model", "seed", "granularity", "method", "metric", "mean", "low", "high"]
    table = decomposition_table(pd.DataFrame(rows, columns=columns), MODELS, 60, 0.95)
    anew, other = (table[(table.reading == "all") & (table.kind == kind)].iloc[0] for kind in table.kind.unique()[:2])
    assert (anew.kind, anew.models, other.models) == (SEEDS, 12, 12)
    assert (anew.model, other.model) == pytest.approx((0.1, 0.3), abs=0.07)
    assert (anew.methods, other.methods) == pytest.approx((0.6, 0.4), abs=0.1)
    assert anew.judge == pytest.approx(other.judge, abs=0.05) and max(anew.p_model, other.p_model) < 0.05
    assert anew.model_low - 0.02 <= 0.1 <= anew.model_high and other.model_low <= 0.3 <= other.model_high
    assert say_decomposition(table).startswith("Where one network is trained anew the judge makes 0.")


def test_models_are_drawn_with_all_their_seeds():
    pairs, of_model = np.array([(0, 1), (0, 2), (0, 3), (2, 3)]), np.array([0, 0, 1, 1])
    rng = np.random.default_rng(0)
    drawn = np.array([decomposition._draw_pairs(pairs, of_model, rng) for _ in range(2000)])
    # a model is there .75 of the time, both of its seeds half of that; one of each model's with both models (.5)
    assert (drawn > 0).mean(axis=0) == pytest.approx([0.375, 0.5 * 0.75**2, 0.5 * 0.75**2, 0.375], abs=0.04)
    single = np.array([decomposition._draw_pairs(np.array([(0, 1)]), np.arange(2), rng)[0] for _ in range(2000)])
    assert set(single) == {0, 1} and single.mean() == pytest.approx(0.5, abs=0.04)


def test_needed_orders_follow_spearman_and_brown():
    row = decomposition_table(plant(0.5, 0.3, 0.1, 0.1), MODELS, 2, 0.95).iloc[0]
    mean_of = row.needed * row.methods / (1 + (row.needed - 1) * row.methods)
    assert mean_of == pytest.approx(0.8)
    nothing = decomposition_table(plant(0.0, 0.5, 0.3, 0.2, number=9, seed=3), MODELS, 2, 0.95).iloc[0]
    assert np.isfinite(nothing.needed) == (nothing.methods > 0)


def test_nothing_to_compare():
    table = decomposition_table(plant(0.5, 0.3, 0.1, 0.1, "a"), MODELS, 2, 0.95)
    assert table.empty and "no rows" in say_decomposition(table) and draw_decomposition(table) is not None
    noisy = plant(0.5, 0.3, 0.1, 0.1, error=2.0)  # the texts make four fifths of what is seen
    assert decomposition_table(noisy, MODELS, 2, 0.95)[list(SHARES)].isna().all(axis=None)


def test_exchanged_names_have_no_share():
    chance = [
        decomposition_table(plant(0.5, 0.3, 0.0, 0.2, number=12, seed=seed), MODELS, 2, 0.95).p_model.iloc[0]
        for seed in range(12)
    ]
    assert np.mean(chance) == pytest.approx(0.5, abs=0.25) and min(chance) > 0.001


def test_intervals_hold_what_many_models_would_give(monkeypatch):
    monkeypatch.setattr(decomposition, "EXCHANGES", 1)
    held = []
    for seed in range(16):
        many = plant(0.4, 0.3, 0.1, 0.2, [f"m{at}" for at in range(20)], number=20, error=0.3, seed=seed)
        models = {name: MODELS["a"] for name in many.model.unique()}
        few = many[many.model.isin([*models][:4])]
        truth, told = (decomposition_table(part, models, draws, 0.95).iloc[0] for part, draws in ((many, 1), (few, 60)))
        held.append(told.lead_low <= truth.lead <= told.lead_high)
    assert np.mean(held) >= 0.85
