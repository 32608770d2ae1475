"""The joint study on planted tables: metrics that agree, that oppose each other, that are
missing.
"""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reference import CHECKOUT, models
from reference.profiles import TINY

from attreval.core.bootstrap import percentile_interval
from attreval.methods import METHODS as EVERY
from attreval.methods.method import Budget
from attreval.methods.run import explain
from attreval.metrics import METRICS
from attreval.metrics.rank_correlation import pool, verdict
from attreval.models.scorer import Scorer
from compendium.config import Profile
from compendium.papers.joint import correlations, standing, variant_tables
from compendium.papers.joint import values as joint
from compendium.papers.joint.figures import draw_budgets, draw_correlations, draw_pareto
from compendium.papers.joint.variants import BUDGETS
from compendium.papers.sun2024.properties import Properties, properties_by_instance
from compendium.site.tables import read_declared_numbers, read_numbers

METHODS = (
    "random",
    "gradient_l1",
    "gradient_l2",
    "gradient_x_input",
    "occlusion_1",
    "omission_1",
    "lime",
)
RUN = ("snli", "small", 1)
ROWS = {"models": ["small"], "train_rows": 1, "dev_rows": 1, "test_rows": 1, "explain_rows": 8}


def profile_of(**more):
    given = {
        "explain": {"methods": ["random"]},
        "tasks": {"snli": ROWS, "rotten_tomatoes": ROWS},
    } | more
    return Profile(
        name="made-up", models={"small": TINY | {"heads": 2}}, bootstrap={"draws": 60}, **given
    )


def planted_values(seeds=(1,), texts=20, metrics=("nc", "ns", "agreement")):
    """`nc` and `ns` order the methods alike, `agreement` the other way round; random is at the
    bottom of the first.
    """
    rng = np.random.default_rng(0)
    sign = {"agreement": -1}
    rows = [
        (
            "snli",
            "small",
            seed,
            f"t{text}",
            method,
            metric,
            sign.get(metric, 1) * worth + 0.3 * rng.random(),
        )
        for seed, text, (worth, method), metric in product(
            seeds, range(texts), enumerate(METHODS), metrics
        )
    ]
    return pd.DataFrame(rows, columns=joint.COLUMNS).assign(granularity="tokens")


def scores_of(values, draws=60):
    return correlations.JointScores(values, correlations.draw_runs(values, draws))


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_metrics_that_agree_and_that_oppose_each_other(seeds):
    values = planted_values(seeds)
    table = correlations.correlation_table(scores_of(values), 0.95)
    for where in ("snli", correlations.POOLED):
        part = table[table.task == where].set_index(["metric_a", "metric_b"])
        assert part.tau["nc", "ns"] == 1 and part.verdict["nc", "ns"] == "agree"
        assert part.tau["agreement", "nc"] == -1 and part.verdict["agreement", "nc"] == "contradict"
        assert part.high["agreement", "nc"] < 0 < part.low["nc", "ns"]
    assert (table[table.task == "snli"].methods == len(METHODS) - 1).all()  # random is left out
    values["value"] = values.value.where(
        values.metric != "ns", np.random.default_rng(3).random(len(values))
    )
    table = correlations.correlation_table(scores_of(values), 0.95).set_index(
        ["task", "metric_a", "metric_b"]
    )
    assert table.verdict["snli", "nc", "ns"] == "cannot be told"


def test_what_was_not_measured_is_left_out():
    values = planted_values()
    values = values[
        (values.metric != "ns") | values.method.isin(METHODS[:4])
    ]  # random and three methods
    values.loc[values.instance == "t0", "value"] = np.nan
    scores = scores_of(values)
    table = correlations.correlation_table(scores, 0.95).set_index(["task", "metric_a", "metric_b"])
    assert (
        table.verdict["snli", "nc", "ns"] == "not measured"
        and table.methods["snli", "nc", "ns"] == 3
    )
    summary = correlations.summary_table(scores, 0.95)
    assert (
        set(summary[summary.metric == "ns"].method) == set(METHODS[:4]) and (summary.n == 19).all()
    )
    assert (summary.low <= summary["mean"]).all() and (summary["mean"] <= summary.high).all()


def test_the_baseline_says_who_is_below_random():
    baseline = correlations.random_baseline_table(scores_of(planted_values(), 400), 0.95).set_index(
        "metric"
    )
    assert (
        baseline.below["nc"] == 0
        and baseline.below["agreement"] == baseline.surely_below["agreement"] == 6
    )
    found = correlations.random_baseline_by_metric(baseline.reset_index())
    assert baseline.index[~baseline.at_bottom].tolist() == [
        "agreement"
    ] and found.at_bottom.tolist() == [0, 1, 1]
    assert found[~found.mostly_at_bottom].title.tolist() == [joint.METRICS["agreement"].title]


def test_pooled_runs_count_alike():
    tau, drawn, runs = pool(
        [(1.0, np.ones(4), 5), (0.0, np.array([0, 0, np.nan, 0]), 5), (np.nan, np.ones(4), 2)]
    )
    assert (tau, runs) == (0.5, 2) and drawn.tolist() == [0.5, 0.5, 1.0, 0.5]
    assert (
        np.isnan(pool([])[0]) and verdict(*percentile_interval(pool([])[1], 0.95)) == "not measured"
    )
    assert [verdict(-2, -1), verdict(-1, 1), verdict(0.1, 1)] == [
        "contradict",
        "cannot be told",
        "agree",
    ]


def test_a_profile_without_runs_gives_empty_tables_and_words(tmp_path):
    scores = scores_of(pd.DataFrame(columns=[*joint.COLUMNS, "granularity"]))
    table = correlations.correlation_table(scores, 0.95)
    baseline = correlations.random_baseline_table(scores, 0.95)
    front = standing.pareto_table(scores, pd.DataFrame(columns=["requested", "unique"]))
    overlaps = variant_tables.overlap_table(
        pd.DataFrame(columns=BUDGETS), SimpleNamespace(profile=profile_of())
    )
    pooled = correlations.pooled_table(table)
    made = {
        "values": correlations.summary_table(scores, 0.95),
        "counts": correlations.counts_table(scores.values),
    }
    made |= {
        "verdicts": correlations.verdict_table(pooled),
        "chance": correlations.chance_table(pooled),
    }
    made |= {"random_baseline": baseline, "correlations_pooled": pooled, "pareto": front}
    made |= {"random_baseline_by_metric": correlations.random_baseline_by_metric(baseline)}
    made |= {"stability": variant_tables.stability_table(overlaps)}
    made |= {
        f"pareto_by_{name}": getattr(standing, f"pareto_by_{name}")(front)
        for name in ("method", "metric")
    }
    for name, one in made.items():
        one.to_csv(tmp_path / f"08_joint_{name}.csv", index=False)
    declared = read_declared_numbers(CHECKOUT / "paper" / "numbers.yml")
    texts = read_numbers(
        tmp_path, {key: given for key, given in declared.items() if key.startswith("joint.")}
    )
    wanted = {"joint.runs": "0", "joint.tokens.pairs": "0", "joint.budgets.lime": "not measured"}
    wanted |= {"joint.random.blind": "none", "joint.tokens.contradict_pairs": "none"}
    assert {key: texts[key] for key in wanted} == wanted
    itself = correlations.reliability_table(scores)
    for drawn in (
        draw_correlations(table, itself, "tokens"),
        draw_pareto(front),
        draw_budgets(overlaps),
    ):
        assert any(word in drawn.texts[0].get_text() for word in ("this run", "this profile"))


def test_what_texts_tell_must_also_be_more_than_exchanged_names_give():
    """Six methods in one order: as sure as texts can be, and once in 720 orders, or its reverse, by
    chance.
    """
    scores = scores_of(planted_values())
    table = correlations.correlation_table(scores, 0.95)
    assert table.p_names.between(0.0005, 0.008).all() and table.beyond_names.all()
    drawn = draw_correlations(table, correlations.reliability_table(scores), "tokens").texts
    said = [text.get_text() for text in drawn]
    assert {"1.00", "-1.00", "-1.00 to -1.00"} <= set(said) and said.count("itself") == 3
    # the order of four methods is found, or reversed, in one of twelve exchanges
    values = planted_values()
    few = values[values.method.isin([*METHODS[:4], METHODS[6]])]
    table = correlations.correlation_table(scores_of(few), 0.95)
    assert table.verdict.isin(["agree", "contradict"]).all() and not table.beyond_names.any()
    assert table.p_names.between(0.06, 0.11).all()
    pooled = correlations.pooled_table(table)
    found = correlations.chance_table(pooled).set_index("granularity")
    assert found.loc["tokens", ["told", "beyond"]].tolist() == [3, 0] and found.told["unified"] == 0
    assert found.chance["tokens"].count(";") == 2 and "(-1.00)" in found.chance["tokens"]


@pytest.mark.parametrize("left", [METHODS[:4], ()], ids=["three methods", "nothing"])
def test_a_run_that_can_compare_no_pair_has_tables_that_say_so(left):
    """An own model with two or three methods: no pair of metrics is measured, and every summary of
    pairs is empty.
    """
    values = planted_values()
    table = correlations.correlation_table(scores_of(values[values.method.isin(left)]), 0.95)
    pooled = correlations.pooled_table(table)
    assert pooled.empty
    for summary in (correlations.judges_table(pooled), correlations.chance_table(pooled)):
        assert (summary.set_index("granularity").select_dtypes("number").fillna(0) == 0).all(
            axis=None
        )
    assert set(correlations.verdict_table(pooled).pairs) == {""}


def test_a_metric_of_noise_does_not_agree_with_itself():
    values = planted_values(seeds=(1, 2), texts=24)
    values["value"] = values.value.where(
        values.metric != "ns", np.random.default_rng(3).random(len(values))
    )
    found = correlations.reliability_table(scores_of(values)).set_index("metric")
    assert list(found.index) == ["agreement", "nc", "ns"] and (found.runs == 1).all()
    assert found.tau["nc"] == found.tau["agreement"] == 1 and abs(found.tau["ns"]) < 0.4
    alone = correlations.reliability_table(scores_of(values[values.metric != "nc"])).set_index(
        "metric"
    )
    assert alone.tau["ns"] == found.tau["ns"], "another metric moves nobody's halves"


@pytest.mark.parametrize(
    "method", [m.name for m in EVERY.values() if m.limits and m.level == "token"]
)
def test_a_budget_limits_what_is_asked_for(planted, method):
    text = models.instance("the film was good and a key is not bad ever ! slow plot")
    asked = []
    for size in (8, 24):
        budget = EVERY[method].limited(Budget(limsse_epochs=5), size)
        found = explain(Scorer(planted, precision="float64"), [text], [method], budget)
        asked.append(found[0].attributions[method].cost.requested)
    assert asked[0] <= 8 + 2 and asked[0] < asked[1] <= 24 + 2


def text_of(
    scores, known=None, profile=None, target=0, words="good bad slow film the plot was not"
):
    """A text with these scores, as the joint study asks metrics about it."""
    tiny = models.tiny_model()
    made = models.instance(words)
    given = {method: np.array(one, float) for method, one in scores.items()}
    return tiny, joint.score_text(
        profile or profile_of(), RUN, made, tiny.tokens(made), given, target, known
    )


def said(tiny, text, asked=False):
    """(method, metric) -> value."""
    (found,) = joint.ask_metrics(Scorer(tiny), [text] if asked else [], [text])
    return {(method, metric): value for method, metric, value in found}


def test_agreement_with_others_leaves_random_out():
    scores = {"random": -np.arange(8.0), "lime": np.arange(8.0), "occlusion_1": np.arange(8.0)}
    found = said(*text_of(scores, profile=profile_of(agreement={"fixed_k": 2})))
    assert found["lime", "agreement"] == found["occlusion_1", "agreement"] == 1
    assert found["random", "agreement"] == 0.5 and ("lime", "people") not in found
    assert 0 < found["lime", "simplicity"] < 1 and ("lime", "pointing") not in found


def test_wins_over_random_scores_and_what_not_every_method_has():
    scores = dict.fromkeys(("lime", "random"), np.arange(8.0))

    def judged(of_lime, of_random):
        known = {
            (name, m): value
            for m, of in (("lime", of_lime), ("random", of_random))
            for name, value in of.items()
        }
        values = said(*text_of(scores, known))
        return {
            key: value for key, value in values.items() if METRICS[key[1]].judge == "faithfulness"
        }

    high = dict.fromkeys(joint.ERASURE, 0.9)
    low = dict.fromkeys(joint.ERASURE, 0.1)
    found = judged(high, low)
    assert (
        found["lime", "diagnosticity"],
        found["random", "diagnosticity"],
        found["lime", "nc"],
    ) == (1, 0.5, 0.9)
    assert judged(low, low)["lime", "diagnosticity"] == 0.5
    for gap in ({"nc": 0.1, "ns": 0.1}, low | {"soft_nc_equal": np.nan, "soft_ns_equal": np.nan}):
        assert set(judged(gap, low)) == {
            (m, name) for m in ("lime", "random") for name in ("nc", "ns")
        }
    assert not judged({}, low)


def test_the_model_is_asked_only_what_nobody_has_asked():
    scores = {"lime": np.arange(8.0), "random": np.arange(8.0) % 3, "gradient_l1": -np.arange(8.0)}
    known = {(name, "lime"): 0.5 for name in joint.ERASURE} | {
        ("nc", "random"): 0.5,
        ("ns", "random"): 0.5,
    }
    tiny, text = text_of(scores, known | {("pointing", "lime"): 1.0, ("pointing", "last"): 1.0})
    scorer = Scorer(tiny)
    joint.ask_metrics(scorer, [text], [])
    assert list(scorer.costs) == ["random", "gradient_l1"]
    # the whole and the erased text, one ratio or five with and without the rationale, and two
    # softly erased ones
    soft = 2 * profile_of().faithfulness.draws
    assert [cost.requested for cost in scorer.costs.values()] == [4 + soft, 12 + soft]
    text = replace(text, target=text.found["hard", "gradient_l1"].target)
    found = said(tiny, text)
    assert found["lime", "nc"] == 0.5 and [key[0] for key in found if key[1] == "pointing"] == [
        "lime"
    ]
    assert {metric for _, metric in found} >= {*joint.ERASURE, "diagnosticity"}
    other = said(
        tiny, replace(text, target=1 - text.target)
    )  # explained for another class than the predicted one
    assert {metric for _, metric in found} - {metric for _, metric in other} == {
        *joint.ERASURE,
        "diagnosticity",
    }


def test_what_the_diagnosis_says_of_each_text():
    def rows(columns, *values):
        about = ["task", "model", "seed", "instance", "technique", "type"]
        return pd.DataFrame(
            [("snli", "small", 1, "t", *row) for row in values], columns=[*about, *columns]
        )

    shapley = ("shapley", "token")
    spans = ("shapley", "span")
    random = ("random", "random")
    known = (*shapley, 1.0, 0.25), (*shapley, 0.0, 0.25), (*random, 0.0, 0.25)
    changes = rows(["comprehensiveness", "sufficiency"], *known)
    agreement = rows(["token", "interaction"], (*shapley, 0.5, np.nan))
    complexity = rows(
        ["entropy", "random", "uniform"], (*shapley, 0.5, 0.75, 1.0), (*spans, 0.0, 0.0, 0.0)
    )
    told = ("none", "token", "none", 1.0), (*shapley, "symbol", 1.0), (*shapley, "text", 0.0)
    predictions = rows(["form", "correct"], *told)
    properties = Properties(changes, agreement, complexity, pd.DataFrame())
    found = properties_by_instance(properties, predictions)
    values = {(row.method, row.measure): row.value for row in found.itertuples()}
    halves = (
        "unified_comprehensiveness",
        "people_units",
        "unified_simplicity",
        "complexity",
        "simulatability",
    )
    by_hand = {("kernel_shap", name): 0.5 for name in halves} | {
        ("bivariate_shapley_spans", "complexity"): 0.0
    }
    by_hand |= {
        ("random", "unified_comprehensiveness"): 0.0,
        ("random", "unified_simplicity"): 0.25,
    }
    assert values == by_hand | {
        (m, "unified_sufficiency_inverted"): 0.75 for m in ("kernel_shap", "random")
    }
    assert "simulatability" not in set(properties_by_instance(properties, predictions[:1]).measure)


def test_of_many_correlations_of_noise_few_are_sure():
    """Random values of seven methods: what agrees or contradicts by its interval alone mostly goes
    at the rate.
    """
    rng = np.random.default_rng(0)
    values = planted_values()
    table = correlations.correlation_table(
        scores_of(values.assign(value=rng.normal(size=len(values)))), 0.95
    )
    told = table[table.verdict.isin(["agree", "contradict"])]
    assert (
        len(told) <= 0.05 * len(table) + 2
        and (told.q <= 0.05).all()
        and table.beyond_names.mean() <= 0.05
    )


def test_a_profile_says_which_runs_and_texts_go_before_all_metrics():
    assert [run[0] for run in joint.joint_runs(profile_of())] == ["snli", "rotten_tomatoes"]
    assert [run[0] for run in joint.joint_runs(profile_of(joint={"tasks": {"snli": 3}}))] == [
        "snli"
    ]
    found = profile_of(joint={"tasks": {"snli": 300}, "asked": {"snli": 3}}).joint
    assert found.rows_of("snli", 8) == 8 and found.asked_of("snli", 8) == 3
    assert profile_of(joint={"tasks": {"snli": 300}}).joint.asked_of("snli", 8) == 8
    assert profile_of().first_runs(["rotten_tomatoes", "bbc"]) == [("rotten_tomatoes", "small", 1)]
