"""Choosing an explanation on planted values: the best is named, noise settles nothing, objections are said."""

import numpy as np
import pandas as pd
import pytest
from test_joint import METHODS, planted_values, scores_of

from attreval.evaluation.choice import VOTES, VOTING, shares_beaten, total_scores
from compendium.papers.joint import choice
from compendium.papers.joint import values as joint
from compendium.papers.joint.correlations import RUN

PAID = dict(zip(METHODS, (0, 1, 1, 1, 20, 30, 300), strict=True))
FAITHFUL = VOTES["faithfulness"]


def costs():
    table = pd.DataFrame([("snli", "small", "tokens", m, c, c) for m, c in PAID.items()])
    table.columns = [*RUN, "method", "requested", "unique"]
    return table.set_index([*RUN, "method"])


def chosen(values, draws=300):
    measured = choice.measured_models(scores_of(values, draws), costs())
    table = choice.choice_table(measured, 0.95)
    return table, choice.objections_table(measured, table, 0.95)


def test_shares_beaten_is_a_count_of_wins():
    values = np.array([3.0, 1.0, 1.0, 2.0])
    slow = [
        np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for j, b in enumerate(values) if i != j])
        for i, a in enumerate(values)
    ]
    assert np.allclose(shares_beaten(values), slow)
    assert np.allclose(shares_beaten(np.ones((2, 5))), 0.5) and shares_beaten(np.ones(1)) == 0


def test_a_draw_without_a_marked_text_leaves_people_out():
    """Of 40 texts people have marked two: 13 % of samples hold neither, and say as much as if nobody were asked."""
    nc = np.array([[0.1, 0.5, 0.9], [0.2, 0.4, 0.8]])
    people = np.array([[0.3, 0.2, 0.1], [np.nan] * 3])
    both = total_scores({"nc": nc, "people": people})
    assert np.allclose(both[1], total_scores({"nc": nc})[1]) and np.allclose(both[0], 0.5)
    values = planted_values(texts=40, metrics=(*FAITHFUL, "people"))
    unmarked = (values.metric == "people") & ~values.instance.isin(values.instance.unique()[:2])
    table, _ = chosen(values[~unmarked])
    assert table.low[0] == table.high[0] == 1, "the best by either judge loses nothing where one is silent"


def test_the_planted_best_is_recommended_and_its_weakness_named():
    table, against = chosen(planted_values(texts=40, metrics=(*FAITHFUL, "agreement")))
    first = table.iloc[0]
    assert first.method == "lime" and first.recommended and first.settled and first.best == 1 and first.requested == 300
    assert table.recommended.sum() == 1 == table.leading.sum() and table.method.iloc[-1] == "random"
    against = against.set_index("metric")
    assert against["rank"]["nc"] == 1 and not against.surely["nc"] and not against.below_random["nc"]
    assert against["rank"]["agreement"] == 6 and against.surely["agreement"] and against.below_random["agreement"]
    assert not against.votes["agreement"] and against.rival["agreement"] == "gradient_l1"


def test_noise_is_not_settled_and_nobody_is_ruled_out():
    values = planted_values(texts=40, metrics=FAITHFUL)
    values["value"] = np.random.default_rng(1).standard_normal(len(values))
    table, against = chosen(values)
    assert not table.settled.any() and table.best.max() < 0.8 and table.leading.sum() >= 4
    assert against.below_random.any()


def test_few_texts_settle_nothing():
    table, _ = chosen(planted_values(texts=20, metrics=FAITHFUL))
    assert table.method[0] == "lime" and not table.settled.any() and (table.texts == 20).all()


def test_of_equal_methods_the_cheaper_is_recommended():
    values = planted_values(texts=40, metrics=FAITHFUL)
    best = values[values.method == "lime"].value.to_numpy()
    values.loc[values.method == "gradient_l1", "value"] = best
    table, _ = chosen(values)
    assert (
        table.method[0] == "gradient_l1"
        and table.settled[0]
        and set(table[table.leading].method) == {"gradient_l1", "lime"}
    )


def test_texts_made_from_a_task_vote_with_it():
    hybrid = planted_values(texts=40, metrics=("pointing",)).assign(task="hybrid_bbc")
    hybrid["value"] = -hybrid.value
    values = pd.concat([planted_values(texts=40, metrics=FAITHFUL).assign(task="bbc"), hybrid])
    table, against = chosen(values)
    assert set(table.task) == {"bbc"} and {"pointing", "faithfulness"} <= set(table)
    assert np.allclose(table.score, 0.5)  # the two judges say the opposite of each other
    assert set(against.metric) == {*FAITHFUL, "pointing"}


def test_without_a_vote_there_is_no_choice():
    with pytest.raises(ValueError, match="no metric with a vote"):
        total_scores({"simplicity": np.ones(3)})
    assert choice.choice_table({}, 0.95).empty
    assert choice.measured_models(scores_of(planted_values(metrics=("agreement",))), costs()) == {}
    assert set(VOTING) <= set(joint.JOINT)
