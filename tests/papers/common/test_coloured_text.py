"""Texts in colour: what is said by colour is said by shape too, and nothing overlaps."""

from itertools import pairwise

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from attreval.api.show.shown import css
from compendium.papers.common.coloured_text import KEY, ColouredText, scale

TEXT = ["the", "<keys>", "to", "$5", "الباب"]
SCORES = {"lrp & co": [0.0, 2.0, -1.0, 0.5, 0.0], "flat": [0.0] * 5}
MARKED = [False, True, False, False, False]


def test_coloured_text_says_by_shape_what_it_says_by_colour():
    page = BeautifulSoup(ColouredText(TEXT, SCORES, MARKED, "are").html().data, "html.parser")
    first, flat = page.find_all("tr")
    assert first.th.text == "lrp & co"
    words = first.td.find_all("span")
    assert [word.text for word in words] == [*TEXT, "[are]"]
    for shape in ("u", "strong"):  # evidence and the highest, here the same word
        assert [bool(word.find(shape)) for word in words] == [*MARKED, False]
    assert css(1 / 1.1) in words[1]["style"] and css(-0.5 / 1.1) in words[2]["style"]
    assert not words[0].get("style") and words[2]["title"] == "-1"
    assert not any("background" in word.get("style", "") for word in flat.td.find_all("span"))


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=1, max_size=6))
def test_colours_are_the_papers_scale(scores):
    scaled = scale(np.array(scores))
    assert np.abs(scaled).max() <= 1 / 1.1 + 1e-9
    small = np.abs(scores) < 1e-10 * np.abs(scores).max()
    assert (small | (np.sign(scaled) == np.sign(scores))).all()


def test_the_picture_holds_every_word_inside_its_width_and_breaks_lines():
    words = TEXT[:4] * 12
    rows = {"lrp": SCORES["lrp & co"][:4] * 12, "flat": [0.0] * 48}
    axes = ColouredText(words, rows, np.arange(48) == 1, "are").draw(width=5)
    assert len(axes.texts) == len(rows) + 2 * (48 + 1) + len(KEY.split())
    assert len(axes.patches) == 36 and len(axes.lines) == 2, "one underlined word a method"
    render = axes.get_figure().canvas.get_renderer()
    lines = {}
    for text in axes.texts:
        box = text.get_window_extent(render).transformed(axes.transData.inverted())
        assert box.x1 <= 5 * 72 and box.y0 <= axes.get_ylim()[0]
        lines.setdefault(round(text.get_position()[1], 3), []).append(box)
    for inside in lines.values():
        assert all(a.x1 <= b.x0 for a, b in pairwise(inside)), "words overlap"
    assert len({round(patch.get_y(), 3) for patch in axes.patches}) > 1
    bold = {text.get_position()[1] for text in axes.texts if text.get_fontweight() == "bold"}
    assert len(bold) >= 2


def test_colour_needs_one_finite_score_a_word():
    for show in (ColouredText.html, ColouredText.draw):
        with pytest.raises(ValueError, match="'m' has 1 scores for 5 words"):
            show(ColouredText(TEXT, {"m": [1.0]}, MARKED))
        with pytest.raises(ValueError, match="finite"):
            show(ColouredText(TEXT[:1], {"m": [np.nan]}, MARKED[:1]))
