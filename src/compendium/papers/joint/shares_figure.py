"""Bars and a sentence of what an order of methods is made of."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from compendium.papers.common.sentences import sentence
from compendium.papers.common.style import draw_nothing, task_title, use_style
from compendium.papers.joint.decomposition import ALL, MERGED, SEEDS, SINGLE
from compendium.papers.joint.values import MIXED, OF_TWO, SCRATCH, TRANSFORMERS, WORDS

# how much two networks have in common, most first
NEARNESS = {SEEDS: 0, WORDS: 1, SCRATCH: 1, TRANSFORMERS: 1} | dict.fromkeys(OF_TWO.values(), 2)
KIND_TITLES = {
    WORDS: "two recurrent or convolutional networks",
    SCRATCH: "two transformers from scratch",
    TRANSFORMERS: "two pretrained transformers",
    MIXED: "a pretrained transformer and a recurrent or convolutional network",
    OF_TWO[
        frozenset({WORDS, SCRATCH})
    ]: "a transformer from scratch and a recurrent or convolutional network",
    OF_TWO[frozenset({SCRATCH, TRANSFORMERS})]: "a transformer from scratch and a pretrained one",
}
# of the right panels: what stands for a reading, and how far from the middle of its row
READING_LOOKS = {
    SINGLE: ("two models alone", ".", 0.0),
    ALL: ("all", "o", 0.0),
    MERGED: ("what says the same as one", "s", 0.15),
    "right": ("without agreement", "^", 0.3),
    "one rule": ("without LRP and DeepLIFT", "v", -0.15),
    "no one step": ("without one-step gradients x input", "x", -0.3),
}
LEADS = (-1.3, 1.3)  # an interval that is wider leaves the panel
LEGIBLE = 0.09  # of a bar that has room for its number
BARS = {  # of a bar: label, colour
    "methods": ("the methods alone", "#4477aa"),
    "paper": ("with the paper", "#ee8866"),
    "metric": ("with its metric", "#eebb99"),
    "model": ("with the model", "#44bb99"),
    "both": ("with both", "#bbbbbb"),
}


def draw_decomposition(table: pd.DataFrame) -> Axes:
    """Bars of the shares of the variance, a panel a kind of two networks, a row a task.

    Beside them the lead by each reading, with its interval.
    """
    if table.empty:
        return draw_nothing("No two models of a task went before two judges in this run.")
    use_style()
    rows = table[table.reading == ALL]
    kinds = sorted(dict.fromkeys(rows.kind), key=lambda kind: (NEARNESS[kind], kind))
    sizes = [(rows.kind == kind).sum() for kind in kinds]
    height = 0.34 * sum(sizes) + 0.5 * len(kinds) + 1.6
    figure, panels = plt.subplots(
        len(kinds),
        2,
        sharex="col",
        sharey="row",
        squeeze=False,
        figsize=(8, height),
        layout="constrained",
        width_ratios=(3, 1.3),
        height_ratios=[1 + size for size in sizes],
    )
    for (left, right), kind in zip(panels, kinds, strict=True):
        part = rows[rows.kind == kind]
        at = {task: place for place, task in enumerate(part.task)}
        start = np.zeros(len(part))
        for name, (label, colour) in BARS.items():
            width = part[f"{name}_cut"].to_numpy()
            bars = left.barh(range(len(part)), width, left=start, color=colour, label=label)
            shown = [f"{share:.2f}" if share >= LEGIBLE else "" for share in width]
            left.bar_label(bars, shown, label_type="center", fontsize=9)
            start += width
        left.set_title(KIND_TITLES.get(kind, kind), loc="left", fontsize=10)
        left.set_yticks(range(len(part)), part.task.map(task_title))
        here = table[table.kind == kind]
        for reading, (label, marker, aside) in READING_LOOKS.items():
            leads = here[here.reading == reading]
            places = np.array([at[task] for task in leads.task]) + aside
            error = [leads.lead - leads.lead_low, leads.lead_high - leads.lead]
            ink = "black" if reading == ALL else "0.5"
            look = {"fmt": marker, "color": ink, "markersize": 3.5, "linewidth": 1}
            right.errorbar(leads.lead, places, xerr=error, label=label, **look)
        right.axvline(0, color="0.6", linewidth=1)
        left.invert_yaxis()
    panels[-1, 0].set(xlabel="share of the variance")
    panels[-1, 1].set(xlabel="judge less model", xlim=LEADS)
    shares, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(shares, labels, ncols=3, loc="outside upper center", frameon=False)
    readings, labels = panels[0, 1].get_legend_handles_labels()
    figure.legend(readings, labels, ncols=3, loc="outside lower center", frameon=False)
    sns.despine(figure)
    return panels[0, 0]


@sentence
def say_decomposition(table: pd.DataFrame) -> str:
    """Whether judges or models make more of an order, by how near the models are."""
    rows = table[table.reading == ALL]
    where = (
        "where one network is trained anew",
        "within a family of models",
        "from one family of models to the other",
    )
    said = []
    for near, part in rows.groupby(rows.kind.map(NEARNESS)):
        said.append(
            f"{where[near]} the judge makes {_span(part.judge)} of the variance of an order of "
            f"methods and the model {_span(part.model)} ({(part.lead_low > 0).sum()} of "
            f"{len(part)} comparisons surely more by the judge, {(part.lead_high < 0).sum()} "
            "surely more by the model)"
        )
    return "; ".join(said)


def _span(values: pd.Series) -> str:
    """`0.20`, or `0.19 to 0.55`."""
    ends = [f"{max(value, 0):.2f}" for value in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))
