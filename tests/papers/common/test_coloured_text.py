"""Texts in colour: what is said by colour is said by shape too, and nothing overlaps."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attreval.api.show.shown import css
from compendium.papers.common.coloured_text import KEY, ColouredText, scale

TEXT = ["the", "<keys>", "to", "$5", "الباب"]
SCORES = {"lrp & co": [0.0, 2.0, -1.0, 0.5, 0.0], "flat": [0.0] * 5}
MARKED = [False, True, False, False, False]


def test_coloured_text_says_by_shape_what_it_says_by_colour():
    from bs4 import BeautifulSoup

    page = BeautifulSoup(ColouredText(TEXT, SCORES, MARKED, "are").html().data, "html.parser")
    first, flat = page.find_all("tr")
    assert first.th.text == "lrp & co"
    words = first.td.find_all("span")
    assert [word.text for word in words] == [*TEXT, "[are]"]
    assert [bool(word.find("u")) for word in words] == [*MARKED, False]
    assert [bool(word.find("strong")) for word in words] == [
        False,
        True,
        False,
        False,
        False,
        False,
    ]
    assert css(1 / 1.1) in words[1]["style"] and css(-0.5 / 1.1) in words[2]["style"]
    assert not words[0].get("style") and words[2]["title"] == "-1"
    assert not any("background" in word.get("style", "") for word in flat.td.find_all("span"))


@given(scores=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_colours_are_the_papers_scale(scores):
    scaled = scale(scores)
    assert np.abs(scaled).max() <= 1 / 1.1 + 1e-9
    assert (np.sign(scaled) == np.sign(scores)).all() or np.abs(scores).min() < 1e-10 * np.abs(
        scores
    ).max()


def test_the_picture_holds_every_word_inside_its_width_and_breaks_lines():
    words = TEXT[:4] * 12
    scores = SCORES["lrp & co"][:4] * 12
    marked = [at == 1 for at in range(48)]
    axes = ColouredText(words, {"lrp": scores, "flat": [0.0] * 48}, marked, "are").draw(width=5)
    boxes = list(axes.patches)
    key = len(KEY.split())
    labels = len(["lrp"]) + len(["flat"])
    assert len(axes.texts) == labels + 2 * (48 + 1) + key and len(boxes) == 36
    assert len(axes.lines) == 2  # one underlined word a method
    render = axes.get_figure().canvas.get_renderer()
    extents = [
        text.get_window_extent(render).transformed(axes.transData.inverted()) for text in axes.texts
    ]
    assert max(e.x1 for e in extents) <= 5 * 72 and max(e.y0 for e in extents) <= axes.get_ylim()[0]
    lines = {}
    for extent, text in zip(extents, axes.texts, strict=True):
        lines.setdefault(round(text.get_position()[1], 3), []).append(extent)
    for inside in lines.values():
        assert all(a.x1 <= b.x0 for a, b in pairwise(inside)), "words overlap"
    assert len({round(b.get_y(), 3) for b in boxes}) > 1
    assert (
        len({text.get_position()[1] for text in axes.texts if text.get_fontweight() == "bold"}) >= 2
    )


@pytest.mark.parametrize("show", [ColouredText.html, ColouredText.draw])
def test_colour_needs_one_finite_score_a_word(show):
    with pytest.raises(ValueError, match="'m' has 1 scores for 5 words"):
        show(ColouredText(TEXT, {"m": [1.0]}, MARKED))
    with pytest.raises(ValueError, match="finite"):
        show(ColouredText(TEXT[:1], {"m": [np.nan]}, MARKED[:1]))
