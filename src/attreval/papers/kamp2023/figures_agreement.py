"""How does agreement grow with k, and between which methods?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt

from attreval.papers.common.style import GROUPS, task_title, use_style


def draw_agreement_curves(table: pd.DataFrame):
    """Mean agreement@k by k, a panel a task (Kamp et al. 2023, Fig. 2a).

    A thin line is a pair of methods, a thick one the mean of its kind of pair; the kinds of pairs with a method of
    attention or of propagation are drawn as one.
    """
    use_style()
    tasks = list(dict.fromkeys(table.task))
    figure, panels = plt.subplots(1, len(tasks), figsize=(5.2 * len(tasks), 4.4), sharey=True, squeeze=False)
    lines = table.groupby(["task", "group", "method_a", "method_b", "k"], sort=False).agreement.mean().reset_index()
    lines["group"] = lines.group.where(lines.group.isin(list(GROUPS)), "with attention or propagation")
    for axes, task in zip(panels[0], tasks, strict=True):
        for group, (colour, marker) in GROUPS.items():
            inside = lines[(lines.task == task) & (lines.group == group)]
            for _, pair in inside.groupby(["method_a", "method_b"], sort=False):
                axes.plot(pair.k, pair.agreement, color=colour, linewidth=0.8, alpha=0.45)
            mean = inside.groupby("k").agreement.mean()
            axes.plot(mean.index, mean, color=colour, linewidth=2.6, marker=marker, label=group)
        axes.set(xlabel="k", title=task_title(task), xticks=sorted(table.k.unique()), ylim=(0.48, 1.02))
    panels[0][0].set_ylabel("agreement@k")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=len(GROUPS))
    figure.tight_layout()
    return panels[0][0]


def draw_agreement_matrix(matrices: dict[str, pd.DataFrame], k: int):
    """Mean agreement at one k between all pairs of methods, a panel a task, the lower triangle.

    matrices: methods by methods, by task.
    """
    use_style()
    _, panels = plt.subplots(1, len(matrices), figsize=(6.2 * len(matrices), 5.6), squeeze=False, layout="constrained")
    for axes, (task, matrix) in zip(panels[0], matrices.items(), strict=True):
        shown = matrix.iloc[1:, :-1]
        last = task == list(matrices)[-1]
        sns.heatmap(
            shown,
            mask=np.triu(np.ones(shown.shape, bool), 1),
            annot=True,
            fmt=".2f",
            annot_kws={"size": 9},
            cmap="cividis",
            vmin=0.5,
            vmax=1,
            square=True,
            linewidths=0.5,
            ax=axes,
            cbar=last,
            yticklabels=axes is panels[0][0],
            cbar_kws={"label": f"agreement@{k}", "shrink": 0.7} if last else None,
        )
        axes.grid(False)
        axes.set_title(task_title(task))
        axes.tick_params(length=0)
        axes.set_xticklabels(axes.get_xticklabels(), rotation=40, ha="right")
    return panels[0][0]
