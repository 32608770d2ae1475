"""Areas between limits, on made-up values: a model that is moved by less is no less faithful; and the study runs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models
from test_joint import in_turn, profile_of

from compendium.papers.joint import limits
from compendium.papers.joint.limits import COLUMNS

METHODS = ("random", "gradient_l2", "occlusion_1", "lime")


def made_values(texts=12):
    """Model `still` moves a tenth as much as `small`, and is explained better by every method but random scores."""
    rng, rows = np.random.default_rng(0), []
    for text in range(texts):
        for model, reach in (("small", 1.0), ("still", 0.1)):
            for at, method in enumerate(METHODS):
                share = 0.2 * at + 0.05 * rng.random() + (0.2 if model == "still" and at else 0)
                row = ("snli", model, 1, f"t{text}", text > 2, method, "comprehensiveness")
                rows.append((*row, share * reach, 0.0, reach, share))
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture
def step():
    return SimpleNamespace(profile=profile_of())


def test_a_table_has_both_readings_and_the_limits(step):
    values = made_values()
    values.loc[values.instance == "t0", ["greatest", "normalised"]] = 0.0, np.nan
    table = limits.limits_table(values, step).set_index(["model", "method"])
    row, part = table.loc["still", "lime"], values[(values.model == "still") & (values.method == "lime")]
    assert row.raw == pytest.approx(part.raw.mean()) and row.normalised == pytest.approx(part.normalised.mean())
    assert row.raw_low < row.raw < row.raw_high and row.greatest == pytest.approx(0.1 * 11 / 12)
    assert (row.texts, row.told, row.exact) == (12, 11, 9 / 12)


def test_methods_keep_their_order_and_models_change_theirs(step):
    values = made_values()
    ranked = limits.methods_table(values, step)
    assert (ranked.tau == 1).all() and (ranked.low == 1).all() and (ranked.methods == 3).all()
    compared = limits.models_table(values, step).set_index("method")
    assert (compared.raw > 0)[list(METHODS[1:])].all() and (compared.normalised < 0)[list(METHODS[1:])].all()
    assert (compared.turned[list(METHODS[1:])] == "surely").all() and compared.turned["random"] != "surely"
    (row,) = limits.turned_table(compared.reset_index()).itertuples()
    assert (row.model_a, row.model_b, row.methods, row.surely) == ("small", "still", 4, 3)


def test_short_texts_are_explained_and_placed_between_their_limits(step, tiny, monkeypatch):
    texts = [models.instance("the film was good", name="a"), models.instance("a plot", "not bad", name="b")]
    texts.append(models.instance("the film was not very good , the plot was slow !", name="long"))
    monkeypatch.setattr(limits.corpora, "load", lambda task, split: texts)
    monkeypatch.setattr(limits, "load_model_once", lambda *run: tiny)
    wanted = {"tasks": {"snli": 5}, "words": 6, "methods": ["random", "occlusion_1", "decomposition"]}
    profile = profile_of(joint={"limits": wanted}, workers=1)
    run = SimpleNamespace(profile=profile, results=None, side_by_side=in_turn)
    values = limits.measure_limits(run)
    assert set(values.instance) == {"a", "b"} and set(values.method) == {"random", "occlusion_1"}
    assert len(values) == 8 and values.exact.all() and values.normalised.between(-1e-6, 1 + 1e-6).all()
    run.profile = profile_of()
    assert limits.measure_limits(run).empty and list(limits.measure_limits(run)) == COLUMNS
    for table in (limits.limits_table, limits.methods_table):
        assert table(limits.measure_limits(run), run).empty
    assert limits.turned_table(limits.models_table(limits.measure_limits(run), run)).empty


def test_a_profile_names_tasks_that_it_has():
    with pytest.raises(ValueError, match="joint: no task 'imdb'"):
        profile_of(joint={"limits": {"tasks": {"imdb": 3}}})
    with pytest.raises(ValueError, match="unknown method 'guess'"):
        profile_of(joint={"limits": {"methods": ["guess"]}})
    assert profile_of().first_runs(["rotten_tomatoes", "bbc"]) == [("rotten_tomatoes", "small", 1)]
