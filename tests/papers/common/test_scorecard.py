"""The picture of the scorecard: where marks stand, in what order, what is left out."""

import matplotlib
import numpy as np
import pandas as pd

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
from compendium.papers.common.verdicts import Expectation, Verdict

ROW = {
    "claim": "one",
    "paper": "kamp2023",
    "statement": "One is more than two.",
    "start": 0.0,
    "end": np.inf,
    "value": 0.2,
    "low": 0.1,
    "high": 0.3,
    "published": np.nan,
    "null_scores": 0.01,
    "null_names": np.nan,
}


def table(count=12, paper="kamp2023"):
    """A claims table with each verdict in turn."""
    verdicts = [list(Verdict)[at % len(Verdict)] for at in range(count)]
    rows = [ROW | {"claim": f"c{at}", "verdict": one} for at, one in enumerate(verdicts)]
    return pd.DataFrame(rows).assign(paper=paper)


ABOUT = dict.fromkeys(("where", "statement", "measure", "reported"), "")
ABOUT |= {"null_world": "random scores", "paper": "kamp2023", "expect": {"above": 0}}
CLAIMS = [Claim(id=f"c{at}", title=f"Title {at}", **ABOUT) for at in range(12)]
MARKS = st.lists(st.floats(-3, 3).map(lambda mark: round(mark, 3)), min_size=4, max_size=4)
RANGES = st.sampled_from(
    [{"above": 0.5}, {"below": -1}, {"near": 1, "within": 0.02}, {"near": 0, "within": 0.2}]
)


@given(MARKS, RANGES)
def test_right_of_the_line_is_where_the_paper_says_and_every_mark_fits(marks, claimed):
    start, end = Expectation(**claimed).ends
    drawn = dict(zip(("value", "low", "high", "null_scores"), marks, strict=True))
    place, far = make_scale(pd.Series(ROW | drawn | {"start": start, "end": end}))
    assert 0 in (place(start), place(end))
    for mark in marks:
        assert -1 - 1e-12 <= place(mark) <= 1 + 1e-12
        if start < mark < end:
            assert 0 < place(mark) <= far + 1e-12
        elif mark < start or mark > end:
            assert place(mark) < 0 or place(mark) > far
    supports = start < marks[0] < end
    assert (place(marks[0]) > 0) == supports, "right of the line where it supports the paper"


def test_the_best_come_first_and_untested_claims_are_left_out():
    found = decided(table(), CLAIMS)
    assert len(found) == 11 and Verdict.UNTESTABLE not in set(found.verdict)
    assert found.verdict.map(list(Verdict).index).is_monotonic_increasing
    assert found.claim[:2].tolist() == ["c0", "c7"]
    assert decided(table(), CLAIMS[:1]).claim.tolist() == ["c0"], "what nobody claims any more"


def test_each_verdict_has_a_colour_and_a_shape_of_its_own():
    assert set(LOOK) == set(Verdict) - {Verdict.UNTESTABLE}
    for of in ("edge", "shape"):
        assert len({getattr(mark, of) for mark in LOOK.values()}) == len(LOOK)


def said_in(axes):
    """Every text of a figure, its legend's too; the figure is closed."""
    texts = axes.figure.findobj(matplotlib.text.Text)
    plt.close(axes.figure)
    return [text.get_text() for text in texts if text.get_text()]


def test_a_papers_picture_has_every_tested_claim_with_its_raw_value():
    said = said_in(draw_paper(pd.concat([table(), table(3, "sun2024")]), "kamp2023", CLAIMS))
    assert said.count("One is more than two.") == said.count("+0.200 [+0.100, +0.300]") == 11
    assert "not testable here, left out: 1" in said and "reproduced (2)" in said


def test_the_overview_has_a_panel_a_paper_and_says_what_cannot_be_drawn():
    for lost in (0, 1):
        found = pd.concat([table(7, paper) for paper in PAPERS])
        found.loc[found.paper.isin(list(PAPERS)[:lost]), "verdict"] = Verdict.UNTESTABLE
        axes = draw_overview(found, CLAIMS)
        assert len(axes.figure.axes) == 4
        said = said_in(axes)
        assert set(PAPERS.values()) <= set(said) and said.count("Title 0") == 4 - lost
        assert said.count("+0.20") == 6 * (4 - lost)
        assert said.count("none can be tested in this run") == lost
    nothing = found.assign(verdict=Verdict.UNTESTABLE)
    assert said_in(draw_overview(nothing, CLAIMS)) == [
        "None of 28 claims can be tested in this run."
    ]
    assert "None of 7 " in said_in(draw_paper(nothing, "kamp2023", CLAIMS))[0]
