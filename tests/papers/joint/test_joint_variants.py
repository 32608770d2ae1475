"""The studies of variants on a tiny model, and their tables on made-up values."""

from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import models
from reference.profiles import TINY
from scipy.stats import kendalltau
from test_joint import METHODS, ROWS, profile_of

from attreval.methods.run import explain_instances
from attreval.metrics import METRICS
from attreval.models.scorer import Scorer
from compendium.config import Profile
from compendium.papers.common import trained_models
from compendium.papers.joint import baselines, budgets, limits, twins
from compendium.papers.joint.baselines import BASELINES, COLUMNS, METHOD
from compendium.papers.joint.budgets import BUDGETS
from compendium.papers.joint.limits import LIMITS
from compendium.papers.joint.twins import TWINS

SMALL = TINY | {"heads": 2}
TEXTS = [
    models.instance(f"the film was {word} bad", name=word, label=0)
    for word in ("not", "very", "so")
]
LONG = "the film was not very good , the plot was slow !"
TEXTS.append(models.instance(LONG, name="long", label=0))


def step_of(profile):
    in_turn = lambda work, jobs, what: [work(*job) for job in jobs]  # noqa: E731
    return SimpleNamespace(profile=profile, results=None, side_by_side=in_turn)


STEP = step_of(profile_of())


@pytest.fixture
def opened(tiny, monkeypatch):
    """Makes a step of a profile, in which every run has the tiny model and the same texts."""
    monkeypatch.setattr(trained_models, "load_model_once", lambda *run: tiny)
    monkeypatch.setattr(limits.corpora, "load_task", lambda task, split, rows=None: TEXTS[:rows])
    monkeypatch.setattr(budgets.runs, "to_explain", lambda *run: TEXTS[:2])
    return lambda **given: step_of(profile_of(workers=1, **given))


def test_a_profile_without_studies_gives_empty_tables():
    growing = budgets.measure_budgets(STEP)
    placed = limits.measure_limits(STEP)
    asked = twins.measure_twins(STEP)
    started = baselines.measure_baselines(STEP)
    columns = [list(one) for one in (growing, placed, asked, started)]
    assert columns == [BUDGETS, LIMITS, TWINS, COLUMNS]
    overlaps = budgets.overlap_table(growing, STEP)
    of_models = limits.limits_of_models(placed, STEP)
    erasure = twins.twin_erasure(asked, STEP)
    found = [overlaps, budgets.stability_table(overlaps), of_models, erasure]
    found += [limits.turned_models(of_models), limits.limits_table(placed, STEP)]
    found += [limits.limits_of_methods(placed, STEP), twins.twin_accuracy(asked, STEP)]
    found += [twins.twin_moves(asked, STEP), baselines.baselines_table(started, STEP)]
    assert all(table.empty for table in found)
    assert "No models" in twins.draw_masked(erasure).texts[0].get_text()


def test_sampled_methods_are_explained_at_growing_budgets_with_several_seeds(opened):
    tasks = {"snli": ["lime", "integrated_gradients"]}
    step = opened(joint={"budgets": {"tasks": tasks, "rows": 2, "sizes": [8, 16], "seeds": 2}})
    found = budgets.measure_budgets(step)
    seeds = found.groupby("method").seed.unique().map(list).to_dict()
    assert seeds == {"lime": [1, 2], "integrated_gradients": [1]} and len(found) == 2 * 2 * 3
    assert found.groupby("budget").requested.max().is_monotonic_increasing
    table = budgets.overlap_table(found, step).set_index(["method", "budget"])
    assert table.to_largest["lime", 16] == 1 and table.instances.eq(2).all()


def test_explanations_are_stable_from_where_they_last():
    rng = np.random.default_rng(0)
    last = np.arange(9.0)
    rows = []
    for size, seed, text in product((8, 16, 32), (1, 2), "ab"):
        scores = last if size > 8 else rng.permutation(last)
        rows.append(("snli", "small", "lime", size, seed, text, size, scores))
    values = pd.DataFrame(rows, columns=BUDGETS)
    overlaps = budgets.overlap_table(values, STEP)
    assert overlaps.to_largest.tolist()[1:] == overlaps.between.tolist()[1:] == [1, 1]
    assert overlaps.to_largest[0] < 1 and (overlaps.k == 4).all()
    columns = ["stable_from", "seeds_agree_from"]
    assert budgets.stability_table(overlaps)[columns].values.tolist() == [["16", "16"]]
    falls = overlaps.assign(to_largest=[1, 0, 1], between=[1, 1, 0])
    assert budgets.stability_table(falls)[columns].values.tolist() == [["more than 32"] * 2]
    once = values[values.seed == 1].assign(method=METHOD)
    overlaps = budgets.overlap_table(once, STEP)
    assert overlaps.between.isna().all() and overlaps.to_largest.notna().all()
    assert budgets.stability_table(overlaps).seeds_agree_from.tolist() == ["draws nothing"]


def limits_of(texts=12):
    """Model `still` moves a tenth as much as `small`, and is explained better but by chance."""
    rng = np.random.default_rng(0)
    rows = []
    reaches = {"small": 1.0, "still": 0.1}
    methods = ("random", "gradient_l2", "occlusion_1", "lime")
    for text, model, at in product(range(texts), reaches, range(4)):
        share = 0.2 * at + 0.05 * rng.random() + (0.2 if model == "still" and at else 0)
        reach = reaches[model]
        row = ("snli", model, f"t{text}", text > 2, methods[at], "comprehensiveness")
        rows.append((*row, share * reach, 0.0, reach, share))
    return pd.DataFrame(rows, columns=LIMITS)


def test_a_table_has_both_readings_and_the_limits():
    values = limits_of()
    values.loc[values.instance == "t0", ["greatest", "normalised"]] = 0.0, np.nan
    row = limits.limits_table(values, STEP).set_index(["model", "method"]).loc["still", "lime"]
    part = values[(values.model == "still") & (values.method == "lime")]
    expected = (part.raw.mean(), part.normalised.mean())
    assert (row.raw, row.normalised) == pytest.approx(expected)
    assert row.raw_low < row.raw < row.raw_high and row.greatest == pytest.approx(0.1 * 11 / 12)
    assert (row.texts, row.told, row.exact) == (12, 11, 9 / 12)


def test_methods_keep_their_order_and_models_change_theirs():
    values = limits_of()
    ranked = limits.limits_of_methods(values, STEP)
    assert ranked[["tau", "low", "methods"]].values.tolist() == [[1, 1, 3]] * 2
    compared = limits.limits_of_models(values, STEP)
    assert (compared.raw > 0)[1:].all() and (compared.normalised < 0)[1:].all()
    assert (compared.turned[1:] == "surely").all() and compared.turned[0] != "surely"
    (row,) = limits.turned_models(compared).itertuples()
    assert (row.model_a, row.model_b, row.methods, row.surely) == ("small", "still", 4, 3)


def test_short_texts_are_explained_and_placed_between_their_limits(opened):
    wanted = {"tasks": {"snli": 2}, "words": 6}
    wanted["methods"] = ["random", "occlusion_1", "decomposition"]
    values = limits.measure_limits(opened(joint={"limits": wanted}))
    assert set(values.instance) == {"not", "very"} and len(values) == 8 and values.exact.all()
    assert set(values.method) == {"random", "occlusion_1"}
    assert values.normalised.between(-1e-6, 1 + 1e-6).all()


def test_every_baseline_is_judged_by_every_metric(opened, tiny, monkeypatch):
    of_zero = "integrated_gradients_zero"
    given = {"methods": ["random"], "path_steps": 3, "path_steps_most": 3}
    step = opened(joint={"path_baselines": {"snli": 5}}, explain=given)
    methods = ("random", "gradient_x_input", METHOD, of_zero)
    budget = step.profile.explaining_of("snli")
    made = explain_instances(Scorer(tiny), TEXTS[:2], methods, budget, ("snli", "small", 1))
    records = {one.instance.id: one.attributions for one in made}
    monkeypatch.setattr(baselines.runs, "load_records_once", lambda *run: records)
    values = baselines.measure_baselines(step)
    counts = values.groupby("metric").size()
    wanted = "nc ns soft_nc_equal diagnosticity agreement simplicity gap score_tau_b"
    assert set(wanted.split()) <= set(counts.index) and (counts == 2 * len(BASELINES)).all()
    gaps = values[(values.metric == "gap") & (values.instance == "not")].set_index("baseline").value
    own = [abs(records["not"][method].gap) for method in (METHOD, of_zero)]
    assert gaps[["pad", "zero"]].tolist() == pytest.approx(own, abs=1e-6)
    table = baselines.baselines_table(values, step)
    assert set(table.baseline) == set(BASELINES)
    assert (table[table.baseline == "pad"].difference == 0).all()


def test_a_difference_is_told_from_noise():
    rng = np.random.default_rng(0)
    rows = [("snli", "small", "lone", "pad", "nc", 9.0)]  # not every baseline has it
    for text in range(30):
        level = rng.random()
        for start in BASELINES:
            moved = 0.1 + 0.02 * rng.random() if start == "mean" else 0.01 * rng.standard_normal()
            rows.append(("snli", "small", f"t{text}", start, "nc", level + moved))
    table = baselines.baselines_table(pd.DataFrame(rows, columns=COLUMNS), STEP)
    assert (table.texts == 30).all() and table["mean"].max() < 2
    row = table.set_index("baseline").loc["mean"]
    assert row.moves and row.difference == pytest.approx(0.11, abs=0.01)
    assert row.difference_high - row.difference_low < (row.high - row.low) / 5
    assert not table.moves[table.baseline == "pad"].any()


def twins_of(of_model=None, again=SMALL, **more):
    """A profile in which `rotten_tomatoes` has plain models and a masked one."""
    masked = SMALL | {"training": {"masked": True}}
    made = {"small": SMALL, "again": again, "masked": masked}
    rows = ROWS | {"models": list(made), "of_model": of_model or {}}
    of_task = {"plain": ["small", "again"], "masked": ["masked"], "rows": 3} | more
    return Profile(
        name="made-up",
        models=made,
        workers=1,
        tasks={"rotten_tomatoes": rows},
        explain={"methods": ["random"], "path_steps": 2, "path_steps_most": 2},
        joint={"masked": {"twins": {"rotten_tomatoes": of_task}}},
        bootstrap={"draws": 60, "nulls": 99},
    )


def twin_values(texts=40, turned=False, seed=0):
    """Methods are ordered alike by all twins, or turned by the masked one."""
    rng = np.random.default_rng(seed)
    rows = []
    for text in range(texts):
        level = 9 * rng.random()
        for model, (worth, method) in product(("small", "again", "masked"), enumerate(METHODS[:6])):
            masked = model == "masked"
            value = (6 - worth if turned and masked else worth) + rng.standard_normal()
            value += level + 2 * masked
            role = "masked" if masked else "plain"
            rows.append(("rotten_tomatoes", model, role, f"t{text}", "mask", method, "nc", value))
    return pd.DataFrame(rows, columns=TWINS)


def test_means_and_differences_are_of_the_same_texts():
    values = twin_values()
    values.loc[(values.instance == "t0") & (values.model == "again"), "value"] = np.nan
    table = twins.twin_erasure(values, step_of(twins_of()))
    row = table.set_index("method").loc["gradient_l2"]
    part = values[(values.instance != "t0") & (values.method == "gradient_l2")]
    by_role = part.groupby("role").value.mean()
    assert row[["plain", "masked"]].tolist() == pytest.approx(by_role[["plain", "masked"]].tolist())
    assert row.texts == 39 and row.title == METRICS["nc"].title
    assert row.difference == pytest.approx(row.masked - row.plain)
    assert row.difference_low < row.difference < row.difference_high
    # texts have levels of their own, which differences do not see
    assert row.difference_high - row.difference_low < row.plain_high - row.plain_low
    assert twins.draw_masked(table) is not None


def test_rankings_that_turn_are_told_from_those_that_stay():
    step = step_of(twins_of())

    def moves(values):
        (row,) = twins.twin_moves(values, step).itertuples()
        return row

    noise = [moves(twin_values(30, seed=seed)).p for seed in range(8)]
    assert np.mean(np.array(noise) <= 0.1) <= 0.25, "nothing is found where there is nothing"
    stays = moves(twin_values())
    values = twin_values(turned=True)
    turns = moves(values)
    for row in (stays, turns):
        assert (row.models, row.methods, row.texts) == (3, 5, 40) and row.within > 0.7
        assert row.lost == pytest.approx(row.within - row.across)
        assert row.shift_low < row.shift < row.shift_high
    assert (stays.verdict, turns.verdict) == ("no more than by chance", "moves")
    assert stays.across > 0.7 and stays.lost_low <= 0
    assert turns.across < 0 < turns.lost_low
    assert (
        stays.halves_within - stays.halves_across <= 0.5 < turns.halves_within - turns.halves_across
    )
    few = values[values.instance.isin([f"t{at}" for at in range(6)])]
    assert moves(few).verdict == "too few texts"
    # without a second seed, halves and exchanged models are the null
    alone = moves(values[values.model != "again"])
    assert np.isnan([alone.within, alone.lost]).all() and alone.verdict == "moves"
    assert alone.by_chance > alone.across


def test_rank_correlations_are_those_of_every_pair():
    rng = np.random.default_rng(0)
    kinds = np.array([False, False, True, True])
    one = rng.random((3, 4, 6))
    other = rng.random((3, 4, 6))
    found = twins.correlate_twins(one, other, kinds)
    for b in range(3):
        pairs = {True: [], False: []}
        for i, k in permutations(range(4), 2):
            pairs[bool(kinds[i] == kinds[k])].append(kendalltau(one[b, i], other[b, k]).statistic)
        expected = (np.mean(pairs[False]), np.mean(pairs[True]))
        assert (found.across[b], found.within[b]) == pytest.approx(expected)
    assert np.allclose(found.lost, found.within - found.across)
    single = twins.TwinValues([], kinds[1:3], rng.random((1, 2, 5)))
    assert np.isnan(twins.halve_texts(single, rng)).all()


def test_twins_are_asked_the_same_of_the_same_texts(opened):
    step = opened()
    step.profile = twins_of(tested=2)
    found = twins.measure_twins(step)
    tested = found[found.metric == "accuracy"]
    values = found[found.metric != "accuracy"]
    assert set(found.role) == {"plain", "masked"}
    assert set(values.erased) == {"padding", "mask", "in part"}
    # one network in all roles: every draw is the same, so is every value
    key = ["instance", "erased", "method", "metric"]
    wide = values.pivot(index=key, columns="model", values="value")
    assert len(wide) == 3 * (4 + 4 + 2) * values.method.nunique() and wide.notna().all(axis=None)
    assert (wide.sub(wide["small"], axis=0).abs() < 1e-6).all(axis=None)
    hard = values[values.metric == "comprehensiveness"].groupby("erased").value.agg(list)
    assert not np.allclose(hard["padding"], hard["mask"])
    assert len(tested) == 2 * 2 * 3 and set(tested.instance) == {"not", "very"}
    assert (twins.twin_erasure(found, step).difference.abs() < 1e-6).all()
    accuracy = twins.twin_accuracy(found, step)
    assert accuracy.reading.tolist() == ["whole", "masked"] and (accuracy.difference == 0).all()


# what is said -> what is wrong
WRONG_TWINS = {
    "'masked' is a plain twin": {"plain": ["small", "masked"], "masked": ["again"]},
    "no model 'other' is trained on task 'rotten_tomatoes'": {"plain": ["other"]},
    "the rows of 'small' is .*'train_rows': 1,": {"of_model": {"masked": {"train_rows": 7}}},
    "the model of 'small' is": {"again": SMALL | {"hidden": 16}},
    "the training of 'small' is": {"again": SMALL | {"training": {"epochs": 3}}},
}
OF_IMDB = {"imdb": {"plain": ["small"], "masked": ["small"], "rows": 2}}
WRONG_NAMES = {
    "joint: no task 'bbc'": [{"tasks": {"bbc": 3}}],
    "joint: no task 'imdb'": [
        {"asked": {"imdb": 3}},
        {"limits": {"tasks": {"imdb": 3}}},
        {"masked": {"twins": OF_IMDB}},
    ],
    "has no budget to vary; these have: .*lime": [{"budgets": {"tasks": {"snli": ["random"]}}}],
    "unknown method 'guess'": [{"limits": {"methods": ["guess"]}}],
}


def test_twins_differ_in_nothing_but_masks():
    assert [run[1] for run in twins_of().twin_runs()] == ["small", "again", "masked"]
    for said, given in WRONG_TWINS.items():
        with pytest.raises(ValueError, match=said):
            twins_of(**given)


def test_a_profile_names_its_tasks_and_methods():
    for said, wrong in WRONG_NAMES.items():
        for joint in wrong:
            with pytest.raises(ValueError, match=said):
                profile_of(joint=joint)
