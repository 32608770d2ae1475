"""The figures of Kamp et al. (2023) by their own numbers, and ours beside them.

How far do methods and people agree at each k, at a k of each profile's own, and with another training seed?
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from attreval.methods import METHODS
from compendium.papers.common.method_style import MARKERS, method_looks
from compendium.papers.common.style import (
    colour_bar,
    draw_curve,
    draw_nothing,
    finish_matrix,
    legend_below,
    model_title,
    name_ends,
    spare_ticks,
    task_panels,
    task_title,
    use_style,
)
from compendium.papers.kamp2023.agreement import PAIR_KINDS, kind_of
from compendium.papers.kamp2023.profiles import draw_profile, draw_spans
from compendium.papers.kamp2023.readings import SIX, Reading

NOBODY = "nobody marked these texts"
FEW = "fewer than two of the paper's six methods explain these texts"
ONE_METHOD = "fewer than two methods explain the texts"
FEWEST = 5  # texts of a length; the mean of fewer says nothing
KINDS = dict(zip(PAIR_KINDS, (("#DE8F05", "s"), ("#029E73", "o"), ("#7A3E9D", "^")), strict=True))
GROUPS = {
    "both perturbation": ("#D55E00", "s"),
    "both gradient": ("#0072B2", "o"),
    "gradient and perturbation": ("#009E73", "^"),
    "with attention or propagation": ("#CC79A7", "D"),
    "with random": ("#888888", "x"),
}  # of pairs of methods, by their kinds
CELLS = {"annot": True, "square": True, "linewidths": 0.5}


def figure_1(reading: Reading, rule: str = "released"):
    """Dynamic k against fixed k on one text, by the gradient's L1 norm (Fig. 1)."""
    return draw_profile(reading, "gradient_l1", rule)


def figure_4(reading: Reading, rule: str = "released"):
    """Dynamic k against fixed k on one text, by plain integrated gradients (Fig. 4)."""
    return draw_profile(reading, "integrated_gradients_plain", rule)


def figure_2a(table: pd.DataFrame):
    """Mean agreement@k of the pairs of the paper's six methods, a panel a task, by its three groups (Fig. 2a).

    table: as agreement.agreement_table makes it.
    """
    six = table[table.method_a.isin(SIX) & table.method_b.isin(SIX)]
    if six.empty:
        return draw_nothing(FEW)
    figure, panels = task_panels(six.task.unique(), 5.2, 3.9)
    means = six.groupby(["task", "method_a", "method_b", "k"], sort=False).agreement.mean().reset_index()
    for (task, a, b), pair in means.groupby(["task", "method_a", "method_b"], sort=False):
        kind = kind_of(a, b)
        colour, marker = KINDS[kind]
        panels[task].plot(pair.k, pair.agreement, color=colour, marker=marker, markersize=4, linewidth=1.3, label=kind)
    return _finish_curves(figure, panels, means.k, 1, "agreement@k", ylim=(0.48, 1.02))


def _finish_curves(figure, panels: dict, ks, columns: int, what: str, **limits):
    """Titles, ticks and one legend of curves over k, a panel a task."""
    for task, axes in panels.items():
        axes.set(xlabel="k", title=task_title(task), **limits)
        spare_ticks(axes, ks)
    figure.supylabel(what)
    return legend_below(figure, columns)


def figure_2b(table: pd.DataFrame):
    """Mean agreement@k of each method with people, a panel a task (Fig. 2b); random as the floor.

    table: as people.human_agreement_table makes it.
    """
    if table.empty:
        return draw_nothing(NOBODY)
    figure, panels = task_panels(table.task.unique(), 5.4, 4.2)
    looks = method_looks(table.method.unique())
    means = table.groupby(["task", "method", "k"], sort=False)[["agreement", "low", "high"]].mean().reset_index()
    for (task, method), line in means.groupby(["task", "method"], sort=False):
        draw_curve(panels[task], line.k, line.agreement, line.low, line.high, 0.12, markersize=4, **looks[method])
    return _finish_curves(figure, panels, table.k, 4, "agreement@k with people")


def figure_3(matrices: dict[str, pd.DataFrame], k: int):
    """Agreement at dynamic k below the diagonal, its difference from a fixed k above, a panel a task (Fig. 3).

    matrices: voters by voters, by task, as agreement.dynamic_matrices makes them.
    """
    if not matrices:
        return draw_nothing(FEW)
    figure, panels = task_panels(matrices, 4.6, 4.4, layout="constrained", sharey=False)
    matrices = {task: (100 * matrix).round() + 0.0 for task, matrix in matrices.items()}  # no -0
    upper, lower = (
        {task: matrix.where(half(np.ones(matrix.shape, bool), side)) for task, matrix in matrices.items()}
        for half, side in ((np.triu, 1), (np.tril, -1))
    )
    largest = max(np.nanmax(np.abs(matrix)) for matrix in upper.values())
    least, most = (end([end(matrix) for matrix in lower.values()]) for end in (np.nanmin, np.nanmax))
    for parts, shades, ends, digits, words in (
        (lower, "cividis", (least, most), ".0f", "below: agreement at dynamic k, in hundredths"),
        (upper, "PuOr_r", (-largest, largest), "+.0f", f"above: minus agreement@{k}"),
    ):
        look = {"cmap": shades, "vmin": ends[0], "vmax": ends[1], "fmt": digits, "cbar": False}
        for task, axes in panels.items():
            sns.heatmap(parts[task], ax=axes, annot_kws={"size": 8}, **look, **CELLS)
            finish_matrix(axes, task)
        place = {"location": "bottom", "shrink": 0.6, "aspect": 40, "pad": 0.02}
        colour_bar(list(panels.values()), shades, ends, words, **place)
    return figure.axes[0]


def figure_5(reading: Reading, rule: str = "released"):
    """From peaks to spans and phrases on one text, by the gradient's L1 norm (Fig. 5)."""
    return draw_spans(reading, "gradient_l1", rule)


def figure_6(table: pd.DataFrame):
    """Agreement of all six methods by k, a line a length with its texts, a panel a task (Fig. 6); dotted: random ones.

    table: as agreement.length_table makes it; lengths of fewer than FEWEST texts are left out.
    """
    table = table[table.instances >= FEWEST]
    if table.empty:
        return draw_nothing("no text has one of the lengths that the profile asks for")
    lengths = sorted(table.length.unique())
    colours = dict(zip(lengths, sns.color_palette("viridis", len(lengths) + 1), strict=False))  # the last is pale
    figure, panels = task_panels(table.task.unique(), 4.4, 3.2)
    ends = {axes: [] for axes in panels.values()}
    means = table.groupby(["task", "length", "k"])[["agreement", "chance", "instances"]].mean().reset_index()
    for (task, length), line in means.groupby(["task", "length"]):
        axes, colour = panels[task], colours[length]
        axes.plot(line.k, line.agreement, color=colour, marker="o", markersize=3)
        axes.plot(line.k, line.chance, color=colour, linestyle=":", linewidth=1)
        name = f"{length} tokens (n = {line.instances.iloc[0]:.0f})"
        ends[axes].append((name, line.k.iloc[-1], line.agreement.iloc[-1], colour))
    for task, axes in panels.items():
        axes.set(xlabel="k", title=task_title(task), ylim=(0, 1.03))
        spare_ticks(axes, table.k)
    figure.supylabel("agreement@k of all six methods")
    return name_ends(figure, ends)


def figure_predicted_k(table: pd.DataFrame):
    """Mean size of the error of the k that each rule predicts, mean over methods as a bar and each method as a mark."""
    if table.empty:
        return draw_nothing(NOBODY)
    figure, panels = task_panels(table.task.unique(), 5.8, 4.4)
    rules = list(table.rule.unique())
    names = {"one_for_all": "one k for all, from people", "quarter": "a quarter of the tokens"}
    looks = method_looks(m for m in table.method.unique() if m in METHODS)
    for task, axes in panels.items():
        part = table[table.task == task].groupby(["rule", "method"], sort=False).error.mean().reset_index()
        axes.barh(range(len(rules)), part.groupby("rule").error.mean()[rules], color="#DDDDDD", height=0.75)
        for method, line in part[part.method.isin(METHODS)].groupby("method", sort=False):
            axes.plot(line.error, [rules.index(rule) for rule in line.rule], linestyle="none", **looks[method])
        axes.set(xlabel="mean error of k, in tokens", title=task_title(task))
        axes.set_yticks(range(len(rules)), [names.get(rule, rule.replace("_", " ")) for rule in rules])
        axes.invert_yaxis()
    return legend_below(figure, 3)


def figure_seeds(table: pd.DataFrame):
    """Pairwise difference over the smallest of its study, in order of size; a line a study, and the published.

    table: as tables.table_2 makes it. Bars: the interval over texts, of our runs.
    """
    use_style()
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    colours = sns.color_palette("colorblind")
    studies = table.groupby(["task", "model"], sort=False)
    lines = {f"{task_title(task)}, {model_title(model)}": part for (task, model), part in studies}
    published = table.drop_duplicates("published_run").published_apd.dropna()
    lines["published: e-SNLI, DistilBERT"] = pd.DataFrame({"apd": published})
    for number, (name, part) in enumerate(lines.items()):
        part = part.sort_values("apd")
        over = (part.apd / part.apd.min()).to_numpy()
        style = {"color": colours[number % 10], "marker": MARKERS[number % len(MARKERS)]}
        places = range(1, len(over) + 1)
        axes.plot(places, over, label=name, **style)
        if "low" in part:
            axes.vlines(places, 1 + part.low, 1 + part.high, colors=[style["color"]], alpha=0.6)
    axes.set(xlabel="runs, in order of size", ylabel="difference over the smallest")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left")  # where the smallest are
    figure.tight_layout()
    return axes


def figure_all_pairs(table: pd.DataFrame):
    """Mean agreement@k of each kind of pair, a panel a task.

    A line is the mean over the pairs of a kind, named at its end with how many these are; its band holds the middle
    four fifths of them. The kinds of pairs with a method of attention or of propagation are drawn as one.
    """
    if table.empty:
        return draw_nothing(ONE_METHOD)
    lines = table.groupby(["task", "group", "method_a", "method_b", "k"], sort=False).agreement.mean().reset_index()
    lines["group"] = lines.group.where(lines.group.isin(list(GROUPS)), "with attention or propagation")
    figure, panels = task_panels(lines.task.unique(), 6.8, 3.8, sharey=False)
    ends = {axes: [] for axes in panels.values()}
    for task, axes in panels.items():
        for group, (colour, marker) in GROUPS.items():
            inside = lines[(lines.task == task) & (lines.group == group)]
            if inside.empty:
                continue
            by_k = inside.groupby("k").agreement
            mean, low, high = by_k.mean(), by_k.quantile(0.1), by_k.quantile(0.9)
            look = {"color": colour, "linewidth": 2.2, "marker": marker, "markersize": 5}
            draw_curve(axes, mean.index, mean, low, high, 0.13, **look)
            pairs = inside.groupby(["method_a", "method_b"]).ngroups
            ends[axes].append((f"{group} ({pairs})", mean.index[-1], mean.iloc[-1], colour))
        axes.set(xlabel="k", ylabel="agreement@k", title=task_title(task), ylim=(0.48, 1.02))
        spare_ticks(axes, lines.k)
    return name_ends(figure, ends, 8.5)


def figure_pair_matrix(matrices: dict[str, pd.DataFrame], k: int):
    """Mean agreement at one k between all pairs of methods, in hundredths, a panel a task, the lower triangle.

    matrices: methods by methods, by task. A task's methods stand beside those that they agree with.
    """
    if not matrices:
        return draw_nothing(ONE_METHOD)
    use_style()
    sizes = [0.36 * len(matrix) + 2.4 for matrix in matrices.values()]
    size = (max(sizes) + 2.2, sum(sizes) + 0.6)
    ratios = {"height_ratios": sizes}
    _, grid = plt.subplots(len(sizes), 1, figsize=size, squeeze=False, layout="constrained", gridspec_kw=ratios)
    for axes, (task, matrix) in zip(grid[:, 0], matrices.items(), strict=True):
        order = similar_beside(matrix)
        shown = 100 * matrix.loc[order, order].iloc[1:, :-1]
        above = np.triu(np.ones(shown.shape, bool), 1)
        look = {"cmap": "cividis", "vmin": 50, "vmax": 100, "fmt": ".0f", "annot_kws": {"size": 9}}
        bar = {"label": f"agreement@{k}, in hundredths", "shrink": 0.6}
        sns.heatmap(shown, mask=above, ax=axes, cbar_kws=bar, **look, **CELLS)
        finish_matrix(axes, task)
    return grid[0][0]


def similar_beside(matrix: pd.DataFrame) -> list[str]:
    """The names of a symmetric matrix of similarities, in the order of the leaves of its average linkage."""
    if len(matrix) < 3:
        return list(matrix.index)
    far = np.nan_to_num(1 - matrix.to_numpy(float), nan=1.0)
    tree = linkage(squareform((far + far.T) / 2 * (1 - np.eye(len(far)))), "average", optimal_ordering=True)
    return [matrix.index[i] for i in leaves_list(tree)]
