"""One look for every figure: colour-blind safe, readable in print and on a phone."""

from __future__ import annotations

import seaborn as sns
from matplotlib import pyplot as plt

from attreval import corpora
from attreval.explain import METHODS

GROUPS = {
    "both perturbation": ("#D55E00", "s"),
    "both gradient": ("#0072B2", "o"),
    "gradient and perturbation": ("#009E73", "^"),
    "with attention or propagation": ("#CC79A7", "D"),
    "with random": ("#888888", "x"),
}  # of pairs of methods, by their kinds
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h", "<", ">", "p")


def use_style() -> None:
    """Set the look; every figure function calls it first."""
    sns.set_theme(
        context="notebook",
        style="ticks",
        palette="colorblind",
        rc={
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.dpi": 100,
            "savefig.dpi": 200,
            "axes.grid": True,
            "grid.color": "#e5e5e5",
            "grid.linewidth": 0.7,
            "legend.frameon": False,
        },
    )


def draw_nothing(why: str):
    """A figure that says why there is nothing to draw, for a run that lacks what a figure shows."""
    use_style()
    _, axes = plt.subplots(figsize=(5, 1))
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center")
    return axes


def task_title(task: str) -> str:
    """A task as a person would write it, without what it asks."""
    return corpora.TASKS[task].short if task in corpora.TASKS else task


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
