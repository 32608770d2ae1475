"""Scores of disturbed texts and of models with other weights: definitions, constants, nothing where
nobody asked.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import markings as slow
from reference import models

from attreval.metrics import METRICS
from attreval.metrics.scored_text import ScoredText, without_asking

numbers = st.sampled_from([-1.0, 0.0, 0.5, 2.0])


def value(name, scores, others, **fields):
    """A metric of one explanation, beside which others stand."""
    kind = "neighbours" if name == "max_sensitivity" else "randomised"
    held = {"m": np.array(scores, float)}
    text = ScoredText(
        models.instance("good"), None, held, **{kind: {"m": np.array(others, float)}}, **fields
    )
    return without_asking(METRICS[name].ask(text, "m"))


@st.composite
def profiles(draw, least=1):
    n = draw(st.integers(least, 6))
    some = st.lists(numbers, min_size=n, max_size=n)
    return draw(some), draw(st.lists(some, min_size=1, max_size=4))


@given(case=profiles())
def test_max_sensitivity_equals_its_definition(case):
    scores, others = case
    lengths = [sum((a - b) ** 2 for a, b in zip(one, scores, strict=True)) ** 0.5 for one in others]
    own = sum(a * a for a in scores) ** 0.5
    assert value("max_sensitivity", scores, others) == pytest.approx(max(lengths) / (own or 1))


@given(case=profiles(2))
def test_parameter_randomisation_equals_its_twin(case):
    scores, others = case
    alike = [
        1.0 if slow.ranks(one) == slow.ranks(scores) else abs(slow.spearman(scores, one))
        for one in others
    ]
    assert value("parameter_randomisation", scores, others) == pytest.approx(
        1 - np.mean(alike), abs=1e-9
    )


def test_what_never_changes_is_stable_and_knows_nothing_of_the_model():
    assert value("max_sensitivity", [1, 1, 1], [[1, 1, 1]] * 3) == 0.0
    assert value("parameter_randomisation", [1, 1, 1], [[1, 1, 1], [2, 2, 2]]) == 0.0
    # the reverse is no news
    assert value("parameter_randomisation", [1, 2, 3], [[3, 2, 1]]) == pytest.approx(0.0)
    rng = np.random.default_rng(0)
    assert value("parameter_randomisation", rng.random(200), rng.random((20, 200))) > 0.9


@pytest.mark.parametrize("name", ["max_sensitivity", "parameter_randomisation"])
def test_there_is_no_value_where_nobody_asked_or_there_is_one_token_and_nan_is_refused(name):
    assert np.isnan(value(name, [1, 2], np.zeros((0, 2))))
    text = ScoredText(models.instance("good"), None, {"m": np.ones(2)})
    assert np.isnan(without_asking(METRICS[name].ask(text, "m")))
    assert np.isnan(value("parameter_randomisation", [1], [[2]]))
    with pytest.raises(ValueError, match="finite"):
        value(name, [np.nan, 1], [[1, 2]])
