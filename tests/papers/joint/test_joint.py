"""The joint study on planted tables: judges that agree, that oppose each other, that are missing."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attreval.config import Profile
from attreval.core.bootstrap import percentile_interval
from attreval.core.records import Cost
from attreval.explain import METHODS as EVERY
from attreval.explain.method import Budget
from attreval.metrics.rank_correlation import draw_judges, pool, verdict
from attreval.papers.joint import budgets
from attreval.papers.joint import correlations as judging
from attreval.papers.joint import numbers as noting_judges
from attreval.papers.joint import values as joint
from attreval.papers.joint.figures import draw_bargains, draw_budgets, draw_correlations
from attreval.papers.sun2024 import instances as diagnosis_each

METHODS = ("random", "gradient_l1", "gradient_l2", "gradient_x_input", "occlusion_1", "omission_1", "lime")
ROWS = {"models": ["small"], "train_rows": 1, "dev_rows": 1, "test_rows": 1, "explain_rows": 8}


def profile_of(**more):
    return Profile(
        name="made-up",
        models={"small": {"layers": 1, "hidden": 8, "heads": 2, "tokenizer": "minilm"}},
        tasks={"snli": ROWS, "rotten_tomatoes": ROWS},
        explain={"methods": ["random"]},
        bootstrap={"draws": 60},
        **more,
    )


@pytest.fixture
def step(tmp_path):
    """A step that keeps its numbers in a dictionary."""
    numbers = {}
    made = SimpleNamespace(profile=profile_of(), numbers=numbers, notes={}, results=SimpleNamespace(tables=tmp_path))
    made.number = lambda key, value, digits=None, percent=False: numbers.__setitem__(key, value)
    return made


def planted_values(seeds=(1,), texts=20, judges=("nc", "ns", "agreement")):
    """`nc` and `ns` order the methods alike, `agreement` the other way round; random is at the bottom of the first."""
    rng, rows = np.random.default_rng(0), []
    for seed in seeds:
        for text in range(texts):
            for worth, method in enumerate(METHODS):
                for judge in judges:
                    sign = -1 if judge == "agreement" else 1
                    rows.append(("snli", "small", seed, f"t{text}", method, judge, sign * worth + 0.3 * rng.random()))
    return pd.DataFrame(rows, columns=joint.COLUMNS).assign(level="tokens")


def hearing_of(values):
    runs = {
        run: draw_judges(*judging.stack(part), 60, run[0], run[2])
        for run, part in values.groupby(judging.RUN, sort=False)
    }
    return judging.Hearing(values, runs, pd.DataFrame(columns=budgets.ASKED), [])


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_judges_that_agree_and_that_oppose_each_other(seeds):
    table = judging.correlation_table(hearing_of(planted_values(seeds)), 0.95)
    for where in ("snli", judging.POOLED):
        part = table[table.task == where].set_index(["judge_a", "judge_b"])
        assert part.tau["nc", "ns"] == 1 and part.verdict["nc", "ns"] == "agree"
        assert part.tau["agreement", "nc"] == -1 and part.verdict["agreement", "nc"] == "contradict"
        assert part.high["agreement", "nc"] < 0 < part.low["nc", "ns"]
    assert (table[table.task == "snli"].methods == len(METHODS) - 1).all()  # random is left out


def test_judges_that_draw_lots_cannot_be_told():
    values = planted_values()
    noise = np.random.default_rng(3).random(len(values))
    values["value"] = values.value.where(values.judge != "ns", noise)
    table = judging.correlation_table(hearing_of(values), 0.95).set_index(["task", "judge_a", "judge_b"])
    assert table.verdict["snli", "nc", "ns"] == "cannot be told"


def test_what_was_not_measured_is_left_out():
    values = planted_values()
    values = values[(values.judge != "ns") | values.method.isin(METHODS[:4])]  # random and three methods
    values.loc[values.instance == "t0", "value"] = np.nan
    hearing = hearing_of(values)
    table = judging.correlation_table(hearing, 0.95).set_index(["task", "judge_a", "judge_b"])
    assert table.verdict["snli", "nc", "ns"] == "not measured" and table.methods["snli", "nc", "ns"] == 3
    summary = judging.summary_table(hearing, 0.95)
    assert set(summary[summary.judge == "ns"].method) == set(METHODS[:4]) and (summary.n == 19).all()
    assert (summary.low <= summary["mean"]).all() and (summary["mean"] <= summary.high).all()


def test_the_floor_says_who_is_below_random(step):
    floor = judging.floor_table(hearing_of(planted_values()), 0.95).set_index("judge")
    assert floor.below["nc"] == 0 and floor.at_bottom["nc"]
    assert floor.below["agreement"] == floor.surely_below["agreement"] == 6 and not floor.at_bottom["agreement"]
    found = noting_judges.floor_by_judge(step, floor.reset_index())
    assert step.numbers["joint.floor.exceptions"] == 1
    assert step.numbers["joint.floor.blind"] == joint.METRICS["agreement"].title
    assert found.at_bottom.tolist() == [0, 1, 1]


def test_pooled_runs_count_alike():
    tau, drawn, runs = pool([(1.0, np.ones(4), 5), (0.0, np.array([0, 0, np.nan, 0]), 5), (np.nan, np.ones(4), 2)])
    assert (tau, runs) == (0.5, 2) and drawn.tolist() == [0.5, 0.5, 1.0, 0.5]
    assert np.isnan(pool([])[0]) and verdict(*percentile_interval(pool([])[1], 0.95)) == "not measured"
    assert [verdict(-2, -1), verdict(-1, 1), verdict(0.1, 1)] == ["contradict", "cannot be told", "agree"]


def test_prices_and_who_is_undominated():
    hearing = hearing_of(planted_values())
    paid = dict(zip(METHODS, (0, 1, 1, 1, 20, 30, 300), strict=True))
    costs = pd.DataFrame([("snli", "small", "tokens", m, c, c / 2) for m, c in paid.items()])
    costs.columns = [*judging.RUN, "method", "requested", "unique"]
    table = judging.bargain_table(hearing, costs.set_index([*judging.RUN, "method"]))
    best = table[(table.judge == "nc") & table.undominated]
    assert list(best.method) == ["random", "gradient_x_input", "occlusion_1", "omission_1", "lime"]
    assert (best.share == 1).all()
    assert list(table[(table.judge == "agreement") & table.undominated].method) == ["random"]
    named = judging.name_bargains(table)
    assert list(named.judge) == ["agreement", "nc", "ns"] and named.undominated[0] == ""
    assert "LIME (1)" in named.undominated[1]
    assert draw_bargains(table) is not None


def test_costs_are_means_over_shards(step):
    for shard, (instances, asked) in enumerate([(1, 10.0), (3, 20.0)]):
        cost = pd.DataFrame(
            {"method": ["prediction", "lime"], "instances": instances, "requested": asked, "unique": 1.0}
        )
        cost.to_csv(step.results.tables / f"03_explain-snli-small-s1-{shard}_cost.csv", index=False)
    step.profile = profile_of(joint={"tasks": {"snli": 2}}).model_copy(
        update={"explain": step.profile.explain.model_copy(update={"shards": 2})}
    )
    costs = judging.read_costs(step)
    assert costs.requested.to_dict() == {("snli", "small", "tokens", "lime"): 17.5}


def test_a_profile_without_judges_gives_empty_tables_and_words(step):
    hearing = hearing_of(pd.DataFrame(columns=[*joint.COLUMNS, "level"]))
    summary, table = judging.summary_table(hearing, 0.95), judging.correlation_table(hearing, 0.95)
    floor, empty = judging.floor_table(hearing, 0.95), pd.DataFrame(columns=["requested", "unique"])
    bargains = judging.bargain_table(hearing, empty)
    named = judging.name_bargains(bargains)
    overlaps = budgets.overlap_table(step, hearing.asked, [])
    needed = budgets.needed_table(step, overlaps)
    noting_judges.note_joint(step, hearing.values, summary)
    noting_judges.note_correlations(step, table)
    noting_judges.floor_by_judge(step, floor)
    noting_judges.note_bargains(step, bargains, named)
    noting_judges.note_needed(step, needed)
    assert len(noting_judges.lay_out_needed(needed)) == len(noting_judges.lay_out_pooled(table, "pieces")) == 0
    assert step.numbers["joint.runs"] == step.numbers["joint.tokens.pairs"] == 0
    assert np.isnan(step.numbers["joint.budgets.lime"]) and np.isnan(step.numbers["joint.tokens.highest"])
    for drawn in (
        draw_correlations(table, "tokens", judging.POOLED),
        draw_bargains(bargains),
        draw_budgets(overlaps, 0.9),
    ):
        assert any(word in drawn.texts[0].get_text() for word in ("this run", "this profile"))


def test_figures_of_planted_tables_are_drawn():
    table = judging.correlation_table(hearing_of(planted_values()), 0.95)
    axes = draw_correlations(table, "tokens", judging.POOLED)
    said = {text.get_text() for text in axes.texts}
    assert {"1.00", "-1.00", "-1.00 to -1.00"} <= said


def test_budgets_stand_still_from_where_they_last(step):
    sizes = np.array([8, 16, 32])
    assert budgets.first_from(sizes, np.array([True, False, True])) == 32
    assert budgets.first_from(sizes, np.array([True, True, True])) == 8
    assert np.isnan(budgets.first_from(sizes, np.array([True, True, False])))
    rng, rows, scores = np.random.default_rng(0), [], []
    for size in sizes:
        for seed in (1, 2):
            for text in "ab":
                rows.append(("snli", "small", "lime", size, seed, text, size))
                scores.append(np.arange(9.0) if size > 8 else rng.permutation(9).astype(float))
    overlaps = budgets.overlap_table(step, pd.DataFrame(rows, columns=budgets.ASKED), scores)
    assert overlaps.to_largest.tolist()[1:] == overlaps.between.tolist()[1:] == [1, 1]
    assert overlaps.to_largest[0] < 1 and (overlaps.k == 4).all()
    needed = budgets.needed_table(step, overlaps)
    assert needed.stands_still.tolist() == needed.seeds_agree.tolist() == [16]
    noting_judges.note_needed(step, needed)
    assert step.numbers["joint.budgets.lime"] == "16"
    once = pd.DataFrame(rows, columns=budgets.ASKED).assign(method="integrated_gradients")
    once = once[once.seed == 1]
    overlaps = budgets.overlap_table(step, once, scores)
    assert overlaps.between.isna().all() and overlaps.to_largest.notna().all()
    noting_judges.note_needed(step, budgets.needed_table(step, overlaps))
    assert step.numbers["joint.budgets.integrated_gradients_seeds"] == "draws nothing"


@pytest.mark.parametrize("method", [m.name for m in EVERY.values() if m.limits and m.level == "token"])
def test_a_budget_limits_what_is_asked_for(planted, method):
    from reference.models import instance

    from attreval.explain.run import explain
    from attreval.models.scorer import Scorer

    text = instance("the film was good and a key is not bad ever ! slow plot")
    asked = []
    for size in (8, 24):
        budget = EVERY[method].limited(Budget(limsse_epochs=5), size)
        found = explain(Scorer(planted, precision="float64"), [text], [method], budget)
        asked.append(found[0].attributions[method].cost)
    assert (
        isinstance(asked[0], Cost) and asked[0].requested <= 8 + 2 and asked[0].requested < asked[1].requested <= 24 + 2
    )


def test_agreement_with_others_leaves_random_out():
    from attreval.config import AgreementSpec
    from attreval.papers.kamp2023.readings import Reading

    up, down = np.arange(8.0), -np.arange(8.0)
    reading = Reading("t", tuple("abcdefgh"), {"random": down, "lime": up, "occlusion_1": up}, np.zeros((0, 8)))
    found = {(m, j): v for m, j, v in joint.count_agreement(reading, list(reading.scores), AgreementSpec(fixed_k=2))}
    assert found["lime", "agreement"] == found["occlusion_1", "agreement"] == 1
    assert found["random", "agreement"] == 0.5 and ("lime", "people") not in found
    shares = {m: v for m, _, v in joint.count_shares(reading, ["lime"])}
    assert 0 < shares["lime"] < 1


def test_wins_over_random_scores_and_what_not_every_method_has():
    high, low = dict.fromkeys(joint.FAITHFULNESS, 0.9), dict.fromkeys(joint.FAITHFULNESS, 0.1)
    found = {(m, j): v for m, j, v in joint.compare_with_random({"lime": high, "random": low}, ["lime", "random"])}
    assert (
        found["lime", "diagnosticity"] == 1 and found["random", "diagnosticity"] == 0.5 and found["lime", "nc"] == 0.9
    )
    tied = {(m, j): v for m, j, v in joint.compare_with_random({"lime": low, "random": low}, ["lime", "random"])}
    assert tied["lime", "diagnosticity"] == 0.5
    for gap in ({"nc": 0.1, "ns": 0.1}, low | {"soft_nc": np.nan, "soft_ns": np.nan}):
        found = {(m, j) for m, j, _ in joint.compare_with_random({"lime": gap, "random": low}, ["lime", "random"])}
        assert found == {(m, j) for m in ("lime", "random") for j in ("nc", "ns")}
    nothing = dict.fromkeys(joint.FAITHFULNESS, np.nan)  # explained for another class than the predicted one
    assert not list(joint.compare_with_random({"lime": nothing, "random": low}, ["lime", "random"]))


def test_the_model_is_asked_only_what_nobody_has_asked():
    profile, names = profile_of(), ("snli", "small", 1, "t")
    scores = {m: np.arange(3.0) for m in ("lime", "random", "gradient_l1")}
    known = {"lime": dict.fromkeys(joint.FAITHFULNESS, 0.5), "random": {"nc": 0.5, "ns": 0.5}}
    cases = joint.list_cases(profile, names, scores, known, True)
    assert [case.method for case in cases] == ["random", "gradient_l1"]
    assert cases[0].protocol.ratios == (1.0,) and len(cases[1].protocol.ratios) == 5
    assert not joint.list_cases(profile, names, scores, known, False)
    assert list(joint.pointed({"lime": {"pointing": 1.0}, "random": {}}, ["lime", "random"])) == [
        ("lime", "pointing", 1.0)
    ]


def test_what_the_diagnosis_says_of_each_text():
    run = {"task": "snli", "model": "small", "seed": 1, "instance": "t"}
    changes = pd.DataFrame(
        [
            run | {"technique": t, "type": k, "comprehensiveness": c, "sufficiency": 0.25}
            for t, k, c in (("shapley", "token", 1.0), ("shapley", "token", 0.0), ("random", "random", 0.0))
        ]
    )
    agreement = pd.DataFrame([run | {"technique": "shapley", "type": "token", "token": 0.5, "interaction": np.nan}])
    complexity = pd.DataFrame(
        [
            run | {"technique": "shapley", "type": "token", "entropy": 0.5, "random": 0.75, "uniform": 1.0},
            run | {"technique": "shapley", "type": "span", "entropy": 0.0, "random": 0.0, "uniform": 0.0},
        ]
    )
    found = diagnosis_each.each_instance(SimpleNamespace(changes=changes, agreement=agreement, complexity=complexity))
    values = {(row.method, row.judge): row.value for row in found.itertuples()}
    assert values == {
        ("kernel_shap", "unified_comprehensiveness"): 0.5,
        ("random", "unified_comprehensiveness"): 0.0,
        ("kernel_shap", "unified_sufficiency_inverted"): 0.75,
        ("random", "unified_sufficiency_inverted"): 0.75,
        ("kernel_shap", "people_units"): 0.5,
        ("kernel_shap", "unified_simplicity"): 0.5,
        ("random", "unified_simplicity"): 0.25,
    }
    told = pd.DataFrame(
        [
            run | {"technique": t, "type": "token", "form": f, "correct": c}
            for t, f, c in (("none", "none", 1.0), ("shapley", "symbol", 1.0), ("shapley", "text", 0.0))
        ]
    )
    agents = diagnosis_each.read_agents(told)
    assert agents.value.tolist() == [0.5] and agents.method.tolist() == ["kernel_shap"]
    assert len(diagnosis_each.read_agents(told[:1])) == 0


def test_a_profile_names_its_tasks_and_methods():
    with pytest.raises(ValueError, match="joint: no task 'bbc'"):
        profile_of(joint={"tasks": {"bbc": 3}})
    with pytest.raises(ValueError, match=r"has no budget to vary; these have: .*lime"):
        profile_of(joint={"budgets": {"tasks": {"snli": ["gradient_l1"]}}})
    assert [run[0] for run in joint.joint_runs(profile_of())] == ["snli", "rotten_tomatoes"]
    assert [run[0] for run in joint.joint_runs(profile_of(joint={"tasks": {"snli": 3}}))] == ["snli"]
    found = profile_of(joint={"tasks": {"snli": 300}, "asked": {"snli": 3}}).joint
    assert found.rows_of("snli", 8) == 8 and found.asked_of("snli", 8) == 3
    assert profile_of(joint={"tasks": {"snli": 300}}).joint.asked_of("snli", 8) == 8
    with pytest.raises(ValueError, match="joint: no task 'imdb'"):
        profile_of(joint={"asked": {"imdb": 3}})
