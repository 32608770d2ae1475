"""Verdicts: each of the seven where it is due, and mirror images alike."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compendium.papers.common.verdicts import (
    NULLS,
    OPPOSITE,
    Expectation,
    Finding,
    Verdict,
    adjust,
    decide_verdict,
)

NOTHING = np.linspace(-0.01, 0.01, 99)


def finding(value, low, high, by_scores=NOTHING, by_names=NOTHING, reason=""):
    """A finding whose 95 % interval is about [low, high]."""
    drawn = np.concatenate([np.full(100, low), np.full(800, value), np.full(100, high)])
    return Finding(value, drawn, by_scores, by_names, texts=100, reason=reason)


def verdict_of(expect, found, q, null="random scores", rule=""):
    """The verdict on a finding whose claim declares this null."""
    expect = Expectation(**expect)
    row = found.measures(expect, null, 0.95) | {"q": q, "rule": rule}
    return decide_verdict(expect, null, row, 0.95)


# scores, names: what the null worlds lie around, if there are any; the first are the claim's null
CASES = """
above      near  within   value     low    high  scores   names       q  verdict
0             -       -     0.2     0.1     0.3       0       0    0.01  reproduced
0             -       -     0.2     0.1     0.3       0       0     0.2  inconclusive
0             -       -     0.2    -0.1     0.3       0       0     0.2  inconclusive
0             -       -    -0.2    -0.3    -0.1       0       0    0.01  contradicted
0             -       -    -0.2    -0.3    -0.1       0       0     0.2  inconclusive
0             -       -     0.2     0.1     0.3     0.2       0    0.01  holds by chance too
0             -       -     0.2     0.1     0.3       0    0.25    0.01  reproduced
0.5           -       -     0.6     0.4     0.7       0       0     0.2  direction only
-           0.5     0.1    0.55    0.45    0.58       0       0    0.01  reproduced
0.5           -       -     0.6     0.4     0.7    0.45       0     0.2  inconclusive
-           0.5     0.1    0.55     0.3     0.8       0       0     0.9  inconclusive
-           0.5     0.1     0.3     0.2    0.35       0       0    0.01  contradicted
-           0.5     0.1     0.7    0.65     0.8     0.9       -    0.01  contradicted
-           0.5     0.1     0.7    0.65     0.8     0.5       0    0.01  contradicted
-             0     0.1       0   -0.05    0.05       0       0    0.01  holds by chance too
-             0    0.02    0.01    -0.5     0.5       3       -    0.01  inconclusive
0             -       -     0.2     0.1     0.3       -       -    0.01  reproduced
0             -       -       -       0       0       0       0       -  not testable here
"""


def test_verdicts():
    cases = pd.read_csv(StringIO(CASES), sep=r"\s{2,}", engine="python", na_values="-")
    for at, row in cases.iterrows():
        expect = row[["above", "near", "within"]].dropna().to_dict()
        scores, names = (NOTHING + x if x == x else np.zeros(0) for x in row[["scores", "names"]])
        found = finding(row.value, row.low, row.high, scores, names)
        assert verdict_of(expect, found, row.q) == row.verdict, f"case {at}: {row.to_dict()}"
    few = finding(0.2, 0.1, 0.3, reason="four texts")
    assert verdict_of({"above": 0}, few, 0.01) == "not testable here"


def test_where_the_null_is_the_edge_no_world_counts():
    """LIMSSE, surely below the last word as published, was `by chance too`: random is lower."""
    below = finding(-0.109, -0.137, -0.081, NOTHING - 0.465)
    assert verdict_of({"below": 0}, below, 0.01) == "holds by chance too"
    for null in OPPOSITE:
        assert verdict_of({"below": 0}, below, 0.01, null) == "reproduced"
        above = finding(0.1, 0.05, 0.2, NOTHING - 1)
        assert verdict_of({"below": 0}, above, 0.01, null) == "contradicted"
        near = finding(0.99, 0.9, 1.0)
        assert verdict_of({"near": 1, "within": 0.02}, near, 0.5, null) == "inconclusive"


def test_random_scores_count_whatever_other_null_there_is():
    by_chance = finding(0.2, 0.1, 0.3, NOTHING + 0.3)
    for null in set(NULLS) - set(OPPOSITE):
        assert verdict_of({"above": 0}, by_chance, 0.01, null) == "holds by chance too"
    by_names = finding(0.2, 0.1, 0.3, NOTHING, NOTHING + 0.3)
    said = {null: verdict_of({"above": 0}, by_names, 0.01, null) for null in NULLS}
    assert said.pop("exchanged names") == "holds by chance too"
    assert set(said.values()) == {"reproduced"}


def test_what_an_open_rule_turns_depends_on_it():
    for value, q, verdict in (
        (0.2, 0.01, "depends on the rule"),
        (-0.2, 0.01, "depends on the rule"),
        (0.2, 0.2, "inconclusive"),
        (0.05, 0.01, "inconclusive"),
    ):
        found = finding(value, value - 0.1, value + 0.1)
        assert verdict_of({"above": 0}, found, q, rule="released code") == verdict


SHARES = st.floats(0, 1)
NUMBERS = st.floats(-1, 1)


@given(value=NUMBERS, width=SHARES, bound=NUMBERS, q=SHARES, null=NUMBERS)
def test_a_verdict_and_its_mirror_image(value, width, bound, q, null):
    up = finding(value, value - width, value + width, NOTHING + null, NOTHING + null)
    down = finding(-value, -value - width, -value + width, -NOTHING - null, -NOTHING - null)
    found = verdict_of({"above": bound}, up, q)
    assert found == verdict_of({"below": -bound}, down, q) != Verdict.UNTESTABLE


def test_p_values_count_the_draws_beyond_the_edge():
    found = Finding(1.0, np.repeat([1.0, -1.0], [990, 9]))
    for expect in (Expectation(above=0), Expectation(below=0)):
        assert found.p(expect) == pytest.approx(2 * 10 / 1000)
        assert np.isnan(found.null_p(expect, "random scores"))


def test_p_values_are_adjusted_among_those_that_are_known():
    found = adjust(np.array([0.01, np.nan, 0.04, 0.03]))
    np.testing.assert_allclose(found, [0.03, np.nan, 0.04, 0.04])
