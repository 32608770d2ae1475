"""Verdicts: what is broken is condemned, what ranks by the truth passes, the short list keeps its
rule; notebook 09.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from reference.trial_metrics import BROKEN, MADE, METRICS_TRIED, SEED, TEXTS

from attreval.trial.explainers import DEGRADED, EXPLAINERS
from attreval.trial.measure import try_metrics
from attreval.trial.run import NULLS
from attreval.trial.verdict import (
    choose_metrics,
    matrix_table,
    question_of,
    short_list,
    texts_to_decide,
    verdicts_by_metric,
)
from attreval.trial.worlds.planted import PLANTED_WORLDS
from compendium.config.judges import MetaSpec
from compendium.config.sections import BootstrapSpec
from compendium.papers.planted import tables as planted
from compendium.papers.planted.figures import draw_matrix
from compendium.papers.planted.sentences import say_short_list, say_trial, say_worlds


@pytest.fixture(scope="module")
def trial():
    """The values of every metric in every world."""
    return try_metrics(METRICS_TRIED, TEXTS, worlds=MADE, explainers=tuple(EXPLAINERS), seed=SEED)


@pytest.fixture(scope="module")
def matrix(trial):
    """One row a metric and world."""
    return matrix_table(trial, draws=100)


@pytest.fixture(scope="module")
def verdicts(matrix):
    return verdicts_by_metric(matrix, METRICS_TRIED).set_index("metric")


def test_what_is_broken_or_says_nothing_is_condemned(verdicts):
    part = verdicts.loc[[*BROKEN, *NULLS]]
    assert (part.verdict == "condemned").all() and part.why.all(), part.verdict


def test_what_ranks_by_the_truth_passes_in_every_world(verdicts, matrix):
    found = verdicts.loc["truth_ranking"]
    assert found.verdict == "tells the truth" and found.passed == len(MADE) == found.worlds
    assert found.fooled_by == "" and found.moved_by == "" and found.evaluations == 0
    own = matrix[matrix.metric == "truth_ranking"].set_index("world")
    assert (own.auc > 0.8).all() and (own.tau > 0.3).all() and (own.decides >= 6).all()


def test_each_null_is_told_by_its_own_fault(matrix):
    by = matrix.set_index(["metric", "world"])
    assert (by.loc["one_half"].auc == 0.5).all() and (by.loc["one_half"].tau == 0).all()
    assert by.loc["largest_score"].moved_by_scale.mean() > 0.9
    assert (by.loc["nc"].moved_by_scale == 0).all()
    assert by.loc["turned"].auc.mean() < 0.2 < 0.8 < by.loc["nc"].auc.mean()
    assert by.loc[("nc", "raised_comprehensive")].auc == 0.5
    assert "random scores" in by.loc[("nc", "raised_comprehensive")].why
    assert by.loc["nc"].evaluations.between(2, 8).all()


def test_an_explanation_that_is_as_true_as_the_truth_fools_nobody(matrix):
    by = matrix[matrix.metric == "nc"].set_index("world")
    # one word decides, and it comes first
    assert by.adversarial[["one", "backdoor", "reliance"]].isna().all()
    assert by.adversarial[["additive", "hybrid", "lognormal"]].notna().all()
    assert by.decoy.notna().sum() == 4


def test_degraded_explanations_are_less_true_by_their_share(trial):
    close = trial.truths.groupby("explainer").closeness.mean()
    assert close[["oracle", *DEGRADED]].is_monotonic_decreasing and close["oracle"] == 1
    assert abs(close["degraded_1.0"] - 0.5) < 0.06 and abs(close["random"] - 0.5) < 0.06
    assert close["reversed"] == 0


def test_how_many_texts_decide():
    assert texts_to_decide(np.ones(30)) == 6  # a coin wins five times in a row too often
    assert np.isnan(texts_to_decide(np.full(30, 0.5))) and np.isnan(texts_to_decide(np.zeros(0)))
    won = np.repeat([1.0, 0.0], [18, 12])
    n = int(texts_to_decide(won))
    bounds = 0.6 - 1.96 * won.std() / np.sqrt([n - 1, n])
    assert bounds[0] <= 0.5 < bounds[1] + 1e-4


def rows(scores):
    """A matrix of made-up metrics: name -> AUC in each of four worlds, their cost by order."""
    over = ["constant", "adversarial", "leaking", "decoy"]
    unknown = [*over, *(f"{name}_low" for name in over)]
    unknown += ["tau", "moved_by_scale", "sparse_high", "length"]
    out = []
    for cost, (name, aucs) in enumerate(scores.items()):
        for world, auc in zip("abcd", aucs, strict=True):
            row = {"metric": name, "world": world, "evaluations": cost, "passes": auc > 0.6}
            row |= {"auc": auc, "low": auc - 0.1, "reversed": auc, "reversed_low": auc}
            row |= {"length_p": 1.0, "decides": 8, "why": ""}
            out.append(row | dict.fromkeys(unknown, np.nan))
    return pd.DataFrame(out)


def test_the_short_list_keeps_its_rule_and_says_how_stable_it_is():
    metrics = {name: METRICS_TRIED["nc"] for name in ("cheap", "good", "best", "odd", "bad")}
    aucs = {
        "cheap": [0.8] * 4,  # it passes, but is far behind the best
        "good": [0.99] * 4,
        "best": [1.0] * 4,
        "odd": [1.0, 1.0, 1.0, 0.5],  # but for one world it would be listed
        "bad": [0.5, 0.5, 1.0, 1.0],
    }
    held = rows(aucs)
    (question,) = {question_of(one) for one in metrics.values()}
    assert choose_metrics(held, metrics) == {question: ["good", "best"]}
    table = short_list(held, metrics).set_index("metric")
    assert table.use.to_dict() == {"good": True, "best": True, "odd": False}
    assert table.stays.to_dict() == {"good": 1.0, "best": 1.0, "odd": 0.25}
    assert not short_list(held[held.metric == "bad"], metrics).use.any()


def test_tables_picture_and_sentences_of_a_trial(trial):
    held = trial.values
    known = replace(trial, values=held[held.metric.isin(["nc", *NULLS])])
    table = planted.trial_matrix(known, BootstrapSpec(draws=100))
    verdicts = planted.trial_verdicts(table)
    assert verdicts.metric[0] == "nc" and verdicts.share.is_monotonic_decreasing
    assert table.title[table.metric == "nc"].unique().tolist() == ["NC"]
    assert set(table.world) == set(MADE)
    axes = draw_matrix(table, verdicts)
    shown = [text.get_text() for text in axes.texts]
    surely = table.passes & ~table.why.str.contains("fooled")
    assert len(shown) == (~surely).sum() and "1.00" not in shown and ".50" in shown
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert ticks[0] == "NC" and all(tick.endswith(planted.CROSS) for tick in ticks[1:])
    plt.close(axes.figure)
    none = draw_matrix(table.assign(passes=True), verdicts)
    assert none.texts[0].get_text().startswith("every metric surely finds")
    plt.close(none.figure)
    said = str(say_trial(verdicts))
    assert said.startswith("Of 1 metrics 0 surely put the truth first in every world")
    short = planted.trial_short_list(table)
    assert short.metric.tolist() == ["nc"]
    assert "NC. 1 of these 1 stay" in str(say_short_list(short))
    values = planted.planted_values(known)
    assert set(values.world) == set(PLANTED_WORLDS) and set(values.metric) == {"nc"}
    assert "scaled" not in set(values.explainer)


def test_a_profile_names_its_worlds():
    trial = planted.try_all(MetaSpec(instances=4, worlds=("one",)))
    assert set(trial.values.world) == {"one"} and set(NULLS) < set(trial.values.metric)
    assert set(planted.METHODS) < set(trial.values.explainer)


def test_the_hardest_world_is_that_of_the_explainers_that_must_be_told_apart():
    rows = [("one", "random", 0.4, 0.6), ("one", "reversed", 0.6, 0.9)]
    rows += [("two", "random", 0.6, 0.8), ("two", "cautious", 0.3, 0.4)]
    cells = pd.DataFrame(rows, columns=["world", "explainer", "low", "separation"])
    said = str(say_worlds(pd.concat([cells, cells[cells.explainer == "cautious"]])))
    assert "hardest planted model is one, where 1 of 2 comparisons" in said
