"""What figures and sentences call methods, and their looks: nearly the same in every figure.

A look is made of the method's name; only of two that would share a colour in one figure, the second
gets another. So a further method recolours nobody else. Apart from `style`, so that what draws no
method (data, training, planted worlds) does not depend on METHODS.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import seaborn as sns

from attreval.methods import METHODS

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h", "<", ">", "p")
HUES = [i for i in range(10) if i != 7]  # the eighth is grey, and grey is random's
COLOURS = tuple(sns.color_palette(kind, 10)[i] for kind in ("colorblind", "dark") for i in HUES)
# with which no two methods share a look, and those that a paper draws together differ in colour and
# marker
SALT = 429
Look = tuple[tuple[float, float, float], str]  # colour, marker
# looks that are given; also for a method whose own another one has already
OWN: dict[str, Look] = {"random": ((0.45, 0.45, 0.45), "o")}
# colours of kinds of methods, for figures of more methods than there are colours
KINDS = {
    "gradient": "#0072B2",
    "perturbation": "#D55E00",
    "propagation": "#009E73",
    "attention": "#CC79A7",
    "baseline": "#737373",
}


def name_method(method: str) -> str:
    """What the text and figures call a method; unregistered names are shown as given."""
    return METHODS[method].title if method in METHODS else method.replace("_", " ")


def kind_colour(method: str) -> str:
    """The colour of a method's kind; of scores made elsewhere, black."""
    return KINDS.get(METHODS[method].kind, "#000000")


def method_looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """By method the `color`, `marker` and `label` (its title) that plots take.

    An external method whose look is taken gets the next free one. Where methods of one figure share
    a colour, the later ones get colours that are free.
    """
    methods = list(methods)
    looks: dict[str, Look] = {}
    for name in dict.fromkeys([*METHODS, *methods]):
        look = OWN.get(name) or _hashed_look(name, 0)
        step = 0
        while look in looks.values() and step < len(COLOURS) * len(MARKERS):
            step += 1
            look = _hashed_look(name, step)
        looks[name] = look
    out = {}
    taken = {looks[method][0] for method in methods}
    free = [colour for colour in COLOURS if colour not in taken]
    used = set()
    for method in methods:
        colour, marker = looks[method]
        if colour in used and free:
            colour = free.pop(0)
        used.add(colour)
        out[method] = {"color": colour, "marker": marker, "label": name_method(method)}
    return out


def _hashed_look(name: str, step: int) -> Look:
    """A colour and a marker made of a name; `step` markers on, and then by the next colours."""
    digest = hashlib.sha256(f"{SALT} {name}".encode()).digest()
    colour = digest[0] + step // len(MARKERS)
    return COLOURS[colour % len(COLOURS)], MARKERS[(digest[1] + step) % len(MARKERS)]
