"""How does agreement at fixed k compare with agreement at a k of each profile's own? (Kamp et al. 2023)"""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt

from attreval.explain import METHODS
from attreval.papers.common.method_style import method_markers, method_palette
from attreval.papers.common.style import draw_nothing, task_title, use_style
from attreval.papers.kamp2023.readings import SIX

NOBODY = "nobody marked these texts"
LOW = {"integrated_gradients_plain", "gradient_x_input"}
KINDS = {  # the paper's three groups of pairs
    "Partition SHAP and LIME": ("#DE8F05", "s"),
    "other pairs": ("#029E73", "o"),
    "pairs with plain integrated gradients or Gradient x Input": ("#7A3E9D", "^"),
}


def kind_of(a: str, b: str) -> str:
    """Which of the paper's three groups a pair of the six methods is in."""
    one, other, low = KINDS
    if {a, b} == {"partition_shap", "lime"}:
        return one
    return low if {a, b} & LOW else other


def draw_three_groups(table: pd.DataFrame):
    """Mean agreement@k of the pairs of the paper's six methods, a panel a task, by its three groups (Fig. 2a)."""
    use_style()
    six = table[table.method_a.isin(SIX) & table.method_b.isin(SIX)]
    if six.empty:
        return draw_nothing("fewer than two of the paper's six methods explain these texts")
    tasks = list(dict.fromkeys(six.task))
    figure, panels = lay_panels(tasks, 5.2, 3.9)
    for axes, task in zip(panels, tasks, strict=True):
        part = six[six.task == task].groupby(["method_a", "method_b", "k"], sort=False).agreement.mean().reset_index()
        for (a, b), pair in part.groupby(["method_a", "method_b"], sort=False):
            kind = kind_of(a, b)
            colour, marker = KINDS[kind]
            axes.plot(pair.k, pair.agreement, color=colour, marker=marker, markersize=4, linewidth=1.3, label=kind)
        axes.set(xlabel="k", title=task_title(task), ylim=(0.48, 1.02))
        spare_ticks(axes, part.k)
    panels[0].figure.supylabel("agreement@k")
    shared_legend(figure, panels, 1)
    return panels[0]


def draw_human_curves(table: pd.DataFrame):
    """Mean agreement@k of each method with people, a panel a task (Fig. 2b); random as the floor."""
    if table.empty:
        return draw_nothing(NOBODY)
    use_style()
    tasks = list(dict.fromkeys(table.task))
    figure, panels = lay_panels(tasks, 5.4, 4.2)
    methods = list(dict.fromkeys(table.method))
    palette, markers = method_palette(methods), method_markers(methods)
    for axes, task in zip(panels, tasks, strict=True):
        part = table[table.task == task].groupby(["method", "k"], sort=False)[["agreement", "low", "high"]].mean()
        for method, line in part.reset_index().groupby("method", sort=False):
            name = METHODS[method].title
            axes.plot(line.k, line.agreement, color=palette[name], marker=markers[name], markersize=4, label=name)
            axes.fill_between(line.k, line.low, line.high, color=palette[name], alpha=0.12, linewidth=0)
        axes.set(xlabel="k", title=task_title(task))
        spare_ticks(axes, table.k)
    panels[0].figure.supylabel("agreement@k with people")
    shared_legend(figure, panels, 4)
    return panels[0]


def draw_mixed_matrix(matrices: dict[str, pd.DataFrame], k: int):
    """Agreement at dynamic k below the diagonal, its difference from a fixed k above, a panel a task (Fig. 3)."""
    if not matrices:
        return draw_nothing("fewer than two of the paper's six methods explain these texts")
    use_style()
    largest = max(np.nanmax(np.abs(upper(m))) for m in matrices.values())
    figure, panels = lay_panels(list(matrices), 6.8, 5.8, layout="constrained", sharey=False)
    for axes, (task, matrix) in zip(panels, matrices.items(), strict=True):
        settings = {
            "annot": True,
            "square": True,
            "linewidths": 0.5,
            "annot_kws": {"size": 9},
            "ax": axes,
            "cbar": False,
        }
        sns.heatmap(lower(matrix), fmt=".2f", cmap="cividis", vmin=0.5, vmax=1, **settings)
        sns.heatmap(upper(matrix), fmt="+.2f", cmap="PuOr_r", vmin=-largest, vmax=largest, **settings)
        axes.grid(False)
        axes.set_title(task_title(task))
        axes.tick_params(length=0)
        axes.set_xticklabels(axes.get_xticklabels(), rotation=40, ha="right")
    bars = [
        ("cividis", 0.5, 1.0, "below: agreement at dynamic k"),
        ("PuOr_r", -largest, largest, f"above: minus agreement@{k}"),
    ]
    for cmap, least, most, words in bars:
        shades = plt.cm.ScalarMappable(plt.Normalize(least, most), cmap)
        figure.colorbar(shades, ax=panels, location="bottom", shrink=0.6, aspect=40, pad=0.02, label=words)
    return panels[0]


def lower(matrix: pd.DataFrame) -> pd.DataFrame:
    """What is below the diagonal."""
    return matrix.where(np.tril(np.ones(matrix.shape, bool), -1))


def upper(matrix: pd.DataFrame) -> pd.DataFrame:
    """What is above the diagonal."""
    return matrix.where(np.triu(np.ones(matrix.shape, bool), 1))


def draw_lengths(table: pd.DataFrame):
    """Agreement of all six methods by k, a line a length, a panel a task (Fig. 6); dotted: random selections."""
    if table.empty:
        return draw_nothing("no text has one of the lengths that the profile asks for")
    use_style()
    tasks = list(dict.fromkeys(table.task))
    lengths = sorted(set(table.length))
    colours = dict(zip(lengths, sns.color_palette("viridis", len(lengths)), strict=True))
    figure, panels = lay_panels(tasks, 5.2, 3.9)
    for axes, task in zip(panels, tasks, strict=True):
        part = table[table.task == task].groupby(["length", "k"])[["agreement", "chance"]].mean().reset_index()
        for length, line in part.groupby("length"):
            axes.plot(line.k, line.agreement, color=colours[length], marker="o", markersize=3, label=f"{length} tokens")
            axes.plot(line.k, line.chance, color=colours[length], linestyle=":", linewidth=1)
        axes.set(xlabel="k", title=task_title(task), ylim=(0, 1.03))
        spare_ticks(axes, table.k)
    panels[0].figure.supylabel("agreement@k of all six methods")
    shared_legend(figure, panels, 4)
    return panels[0]


def draw_predicted_k(table: pd.DataFrame):
    """Mean size of the error of the k that each rule predicts, mean over methods as a bar and each method as a mark."""
    if table.empty:
        return draw_nothing(NOBODY)
    use_style()
    tasks = list(dict.fromkeys(table.task))
    figure, panels = lay_panels(tasks, 5.8, 4.4)
    rules = list(dict.fromkeys(table.rule))
    names = {"one_for_all": "one k for all, from people", "quarter": "a quarter of the tokens"}
    methods = [m for m in dict.fromkeys(table.method) if m in METHODS]
    palette, markers = method_palette(methods), method_markers(methods)
    for axes, task in zip(panels, tasks, strict=True):
        part = table[table.task == task].groupby(["rule", "method"], sort=False).error.mean().reset_index()
        means = part.groupby("rule", sort=False).error.mean()
        axes.barh(range(len(rules)), means[rules], color="#DDDDDD", height=0.75)
        for method, line in part[part.method.isin(METHODS)].groupby("method", sort=False):
            name = METHODS[method].title
            places = [rules.index(rule) for rule in line.rule]
            axes.plot(line.error, places, linestyle="none", marker=markers[name], color=palette[name], label=name)
        axes.set(xlabel="mean error of k, in tokens", title=task_title(task))
        axes.set_yticks(range(len(rules)), [names.get(rule, rule.replace("_", " ")) for rule in rules])
        axes.invert_yaxis()
    shared_legend(figure, panels, 3)
    return panels[0]


def lay_panels(tasks: list[str], width: float, height: float, sharey: bool = True, **more):
    """A figure and one panel a task, two in a row."""
    columns, rows = min(2, len(tasks)), -(-len(tasks) // 2)
    size = (width * columns, height * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, sharey=sharey, squeeze=False, **more)
    for axes in grid.ravel()[len(tasks) :]:
        axes.set_axis_off()
    return figure, list(grid.ravel()[: len(tasks)])


def spare_ticks(axes, ks) -> None:
    """A tick at each k, or at every fifth where there are many."""
    most = int(max(ks))
    axes.set_xticks(range(1, most + 1) if most <= 12 else [1, *range(5, most + 1, 5)])


def shared_legend(figure, panels, columns: int) -> None:
    """One legend below all panels, each entry once."""
    entries = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.tight_layout()
    figure.legend(entries.values(), entries.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=columns)
