"""Colours and markers of methods: the same method looks the same in every figure."""

from __future__ import annotations

import seaborn as sns

from attreval.methods import METHODS

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h", "<", ">", "p")

KINDS = {
    "gradient": "#0072B2",
    "perturbation": "#D55E00",
    "propagation": "#009E73",
    "attention": "#CC79A7",
    "baseline": "#737373",
}  # for figures of more methods than there are colours


def kind_colour(method: str) -> str:
    """The colour of a method's kind; of scores made elsewhere, black."""
    return KINDS.get(METHODS[method].kind, "#000000")


def method_palette(methods) -> dict[str, object]:
    """A colour for each method title: the same method has the same colour in every figure, random is grey."""
    hues = [i for i in range(10) if i != 7]  # the eighth is grey, and grey is random's
    colours = [sns.color_palette(kind, 10)[i] for kind in ("colorblind", "dark") for i in hues]
    order = [name for name in METHODS if name != "random"]
    table = {METHODS[name].title: colours[i % len(colours)] for i, name in enumerate(order)}
    table["Random"] = (0.45, 0.45, 0.45)
    return {METHODS[m].title: table[METHODS[m].title] for m in methods}


def method_markers(methods) -> dict[str, str]:
    """A marker for each method title, so that lines can be told apart without colour."""
    order = list(METHODS)
    return {METHODS[m].title: MARKERS[order.index(m) % len(MARKERS)] for m in methods}
