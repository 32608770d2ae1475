"""Metrics that are asked by name alone, on planted models: each puts the truth first, but for those known not to."""

import pytest

from attreval.metrics import EVALUATED, METRICS
from attreval.metrics.separation import separation
from attreval.trial.measure import OFFERED, evaluate

WHOLE = {"lexical_bias", "position_bias"}  # of a method on many texts: no right and wrong on a single one
ASKED = [
    name
    for name, one in METRICS.items()
    if one.by_name and not one.planted and set(one.needs) <= OFFERED and name not in WHOLE
]
BLIND = {"monotonicity", "monotonicity_ranks", "sparseness"}
PLACES = {"worlds": ("one", "additive"), "explainers": ("oracle", "random", "reversed")}


@pytest.fixture(scope="module")
def found():
    """Metric -> random and reversed scores -> how often the truth comes first, in the mean over two worlds."""
    out = {}
    for disturbs, texts, draws in ((True, 3, 1), (False, 6, 2)):  # disturbed texts are dear
        some = {name: METRICS[name] for name in ASKED if METRICS[name].disturbs == disturbs}
        cells = separation(evaluate(some, texts, draws, **PLACES), 20, 0.95)
        out |= cells.groupby(["metric", "explainer"]).separation.mean().unstack().to_dict("index")
    return out


@pytest.mark.parametrize("name", ASKED)
def test_the_truth_comes_before_random_and_reversed_scores(found, name):
    """Contract 7."""
    assert (min(found[name]["random"], found[name]["reversed"]) > 0.6) == (name not in BLIND), found[name]
    assert bool(METRICS[name].blind) == (name in BLIND)


def test_there_are_many_and_forty_metrics_have_a_direction_and_can_be_asked():
    assert len(ASKED) > 20 and len([name for name in EVALUATED if METRICS[name].sign]) >= 40
