"""Texts explained once more with one thing changed: the studies on a tiny model, and their tables
on made-up values.
"""

from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models
from reference.profiles import TINY
from scipy.stats import kendalltau
from test_joint import METHODS, ROWS, profile_of

from attreval.methods.run import explain
from attreval.metrics import METRICS
from attreval.models.scorer import Scorer
from compendium.config import Profile
from compendium.papers.common import trained_models
from compendium.papers.joint import variant_tables as tables
from compendium.papers.joint import variants
from compendium.papers.joint.figures import draw_masked
from compendium.papers.joint.variants import BASELINES, BUDGETS, LIMITS, METHOD, STARTS, TWINS

SMALL = TINY | {"heads": 2}
TEXTS = [
    models.instance(f"the film was {word} bad", name=word, label=0)
    for word in ("not", "very", "so")
]
TEXTS.append(
    models.instance("the film was not very good , the plot was slow !", name="long", label=0)
)


def step_of(profile):
    in_turn = lambda work, jobs, what: [work(*job) for job in jobs]  # noqa: E731
    return SimpleNamespace(profile=profile, results=None, side_by_side=in_turn)


@pytest.fixture
def opened(tiny, monkeypatch):
    """Makes a step of a profile, in which every run has the tiny model and the same texts."""
    monkeypatch.setattr(trained_models, "load_model_once", lambda *run: tiny)
    monkeypatch.setattr(variants.corpora, "load_task", lambda task, split, rows=None: TEXTS[:rows])
    monkeypatch.setattr(variants.runs, "to_explain", lambda *run: TEXTS[:2])
    return lambda **given: step_of(profile_of(workers=1, **given))


def test_a_profile_without_studies_gives_empty_tables():
    step = step_of(profile_of())
    studies = ("budgets", "limits", "twins", "baselines")
    budgets, limits, twins, starts = (
        getattr(variants, f"measure_{name}")(step) for name in studies
    )
    assert [list(one) for one in (budgets, limits, twins, starts)] == [
        BUDGETS,
        LIMITS,
        TWINS,
        BASELINES,
    ]
    found = [tables.overlap_table(budgets, step), tables.baselines_table(starts, step)]
    found += [
        table(limits, step)
        for table in (tables.limits_table, tables.methods_table, tables.models_table)
    ]
    found += [
        table(twins, step)
        for table in (tables.accuracy_table, tables.values_table, tables.moves_table)
    ]
    found += [tables.stability_table(found[0]), tables.turned_table(found[4])]
    assert all(table.empty for table in found)
    assert "No models" in draw_masked(found[6]).texts[0].get_text()


def test_sampled_methods_are_explained_at_growing_budgets_with_several_seeds(opened):
    spec = {
        "tasks": {"snli": ["lime", "integrated_gradients"]},
        "rows": 2,
        "sizes": [8, 16],
        "seeds": 2,
    }
    step = opened(joint={"budgets": spec})
    found = variants.measure_budgets(step)
    assert found.groupby("method").seed.unique().map(list).to_dict() == {
        "lime": [1, 2],
        "integrated_gradients": [1],
    }
    assert (
        len(found) == 2 * 2 * 3 and found.groupby("budget").requested.max().is_monotonic_increasing
    )
    table = tables.overlap_table(found, step).set_index(["method", "budget"])
    assert table.to_largest["lime", 16] == 1 and table.instances.eq(2).all()


def test_explanations_are_stable_from_where_they_last():
    rng = np.random.default_rng(0)
    last = np.arange(9.0)
    rows = [
        (
            "snli",
            "small",
            "lime",
            size,
            seed,
            text,
            size,
            last if size > 8 else rng.permutation(last),
        )
        for size, seed, text in product((8, 16, 32), (1, 2), "ab")
    ]
    values = pd.DataFrame(rows, columns=BUDGETS)
    step = step_of(profile_of())
    overlaps = tables.overlap_table(values, step)
    assert overlaps.to_largest.tolist()[1:] == overlaps.between.tolist()[1:] == [1, 1]
    assert overlaps.to_largest[0] < 1 and (overlaps.k == 4).all()
    stability = tables.stability_table(overlaps)
    assert stability.stable_from.tolist() == stability.seeds_agree_from.tolist() == ["16"]
    falls = overlaps.assign(to_largest=[1, 0, 1], between=[1, 1, 0])
    assert (
        tables.stability_table(falls).iloc[0][["stable_from", "seeds_agree_from"]].tolist()
        == ["more than 32"] * 2
    )
    once = values[values.seed == 1].assign(method="integrated_gradients")
    overlaps = tables.overlap_table(once, step)
    assert overlaps.between.isna().all() and overlaps.to_largest.notna().all()
    assert tables.stability_table(overlaps).seeds_agree_from.tolist() == ["draws nothing"]


def limits_of(texts=12):
    """Model `still` moves a tenth as much as `small`, and is explained better by every method but
    random scores.
    """
    rng = np.random.default_rng(0)
    rows = []
    methods = enumerate(("random", "gradient_l2", "occlusion_1", "lime"))
    for text, (model, reach), (at, method) in product(
        range(texts), (("small", 1.0), ("still", 0.1)), methods
    ):
        share = 0.2 * at + 0.05 * rng.random() + (0.2 if model == "still" and at else 0)
        row = ("snli", model, f"t{text}", text > 2, method, "comprehensiveness")
        rows.append((*row, share * reach, 0.0, reach, share))
    return pd.DataFrame(rows, columns=LIMITS)


def test_a_table_has_both_readings_and_the_limits():
    values = limits_of()
    values.loc[values.instance == "t0", ["greatest", "normalised"]] = 0.0, np.nan
    table = tables.limits_table(values, step_of(profile_of())).set_index(["model", "method"])
    row = table.loc["still", "lime"]
    part = values[(values.model == "still") & (values.method == "lime")]
    assert row.raw == pytest.approx(part.raw.mean()) and row.normalised == pytest.approx(
        part.normalised.mean()
    )
    assert row.raw_low < row.raw < row.raw_high and row.greatest == pytest.approx(0.1 * 11 / 12)
    assert (row.texts, row.told, row.exact) == (12, 11, 9 / 12)


def test_methods_keep_their_order_and_models_change_theirs():
    values = limits_of()
    step = step_of(profile_of())
    ranked = tables.methods_table(values, step)
    assert (ranked.tau == 1).all() and (ranked.low == 1).all() and (ranked.methods == 3).all()
    compared = tables.models_table(values, step)
    assert (compared.raw > 0)[1:].all() and (compared.normalised < 0)[1:].all()
    assert (compared.turned[1:] == "surely").all() and compared.turned[0] != "surely"
    (row,) = tables.turned_table(compared).itertuples()
    assert (row.model_a, row.model_b, row.methods, row.surely) == ("small", "still", 4, 3)


def test_short_texts_are_explained_and_placed_between_their_limits(opened):
    wanted = {
        "tasks": {"snli": 2},
        "words": 6,
        "methods": ["random", "occlusion_1", "decomposition"],
    }
    values = variants.measure_limits(opened(joint={"limits": wanted}))
    assert set(values.instance) == {"not", "very"} and set(values.method) == {
        "random",
        "occlusion_1",
    }
    assert (
        len(values) == 8 and values.exact.all() and values.normalised.between(-1e-6, 1 + 1e-6).all()
    )


def test_every_baseline_is_judged_by_every_metric(opened, tiny, monkeypatch):
    methods = ("random", "gradient_x_input", METHOD, "integrated_gradients_zero")
    given = {"explain": {"methods": ["random"], "path_steps": 3, "path_steps_most": 3}}
    step = opened(joint={"path_baselines": {"snli": 5}}, **given)
    made = explain(
        Scorer(tiny), TEXTS[:2], methods, step.profile.explaining_of("snli"), ("snli", "small", 1)
    )
    records = {one.instance.id: one.attributions for one in made}
    monkeypatch.setattr(variants.runs, "load_records_once", lambda *run: records)
    values = variants.measure_baselines(step)
    counts = values.groupby("metric").size()
    wanted = {
        "nc",
        "ns",
        "soft_nc_equal",
        "diagnosticity",
        "agreement",
        "simplicity",
        "gap",
        "score_tau_b",
    }
    assert wanted <= set(counts.index) and (counts == 2 * len(STARTS)).all()
    gaps = values[(values.metric == "gap") & (values.instance == "not")].set_index("baseline").value
    for start, method in (("pad", METHOD), ("zero", "integrated_gradients_zero")):
        assert gaps[start] == pytest.approx(abs(records["not"][method].gap), abs=1e-6)
    table = tables.baselines_table(values, step)
    assert (table[table.baseline == "pad"].difference == 0).all() and set(table.baseline) == set(
        STARTS
    )


def test_a_difference_is_told_from_noise():
    rng = np.random.default_rng(0)
    rows = []
    for text in range(30):
        level = rng.random()
        for start in STARTS:
            value = level + (
                0.1 + 0.02 * rng.random() if start == "mean" else 0.01 * rng.standard_normal()
            )
            rows.append(("snli", "small", f"t{text}", start, "nc", value))
    rows.append(("snli", "small", "lone", "pad", "nc", 9.0))  # not every baseline has it
    table = tables.baselines_table(
        pd.DataFrame(rows, columns=BASELINES), step_of(profile_of())
    ).set_index("baseline")
    assert table.moves["mean"] and table.difference["mean"] == pytest.approx(0.11, abs=0.01)
    assert not table.moves["pad"] and (table.texts == 30).all() and table["mean"].max() < 2
    assert (
        table.difference_high["mean"] - table.difference_low["mean"]
        < (table.high["mean"] - table.low["mean"]) / 5
    )


def twins_of(plain=("small", "again"), of_model=None, again=None, **more):
    """A profile in which `rotten_tomatoes` has plain models and a masked one."""
    models = {
        "small": SMALL,
        "again": again or SMALL,
        "masked": SMALL | {"training": {"masked": True}},
    }
    given = {
        "tasks": {"rotten_tomatoes": ROWS | {"models": list(models), "of_model": of_model or {}}}
    }
    given |= {"explain": {"methods": ["random"], "path_steps": 2, "path_steps_most": 2}}
    twins = {"rotten_tomatoes": {"plain": plain, "masked": ["masked"], "rows": 3, **more}}
    given |= {"joint": {"masked": {"twins": twins}}, "bootstrap": {"draws": 60, "nulls": 99}}
    return Profile(name="made-up", models=models, workers=1, **given)


def twin_values(texts=40, turned=False, seed=0):
    """Values in which methods are ordered alike by all twins, or the other way round by the masked
    one.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for text in range(texts):
        level = 9 * rng.random()
        for model, (worth, method) in product(("small", "again", "masked"), enumerate(METHODS[:6])):
            role = "masked" if model == "masked" else "plain"
            value = (6 - worth if turned and role == "masked" else worth) + rng.standard_normal()
            value += level + 2 * (role == "masked")
            rows.append(("rotten_tomatoes", model, role, f"t{text}", "mask", method, "nc", value))
    return pd.DataFrame(rows, columns=TWINS)


def test_means_and_differences_are_of_the_same_texts():
    values = twin_values()
    values.loc[(values.instance == "t0") & (values.model == "again"), "value"] = np.nan
    table = tables.values_table(values, step_of(twins_of())).set_index("method")
    part = values[(values.instance != "t0") & (values.method == "gradient_l2")]
    row = table.loc["gradient_l2"]
    by_role = part.groupby("role").value.mean()
    assert (row.plain, row.masked) == pytest.approx(
        (by_role["plain"], by_role["masked"])
    ) and row.texts == 39
    assert (
        row.difference == pytest.approx(row.masked - row.plain) and row.title == METRICS["nc"].title
    )
    assert row.difference_low < row.difference < row.difference_high
    # texts have levels of their own, which differences do not see
    assert row.difference_high - row.difference_low < row.plain_high - row.plain_low
    assert draw_masked(table.reset_index()) is not None


def test_rankings_that_turn_are_told_from_those_that_stay():
    step = step_of(twins_of())
    noise = [tables.moves_table(twin_values(30, seed=seed), step).p.iloc[0] for seed in range(8)]
    assert np.mean(np.array(noise) <= 0.1) <= 0.25, (
        "exchanged models find nothing where there is nothing"
    )
    for turned in (False, True):
        (row,) = tables.moves_table(twin_values(turned=turned), step).itertuples()
        assert (row.models, row.methods, row.texts) == (3, 5, 40)
        assert row.verdict == ("moves" if turned else "no more than by chance")
        assert row.within > 0.7 and row.lost == pytest.approx(row.within - row.across)
        assert (
            (row.across < 0 and row.lost_low > 0)
            if turned
            else (row.across > 0.7 and row.lost_low <= 0)
        )
        assert (row.halves_within - row.halves_across > 0.5) == turned
    assert row.shift_low < row.shift < row.shift_high
    values = twin_values(turned=True)
    (few,) = tables.moves_table(
        values[values.instance.isin([f"t{at}" for at in range(6)])], step
    ).itertuples()
    assert few.verdict == "too few texts"
    # without a second seed, halves and exchanged models are the null
    (row,) = tables.moves_table(values[values.model != "again"], step).itertuples()
    assert (
        np.isnan(row.within)
        and np.isnan(row.lost)
        and row.verdict == "moves"
        and row.by_chance > row.across
    )


def test_rank_correlations_are_those_of_every_pair():
    rng = np.random.default_rng(0)
    kinds = np.array([False, False, True, True])
    one = rng.random((3, 4, 6))
    other = rng.random((3, 4, 6))
    across, within, lost = tables.rank_correlations(one, other, kinds)
    for b in range(3):
        pairs = {True: [], False: []}
        for i, k in permutations(range(4), 2):
            pairs[bool(kinds[i] == kinds[k])].append(kendalltau(one[b, i], other[b, k]).statistic)
        assert across[b] == pytest.approx(np.mean(pairs[False])) and within[b] == pytest.approx(
            np.mean(pairs[True])
        )
    assert np.allclose(lost, within - across)
    assert np.isnan(tables.halves(rng.random((1, 2, 5)), kinds[1:3], rng)).all()


def test_twins_are_asked_the_same_of_the_same_texts(opened):
    step = opened()
    step.profile = twins_of(tested=2)
    found = variants.measure_twins(step)
    tested = found[found.metric == "accuracy"]
    values = found[found.metric != "accuracy"]
    assert set(found.role) == set(variants.ROLES) and set(values.erased) == {
        "padding",
        "mask",
        "in part",
    }
    # one network in all roles: every draw is the same, so is every value
    wide = values.pivot(
        index=["instance", "erased", "method", "metric"], columns="model", values="value"
    )
    assert len(wide) == 3 * (4 + 4 + 2) * values.method.nunique() and wide.notna().all().all()
    assert (wide.sub(wide["small"], axis=0).abs() < 1e-6).all().all()
    hard = values[values.metric == "comprehensiveness"]
    padding, mask = (hard[hard.erased == name].value.to_numpy() for name in ("padding", "mask"))
    assert not np.allclose(padding, mask)
    assert len(tested) == 2 * 2 * 3 and set(tested.instance) == {"not", "very"}
    assert (tables.values_table(found, step).difference.abs() < 1e-6).all()
    accuracy = tables.accuracy_table(found, step)
    assert accuracy.reading.tolist() == ["whole", "masked"] and (accuracy.difference == 0).all()


WRONG_TWINS = [
    (
        {"plain": ["small", "masked"], "masked": ["again"]},
        "'masked' is a plain twin; give it training",
    ),
    ({"plain": ["other"]}, "no model 'other' is trained on task 'rotten_tomatoes'"),
    (
        {"of_model": {"masked": {"train_rows": 7}}},
        r"the rows of 'small' is .*'train_rows': 1,.* that of 'masked' is",
    ),
    ({"again": SMALL | {"hidden": 16}}, "the model of 'small' is"),
    ({"again": SMALL | {"training": {"epochs": 3}}}, "the training of 'small' is"),
]


@pytest.mark.parametrize(("given", "said"), WRONG_TWINS)
def test_twins_differ_in_nothing_but_masks(given, said):
    assert [run[1] for run in twins_of().twin_runs()] == ["small", "again", "masked"]
    with pytest.raises(ValueError, match=said):
        twins_of(**given)


TWINS_OF_IMDB = {"imdb": {"plain": ["small"], "masked": ["small"], "rows": 2}}


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        ({"tasks": {"bbc": 3}}, "joint: no task 'bbc'"),
        ({"asked": {"imdb": 3}}, "joint: no task 'imdb'"),
        (
            {"budgets": {"tasks": {"snli": ["gradient_l1"]}}},
            r"has no budget to vary; these have: .*lime",
        ),
        ({"limits": {"tasks": {"imdb": 3}}}, "joint: no task 'imdb'"),
        ({"limits": {"methods": ["guess"]}}, "unknown method 'guess'"),
        ({"masked": {"twins": TWINS_OF_IMDB}}, "joint: no task 'imdb'"),
    ],
)
def test_a_profile_names_its_tasks_and_methods(joint, said):
    with pytest.raises(ValueError, match=said):
        profile_of(joint=joint)
