"""Verdicts: each of the six where it is due, mirror images alike, and no evidence where chance does
as well.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compendium.papers.common.verdicts import (
    MADE,
    NULLS,
    VERDICTS,
    Expectation,
    Finding,
    adjust,
    decide,
)

NOTHING = np.linspace(-0.01, 0.01, 99)


def finding(value, low, high, by_scores=NOTHING, by_names=NOTHING, texts=100, **more):
    """A finding whose 95 % interval is about [low, high]."""
    drawn = np.concatenate([np.full(100, low), np.full(800, value), np.full(100, high)])
    return Finding(
        value, drawn, np.asarray(by_scores, float), np.asarray(by_names, float), texts=texts, **more
    )


def verdict_of(expect, found, q, null="random scores"):
    """The verdict on a finding whose claim declares this null."""
    expect = Expectation(**expect)
    return decide(expect, null, found.measures(expect, null, 0.95) | {"q": q}, 0.95)


@pytest.mark.parametrize(
    ("expect", "found", "q", "verdict"),
    [
        ({"above": 0}, finding(0.2, 0.1, 0.3), 0.01, "reproduced"),
        ({"above": 0}, finding(0.2, 0.1, 0.3), 0.2, "direction only"),
        ({"above": 0}, finding(0.2, -0.1, 0.3), 0.2, "inconclusive"),
        ({"above": 0}, finding(-0.2, -0.3, -0.1), 0.01, "contradicted"),
        ({"above": 0}, finding(-0.2, -0.3, -0.1), 0.2, "inconclusive"),
        (
            {"above": 0},
            finding(0.2, 0.1, 0.3, by_scores=NOTHING + 0.2),
            0.01,
            "holds by chance too",
        ),
        ({"above": 0}, finding(0.2, 0.1, 0.3, by_names=NOTHING + 0.25), 0.01, "reproduced"),
        ({"above": 0.5}, finding(0.6, 0.4, 0.7), 0.2, "direction only"),
        ({"near": 0.5, "within": 0.1}, finding(0.55, 0.45, 0.58), 0.01, "reproduced"),
        ({"near": 0.5, "within": 0.1}, finding(0.55, 0.3, 0.8), 0.9, "direction only"),
        ({"near": 0.5, "within": 0.1}, finding(0.3, 0.2, 0.35), 0.01, "direction only"),
        (
            {"near": 0.5, "within": 0.1},
            finding(0.7, 0.65, 0.8, NOTHING + 0.9, by_names=[]),
            0.01,
            "direction only",
        ),
        (
            {"near": 0.5, "within": 0.1},
            finding(0.7, 0.65, 0.8, by_scores=NOTHING + 0.5),
            0.01,
            "contradicted",
        ),
        ({"near": 0.0, "within": 0.1}, finding(0.0, -0.05, 0.05), 0.01, "holds by chance too"),
        (
            {"near": 0, "within": 0.02},
            finding(0.01, -0.5, 0.5, NOTHING + 3, by_names=[]),
            0.01,
            "direction only",
        ),
        ({"above": 0}, finding(0.2, 0.1, 0.3, by_scores=[], by_names=[]), 0.01, "reproduced"),
        ({"above": 0}, finding(float("nan"), 0.0, 0.0), float("nan"), "not testable here"),
        ({"above": 0}, finding(0.2, 0.1, 0.3, reason="four texts"), 0.01, "not testable here"),
    ],
)
def test_verdicts(expect, found, q, verdict):
    assert verdict_of(expect, found, q) == verdict


@pytest.mark.parametrize("null", [null for null in NULLS if null not in MADE])
def test_where_the_null_is_the_edge_no_world_counts(null):
    """LIMSSE, surely below the last word as published, was `by chance too` since random scores are
    further below.
    """
    below = finding(-0.109, -0.137, -0.081, by_scores=NOTHING - 0.465)
    assert verdict_of({"below": 0}, below, 0.01) == "holds by chance too"
    assert verdict_of({"below": 0}, below, 0.01, null) == "reproduced"
    assert (
        verdict_of({"below": 0}, finding(0.1, 0.05, 0.2, by_scores=NOTHING - 1), 0.01, null)
        == "contradicted"
    )
    assert (
        verdict_of({"near": 1, "within": 0.02}, finding(0.99, 0.9, 1.0, NOTHING), 0.5, null)
        == "inconclusive"
    )


def test_names_count_where_they_are_the_null():
    found = finding(0.2, 0.1, 0.3, by_scores=NOTHING + 0.3, by_names=NOTHING)
    assert verdict_of({"above": 0}, found, 0.01, "exchanged names") == "reproduced"
    assert verdict_of({"above": 0}, found, 0.01) == "holds by chance too"


@given(
    value=st.floats(-1, 1),
    width=st.floats(0, 1),
    bound=st.floats(-1, 1),
    q=st.floats(0, 1),
    null=st.floats(-1, 1),
)
def test_a_verdict_and_its_mirror_image(value, width, bound, q, null):
    up = finding(value, value - width, value + width, NOTHING + null, NOTHING + null)
    down = finding(-value, -value - width, -value + width, -NOTHING - null, -NOTHING - null)
    found = verdict_of({"above": bound}, up, q)
    assert found == verdict_of({"below": -bound}, down, q) and found in VERDICTS[:5]


def test_p_values_count_the_draws_beyond_the_edge():
    drawn = np.concatenate([np.full(990, 1.0), np.full(9, -1.0)])
    for expect in (Expectation(above=0), Expectation(below=0)):
        assert Finding(1.0, drawn).p(expect) == pytest.approx(2 * 10 / 1000)
    assert np.isnan(Finding(1.0, drawn).null_p(Expectation(above=0), "random scores"))


def test_p_values_are_adjusted_among_those_that_are_known():
    found = adjust(np.array([0.01, np.nan, 0.04, 0.03]))
    np.testing.assert_allclose(found, [0.03, np.nan, 0.04, 0.04])
