"""Looks: a method's colour and marker are its own; names beside curves are apart, in order, and
moved little.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from compendium.papers.common import method_style
from compendium.papers.common.method_style import method_looks
from compendium.papers.common.style import label_ends, room_for, spread


def test_no_two_methods_look_alike():
    looks = method_looks(METHODS)
    assert (
        len({(look["color"], look["marker"]) for look in looks.values()})
        == len(looks)
        == len(METHODS)
    )
    hashed = {
        name: method_style.OWN.get(name) or method_style._hashed_look(name, 0) for name in METHODS
    }
    found = {name: (look["color"], look["marker"]) for name, look in looks.items()}
    assert hashed == found, "give a method whose look is another's one of OWN"
    assert method_looks(["lime"]) == {"lime": looks["lime"]} and looks["lime"]["label"] == "LIME"


@pytest.mark.parametrize("at", [0, 20])
def test_a_further_method_recolours_nobody(monkeypatch, at):
    before = method_looks(METHODS)
    names = list(METHODS)
    more = dict.fromkeys([*names[:at], "a_new_one", *names[at:]], METHODS["lime"])
    monkeypatch.setattr(
        method_style, "METHODS", {name: METHODS.get(name, METHODS["lime"]) for name in more}
    )
    assert method_looks(names) == before


def test_scores_made_elsewhere_look_like_no_method():
    names = [f"mine_{at}" for at in range(60)]
    looks = method_looks([*METHODS, *names])
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == len(METHODS) + 60
    assert (
        looks["mine_3"] == method_looks([*METHODS, *names])["mine_3"]
        and looks["mine_3"]["label"] == "mine 3"
    )


PLACES = st.lists(st.floats(-2, 3, allow_nan=False), max_size=12)


@given(PLACES)
def test_names_are_apart_in_order_and_inside(places):
    moved = spread(places, 0.05, 0.0, 1.0)
    order = np.argsort(places, kind="stable")
    assert (np.diff(moved[order]) >= 0.05 - 1e-9).all()
    assert len(moved) == 0 or (moved.min() >= -1e-9 and moved.max() <= 1 + 1e-9)


def test_what_is_apart_already_stays_and_a_heap_moves_by_the_least_squares():
    assert np.allclose(spread([0.3, 0.0, 1.0, 0.9], 0.1, 0.0, 1.0), [0.3, 0.0, 1.0, 0.9])
    assert np.allclose(spread([0.5, 0.5, 0.5], 0.1, 0.0, 1.0), [0.4, 0.5, 0.6])
    assert np.allclose(spread([0.0, 0.0], 0.1, 0.0, 1.0), [0.0, 0.1])  # the edge holds


def test_every_curve_is_named_once_and_names_do_not_overlap():
    figure, axes = plt.subplots()
    ends = [(f"method {i}", 1.0, 0.5 + i / 1000, "black") for i in range(9)]
    for _, x, y, _ in ends:
        axes.plot([0, x], [0, y])
    label_ends(axes, ends)
    figure.canvas.draw()
    boxes = sorted(
        (text.get_window_extent().y0, text.get_window_extent().y1) for text in axes.texts
    )
    assert sorted(text.get_text() for text in axes.texts) == sorted(name for name, *_ in ends)
    assert all(above[0] >= below[1] - 0.5 for below, above in pairwise(boxes))
    assert room_for(["a long name of a method"]) > room_for(["short"]) > 0
    plt.close(figure)
