"""The table of metrics and methods against what is computed: no cell says yes where no number comes, or the reverse."""

import numpy as np
import pytest
from reference import models

import attreval
from attreval.api.coverage import EVALUATED, OF_TECHNIQUES, where_computed, why_not
from attreval.core.units import find_units
from attreval.methods import METHODS, methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain
from attreval.metrics.metric import Metric
from attreval.metrics.registry import METRICS
from attreval.metrics.unified.ranking import rank_features
from attreval.models.scorer import Scorer

PAIR = ("the film was not good", "a very bad plot")
SMALL = Budget(path_steps=2, lime_samples=20, riemann_steps=2, limsse_epochs=2, units=UnitSettings(shapley_samples=40))


@pytest.fixture(scope="module")
def explained(tiny):
    """Every method that applies to a transformer, on one pair of texts."""
    names = [name for name in methods_for("transformer") if METHODS[name].given is None]
    (found,) = explain(Scorer(tiny), [models.instance(*PAIR)], names, SMALL)
    return found


def test_what_is_said_to_be_evaluated_gives_a_number_for_every_method(tiny):
    names = [name for name in methods_for("transformer") if METHODS[name].given is None]
    found = attreval.explain(
        attreval.wrap(tiny.network, tiny.tokenizer, labels=list(tiny.labels)), [PAIR], names, budget=SMALL
    )
    marks = [[1, 0, 0, 1, 1, 0, 0, 1, 0]]
    wanted = [m.name for m in METRICS.values() if where_computed(m, METHODS["lime"]) == EVALUATED]
    loaded = attreval.wrap(tiny.network, tiny.tokenizer, labels=list(tiny.labels))
    table = attreval.evaluate(loaded, found, wanted, marks, draws=5).set_index(["metric", "method"])
    for metric in wanted:
        for name in names:
            assert where_computed(METRICS[metric], METHODS[name]) == EVALUATED
            assert np.isfinite(table["mean"][metric, name]), (metric, name)
    assert len(wanted) > 20


@pytest.mark.parametrize("level", ["token", "pair", "span"])
def test_reasons_follow_what_a_method_scores(level):
    for name, method in METHODS.items():
        if method.level == level:
            shown = level == "pair" and name in OF_TECHNIQUES
            assert bool(why_not(METRICS["pair_comprehensiveness"], method)) == (not shown)
            assert bool(why_not(METRICS["hit_target"], method)) == (level != "token")
            assert bool(why_not(METRICS["average_pairwise_difference"], method)) == (level != "token")
            assert bool(why_not(METRICS["simulatability"], method)) == (name not in OF_TECHNIQUES)
            assert not why_not(METRICS["nc"], method) and why_not(METRICS["tau_b"], method)
    assert {METHODS[name].level for name in METHODS} - {METHODS[name].level for name in OF_TECHNIQUES} == set()


def test_methods_of_pairs_and_spans_need_a_text_of_two_parts(tiny, explained):
    """Which is why the games, on texts of one part, are empty for them, and unified metrics are not."""
    for name, one in explained.attributions.items():
        if METHODS[name].level != "token":
            with pytest.raises(ValueError, match="part"):
                explain(Scorer(tiny), [models.instance(PAIR[0])], [name], SMALL)
        if name in OF_TECHNIQUES:
            units = find_units(explained.tokens, "subword")
            assert len(rank_features(one, units, np.random.default_rng(0)))


def test_a_metric_of_a_new_kind_is_not_said_to_be_computed_of_everything():
    given = METRICS["tau_b"]
    made = Metric("made", "Made", "diagnosis", "ours", "What.", ("scores",), (0, 1), True, given.function)
    assert why_not(made, METHODS["lime"]) and not why_not(made, METHODS["kernel_shap"])
