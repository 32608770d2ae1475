"""Where methods stand, on planted values: order, families, chance, and what was not measured."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from test_joint import METHODS, planted_values, scores_of

from compendium.papers.joint.figures import draw_places
from compendium.papers.joint.places import MEAN, WORDS, places_table

MODELS = {"small": SimpleNamespace(architecture="transformer"), "gru": SimpleNamespace(architecture="gru")}


def test_planted_order_is_found_and_a_metric_of_the_other_order_turns_it():
    table = places_table(scores_of(planted_values(texts=40)), MODELS, 0.95)
    assert set(table.family) == {"transformers"} and table.method.iloc[0] in METHODS
    nc = table[table.metric == "nc"].set_index("method")
    slow = {m: i / (len(METHODS) - 1) for i, m in enumerate(METHODS)}  # each beats those planted below it
    assert all(np.isclose(nc.place[m], share) for m, share in slow.items())
    assert nc["rank"]["lime"] == 1 and nc["of"]["lime"] == len(METHODS) and nc.verdict["lime"] == "above"
    other = table[table.metric == "agreement"].set_index("method")
    assert all(np.isclose(other.place[m], 1 - share) for m, share in slow.items()) and other.verdict["lime"] == "below"
    mean = table[table.metric == MEAN].set_index("method")
    assert np.isclose(mean.place["lime"], (1 + 1 + 0) / 3)


def test_equal_methods_stand_at_one_half_and_noise_is_not_told():
    values = planted_values(texts=40, metrics=("nc",))
    same = places_table(scores_of(values.assign(value=0.3)), MODELS, 0.95)
    assert np.allclose(same.place, 0.5) and (same.verdict == "cannot be told").all()
    values["value"] = np.random.default_rng(4).standard_normal(len(values))
    noise = places_table(scores_of(values, 300), MODELS, 0.95)
    assert (noise[noise.metric == "nc"].verdict == "cannot be told").mean() >= 0.7


def test_families_are_apart_and_what_a_family_lacks_is_left_out():
    values = planted_values()
    words = values[(values.metric == "nc") & (values.method != "lime")].assign(model="gru")
    table = places_table(scores_of(pd.concat([values, words])), MODELS, 0.95)
    own = table[table.family == WORDS]
    assert set(own.metric) == {MEAN, "nc"} and "lime" not in set(own.method)
    axes = draw_places(table)
    assert len(axes.figure.axes) == 3  # two panels and the scale
    assert draw_places(table.iloc[:0]).texts
