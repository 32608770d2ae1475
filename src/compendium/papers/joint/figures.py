"""Figures of notebooks 08: rank correlations of metrics, the Pareto front, stability of sampled
explanations, twins.
"""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from attreval.methods import METHODS
from compendium.papers.common import style
from compendium.papers.common.method_style import KINDS, MARKERS, kind_colour, method_looks
from compendium.papers.common.style import draw_nothing, model_title, task_title, use_style
from compendium.papers.joint.correlations import POOLED
from compendium.papers.joint.decomposition import NEARNESS, SEEDS
from compendium.papers.joint.standing import DIFFER, MEAN, MIXED, TOO_FEW, TRANSFORMERS, WORDS
from compendium.papers.joint.values import JOINT
from compendium.papers.joint.variant_tables import STABLE

PALETTE = "RdBu"  # red to blue through white: told apart by the colour-blind too
EXTERNAL = (
    "pointing",
    "people",
    "people_units",
    "diagnosticity",
)  # the first there is drawn beside the usual three
OF_TWO = {
    SEEDS: SEEDS,
    WORDS: "two recurrent or convolutional networks",
    TRANSFORMERS: "two transformers",
    MIXED: "one network of each family",
}
LEGIBLE = 0.09  # of a bar that has room for its number
PARTS = {  # of a bar: label, colour
    "methods": ("the methods alone", "#4477aa"),
    "paper": ("with the paper", "#ee8866"),
    "metric": ("with its metric", "#eebb99"),
    "model": ("with the model", "#44bb99"),
    "both": ("with both", "#bbbbbb"),
}


def draw_correlations(table: pd.DataFrame, itself: pd.DataFrame, granularity: str):
    """Pooled rank correlations of metrics, a cell a pair with its interval; framed where the
    interval leaves out 0.

    Bold: exchanged names of methods do not give as much. On the diagonal each metric against itself
        on other texts.
    """
    use_style()
    pooled = table[(table.task == POOLED) & table.tau.notna()]
    part = pooled[pooled.granularity == granularity]
    names = [name for name in JOINT if name in {*part.metric_a, *part.metric_b}]
    if len(names) < 2:
        return draw_nothing("No two metrics have judged the same methods in this run.")
    size = 0.95 * len(names) + 2.8
    figure, axes = plt.subplots(figsize=(size, 0.72 * size))
    colours = sns.color_palette(PALETTE, as_cmap=True)
    middle = {"ha": "center", "va": "center"}
    for row in part.itertuples():
        x, y = sorted([names.index(row.metric_a), names.index(row.metric_b)])
        colour = colours((row.tau + 1) / 2)
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        if row.verdict in ("agree", "contradict"):
            axes.add_patch(
                Rectangle(
                    (x + 0.04, y + 0.04), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.3
                )
            )
        look = {**middle, "color": "white" if abs(row.tau) > 0.62 else "black"}
        axes.text(
            x + 0.5,
            y + 0.4,
            f"{row.tau:.2f}",
            weight="bold" if row.beyond_names else "normal",
            **look,
        )
        axes.text(x + 0.5, y + 0.72, f"{row.low:.2f} to {row.high:.2f}", fontsize=7.5, **look)
    for row in itself[(itself.granularity == granularity) & itself.metric.isin(names)].itertuples():
        at = names.index(row.metric)
        axes.text(at + 0.5, at + 0.4, f"{row.tau:.2f}", style="italic", color="#555555", **middle)
        axes.text(at + 0.5, at + 0.72, "itself", fontsize=7.5, color="#555555", **middle)
    titles = [JOINT[name].title for name in names]
    axes.set(xlim=(0, len(names)), ylim=(len(names), 0))
    places = np.arange(len(names)) + 0.5
    axes.set_xticks(places, titles, rotation=35, ha="right")
    axes.set_yticks(places, titles)
    style.bare(axes)
    style.colour_bar(
        axes, colours, (-1, 1), "rank correlation of methods (tau-b)", shrink=0.7, pad=0.02
    )
    figure.tight_layout()
    return axes


def draw_pareto(table: pd.DataFrame):
    """Quality by evaluations requested, two rows a run, a panel a metric; undominated methods
    filled, joined and named.

    A colour is a kind of method; of undominated methods of one price and quality the first is
    named.
    """
    use_style()
    part = table[table.granularity == "tokens"]
    runs = pick_runs(part)
    if not runs:
        return draw_nothing("No run with a price is part of this profile.")
    figure, grid = plt.subplots(2 * len(runs), 2, figsize=(9, 5.2 * len(runs)), squeeze=False)
    ends = {}
    for row, (task, model) in zip(grid.reshape(len(runs), 4), runs, strict=True):
        of_run = part[(part.task == task) & (part.model == model)]
        external = next(
            (metric for metric in EXTERNAL if metric in set(of_run.metric)), EXTERNAL[-1]
        )
        for axes, metric in zip(row, ("agreement", "nc", "ns", external), strict=True):
            cell = of_run[of_run.metric == metric]
            place = ["requested", "quality"]
            front = cell[cell.undominated].sort_values(place)
            ends[axes] = []
            for one in front.drop_duplicates(place).itertuples():
                title = METHODS[one.method].title
                ends[axes].append((title, one.requested, one.quality, kind_colour(one.method)))
            axes.step(
                front.requested, front.quality, where="post", color="#999999", linewidth=1, zorder=1
            )
            colours = np.array([kind_colour(method) for method in cell.method])
            filled = cell.undominated.to_numpy(bool)
            best = cell[filled]
            axes.scatter(
                cell.requested, cell.quality, s=34, zorder=2, facecolors="none", edgecolors=colours
            )
            axes.scatter(best.requested, best.quality, s=34, zorder=3, color=colours[filled])
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xlim(-0.2, max([10, *cell.requested * 2]))
            axes.set_title(
                f"{task_title(task)}, {model_title(model)}\n{JOINT[metric].title}", fontsize=10
            )
    for axes in grid[-1]:
        axes.set_xlabel("evaluations asked for", fontsize=10)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean over texts", fontsize=10)
    drawn = {METHODS[method].kind for method in part.method}
    handles = []
    for kind, colour in KINDS.items():
        if kind in drawn:
            handles.append(plt.Line2D([], [], color=colour, marker="o", linestyle="", label=kind))
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.01),
        ncols=len(handles),
        fontsize=9,
    )
    return style.name_ends(figure, ends, 7)


def draw_places(table: pd.DataFrame):
    """Methods by metrics, a panel a family of models: the share of other methods that a method
    beats, in hundredths.

    table: of `standing.places_table`. Bold: the interval leaves out one half. Empty: the metric
        does not apply there.
    """
    if table.empty:
        return draw_nothing("No token explanations went before the metrics in this run.")
    use_style()
    parts = dict(list(table.groupby("family", sort=False)))
    heights = [part.method.nunique() + 4 for part in parts.values()]
    shape = {"figsize": (12.5, 0.3 * sum(heights) + 1.2), "height_ratios": heights}
    _, grid = plt.subplots(len(parts), 1, squeeze=False, layout="constrained", **shape)
    colours = sns.color_palette("vlag_r", as_cmap=True)
    for axes, (family, part) in zip(grid[:, 0], parts.items(), strict=True):
        wide = part.pivot(index="method", columns="metric", values=["place", "verdict"])
        wide = wide.loc[part.method.unique()]
        names = [name for name in (MEAN, *JOINT) if name in wide["place"]]
        sure = wide["verdict"][names].isin(["above", "below"]).to_numpy()
        titles = ["mean of these" if name == MEAN else JOINT[name].title for name in names]
        rows = [METHODS[method].title for method in wide.index]
        places = wide["place"][names].to_numpy(float)
        style.heat_map(axes, places, sure, colours, (0, 1), 0.8, rows, titles)
        axes.axvline(0.5, color="white", linewidth=3)
        axes.set_title(family, loc="left", fontsize=11, weight="bold")
    style.colour_bar(
        grid[:, 0], colours, (0, 100), "other methods beaten, in hundredths", shrink=0.4, pad=0.01
    )
    return grid[0][0]


def draw_across(table: pd.DataFrame):
    """Pairs of models by metrics: tau-b of the two orders of methods, in hundredths; token
    explanations.

    table: of `standing.across_table`. Bold: models that differ; pale: too few texts to say.
    """
    part = table[table.granularity == "tokens"]
    if part.empty:
        return draw_nothing("No two models of a task went before the same metric in this run.")
    use_style()
    pair = ["family", "task", "model_a", "model_b"]
    pairs = sorted(part.groupby(pair, sort=False).groups, key=lambda one: one[0] != TRANSFORMERS)
    names = [name for name in JOINT if name in set(part.metric)]
    wide = part.pivot(index=pair, columns="metric", values=["tau", "verdict"]).loc[pairs]
    verdicts = wide["verdict"][names].to_numpy()
    size = (0.95 * len(names) + 5, 0.3 * len(pairs) + 2)
    _, axes = plt.subplots(figsize=size, layout="constrained")
    colours = sns.color_palette(PALETTE, as_cmap=True)
    titles = [JOINT[name].title for name in names]
    named = [f"{task_title(task)}: {model_title(a)}, {model_title(b)}" for _, task, a, b in pairs]
    pale = np.where(verdicts == TOO_FEW, 0.3, 1.0)
    taus = wide["tau"][names].to_numpy(float)
    style.heat_map(axes, taus, verdicts == DIFFER, colours, (-1, 1), 0.7, named, titles, pale)
    style.colour_bar(
        axes,
        colours,
        (-100, 100),
        "rank correlation of methods, in hundredths",
        shrink=0.6,
        pad=0.01,
    )
    return axes


def pick_runs(part: pd.DataFrame) -> list[tuple[str, str]]:
    """The run with most methods of each kind: without evidence from outside, with people's, and
    with planted.
    """
    runs = part.groupby(["task", "model"], sort=False)
    order = (-runs.method.nunique()).sort_values(kind="stable").index
    first = {"": None, "people": None, "pointing": None}
    for run, metrics in runs.metric.agg(set).reindex(order).items():
        kind = next((metric for metric in ("people", "pointing") if metric in metrics), "")
        first[kind] = first[kind] or run
    return [run for run in first.values() if run]


def draw_budgets(overlaps: pd.DataFrame):
    """Overlap of the top tokens by evaluations requested: with the largest budget, of two seeds; a
    line a method.
    """
    use_style()
    if not len(overlaps):
        return draw_nothing("No method was given growing budgets in this profile.")
    overlaps = overlaps.sort_values(["task", "model", "method", "budget"], kind="stable")
    figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True)
    lines = list(overlaps.groupby(["task", "model", "method"], sort=False))
    colours = sns.color_palette("colorblind", len(lines))
    sizes = sorted(set(overlaps.budget))
    titles = {"to_largest": "with the largest budget, same seed", "between": "between two seeds"}
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        for at, ((task, model, method), line) in enumerate(lines):
            if name == "to_largest":
                line = line.iloc[:-1]  # compared with itself, the largest budget says nothing
            where = f"{METHODS[method].title} ({task_title(task)}, {model_title(model)})"
            look = {"color": colours[at], "marker": MARKERS[at % len(MARKERS)], "label": where}
            ends = (line[name], line[f"{name}_low"], line[f"{name}_high"])
            style.draw_curve(axes, line.requested, *ends, 0.08, **look)
        axes.axhline(STABLE, color="#666666", linestyle=":", linewidth=1)
        axes.set(xscale="log", ylim=(0, 1.03), xlabel="evaluations asked for", title=title)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
    panels[0].set_ylabel(f"overlap of the top {overlaps.k.iloc[0]} tokens")
    return style.legend_below(figure, 2, 0.01)


def draw_masked(table: pd.DataFrame):
    """A panel a task, metric and way to erase: the mean of each method, plain model by masked twin,
    with intervals.
    """
    if not len(table):
        return draw_nothing("No models with masked twins are part of this profile.")
    looks = method_looks(m for m in METHODS if m in set(table.method))
    cells = dict(list(table.groupby(["task", "metric", "erased"], sort=False)))
    figure, panels = style.task_panels(cells, 2.5, 2.7, 5, sharey=False)
    for (task, metric, erased), axes in panels.items():
        part = cells[task, metric, erased]
        for row in part.itertuples():
            across = [[row.plain - row.plain_low], [row.plain_high - row.plain]]
            up = [[row.masked - row.masked_low], [row.masked_high - row.masked]]
            look = {"linestyle": "", "markersize": 5, "elinewidth": 0.6} | looks[row.method]
            axes.errorbar(row.plain, row.masked, xerr=across, yerr=up, **look)
        bounds = part[["plain_low", "masked_low", "plain_high", "masked_high"]]
        ends = [bounds.min(axis=None), bounds.max(axis=None)]
        axes.plot(ends, ends, color="#999999", linewidth=0.8, zorder=0)
        axes.set_title(f"{part.title.iloc[0]}\n{task_title(task)}, {erased}", fontsize=9)
    figure.supxlabel("plain", fontsize=9)
    figure.supylabel("masked", fontsize=9)
    return style.legend_below(figure, 4, 0.01)


def draw_decomposition(table: pd.DataFrame):
    """Bars of the shares of the variance, a panel a kind of two networks, a row a task; beside them
    the lead.
    """
    if table.empty:
        return draw_nothing("No two models of a task went before two judges in this run.")
    use_style()
    rows = table[table.reading == "all"]
    kinds = sorted(dict.fromkeys(rows.kind), key=lambda kind: (NEARNESS[kind], kind))
    sizes = [int((rows.kind == kind).sum()) for kind in kinds]
    height = 0.34 * sum(sizes) + 0.5 * len(kinds) + 0.9
    ratios = {"width_ratios": (3, 1.3), "height_ratios": [1 + size for size in sizes]}
    shape = {"figsize": (8, height), "layout": "constrained", "squeeze": False}
    figure, panels = plt.subplots(len(kinds), 2, sharex="col", sharey="row", **shape, **ratios)
    for (left, right), kind in zip(panels, kinds, strict=True):
        part = rows[rows.kind == kind]
        tasks = [task_title(task) for task in part.task]
        start = np.zeros(len(part))
        for name, (label, colour) in PARTS.items():
            width = part[name].clip(lower=0).to_numpy()
            bars = left.barh(tasks, width, left=start, color=colour, label=label)
            shown = [f"{share:.2f}" if share >= LEGIBLE else "" for share in width]
            left.bar_label(bars, shown, label_type="center", fontsize=9)
            start += width
        left.set_title(OF_TWO[kind], loc="left", fontsize=10)
        error = [part.lead - part.lead_low, part.lead_high - part.lead]
        right.errorbar(part.lead, tasks, xerr=error, fmt="o", color="black", markersize=4)
        right.axvline(0, color="0.6", linewidth=1)
        left.invert_yaxis()
    panels[-1, 0].set(xlabel="share of the variance")
    panels[-1, 1].set(xlabel="judge less model")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside upper center", frameon=False)
    sns.despine(figure)
    return panels[0, 0]
