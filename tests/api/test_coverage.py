"""The table of metrics and methods against what is computed: no cell says yes where no number
comes, or the reverse.
"""

from dataclasses import replace

import numpy as np
import pytest
from reference import models

import attreval
from attreval.api.catalogue import EVALUATED, OF_TECHNIQUES, _metric_row, why_not
from attreval.core.units import find_units
from attreval.methods import METHODS, methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.metrics import METRICS
from attreval.metrics.metric import metric
from attreval.metrics.unified.faithfulness import rank_features
from attreval.models.scorer import Scorer

PAIR = ("the film was not good", "a very bad plot")
SMALL = Budget(
    path_steps=2,
    lime_samples=20,
    riemann_steps=2,
    limsse_epochs=2,
    units=UnitSettings(shapley_samples=40),
)

TOKENS = ("gradient_l1", "occlusion_1", "kernel_shap", "lime")


@pytest.fixture(scope="module")
def explained(tiny):
    """Every method of pairs and spans, and some of tokens, on one pair of texts."""
    names = [name for name in methods_for("transformer") if METHODS[name].given is None]
    names = [
        name
        for name in names
        if METHODS[name].level != "token" or name in OF_TECHNIQUES or name in TOKENS
    ]
    return attreval.explain(tiny, [PAIR], names, budget=SMALL)


def test_what_is_said_to_be_evaluated_gives_a_number_for_every_method(tiny, explained):
    marks = [[1, 0, 0, 1, 1, 0, 0, 1, 0]]
    # of more than a text: test_evaluating has them
    beside = {
        "texts",
        "neighbours",
        "randomised",
        "infill",
    }
    # as the others of soft erasure, many times
    dear = {m.name for m in METRICS.values() if m.by_name and m.disturbs}
    metrics = [m for m in METRICS.values() if not beside & set(m.needs) and m.name not in dear]
    wanted = [m.name for m in metrics if not m.notebook and not why_not(m, METHODS["lime"])]
    table = attreval.evaluate(tiny, explained, wanted, marks, draws=2).set_index(
        ["metric", "method"]
    )
    for one in wanted:
        computed = _metric_row(METRICS[one])["computed"]
        for name in explained.methods:
            assert computed[name] == EVALUATED
            assert np.isfinite(table["mean"][one, name]), (one, name)
    assert len(wanted) > 20


@pytest.mark.parametrize("level", ["token", "pair", "span"])
def test_reasons_follow_what_a_method_scores(level):
    for name, method in METHODS.items():
        if method.level == level:
            shown = level == "pair" and name in OF_TECHNIQUES
            assert bool(why_not(METRICS["pair_comprehensiveness"], method)) == (not shown)
            assert bool(why_not(METRICS["hit_target"], method)) == (level != "token")
            assert bool(why_not(METRICS["average_pairwise_difference"], method)) == (
                level != "token"
            )
            assert bool(why_not(METRICS["simulatability"], method)) == (name not in OF_TECHNIQUES)
            assert not why_not(METRICS["nc"], method) and why_not(METRICS["tau_b"], method)
    assert {METHODS[name].level for name in METHODS} - {
        METHODS[name].level for name in OF_TECHNIQUES
    } == set()


def test_methods_of_pairs_and_spans_need_a_text_of_two_parts(tiny, explained):
    """Which is why the games, on texts of one part, are empty for them, and unified metrics are
    not.
    """
    for name, one in explained[0].attributions.items():
        if METHODS[name].level != "token":
            with pytest.raises(ValueError, match="part"):
                explain_instances(Scorer(tiny), [models.instance(PAIR[0])], [name], SMALL)
        if name in OF_TECHNIQUES:
            units = find_units(explained[0].tokens, "subword")
            assert len(rank_features(one, units, np.random.default_rng(0)))


@pytest.mark.parametrize("judge", ["pointing", "agreement", "diagnosis"])
def test_a_new_metric_is_said_to_be_computed_where_it_is(judge):
    """Not in the notebook of its judge, which knows nothing of it."""
    facts = {
        "judge": judge,
        "source": "ours",
        "about": "What.",
        "needs": ("scores",),
        "higher_is_better": True,
    }
    made = metric("Made", name="made", **facts)(lambda text, method: 1.0)
    assert _metric_row(made)["computed"] == dict.fromkeys(METHODS, EVALUATED)
    elsewhere = replace(made, judge="diagnosis", notebook="07_sun2024")
    assert _metric_row(elsewhere)["computed"]["kernel_shap"] == "notebook 07_sun2024"
    assert why_not(elsewhere, METHODS["lime"]) and not why_not(elsewhere, METHODS["kernel_shap"])
