"""The picture of the scorecard: where marks stand, in what order, what is left out."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from compendium.papers.common.claims import Claim
from compendium.papers.common.scorecard import (
    LOOK,
    PAPERS,
    decided,
    draw_overview,
    draw_paper,
    make_scale,
)
from compendium.papers.common.verdicts import UNTESTABLE, VERDICTS, Expectation


def claim(**given):
    row = {
        "claim": "one",
        "paper": "kamp2023",
        "statement": "One is more than two.",
        "start": 0.0,
        "end": np.inf,
    }
    row |= {
        "value": 0.2,
        "low": 0.1,
        "high": 0.3,
        "published": np.nan,
        "null_scores": 0.01,
        "null_names": np.nan,
    }
    return pd.Series(row | {"verdict": "reproduced"} | given)


def table(count=12, paper="kamp2023"):
    """A claims table with each verdict in turn."""
    rows = [
        claim(claim=f"c{at}", paper=paper, verdict=VERDICTS[at % len(VERDICTS)])
        for at in range(count)
    ]
    return pd.DataFrame(rows)


ABOUT = dict.fromkeys(("where", "statement", "measure", "reported"), "") | {
    "null_world": "random scores"
}
ABOUT |= {"paper": "kamp2023", "expect": {"above": 0}}
CLAIMS = [Claim(id=f"c{at}", title=f"Title {at}", **ABOUT) for at in range(12)]
numbers = st.floats(-3, 3).map(lambda number: round(number, 3))
RANGES = st.sampled_from(
    [{"above": 0.5}, {"below": -1}, {"near": 1, "within": 0.02}, {"near": 0, "within": 0.2}]
)


@given(numbers, numbers, numbers, numbers, RANGES)
def test_right_of_the_line_is_where_the_paper_says_and_every_mark_fits(
    value, low, high, null, claimed
):
    start, end = Expectation(**claimed).ends
    place, far = make_scale(
        claim(value=value, low=low, high=high, null_scores=null, start=start, end=end)
    )
    assert 0 in (place(start), place(end))
    for mark in (value, low, high, null):
        assert -1 - 1e-12 <= place(mark) <= 1 + 1e-12
        if start < mark < end:
            assert 0 < place(mark) <= far + 1e-12
        elif mark < start or mark > end:
            assert place(mark) < 0 or place(mark) > far
    assert (place(value) > 0) == (start < value < end), (
        "our value is right of the line where it supports the paper"
    )


def test_the_best_come_first_and_untested_claims_are_left_out():
    found = decided(table(12), CLAIMS)
    assert len(found) == 10 and UNTESTABLE not in set(found.verdict)
    assert found.verdict.map(VERDICTS.index).is_monotonic_increasing
    assert found[found.verdict == "reproduced"].claim.tolist() == ["c0", "c6"]
    assert decided(table(12), CLAIMS[:1]).claim.tolist() == ["c0"], "what nobody claims any more"


def test_each_verdict_has_a_colour_and_a_shape_of_its_own():
    assert set(LOOK) == set(VERDICTS) - {UNTESTABLE}
    colours, _, shapes = zip(*LOOK.values(), strict=True)
    assert len(set(colours)) == len(set(shapes)) == len(LOOK)


def texts_of(figure):
    """Every text of a figure, its legend's too."""
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def test_a_papers_picture_has_every_tested_claim_with_its_raw_value():
    found = pd.concat([table(12), table(3, "sun2024")])
    axes = draw_paper(found, "kamp2023", CLAIMS)
    said = texts_of(axes.figure)
    assert said.count("One is more than two.") == 10
    assert said.count("+0.200 [+0.100, +0.300]") == 10
    assert "not testable here, left out: 2" in said and "reproduced (2)" in said
    plt.close(axes.figure)


@pytest.mark.parametrize("untested", [(), ("sun2024",), tuple(PAPERS)])
def test_the_overview_has_a_panel_a_paper_and_says_what_cannot_be_drawn(untested):
    found = pd.concat([table(7, paper) for paper in PAPERS])
    found.loc[found.paper.isin(untested), "verdict"] = UNTESTABLE
    said = texts_of(draw_overview(found, CLAIMS).figure)
    if len(untested) == 4:
        assert said == ["None of 28 claims can be tested in this run."]
        assert any(
            "can be tested in this run" in one
            for one in texts_of(draw_paper(found, "kamp2023", CLAIMS).figure)
        )
    else:
        assert len(plt.gcf().axes) == 4 and set(PAPERS.values()) <= set(said)
        assert said.count("Title 0") == 4 - len(untested) and said.count("+0.20") == 6 * (
            4 - len(untested)
        )
        assert said.count("none can be tested in this run") == len(untested)
    plt.close("all")
