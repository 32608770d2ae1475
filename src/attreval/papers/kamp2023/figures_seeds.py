"""How far apart are runs that differ in their training seed alone? (Kamp et al. 2023, Table 2.)"""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

from attreval.papers.common.style import MARKERS, task_title, use_style


def draw_seeds(table: pd.DataFrame):
    """Pairwise difference over the smallest of its study, in order of size; a line a study, and the published."""
    use_style()
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    colours = sns.color_palette("colorblind")
    studies = [
        (f"{task_title(task)}, {model}", part.apd)
        for (task, model), part in table.groupby(["task", "model"], sort=False)
    ]
    published = table.drop_duplicates("published_run").published_apd.dropna()
    for number, (name, apd) in enumerate([*studies, ("published: e-SNLI, DistilBERT", published)]):
        ordered = sorted(apd)
        style = {"color": colours[number % 10], "marker": MARKERS[number % len(MARKERS)]}
        axes.plot(range(1, len(ordered) + 1), [value / ordered[0] for value in ordered], label=name, **style)
    axes.set(xlabel="runs, in order of size", ylabel="difference over the smallest")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    figure.tight_layout()
    return axes
