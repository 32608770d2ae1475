"""Agreement of every pair of methods (ours, after Fig. 2a of Kamp et al. 2023): by k, and as a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from compendium.papers.common.style import (
    draw_nothing,
    finish_matrix,
    label_ends,
    room_for,
    spare_ticks,
    task_panels,
    task_title,
    use_style,
)

GROUPS = {
    "both perturbation": ("#D55E00", "s"),
    "both gradient": ("#0072B2", "o"),
    "gradient and perturbation": ("#009E73", "^"),
    "with attention or propagation": ("#CC79A7", "D"),
    "with random": ("#888888", "x"),
}  # of pairs of methods, by their kinds
ONE_METHOD = "fewer than two methods explain the texts"


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
    ends = {task: [] for task in panels}
    for task, axes in panels.items():
        for group, (colour, marker) in GROUPS.items():
            inside = lines[(lines.task == task) & (lines.group == group)]
            if inside.empty:
                continue
            by_k = inside.groupby("k").agreement
            mean, low, high = by_k.mean(), by_k.quantile(0.1), by_k.quantile(0.9)
            axes.plot(mean.index, mean, color=colour, linewidth=2.2, marker=marker, markersize=5)
            axes.fill_between(mean.index, low, high, color=colour, alpha=0.13, linewidth=0)
            pairs = inside.groupby(["method_a", "method_b"]).ngroups
            ends[task].append((f"{group} ({pairs})", mean.index[-1], mean.iloc[-1], colour))
        axes.set(xlabel="k", ylabel="agreement@k", title=task_title(task), ylim=(0.48, 1.02))
        spare_ticks(axes, lines.k)
    figure.tight_layout(w_pad=room_for((end[0] for part in ends.values() for end in part), 8.5))
    for task, axes in panels.items():
        label_ends(axes, ends[task], 8.5)
    return figure.axes[0]


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
        look = {"cmap": "cividis", "vmin": 50, "vmax": 100, "annot": True, "fmt": ".0f", "annot_kws": {"size": 9}}
        bar = {"label": f"agreement@{k}, in hundredths", "shrink": 0.6}
        sns.heatmap(shown, mask=above, ax=axes, square=True, linewidths=0.5, cbar_kws=bar, **look)
        finish_matrix(axes, task)
    return grid[0][0]


def similar_beside(matrix: pd.DataFrame) -> list[str]:
    """The names of a symmetric matrix of similarities, in the order of the leaves of its average linkage."""
    if len(matrix) < 3:
        return list(matrix.index)
    far = np.nan_to_num(1 - matrix.to_numpy(float), nan=1.0)
    tree = linkage(squareform((far + far.T) / 2 * (1 - np.eye(len(far)))), "average", optimal_ordering=True)
    return [matrix.index[i] for i in leaves_list(tree)]
