"""Wrapped planted models: whole texts are answered as before, erased ones to a metric's liking; who
falls for it.
"""

import numpy as np
import pytest

from attreval.metrics import METRICS
from attreval.models.scorer import Scorer
from attreval.trial import load_world
from attreval.trial.exact import MASK
from attreval.trial.measure import LIMITED_METRICS, PLANTED_METRICS
from attreval.trial.raised import RAISED_WORLDS, evaluate_raised, raised_table
from attreval.trial.worlds.planted import PUSHES, RaisedModel
from compendium.papers.planted.tables import raised_by_metric

LOOK_AT_WHOLE_TEXTS = {"pointing", "agreement", "agreement_dynamic", "simulatability", "complexity"}


@pytest.fixture(scope="module")
def found():
    """One row a metric."""
    table = raised_table(evaluate_raised(PLANTED_METRICS | LIMITED_METRICS, 8, 1), 200, 0.95)
    return raised_by_metric(table).set_index("metric")


def test_whole_texts_are_answered_as_before_and_erased_ones_as_the_push_says():
    for world in RAISED_WORLDS:
        made = load_world(world, 0, 12)
        # of several lengths: padding is not gone
        whole = [(text.tokens.ids, text.tokens.segments) for text in made.texts]
        plain = Scorer(made.model, precision="float64").logits(whole)
        scorers = {p: Scorer(RaisedModel(world, 0, p), precision="float64") for p in PUSHES}
        for scorer in scorers.values():
            np.testing.assert_array_equal(plain, scorer.logits(whole))
        for text in made.texts[:4]:
            content = text.tokens.content
            few = text.tokens.ids.copy()
            most = text.tokens.ids.copy()
            few[content[:1]] = MASK
            most[content[2:]] = MASK
            rows = [(row, text.tokens.segments) for row in (few, most)]
            logits = {push: scorer.logits(rows) for push, scorer in scorers.items()}
            assert logits["comprehensive"][0].argmax() == 0
            np.testing.assert_array_equal(logits["comprehensive"][1], logits["none"][1])
            np.testing.assert_array_equal(logits["sufficient"][0], logits["none"][0])
            assert logits["sufficient"][1].argmax() > 0
    with pytest.raises(ValueError, match="'both' is not known; there are: none"):
        RaisedModel("one", 0, "both")


def test_metrics_that_erase_fall_for_it_and_those_that_do_not_resist(found):
    asking = {name: {"model", "agent"} & {*METRICS[name].needs} for name in found.index}
    of_whole = [name for name, needs in asking.items() if needs != {"model"}]
    assert {*found.index[found.verdict == "resists"]} == {*of_whole} >= LOOK_AT_WHOLE_TEXTS
    assert found.verdict["diagnosticity"] == "moves"  # its rivals are raised with it
    for name, by in (
        ("nc", "comprehensive"),
        ("soft_nc_equal", "comprehensive"),
        ("ns", "sufficient"),
    ):
        assert found.verdict[name] == "falls for it" and by in found.raised_by[name]
    assert found.verdict.tolist() == sorted(found.verdict)  # those that fall come first
    assert (found.loc[of_whole, ["comprehensive_gain", "sufficient_gain"]] == 0).all().all()


def test_the_truth_is_lost_where_every_explanation_gets_the_most(found):
    assert found.truth_first["nc"] > 0.8 and found.comprehensive_truth_first["nc"] == 0.5
    assert found.comprehensive_gain["nc"] > 0.5
    assert found.comprehensive_truth_first["naopc_comprehensiveness"] == 0.5
    gain = found.sufficient_gain
    assert gain["naopc_sufficiency"] < gain["ns"] / 2, "its limits move along"
