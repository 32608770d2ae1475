"""Twins with and without masks: the study on tiny models, its tables on made-up values, and what its nulls say."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models
from scipy.stats import kendalltau
from test_joint import ROWS, in_turn, profile_of

from attreval.metrics import METRICS
from compendium.config import Profile
from compendium.papers.joint import masked, masked_tables
from compendium.papers.joint.figures import draw_masked
from compendium.papers.joint.masked import COLUMNS, TESTED, Twins

METHODS = ("random", "gradient_l2", "gradient_x_input", "occlusion_1", "omission_1", "lime")
SMALL = {"layers": 1, "hidden": 8, "heads": 2, "tokenizer": "minilm"}


def twins_of(plain=("small", "again"), of_model=None, again=None, **more):
    """A profile in which `rotten_tomatoes` has plain models and a masked one."""
    return Profile(
        name="made-up",
        models={"small": SMALL, "again": again or SMALL, "masked": SMALL | {"training": {"masked": True}}},
        tasks={"rotten_tomatoes": ROWS | {"models": ["small", "again", "masked"], "of_model": of_model or {}}},
        explain={"methods": ["random"], "path_steps": 2, "path_steps_most": 2},
        bootstrap={"draws": 60, "nulls": 99},
        joint={"masked": {"twins": {"rotten_tomatoes": {"plain": plain, "masked": ["masked"], "rows": 6, **more}}}},
    )


def made_values(texts=40, turned=False, seed=0):
    """Values in which methods are ordered alike by all twins, or the other way round by the masked one."""
    rng, rows = np.random.default_rng(seed), []
    for text in range(texts):
        level = 9 * rng.random()
        for role, model in (("plain", "small"), ("plain", "again"), ("masked", "masked")):
            for worth, method in enumerate(METHODS):
                value = (len(METHODS) - worth if turned and role == "masked" else worth) + rng.standard_normal()
                value += level + 2 * (role == "masked")
                rows.append(("rotten_tomatoes", role, model, f"t{text}", "mask", method, "nc", value))
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture
def step():
    return SimpleNamespace(profile=twins_of())


def test_means_and_differences_are_of_the_same_texts(step):
    values = made_values()
    values.loc[(values.instance == "t0") & (values.model == "again"), "value"] = np.nan
    table = masked_tables.values_table(values, step).set_index("method")
    part = values[(values.instance != "t0") & (values.method == "lime")]
    by_role = part.groupby("role").value.mean()
    row = table.loc["lime"]
    assert (row.plain, row.masked) == pytest.approx((by_role["plain"], by_role["masked"])) and row.texts == 39
    assert row.difference == pytest.approx(row.masked - row.plain) and row.title == METRICS["nc"].title
    assert row.difference_low < row.difference < row.difference_high
    # texts have levels of their own, which differences do not see
    assert row.difference_high - row.difference_low < row.plain_high - row.plain_low
    assert draw_masked(table.reset_index()) is not None
    assert "No models" in draw_masked(table[:0].reset_index()).texts[0].get_text()


def test_rankings_that_turn_are_told_from_those_that_stay(step):
    for turned in (False, True):
        (row,) = masked_tables.moves_table(made_values(turned=turned), step).itertuples()
        assert (row.models, row.methods, row.texts) == (3, len(METHODS) - 1, 40)
        assert row.verdict == ("moves" if turned else "no more than by chance")
        assert row.within > 0.7 and row.lost == pytest.approx(row.within - row.across)
        assert (row.across < 0 and row.lost_low > 0) if turned else (row.across > 0.7 and row.lost_low <= 0)
        assert (row.halves_within - row.halves_across > 0.5) == turned
    assert row.shift_low < row.shift < row.shift_high
    (few,) = masked_tables.moves_table(made_values(texts=6, turned=True), step).itertuples()
    assert few.verdict == "too few texts"


def test_without_a_second_seed_halves_and_exchanged_models_are_the_null(step):
    values = made_values(turned=True)
    (row,) = masked_tables.moves_table(values[values.model != "again"], step).itertuples()
    assert np.isnan(row.within) and np.isnan(row.lost) and row.verdict == "moves" and row.by_chance > row.across


def test_exchanged_models_find_nothing_where_there_is_nothing():
    step = SimpleNamespace(profile=twins_of())
    p = [masked_tables.moves_table(made_values(30, seed=seed), step).p.iloc[0] for seed in range(20)]
    assert np.mean(np.array(p) <= 0.1) <= 0.3


def test_rank_correlations_are_those_of_every_pair():
    rng, kinds = np.random.default_rng(0), np.array([False, False, True, True])
    one, other = rng.random((3, 4, 6)), rng.random((3, 4, 6))
    across, within, lost = masked_tables.rank_correlations(one, other, kinds)
    for b in range(3):
        pairs = {True: [], False: []}
        for i in range(4):
            for k in range(4):
                if i != k:
                    pairs[bool(kinds[i] == kinds[k])].append(kendalltau(one[b, i], other[b, k]).statistic)
        assert across[b] == pytest.approx(np.mean(pairs[False])) and within[b] == pytest.approx(np.mean(pairs[True]))
    assert np.allclose(lost, within - across)
    assert np.isnan(masked_tables.halves(rng.random((1, 2, 5)), kinds[1:3], rng)).all()


def test_twins_are_asked_the_same_of_the_same_texts(tiny, monkeypatch):
    texts = [models.instance(f"the film was {word} bad !", name=word, label=0) for word in ("not", "very", "so")]
    monkeypatch.setattr(masked.corpora, "load", lambda task, split, rows: texts[:rows])
    monkeypatch.setattr(masked, "load_model_once", lambda *run: tiny)
    profile = twins_of(tested=2).changed(workers=1)
    run = SimpleNamespace(profile=profile, results=None, side_by_side=in_turn)
    found = masked.measure_twins(run)
    assert list(found.values) == COLUMNS and list(found.tested) == TESTED
    assert set(found.values.role) == set(masked.ROLES) and set(found.values.erased) == {"padding", "mask", "in part"}
    # one network in all roles: every draw is the same, so is every value
    wide = found.values.pivot(index=["instance", "erased", "method", "metric"], columns="model", values="value")
    assert len(wide) == 3 * (4 + 4 + 2) * found.values.method.nunique() and wide.notna().all().all()
    assert (wide.sub(wide["small"], axis=0).abs() < 1e-6).all().all()
    hard = found.values[found.values.metric == "comprehensiveness"]
    padding, mask = (hard[hard.erased == name].value.to_numpy() for name in ("padding", "mask"))
    assert not np.allclose(padding, mask)
    assert len(found.tested) == 2 * 2 * 3 and set(found.tested.instance) == {"not", "very"}
    assert (masked_tables.values_table(found.values, run).difference.abs() < 1e-6).all()
    accuracy = masked_tables.accuracy_table(found.tested, run)
    assert accuracy.reading.tolist() == ["whole", "masked"] and (accuracy.difference == 0).all()


def test_a_profile_without_twins_gives_empty_tables():
    run = SimpleNamespace(profile=profile_of(), results=None, side_by_side=in_turn)
    found = masked.measure_twins(run)
    assert isinstance(found, Twins) and found.values.empty and found.tested.empty
    for table in (masked_tables.values_table, masked_tables.moves_table):
        assert table(found.values, run).empty
    assert masked_tables.accuracy_table(found.tested, run).empty


def test_twins_differ_in_nothing_but_masks():
    assert [run[1] for run in twins_of().twin_runs()] == ["small", "again", "masked"]
    with pytest.raises(ValueError, match="'masked' is a plain twin; give it training"):
        twins_of(plain=["small", "masked"], masked=["again"])
    with pytest.raises(ValueError, match="no model 'other' is trained on task 'rotten_tomatoes'"):
        twins_of(plain=["other"])
    with pytest.raises(ValueError, match=r"the rows of 'small' is .*'train_rows': 1,.* that of 'masked' is .*: 7"):
        twins_of(of_model={"masked": {"train_rows": 7}})
    with pytest.raises(ValueError, match="the model of 'small' is"):
        twins_of(again=SMALL | {"hidden": 16})
    with pytest.raises(ValueError, match="the training of 'small' is"):
        twins_of(again=SMALL | {"training": {"epochs": 3}})
    with pytest.raises(ValueError, match="joint: no task 'imdb'"):
        profile_of(joint={"masked": {"twins": {"imdb": {"plain": ["small"], "masked": ["small"], "rows": 2}}}})
