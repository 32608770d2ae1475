"""How methods stand, on planted values: places, prices, and the choice; noise settles nothing."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from test_joint import METHODS, planted_values, profile_of, scores_of

from attreval.evaluation.choice import OF_VALUES, VOTES, VOTING, MethodMeans, weigh_metrics
from attreval.methods import METHODS as METHODS_OF_ALL
from attreval.metrics.rank_correlation import Drawn
from compendium.papers.common.runs import COSTS
from compendium.papers.joint import standing
from compendium.papers.joint.correlations import RUN
from compendium.papers.joint.figures import draw_pareto, draw_places
from compendium.papers.joint.standing import MEAN, places_table, shares_beaten
from compendium.papers.joint.values import JOINT, WORDS
from compendium.project import Results

KINDS = {"small": "transformer", "gru": "gru"}
MODELS = {
    name: SimpleNamespace(architecture=kind, weights="x", start=None)
    for name, kind in KINDS.items()
}
PAID = dict(zip(METHODS, (0, 1, 1, 1, 20, 30, 300), strict=True))
PLAIN = tuple(method for method in METHODS_OF_ALL if method != "random")[:12]
FAITHFUL = tuple(one for one in VOTES["faithfulness"] if one in JOINT)


def costs():
    rows = [("snli", "small", "tokens", m, c, c / 2) for m, c in PAID.items() if m != "random"]
    key = [*RUN, "method"]
    return pd.DataFrame(rows, columns=[*key, "requested", "unique"]).set_index(key)


def chosen(values, draws=300):
    measured = standing.measured_models(scores_of(values, draws), costs())
    table = standing.recommendation_table(measured, 0.95)
    return table, standing.objections_table(measured, table, 0.95)


def by_method(table, metric):
    return table[table.metric == metric].set_index("method")


def test_planted_order_is_found_and_a_metric_of_the_other_order_turns_it():
    table = places_table(scores_of(planted_values(texts=40)), MODELS, 0.95)
    assert set(table.family) == {"transformers"} and table.method.iloc[0] in METHODS
    expected = np.arange(7) / 6  # each beats those planted below it
    nc = by_method(table, "nc")
    assert np.allclose(nc.place[METHODS], expected)
    assert nc.loc["lime", ["rank", "of", "verdict"]].tolist() == [1, len(METHODS), "above"]
    other = by_method(table, "agreement")
    assert np.allclose(other.place[METHODS], 1 - expected) and other.verdict["lime"] == "below"
    assert np.isclose(by_method(table, MEAN).place["lime"], (1 + 1 + 0) / 3)


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
    counts = dict.fromkeys(("nc", "ns"), np.full(len(PLAIN), texts))
    runs = {}
    for run in range(len(true)):
        of_metric = dict(zip(counts, means[run], strict=True))
        of_draws = dict(zip(counts, drawn[:, run].swapaxes(0, 1), strict=True))
        runs[run, "small", "tokens"] = Drawn(PLAIN, of_metric, of_draws, counts)
    return places_table(SimpleNamespace(runs=runs), MODELS, 0.95)


def test_an_interval_of_a_place_holds_the_truth_as_often_as_it_says():
    """Drawn texts alone hold .87 and .88 of those of 20 texts that are pooled over runs."""
    for texts in (20, 300):
        rng = np.random.default_rng(texts)
        held = defaultdict(list)
        for runs, tails in [(1, False), (1, True)] * 9 + [(15, False), (15, True)] * 4:
            true = 0.03 * rng.normal(size=(runs, 2, len(PLAIN)))
            table = places_of(true, texts, tails, rng)
            assert table.place.between(table.low, table.high).all()
            nc, ns = shares_beaten(true).mean(axis=0)
            for metric, truth in {"nc": nc, "ns": ns, MEAN: (nc + ns) / 2}.items():
                of = by_method(table, metric).loc[[*PLAIN]]
                inside = (of.low <= truth + 1e-9) & (truth <= of.high + 1e-9)
                held[runs, metric == MEAN].append(inside)
        said = {cell: round(float(np.mean(of)), 3) for cell, of in held.items()}
        assert 0.92 <= np.mean([*said.values()]) <= 0.98, (texts, said)
        assert min(said.values()) >= 0.9, (texts, said)


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
    best = table[table.undominated].groupby("metric").method.agg(list)
    assert best["nc"] == ["random", "gradient_x_input", "occlusion_1", "omission_1", "lime"]
    assert best["agreement"] == ["random"] and (table[table.undominated].share == 1).all()
    named = standing.pareto_by_metric(table)
    assert list(named.metric) == ["agreement", "nc", "ns"] and named.undominated[0] == ""
    assert "LIME (1)" in named.undominated[1]
    assert draw_pareto(table) is not None


def test_costs_are_means_over_shards(tmp_path):
    results = Results(tmp_path)
    results.tables.mkdir()
    for shard, (instances, asked) in enumerate([(1, 10.0), (3, 20.0)]):
        cost = {"method": ["prediction", "lime"], "instances": instances, "requested": asked}
        path = results.table("cost", "03_explain", "snli", "small", 1, shard)
        pd.DataFrame(dict.fromkeys(COSTS, 1.0) | cost).to_csv(path, index=False)
    profile = profile_of(joint={"tasks": {"snli": 2}}, explain={"methods": ["random"], "shards": 2})
    found = standing.read_costs(SimpleNamespace(profile=profile, results=results))
    assert found.requested.to_dict() == {("snli", "small", "tokens", "lime"): 17.5}


def test_a_judge_of_few_texts_has_no_vote():
    """Of 40 texts people have marked two, and say the opposite: too few to say anything."""
    values = planted_values(texts=40, metrics=(*FAITHFUL, "people_dynamic"))
    people = values.metric == "people_dynamic"
    values.loc[people, "value"] *= -1
    table, _ = chosen(values[~people | values.instance.isin(["t0", "t1"])])
    assert table.method[0] == "lime" and table.settled[0] and table.people[0] < 0


def test_the_planted_best_is_recommended_and_its_weakness_named():
    table, against = chosen(planted_values(texts=40, metrics=(*FAITHFUL, "agreement")))
    first = table.iloc[0]
    assert (first.method, first.best, first.requested) == ("lime", 1, 300)
    assert first.recommended and first.settled and table.method.iloc[-1] == "random"
    assert table.recommended.sum() == 1 == table.leading.sum()
    against = against.set_index("metric")
    flags = ["rank", "surely", "below_random"]
    assert against.loc["nc", flags].tolist() == [1, False, False]
    assert against.loc["agreement", flags].tolist() == [6, True, True]
    assert not against.votes["agreement"] and against.rival["agreement"] == "gradient_l1"
    few, _ = chosen(planted_values(texts=20, metrics=FAITHFUL))
    assert few.method[0] == "lime" and not few.settled.any() and (few.texts == 20).all()
    noise = planted_values(texts=40, metrics=FAITHFUL)
    noise["value"] = np.random.default_rng(1).standard_normal(len(noise))
    table, against = chosen(noise)
    assert not table.settled.any() and table.best.max() < 0.8 and against.below_random.any()


def test_of_equal_methods_the_cheaper_is_recommended():
    values = planted_values(texts=40, metrics=FAITHFUL)
    of_lime = values[values.method == "lime"].value.to_numpy()
    values.loc[values.method == "gradient_l1", "value"] = of_lime
    table, _ = chosen(values)
    both = {"gradient_l1", "lime"}
    assert set(table.method[:2]) == set(table[table.leading].method) == both
    assert table.settled[0] and table.equal.sum() == 2
    assert set(table[table.recommended].method) == {"gradient_l1"}


def test_texts_made_from_a_task_vote_with_it():
    hybrid = planted_values(texts=40, metrics=("pointing",)).assign(task="hybrid_bbc")
    hybrid["value"] *= -1
    own = planted_values(texts=40, metrics=FAITHFUL).assign(task="bbc")
    table, against = chosen(pd.concat([own, hybrid]))
    assert set(table.task) == {"bbc"} and {"pointing", "faithfulness"} <= set(table)
    assert np.allclose(table.score, 0, atol=0.01)  # the two judges say the opposite of each other
    assert set(against.metric) == {*FAITHFUL, "pointing"}


def test_without_a_vote_there_is_no_choice():
    with pytest.raises(ValueError, match="vote"):
        weigh_metrics(MethodMeans(("a", "b"), {"simplicity": np.ones(2)}, {}, {}, np.ones(2)))
    assert standing.recommendation_table({}, 0.95).empty
    voteless = scores_of(planted_values(metrics=("agreement",)))
    assert standing.measured_models(voteless, costs()) == {}
    assert set(VOTING) - {*OF_VALUES} <= set(JOINT)
