"""How methods stand, on planted values: places, prices, and the choice; noise settles nothing."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from test_joint import METHODS, planted_values, profile_of, scores_of

from attreval.evaluation.choice import VOTES, VOTING, MethodMeans, weigh_metrics
from attreval.methods import METHODS as METHODS_OF_ALL
from attreval.metrics.rank_correlation import Drawn
from compendium.papers.joint import standing
from compendium.papers.joint import values as joint
from compendium.papers.joint.correlations import RUN
from compendium.papers.joint.figures import draw_pareto, draw_places
from compendium.papers.joint.standing import MEAN, WORDS, places_table, shares_beaten
from compendium.project import Results

MODELS = {
    "small": SimpleNamespace(architecture="transformer"),
    "gru": SimpleNamespace(architecture="gru"),
}
PAID = dict(zip(METHODS, (0, 1, 1, 1, 20, 30, 300), strict=True))
PLAIN = tuple(method for method in METHODS_OF_ALL if method != "random")[:12]
FAITHFUL = VOTES["faithfulness"]


def costs():
    rows = [("snli", "small", "tokens", m, c, c / 2) for m, c in PAID.items() if m != "random"]
    return pd.DataFrame(rows, columns=[*RUN, "method", "requested", "unique"]).set_index(
        [*RUN, "method"]
    )


def chosen(values, draws=300):
    measured = standing.measured_models(scores_of(values, draws), costs())
    table = standing.choice_table(measured, 0.95)
    return table, standing.objections_table(measured, table, 0.95)


def test_planted_order_is_found_and_a_metric_of_the_other_order_turns_it():
    table = places_table(scores_of(planted_values(texts=40)), MODELS, 0.95)
    assert set(table.family) == {"transformers"} and table.method.iloc[0] in METHODS
    nc = table[table.metric == "nc"].set_index("method")
    expected = pd.Series(np.arange(7) / 6, METHODS)  # each beats those planted below it
    assert np.allclose(nc.place[[*METHODS]], expected)
    assert (
        nc["rank"]["lime"] == 1
        and nc["of"]["lime"] == len(METHODS)
        and nc.verdict["lime"] == "above"
    )
    other = table[table.metric == "agreement"].set_index("method")
    assert np.allclose(other.place[[*METHODS]], 1 - expected) and other.verdict["lime"] == "below"
    assert np.isclose(
        table[table.metric == MEAN].set_index("method").place["lime"], (1 + 1 + 0) / 3
    )


def test_equal_methods_stand_at_one_half_and_noise_is_not_told():
    values = planted_values(texts=40, metrics=("nc",))
    same = places_table(scores_of(values.assign(value=0.3)), MODELS, 0.95)
    assert np.allclose(same.place, 0.5) and (same.verdict == "cannot be told").all()
    values["value"] = np.random.default_rng(4).standard_normal(len(values))
    noise = places_table(scores_of(values, 300), MODELS, 0.95)
    assert (noise[noise.metric == "nc"].verdict == "cannot be told").mean() >= 0.7


def places_of(true, texts, tails, rng):
    """The table of two metrics whose (runs, 2, m) means are seen through the noise of texts."""
    shape = (texts, *true.shape)
    noise = rng.standard_t(3, shape) / np.sqrt(3) if tails else rng.normal(size=shape)
    values = true + 0.1 * noise * (rng.choice([0.4, 1, 1.4], true.shape) if tails else 1)
    weights = rng.multinomial(texts, np.full(texts, 1 / texts), 200) / texts
    drawn = np.tensordot(weights, values, axes=1)
    means = values.mean(axis=0)
    runs = {}
    for run in range(len(true)):
        of_metric = [
            dict(zip(("nc", "ns"), of, strict=True))
            for of in (means[run], drawn[:, run].swapaxes(0, 1))
        ]
        counts = dict.fromkeys(("nc", "ns"), np.full(len(PLAIN), texts))
        runs[run, "small", "tokens"] = Drawn(PLAIN, *of_metric, counts)
    return places_table(SimpleNamespace(runs=runs), MODELS, 0.95)


@pytest.mark.parametrize("texts", [20, 60, 300])
def test_an_interval_of_a_place_holds_the_truth_as_often_as_it_says(texts):
    """Drawn texts alone hold .87 and .88 of those of 20 texts that are pooled over runs."""
    rng = np.random.default_rng(texts)
    held = {}
    for runs, tails in [(1, False), (1, True)] * 12 + [(15, False), (15, True)] * 6:
        true = 0.03 * rng.normal(size=(runs, 2, len(PLAIN)))
        table = places_of(true, texts, tails, rng)
        shares = shares_beaten(true).mean(axis=0)
        assert table.place.between(table.low, table.high).all()
        for metric, truth in {"nc": shares[0], "ns": shares[1], MEAN: shares.mean(axis=0)}.items():
            of = table[table.metric == metric].set_index("method").loc[[*PLAIN]]
            held.setdefault((runs, metric == MEAN), []).append(
                (of.low <= truth + 1e-9) & (truth <= of.high + 1e-9)
            )
    said = {cell: round(float(np.mean(of)), 3) for cell, of in held.items()}
    assert 0.92 <= np.mean([*said.values()]) <= 0.98 and min(said.values()) >= 0.9, said


def test_families_are_apart_and_what_a_family_lacks_is_left_out():
    values = planted_values()
    words = values[(values.metric == "nc") & (values.method != "lime")].assign(model="gru")
    table = places_table(scores_of(pd.concat([values, words])), MODELS, 0.95)
    own = table[table.family == WORDS]
    assert set(own.metric) == {MEAN, "nc"} and "lime" not in set(own.method)
    assert len(draw_places(table).figure.axes) == 3  # two panels and the scale
    assert draw_places(table.iloc[:0]).texts


def test_prices_and_who_is_undominated():
    table = standing.pareto_table(scores_of(planted_values()), costs())
    best = table[(table.metric == "nc") & table.undominated]
    assert list(best.method) == ["random", "gradient_x_input", "occlusion_1", "omission_1", "lime"]
    assert (best.share == 1).all()
    assert list(table[(table.metric == "agreement") & table.undominated].method) == ["random"]
    named = standing.pareto_by_metric(table)
    assert list(named.metric) == ["agreement", "nc", "ns"] and named.undominated[0] == ""
    assert "LIME (1)" in named.undominated[1]
    assert draw_pareto(table) is not None


def test_costs_are_means_over_shards(tmp_path):
    results = Results(tmp_path)
    results.tables.mkdir()
    for shard, (instances, asked) in enumerate([(1, 10.0), (3, 20.0)]):
        cost = {
            "method": ["prediction", "lime"],
            "instances": instances,
            "requested": asked,
            "unique": 1.0,
        }
        pd.DataFrame(cost).to_csv(
            results.table("cost", "03_explain", "snli", "small", 1, shard), index=False
        )
    profile = profile_of(joint={"tasks": {"snli": 2}}, explain={"methods": ["random"], "shards": 2})
    found = standing.read_costs(SimpleNamespace(profile=profile, results=results))
    assert found.requested.to_dict() == {("snli", "small", "tokens", "lime"): 17.5}


def test_shares_beaten_is_a_count_of_wins():
    assert np.allclose(
        shares_beaten(np.array([3.0, 1.0, 1.0, 2.0])), np.array([3, 0.5, 0.5, 2]) / 3
    )
    assert np.allclose(shares_beaten(np.ones((2, 5))), 0.5) and shares_beaten(np.ones(1)) == 0


def test_a_judge_of_few_texts_has_no_vote():
    """Of 40 texts people have marked two, and say the opposite: that is not enough to say
    anything.
    """
    values = planted_values(texts=40, metrics=(*FAITHFUL, "people_dynamic"))
    people = values.metric == "people_dynamic"
    values.loc[people, "value"] *= -1
    table, _ = chosen(values[~(people & ~values.instance.isin(values.instance.unique()[:2]))])
    assert table.method[0] == "lime" and table.settled[0] and table.people[0] < 0


def test_the_planted_best_is_recommended_and_its_weakness_named():
    table, against = chosen(planted_values(texts=40, metrics=(*FAITHFUL, "agreement")))
    first = table.iloc[0]
    assert (
        first.method == "lime"
        and first.recommended
        and first.settled
        and first.best == 1
        and first.requested == 300
    )
    assert table.recommended.sum() == 1 == table.leading.sum() and table.method.iloc[-1] == "random"
    against = against.set_index("metric")
    assert (
        against["rank"]["nc"] == 1 and not against.surely["nc"] and not against.below_random["nc"]
    )
    assert (
        against["rank"]["agreement"] == 6
        and against.surely["agreement"]
        and against.below_random["agreement"]
    )
    assert not against.votes["agreement"] and against.rival["agreement"] == "gradient_l1"
    few, _ = chosen(planted_values(texts=20, metrics=FAITHFUL))
    assert few.method[0] == "lime" and not few.settled.any() and (few.texts == 20).all()
    noise = planted_values(texts=40, metrics=FAITHFUL)
    noise["value"] = np.random.default_rng(1).standard_normal(len(noise))
    table, against = chosen(noise)
    assert not table.settled.any() and table.best.max() < 0.8 and against.below_random.any()


def test_of_equal_methods_the_cheaper_is_recommended():
    values = planted_values(texts=40, metrics=FAITHFUL)
    values.loc[values.method == "gradient_l1", "value"] = values[
        values.method == "lime"
    ].value.to_numpy()
    table, _ = chosen(values)
    assert set(table.method[:2]) == {"gradient_l1", "lime"} and table.settled[0]
    assert set(table[table.recommended].method) == {"gradient_l1"} and table.equal.sum() == 2
    assert set(table[table.leading].method) == {"gradient_l1", "lime"}


def test_texts_made_from_a_task_vote_with_it():
    hybrid = planted_values(texts=40, metrics=("pointing",)).assign(task="hybrid_bbc")
    hybrid["value"] = -hybrid.value
    table, against = chosen(
        pd.concat([planted_values(texts=40, metrics=FAITHFUL).assign(task="bbc"), hybrid])
    )
    assert set(table.task) == {"bbc"} and {"pointing", "faithfulness"} <= set(table)
    assert np.allclose(table.score, 0, atol=0.01)  # the two judges say the opposite of each other
    assert set(against.metric) == {*FAITHFUL, "pointing"}


def test_without_a_vote_there_is_no_choice():
    with pytest.raises(ValueError, match="no metric with a vote"):
        weigh_metrics(MethodMeans(("a", "b"), {"simplicity": np.ones(2)}, {}, {}, np.ones(2)))
    assert standing.choice_table({}, 0.95).empty
    assert (
        standing.measured_models(scores_of(planted_values(metrics=("agreement",))), costs()) == {}
    )
    assert set(VOTING) <= set(joint.JOINT)
