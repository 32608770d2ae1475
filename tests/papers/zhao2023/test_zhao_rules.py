"""Soft against hard under several rules, the tests over texts, and what decides the level of hard
measures.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from reference.erased_worlds import METHODS, made_up, profile_of, stage_of
from reference.flips import sign_flips

from attreval.core.seeds import generator
from attreval.metrics import FAITHFULNESS, HARD_OF
from attreval.metrics.diagnosticity import sign_flip_test
from compendium.papers.common.verdicts import LEAST_TEXTS
from compendium.papers.zhao2023 import diagnosticity, protocol_changes, tables
from compendium.papers.zhao2023.deviations import HARD, RELEASED, SWAPPED
from compendium.papers.zhao2023.erasure import VALUES
from compendium.papers.zhao2023.settings import RULES, compared_tasks, list_settings, main_protocol

RULED = ("main", "equal_means", "released")


def null_world(rng, texts=25):
    """Wins of five methods against one random vector a text: a text's methods go up and down
    together, by chance.
    """
    values = made_up(texts=texts, tasks=("snli",), seed=rng)
    lead = {m: rng.standard_normal(texts) for m in FAITHFULNESS}
    own = values.method != "random"
    for metric in FAITHFULNESS:
        values[metric] = np.where(own, lead[metric][values.instance.astype(int)], 0.0)
        values.loc[own, metric] += 0.3 * rng.standard_normal(own.sum())
    return values


def test_two_equal_metrics_differ_by_nothing():
    values = made_up(RULED)
    for soft, hard in HARD_OF.items():
        values[soft] = values[hard]
    stage = stage_of()
    pairs = diagnosticity.pair_with_rivals(values, stage.profile)
    by_rule = diagnosticity.pairs_by_rule(pairs, stage.profile)
    found = diagnosticity.what_remains(by_rule[by_rule.rule != "released"], stage)
    assert (found[["difference", "low", "high", "above_chance"]] == 0).all(axis=None)
    assert (found.p == 1).all() and set(found.holds) == {"not surely apart from"}
    for by in ("task", "method"):
        summary = diagnosticity.diagnosticity_summary(pairs, by)
        soft = summary[summary.metric.isin(list(HARD_OF)) & (summary[by] != "sd")]
        assert (soft.difference == 0).all() and (soft.p == 1).all() and (soft.q == 1).all()
        assert "*" not in tables.printed_summary(summary.assign(published=np.nan), by).to_csv()


def test_null_worlds_get_no_more_stars_than_the_level():
    """Five methods share a text and its random scores: the test knows, the paper's rank-sum test
    does not.
    """
    stage = stage_of(("snli",))
    worlds = 60
    level = 0.05
    found = []
    paper = []
    starred = 0
    for world in range(worlds):
        pairs = diagnosticity.pair_with_rivals(
            null_world(np.random.default_rng(world)), stage.profile
        )
        summary = diagnosticity.diagnosticity_summary(pairs, "task").dropna(subset=["p"])
        averages = summary[summary.task == "average"]
        found += list(averages.p < level)
        paper += list(averages.rank_sum < level)
        starred += bool((summary.q < level).any())
    error = 3 * np.sqrt(level * (1 - level) / worlds)  # of the rate, by simulation
    assert max(np.mean(found), starred / worlds) <= level + error and np.mean(paper) > 0.2


@pytest.mark.parametrize("seed", range(2))
def test_the_test_over_texts_equals_its_twin(seed):
    rng = np.random.default_rng(seed)
    differences = [rng.integers(-5, 6, n) / 5 for n in (6, 4)]
    found = sign_flip_test(differences, generator("t", seed), draws=20_000)
    assert abs(found - sign_flips(differences)) < 0.015
    with pytest.raises(ValueError, match="got none"):
        sign_flip_test([np.zeros(0)], rng)


def test_rules_differ_by_what_they_say():
    values = made_up(RULED)
    stage = stage_of()
    for setting, tie in (
        ("main", 0.5),
        ("released", 0.25),
    ):  # of a half and of a quarter of the texts, one value
        even = values.instance.astype(int) % int(1 / tie) == 0
        values.loc[(values.setting == setting) & even, list(FAITHFULNESS)] = 0.5
    pairs = diagnosticity.pair_with_rivals(values, stage.profile)
    by_rule = diagnosticity.pairs_by_rule(pairs, stage.profile)
    assert list(dict.fromkeys(by_rule.rule)) == list(RULES)
    found = diagnosticity.rule_tables(by_rule, stage)
    cells = found["table6_rules"].set_index(["task", "method", "rule", "metric"])
    one = cells.sort_index().loc[("snli", "deeplift")]
    assert one.ties["published"].tolist() == one.ties["ties_half"].tolist() == [0.5] * 4
    np.testing.assert_allclose(one.chance["published"], 0.25)
    np.testing.assert_allclose(one.chance["ties_half"], 0.5)
    np.testing.assert_allclose(
        one.diagnosticity["ties_half"] - one.diagnosticity["published"], 0.25
    )
    np.testing.assert_allclose(one.chance["released"], 0.5 + 0.25 / 2)
    assert (one.ties[["equal_means", "equal_means_half"]] == 0).all()
    np.testing.assert_allclose(one.above_chance, one.diagnosticity - one.chance)
    means = found["table2_rules"].set_index(["method", "rule", "metric"])
    plain = (
        diagnosticity.diagnosticity_summary(pairs, "method")
        .set_index(["method", "metric"])
        .diagnosticity
    )
    for method in (*METHODS, "average"):
        for metric in FAITHFULNESS:
            np.testing.assert_allclose(
                means.diagnosticity[method, "published", metric], plain[method, metric]
            )
    printed = tables.printed_rules(found["table3_rules"], ["task"])
    assert len(printed) == 3 * 4 and (printed.texts.max(), printed.texts.min()) == (40, 20)


def test_rules_follow_the_profile():
    plain = list_settings(profile_of(), "snli")
    assert "published" not in plain and {"main", "equal_means", "released"} <= set(plain)
    assert plain["released"].methods == SWAPPED and plain["released"].protocol.draws == 1
    other = profile_of(norm="calibrated", ties="half", rival="permuted")
    settings = list_settings(other, "snli")
    assert (settings["main"].protocol.norm, settings["main"].protocol.ties) == (
        "calibrated",
        "half",
    )
    assert settings["main"].permuted and settings["control"].permuted
    assert (
        settings["published"].protocol == plain["main"].protocol
        and not settings["published"].permuted
    )
    few = [list_settings(profile_of(released_rows=1), "snli", at) for at in range(2)]
    assert all("equal_means" in one for one in few) and ["released" in one for one in few] == [
        True,
        False,
    ]
    released = profile_of(variants={"zhao2023": "released"})
    made = list_settings(released, "snli")["main"]
    assert main_protocol(released, "snli").inverted and made.methods == SWAPPED
    # as published; the library's metrics erase to padding
    assert main_protocol(released, "snli").erased == "first"
    assert (
        made.protocol.ratios == RELEASED["ratios"].fields["ratios"] and made.protocol.ties == "win"
    )
    with pytest.raises(ValueError, match="released sets ties itself"):
        profile_of(variants={"zhao2023": "released"}, ties="half")
    with pytest.raises(ValueError, match=r"faithfulness.protocol: is set by a variant"):
        profile_of(protocol="released")


def test_a_change_is_one_number_with_its_own_interval():
    """Texts of unequal tasks: the mean over tasks lies inside the interval of the same mean."""
    profile = profile_of(("snli", "rotten_tomatoes"), scale_rows=50)
    values = made_up(("main", "control", "rank"), 40)
    values = values[(values.task != "snli") | (values.instance.astype(int) < 5)].reset_index(
        drop=True
    )
    for (
        metric
    ) in FAITHFULNESS:  # the change decides every text of the small task, and none of the large one
        values.loc[values.setting != "main", metric] = 0.5
        own = (values.method != "random") & (values.setting == "rank")
        values.loc[own & (values.task == "snli"), metric] = 1.0
    pairs = diagnosticity.pair_with_rivals(values, profile)
    row = (
        protocol_changes.changes_table(pairs, SimpleNamespace(profile=profile))
        .set_index("setting")
        .loc["rank"]
    )
    for metric in FAITHFULNESS:
        assert row[f"{metric}_change"] == row[f"{metric}_low"] == row[f"{metric}_high"] == 0.5
    assert (row.texts, row.least) == (45, 5)


def test_averages_beside_the_published_one_are_over_the_papers_tasks():
    tasks = ("snli", "sst2", "multirc")
    assert compared_tasks(list(tasks)) == ["sst2", "multirc"] and compared_tasks(["snli"]) == [
        "snli"
    ]
    stage = stage_of(tasks)
    values = made_up(texts=12, tasks=tasks)
    values.loc[values.task == "snli", list(FAITHFULNESS)] = 0.0  # ties: no wins at all
    pairs = diagnosticity.pair_with_rivals(values, stage.profile)
    papers = pairs[pairs.task != "snli"]
    for by in ("task", "method"):
        summary = diagnosticity.diagnosticity_summary(pairs, by).set_index(["metric", by])
        np.testing.assert_allclose(summary.diagnosticity["nc", "average"], papers.win_nc.mean())
        assert summary.texts["nc", "average"] == 24 and summary.least["nc", "average"] == 12
    assert diagnosticity.diagnosticity_summary(pairs, "task").task.isin(["snli"]).any()
    counted = diagnosticity.texts_by_task(pairs).set_index("task")
    assert (
        (counted.texts == 12).all()
        and not counted.enough.any()
        and (counted.least == LEAST_TEXTS).all()
    )
    assert counted.averaged.tolist() == [False, True, True]


def test_drivers_say_what_moves_hard_measures():
    # no task here asks a question
    known = [name for name, change in HARD.items() if not change.queries_only]
    stage = stage_of()
    values = made_up(("main", *[f"hard: {name}" for name in known]), 30)
    hard = values.setting.str.startswith("hard: ")
    values.loc[hard, [name for name in VALUES if name.startswith("soft")]] = np.nan
    swaps = values.setting == "hard: swaps"
    values.loc[swaps, "nc"] = (values[swaps].method == "random").astype(float)
    table = protocol_changes.drivers_table(values, stage).set_index("change")
    assert set(table.index) == set(known)
    assert table.nc["swaps"] == 0 and table.nc_change["swaps"] == -table.nc_before["swaps"]
    assert (table.loc["none", ["nc_change", "nc_low", "nc_high", "ns_change"]] == 0).all()
    largest = protocol_changes.largest_drivers(table.reset_index()).set_index("metric")
    assert largest.change["nc"] == "swaps" and largest.published["nc"] == pytest.approx(0.394)
    assert largest.gap_left["nc"] == pytest.approx(-0.394)
    assert (
        not diagnosticity.pair_with_rivals(values, stage.profile)
        .setting.str.startswith("hard: ")
        .any()
    )


def test_deeplift_is_compared_with_gradient_x_input():
    scores = {
        "a": ([-3.0, 1.0, 2.0], [9.0, 1.0, 4.0]),
        "b": ([1.0, 2.0], [2.0, 1.0]),
        "c": ([1.0, 2.0],),
    }
    names = ("deeplift", "gradient_x_input_absolute")
    made = {
        text: [SimpleNamespace(scores=np.array(one)) for one in both]
        for text, both in scores.items()
    }
    records = {text: dict(zip(names, both, strict=False)) for text, both in made.items()}
    assert protocol_changes.gradient_correlations(records).round(9).to_dict() == {
        "a": 1.0,
        "b": -1.0,
    }
