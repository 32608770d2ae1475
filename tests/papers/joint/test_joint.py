"""The joint study on planted tables: metrics that agree, oppose each other, are missing."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
from reference import CHECKOUT, models
from reference.profiles import TINY

from attreval.core.bootstrap import percentile_interval
from attreval.methods import METHODS as EVERY
from attreval.methods.method import Budget
from attreval.methods.run import explain_instances
from attreval.metrics import METRICS
from attreval.models.scorer import Scorer
from compendium.config import Profile
from compendium.papers.joint import budgets, correlations, standing
from compendium.papers.joint import values as joint
from compendium.papers.joint.figures import draw_correlations, draw_pareto
from compendium.papers.joint.over_runs import pool, verdict
from compendium.papers.sun2024.properties import Properties, properties_by_instance
from compendium.project import Results
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.tables import csv_files, read_numbers
from compendium.workflow.instance_values import read_values
from compendium.workflow.parameters import Parameters
from compendium.workflow.step import Step

METHODS = ["random", *(f"gradient_{name}" for name in ("l1", "l2", "x_input"))]
METHODS += ["occlusion_1", "omission_1", "lime"]
RUN = ("snli", "small", 1)
ROWS = {"models": ["small"], "train_rows": 1, "dev_rows": 1, "test_rows": 1, "explain_rows": 8}
PAIR = ["task", "metric_a", "metric_b"]


def profile_of(**more):
    given = {"explain": {"methods": ["random"]}} | more
    given = {"tasks": {"snli": ROWS, "rotten_tomatoes": ROWS}} | given
    small = {"small": TINY | {"heads": 2}}
    return Profile(name="made-up", models=small, bootstrap={"draws": 60}, **given)


def planted_values(seeds=(1,), texts=20, metrics=("nc", "ns", "agreement")):
    """`nc` and `ns` order the methods alike, `agreement` the other way round.

    Random is at the bottom of the first two.
    """
    rng = np.random.default_rng(0)
    rows = []
    for seed, text, method, metric in product(seeds, range(texts), METHODS, metrics):
        worth = METHODS.index(method) * (-1 if metric == "agreement" else 1)
        value = worth + 0.3 * rng.random()
        rows.append(("snli", "small", seed, f"t{text}", method, metric, value))
    return pd.DataFrame(rows, columns=joint.COLUMNS).assign(granularity="tokens")


def with_noise(values, metric):
    """The values, those of one metric replaced by noise."""
    noise = np.random.default_rng(3).random(len(values))
    return values.assign(value=values.value.where(values.metric != metric, noise))


def scores_of(values, draws=60):
    return correlations.JointScores(values, correlations.draw_runs(values, draws))


def correlate(values):
    return correlations.correlation_table(scores_of(values), 0.95).set_index(PAIR)


def test_metrics_that_agree_and_that_oppose_each_other():
    for seeds in ((1,), (1, 2)):
        values = planted_values(seeds)
        table = correlate(values)
        for where in ("snli", correlations.POOLED):
            alike = table.loc[where, "nc", "ns"]
            opposed = table.loc[where, "agreement", "nc"]
            assert (alike.tau, alike.verdict, opposed.tau) == (1, "agree", -1)
            assert opposed.verdict == "contradict" and opposed.high < 0 < alike.low
        assert (table.loc["snli"].methods == len(METHODS) - 1).all()  # random is left out
        noisy = correlate(with_noise(values, "ns"))
        assert noisy.verdict["snli", "nc", "ns"] == "cannot be told"


def test_what_was_not_measured_is_left_out():
    values = planted_values()
    # random and three methods
    values = values[(values.metric != "ns") | values.method.isin(METHODS[:4])]
    values.loc[values.instance == "t0", "value"] = np.nan
    row = correlate(values).loc["snli", "nc", "ns"]
    assert (row.verdict, row.methods) == ("not measured", 3)
    means = correlations.mean_values(scores_of(values), 0.95)
    assert set(means[means.metric == "ns"].method) == set(METHODS[:4]) and (means.n == 19).all()
    assert means["mean"].between(means.low, means.high).all()


def test_the_baseline_says_who_is_below_random():
    table = correlations.random_baseline_table(scores_of(planted_values(), 400), 0.95)
    baseline = table.set_index("metric")
    assert baseline.below.to_dict() == {"agreement": 6, "nc": 0, "ns": 0}
    assert (baseline.surely_below == baseline.below).all()
    assert baseline.index[~baseline.at_bottom].tolist() == ["agreement"]
    found = correlations.random_baseline_by_metric(table)
    assert found.at_bottom.tolist() == [0, 1, 1]
    assert found[~found.mostly_at_bottom].title.tolist() == [METRICS["agreement"].title]


def test_pooled_runs_count_alike():
    drawn = np.array([0, 0, np.nan, 0])
    found = pool([(1.0, np.ones(4), 5), (0.0, drawn, 5), (np.nan, np.ones(4), 2)])
    assert (found.tau, found.over) == (0.5, 2) and found.drawn.tolist() == [0.5, 0.5, 1.0, 0.5]
    nothing = pool([])
    assert np.isnan(nothing.tau)
    assert verdict(*percentile_interval(nothing.drawn, 0.95)) == "not measured"
    said = [verdict(-2, -1), verdict(-1, 1), verdict(0.1, 1)]
    assert said == ["contradict", "cannot be told", "agree"]


def test_a_profile_without_runs_gives_empty_tables_and_words(tmp_path):
    scores = scores_of(pd.DataFrame(columns=[*joint.COLUMNS, "granularity"]))
    table = correlations.correlation_table(scores, 0.95)
    pooled = correlations.pooled_table(table)
    baseline = correlations.random_baseline_table(scores, 0.95)
    front = standing.pareto_table(scores, pd.DataFrame(columns=["requested", "unique"]))
    step = SimpleNamespace(profile=profile_of())
    overlaps = budgets.overlap_table(pd.DataFrame(columns=budgets.BUDGETS), step)
    made = {
        "08_joint_values": correlations.mean_values(scores, 0.95),
        "08_joint_counts": correlations.counts_table(scores.values),
        "08_joint_verdicts": correlations.pairs_by_verdict(pooled),
        "08_joint_chance": correlations.chance_table(pooled),
        "08_joint_random_baseline": baseline,
        "08_joint_random_baseline_by_metric": correlations.random_baseline_by_metric(baseline),
        "08_joint_correlations_pooled": pooled,
        "08_joint_pareto": front,
        "08_joint_pareto_by_method": standing.pareto_by_method(front),
        "08_joint_pareto_by_metric": standing.pareto_by_metric(front),
        "08_joint_settings_stability": budgets.stability_table(overlaps),
    }
    for name, one in made.items():
        one.to_csv(tmp_path / f"{name}.csv", index=False)
    declared = read_declared(CHECKOUT / "paper" / "numbers.yml", DeclaredNumber)
    own = {key: given for key, given in declared.items() if key.startswith("joint.")}
    texts = read_numbers(csv_files(tmp_path), own)
    wanted = {"joint.runs": "0", "joint.tokens.pairs": "0", "joint.budgets.lime": "not measured"}
    wanted |= {"joint.random.blind": "none", "joint.tokens.contradict_pairs": "none"}
    assert {key: texts[key] for key in wanted} == wanted
    drawn = [draw_correlations(table, correlations.reliability_table(scores), "tokens")]
    drawn += [draw_pareto(front), budgets.draw_budgets(overlaps)]
    for axes in drawn:
        assert axes.texts[0].get_text().endswith((" this run.", " this profile."))


def test_what_texts_tell_must_also_be_more_than_exchanged_names_give():
    """Six methods in one order, or its reverse, come once in 720 orders by chance."""
    values = planted_values()
    scores = scores_of(values)
    table = correlations.correlation_table(scores, 0.95)
    assert table.p_names.between(0.0005, 0.008).all() and table.beyond_names.all()
    drawn = draw_correlations(table, correlations.reliability_table(scores), "tokens").texts
    shown = [text.get_text() for text in drawn]
    assert {"1.00", "-1.00"} <= set(shown) and len(shown) == 6
    # the order of four methods is found, or reversed, in one of twelve exchanges
    few = scores_of(values[values.method.isin([*METHODS[:4], METHODS[6]])])
    table = correlations.correlation_table(few, 0.95)
    assert table.verdict.isin(["agree", "contradict"]).all() and not table.beyond_names.any()
    assert table.p_names.between(0.06, 0.11).all()
    found = correlations.chance_table(correlations.pooled_table(table)).set_index("granularity")
    assert found.told.tolist() == [3, 0] and found.beyond["tokens"] == 0
    assert found.chance["tokens"].count(";") == 2 and "(-1.00)" in found.chance["tokens"]


def test_a_run_that_can_compare_no_pair_has_tables_that_say_so():
    """An own model with three methods, or none: no pair is measured, and summaries are empty."""
    values = planted_values()
    for left in (METHODS[:4], ()):
        scores = scores_of(values[values.method.isin(left)])
        pooled = correlations.pooled_table(correlations.correlation_table(scores, 0.95))
        assert pooled.empty
        for summary in (correlations.judges_table(pooled), correlations.chance_table(pooled)):
            numbers = summary.set_index("granularity").select_dtypes("number")
            assert (numbers.fillna(0) == 0).all(axis=None)
        assert set(correlations.pairs_by_verdict(pooled).pairs) == {""}


def test_a_metric_of_noise_does_not_agree_with_itself():
    values = with_noise(planted_values(seeds=(1, 2), texts=24), "ns")
    found = correlations.reliability_table(scores_of(values)).set_index("metric")
    assert list(found.index) == ["agreement", "nc", "ns"] and (found.runs == 1).all()
    assert found.tau["nc"] == found.tau["agreement"] == 1 and abs(found.tau["ns"]) < 0.4
    alone = correlations.reliability_table(scores_of(values[values.metric == "ns"]))
    assert alone.tau.tolist() == [found.tau["ns"]], "another metric moves nobody's halves"


def test_of_many_correlations_of_noise_few_are_sure():
    """Of random values, what the interval alone tells mostly goes at the rate."""
    values = planted_values()
    noise = np.random.default_rng(0).normal(size=len(values))
    table = correlate(values.assign(value=noise))
    told = table[table.verdict.isin(["agree", "contradict"])]
    assert len(told) <= 0.05 * len(table) + 2 and (told.q <= 0.05).all()
    assert table.beyond_names.mean() <= 0.05


def test_a_budget_limits_what_is_asked_for(planted):
    text = models.instance("the film was good and a key is not bad ever ! slow plot")
    limited = [method for method in EVERY.values() if method.limits and method.level == "token"]
    for method in limited:
        asked = []
        for size in (8, 24):
            budget = method.limited(Budget(limsse_epochs=5), size)
            scorer = Scorer(planted, precision="float64")
            (found,) = explain_instances(scorer, [text], [method.name], budget)
            asked.append(found.attributions[method.name].cost.requested)
        assert asked[0] <= 8 + 2 and asked[0] < asked[1] <= 24 + 2, method.name


def text_of(scores, known=None, **more):
    """A text with these scores, as the joint study asks metrics about it."""
    tiny = models.tiny_model()
    made = models.instance("good bad slow film the plot was not")
    given = {method: np.array(one, float) for method, one in scores.items()}
    profile = profile_of(**more)
    return tiny, joint.score_text(profile, RUN, made, tiny.tokens(made), given, 0, known)


def judge(tiny, text):
    """(method, metric) -> value."""
    (found,) = joint.ask_metrics(Scorer(tiny), [], [text])
    return {(method, metric): value for method, metric, value in found}


def test_agreement_with_others_leaves_random_out():
    scores = {"random": -np.arange(8.0), "lime": np.arange(8.0), "occlusion_1": np.arange(8.0)}
    found = judge(*text_of(scores, agreement={"fixed_k": 2}))
    assert found["lime", "agreement"] == found["occlusion_1", "agreement"] == 1
    assert found["random", "agreement"] == 0.5 and ("lime", "people") not in found
    assert 0 < found["lime", "simplicity"] < 1 and ("lime", "pointing") not in found


def test_wins_over_random_scores_and_what_not_every_method_has():
    scores = dict.fromkeys(("lime", "random"), np.arange(8.0))

    def faithful(of_lime, of_random):
        known = {(name, "lime"): value for name, value in of_lime.items()}
        known |= {(name, "random"): value for name, value in of_random.items()}
        found = judge(*text_of(scores, known))
        return {key: one for key, one in found.items() if METRICS[key[1]].judge == "faithfulness"}

    high = dict.fromkeys(joint.ERASURE, 0.9)
    low = dict.fromkeys(joint.ERASURE, 0.1)
    found = faithful(high, low)
    assert found["lime", "diagnosticity"] == 1 and found["random", "diagnosticity"] == 0.5
    assert found["lime", "nc"] == 0.9 and faithful(low, low)["lime", "diagnosticity"] == 0.5
    hard = {"nc": 0.1, "ns": 0.1}
    for gap in (hard, low | {"soft_nc_equal": np.nan, "soft_ns_equal": np.nan}):
        assert set(faithful(gap, low)) == set(product(scores, hard))
    assert not faithful({}, low)


def test_the_model_is_asked_only_what_nobody_has_asked():
    scores = {"lime": np.arange(8.0), "random": np.arange(8.0) % 3, "gradient_l1": -np.arange(8.0)}
    known = dict.fromkeys(product(joint.ERASURE, ["lime"]), 0.5)
    known |= dict.fromkeys(product(("nc", "ns"), ["random"]), 0.5)
    known |= dict.fromkeys(product(["pointing"], ("lime", "last")), 1.0)
    tiny, text = text_of(scores, known)
    scorer = Scorer(tiny)
    joint.ask_metrics(scorer, [text], [])
    assert list(scorer.costs) == ["random", "gradient_l1"]
    # the whole and the erased text, one ratio or five with and without the rationale, and two
    # softly erased ones
    soft = 2 * profile_of().faithfulness.draws
    assert [cost.requested for cost in scorer.costs.values()] == [4 + soft, 12 + soft]
    text = replace(text, target=text.found["hard", "gradient_l1"].target)
    found = judge(tiny, text)
    assert found["lime", "nc"] == 0.5
    assert [method for method, metric in found if metric == "pointing"] == ["lime"]
    of_model = {*joint.ERASURE, "diagnosticity"}
    # explained for another class than the predicted one
    other = judge(tiny, replace(text, target=1 - text.target))
    assert {metric for _, metric in found} - {metric for _, metric in other} == of_model


def test_what_the_diagnosis_says_of_each_text():
    shapley = ("shapley", "token")
    spans = ("shapley", "span")
    random = ("random", "random")

    def rows(columns, *values):
        about = ["task", "model", "seed", "instance", "technique", "type"]
        given = [(*RUN, "t", *row) for row in values]
        return pd.DataFrame(given, columns=[*about, *columns])

    known = (*shapley, 1.0, 0.25), (*shapley, 0.0, 0.25), (*random, 0.0, 0.25)
    changes = rows(["comprehensiveness", "sufficiency"], *known)
    agreement = rows(["token", "interaction"], (*shapley, 0.5, np.nan))
    told = (*shapley, 0.5, 0.75, 1.0), (*spans, 0.0, 0.0, 0.0)
    complexity = rows(["entropy", "random", "uniform"], *told)
    told = ("none", "token", "none", 1.0), (*shapley, "symbol", 1.0), (*shapley, "text", 0.0)
    predictions = rows(["form", "correct"], *told)
    properties = Properties(changes, agreement, complexity, pd.DataFrame())
    found = properties_by_instance(properties, predictions)
    values = found.set_index(["method", "measure"]).value.to_dict()
    halves = "unified_comprehensiveness people_units unified_simplicity complexity simulatability"
    by_hand = {("kernel_shap", name): 0.5 for name in halves.split()}
    by_hand["bivariate_shapley_spans", "complexity"] = 0.0
    by_hand["random", "unified_comprehensiveness"] = 0.0
    by_hand["random", "unified_simplicity"] = 0.25
    for method in ("kernel_shap", "random"):
        by_hand[method, "unified_sufficiency_inverted"] = 0.75
    assert values == by_hand
    assert "simulatability" not in set(properties_by_instance(properties, predictions[:1]).measure)


def test_a_profile_says_which_runs_and_texts_go_before_all_metrics():
    assert [run[0] for run in profile_of().joint_runs()] == ["snli", "rotten_tomatoes"]
    some = profile_of(joint={"tasks": {"snli": 300}, "asked": {"snli": 3}})
    assert [run[0] for run in some.joint_runs()] == ["snli"]
    assert some.joint.rows_of("snli", 8) == 8 and some.joint.asked_of("snli", 8) == 3
    assert some.joint.changed(asked={}).asked_of("snli", 8) == 8
    assert some.first_runs(["rotten_tomatoes", "bbc"]) == [("rotten_tomatoes", "small", 1)]


def test_texts_that_are_only_shown_are_scored_and_kept_and_in_no_table(tmp_path):
    profile = profile_of()
    profile.tasks["rotten_tomatoes"].judges[:] = ["shown"]
    assert [run[0] for run in profile.joint_runs()] == ["snli", "rotten_tomatoes"]
    judges = ("pointing", "agreement", "faithfulness", "diagnosis")
    judged = [run[0] for judge in judges for run in profile.explained_runs(judge)]
    assert "rotten_tomatoes" not in judged
    step = Step("08_joint", Parameters(), profile, Results(tmp_path))
    row = {"model": "m", "seed": 1, "instance": "a", "method": "lime", "metric": "nc", "value": 0.5}
    kept = pd.DataFrame([row | {"task": task} for task in ("snli", "rotten_tomatoes")])
    assert joint.keep_scores(step, kept).task.tolist() == ["snli"]
    assert len(read_values(step.results, "08_joint")) == 2
