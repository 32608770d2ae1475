"""Looks: a method's colour and marker are its own; names beside curves are apart and in order."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from attreval.methods import METHODS
from compendium.papers.common import method_style
from compendium.papers.common.method_style import method_looks
from compendium.papers.common.style import CurveEnd, label_ends, move_apart, room_for_names


def looks_of(names):
    """By name, its colour and marker."""
    return {name: (look["color"], look["marker"]) for name, look in method_looks(names).items()}


def test_no_two_methods_look_alike_nor_do_scores_made_elsewhere():
    found = looks_of([*METHODS, *(f"mine_{at}" for at in range(60))])
    assert len(set(found.values())) == len(METHODS) + 60
    for name in METHODS:
        own = method_style.OWN.get(name) or method_style._hashed_look(name, 0)
        assert found[name] == own, f"give {name}, whose look is another's, one of OWN"
    assert looks_of(["lime"]) == {"lime": found["lime"]}
    labels = {name: look["label"] for name, look in method_looks(["lime", "mine_3"]).items()}
    assert labels == {"lime": "LIME", "mine_3": "mine 3"}


def test_a_further_method_recolours_nobody(monkeypatch):
    before = method_looks(METHODS)
    names = list(METHODS)
    for at in (0, 20):
        more = [*names[:at], "a_new_one", *names[at:]]
        monkeypatch.setattr(method_style, "METHODS", {m: METHODS["lime"] for m in more} | METHODS)
        assert looks_of(names) == {m: (one["color"], one["marker"]) for m, one in before.items()}


@given(st.lists(st.floats(-2, 3), max_size=12))
def test_names_are_apart_in_order_and_inside(places):
    moved = move_apart(places, 0.05)
    order = np.argsort(places, kind="stable")
    assert (np.diff(moved[order]) >= 0.05 - 1e-9).all()
    assert (moved == moved.clip(-1e-9, 1 + 1e-9)).all()


def test_what_is_apart_already_stays_and_a_heap_moves_by_the_least_squares():
    assert np.allclose(move_apart([0.3, 0.0, 1.0, 0.9], 0.1), [0.3, 0.0, 1.0, 0.9])
    assert np.allclose(move_apart([0.5, 0.5, 0.5], 0.1), [0.4, 0.5, 0.6])
    assert np.allclose(move_apart([0.0, 0.0], 0.1), [0.0, 0.1])  # the edge holds


def test_every_curve_is_named_once_and_names_do_not_overlap():
    figure, axes = plt.subplots()
    ends = [CurveEnd(f"method {i}", 1.0, 0.5 + i / 1000, "black") for i in range(9)]
    for end in ends:
        axes.plot([0, end.x], [0, end.y])
    label_ends(axes, ends)
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert sorted(text.get_text() for text in axes.texts) == [end.name for end in ends]
    assert all(above.y0 >= below.y1 - 0.5 for below, above in pairwise(boxes))
    assert room_for_names(["a long name of a method"]) > room_for_names(["short"]) > 0
    plt.close(figure)


def test_no_two_methods_of_one_figure_share_a_colour_where_there_are_enough():
    names = list(METHODS)[: len(method_style.COLOURS)]
    found = looks_of(names)
    assert len({colour for colour, _ in found.values()}) == len(names)
    for method, look in looks_of(METHODS).items():
        assert looks_of([method]) == {method: look}
