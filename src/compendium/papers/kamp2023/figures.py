"""The figures of Kamp et al. (2023) by their own numbers, and ours beside them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from attreval.methods import METHODS
from attreval.metrics.agreement import top_k
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima, select
from attreval.metrics.phrases import find_phrases, nearest_peaks
from compendium.papers.common import style
from compendium.papers.common.method_style import MARKERS, method_looks
from compendium.papers.common.style import CurveEnd, Look
from compendium.papers.kamp2023.agreement import PAIR_KINDS, kind_of
from compendium.papers.kamp2023.readings import SIX, VotedText, voter_title

NOBODY = "nobody marked these texts"
FEW = "fewer than two of the paper's six methods explain these texts"
ONE_METHOD = "fewer than two methods explain the texts"
FEWEST = 5  # texts of a length; the mean of fewer says nothing
KINDS = dict(zip(PAIR_KINDS, (("#DE8F05", "s"), ("#029E73", "o"), ("#7A3E9D", "^")), strict=True))
REST = "with attention or propagation"
GROUPS = {  # of pairs of methods, by their kinds: colour and marker
    "both perturbation": ("#D55E00", "s"),
    "both gradient": ("#0072B2", "o"),
    "gradient and perturbation": ("#009E73", "^"),
    REST: ("#CC79A7", "D"),
    "with random": ("#888888", "x"),
}
# the paper's fixed k, each number so many points above its token's bar
HEIGHTS = {3: 20, 5: 11, 7: 2}
PEAK = "#DE8F05"
PLAIN = "#9FC5E8"
MEAN = "#CC3311"
INK = "#333333"
CELLS = {"annot": True, "square": True, "linewidths": 0.5, "xticklabels": True, "yticklabels": True}


def figure_1(reading: VotedText, rule: str) -> Axes:
    """Dynamic k against fixed k on one text, by the gradient's L1 norm (Fig. 1)."""
    return draw_profile(reading, "gradient_l1", rule)


def figure_4(reading: VotedText, rule: str) -> Axes:
    """Dynamic k against fixed k on one text, by plain integrated gradients (Fig. 4)."""
    return draw_profile(reading, "integrated_gradients_plain", rule)


def draw_profile(reading: VotedText, method: str, rule: str) -> Axes:
    """The scores of one text as bars, peaks in another colour, and the top k of each fixed k.

    A token that ties at the border of a fixed k is shown with it: as likely as not it would be
    selected.
    """
    method, scores, (axes,) = _open_profile(reading, method, 1, 3.4)
    chosen = select(local_maxima(scores, PEAK_RULES[rule]), len(scores))
    _draw_scores(axes, scores, np.where(chosen, PEAK, PLAIN), 0.22)
    for k, height in HEIGHTS.items():
        top = top_k(scores, k)
        for i in np.flatnonzero(top.sure | top.tied):
            _note(axes, str(k), (i, max(scores[i], 0)), height, fontsize=8, color=INK)
    _label_tokens(axes, reading)
    axes.set_ylabel(f"score by {voter_title(method)}")
    fixed: Look = {"marker": "$3$", "label": "selected by a fixed k of 3, 5, 7"}
    handles = [
        Patch(color=PEAK, label="peak: selected by dynamic k"),
        Patch(color=PLAIN, label="no peak"),
        plt.Line2D([], [], color=MEAN, linestyle=":", label="mean"),
        plt.Line2D([], [], color=INK, linestyle="none", **fixed),
    ]
    axes.legend(
        handles=handles, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.06), fontsize=9
    )
    axes.figure.tight_layout()
    return axes


def figure_5(reading: VotedText, rule: str) -> Axes:
    """From peaks to spans (above) and phrases (below) on one text (Fig. 5)."""
    _, scores, (upper, lower) = _open_profile(reading, "gradient_l1", 2, 5.2)
    peaks = local_maxima(scores, PEAK_RULES[rule])
    colours = sns.color_palette("colorblind", max(1, len(peaks)))
    nearest = [colours[peak] if peak >= 0 else PLAIN for peak in nearest_peaks(scores, peaks)]
    _draw_scores(upper, scores, nearest, 0.18)
    for number, peak in enumerate(peaks, 1):
        _note(upper, f"span {number}", (peak, scores[peak]), 3, fontsize=9)
    upper.set_title("each token to its nearest peak", loc="left", fontsize=11)
    _draw_scores(lower, scores, PLAIN, 0.18)
    for number, (start, end) in enumerate(find_phrases(scores, PEAK_RULES[rule]), 1):
        lower.bar(range(start, end), scores[start:end], color=PEAK, width=0.85)
        highest = start + np.argmax(scores[start:end])
        _note(lower, f"phrase {number}", (highest, scores[highest]), 3, fontsize=9)
    lower.set_title("phrases: runs above the mean that hold a peak", loc="left", fontsize=11)
    upper.set_ylabel("score")
    lower.set_ylabel("score")
    _label_tokens(lower, reading)
    upper.figure.tight_layout()
    return upper


def _open_profile(
    reading: VotedText, method: str, rows: int, height: float
) -> tuple[str, np.ndarray, np.ndarray]:
    """A method, its (n,) scores of a text, and panels for them.

    The first method there is stands for one that did not explain the text.
    """
    style.use_style()
    method = method if method in reading.scores else next(iter(reading.scores))
    size = (max(6.0, 0.33 * len(reading.tokens)), height)
    _, grid = plt.subplots(rows, 1, figsize=size, sharex=True, squeeze=False)
    return method, reading.of(method), grid[:, 0]


def _draw_scores(axes: Axes, scores: np.ndarray, colours: Any, margin: float) -> None:
    """A bar a token, and their mean."""
    axes.bar(range(len(scores)), scores, color=colours, width=0.85)
    axes.axhline(scores.mean(), color=MEAN, linestyle=":", linewidth=1.4)
    axes.margins(y=margin)


def _note(axes: Axes, text: str, place: tuple, above: float, **font: Any) -> None:
    axes.annotate(text, place, xytext=(0, above), textcoords="offset points", ha="center", **font)


def _label_tokens(axes: Axes, reading: VotedText) -> None:
    shown = [token.replace("$", r"\$") for token in reading.tokens]
    look: Look = {"rotation": 55, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(shown)), shown, fontsize=10, **look)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)


def figure_2a(table: pd.DataFrame) -> Axes:
    """Mean agreement@k of pairs of the paper's six methods, by its three groups (Fig. 2a)."""
    six = table[table.method_a.isin(SIX) & table.method_b.isin(SIX)]
    if six.empty:
        return style.draw_nothing(FEW)
    figure, panels = style.task_panels(six.task.unique(), 4.2, 3.4)
    for (task, a, b), pair in six.groupby(["task", "method_a", "method_b"], sort=False):
        kind = kind_of(a, b)
        colour, marker = KINDS[kind]
        line = pair.groupby("k").agreement.mean()
        look: Look = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.3}
        panels[task].plot(line, label=kind, **look)
    _name_tasks(panels, six.k, ylim=(0.48, 1.02))
    figure.supylabel("agreement@k")
    return style.legend_below(figure, 1)


def _name_tasks(panels: dict[str, Axes], ks: Iterable[int], **more: Any) -> None:
    for task, axes in panels.items():
        axes.set(xlabel="k", title=style.task_title(task), **more)
        style.spare_ticks(axes, ks)


def figure_2b(table: pd.DataFrame) -> Axes:
    """Mean agreement@k of each method with people (Fig. 2b); random scores are the floor."""
    if table.empty:
        return style.draw_nothing(NOBODY)
    figure, panels = style.task_panels(table.task.unique(), 4.2, 3.6)
    looks = method_looks(table.method.unique())
    for (task, method), rows in table.groupby(["task", "method"], sort=False):
        line = rows.groupby("k")[["agreement", "low", "high"]].mean()
        curve = (line.index, line.agreement, line.low, line.high)
        style.draw_curve(panels[task], *curve, 0.12, markersize=4, **looks[method])
    _name_tasks(panels, table.k)
    figure.supylabel("agreement@k with people")
    return style.legend_below(figure, 4)


def figure_3(matrices: dict[str, pd.DataFrame], k: int) -> Axes:
    """Agreement at dynamic k below the diagonal, its difference from fixed k above (Fig. 3)."""
    if not matrices:
        return style.draw_nothing(FEW)
    figure, panels = style.task_panels(matrices, 3.8, 4.0, layout="constrained", sharey=False)
    upper = {}
    lower = {}
    for task, matrix in matrices.items():
        shown = (100 * matrix).round() + 0.0  # no -0
        upper[task] = shown.where(~np.tri(len(matrix), dtype=bool))
        lower[task] = shown.where(np.tri(len(matrix), k=-1, dtype=bool))
    agreed = np.concatenate([np.ravel(one) for one in lower.values()])
    farthest = max(np.nanmax(np.abs(one)) for one in upper.values())
    ends = (np.nanmin(agreed), np.nanmax(agreed))
    for parts, shades, (low, high), digits, said in (
        (lower, "cividis", ends, ".0f", "below: agreement at dynamic k, in hundredths"),
        (upper, "PuOr_r", (-farthest, farthest), "+.0f", f"above: minus agreement@{k}"),
    ):
        look = {"cmap": shades, "vmin": low, "vmax": high, "fmt": digits, "cbar": False}
        for task, axes in panels.items():
            sns.heatmap(parts[task], ax=axes, annot_kws={"size": 8}, **look, **CELLS)
            style.finish_matrix(axes, task)
        place = {"location": "bottom", "shrink": 0.6, "aspect": 40, "pad": 0.02}
        style.colour_bar(list(panels.values()), shades, (low, high), said, **place)
    return figure.axes[0]


def figure_6(table: pd.DataFrame) -> Axes:
    """Agreement of all six by k, a line a length of FEWEST texts or more (Fig. 6).

    Dotted: chance.
    """
    table = table[table.instances >= FEWEST]
    if table.empty:
        return style.draw_nothing("no text has one of the lengths that the profile asks for")
    lengths = sorted(table.length.unique())
    shades = sns.color_palette("viridis", len(lengths) + 1)  # the last is pale
    figure, panels = style.task_panels(table.task.unique(), 3.4, 3.0)
    ends: dict[Axes, list[CurveEnd]] = {axes: [] for axes in panels.values()}
    for (task, length), rows in table.groupby(["task", "length"]):
        line = rows.groupby("k")[["agreement", "chance", "instances"]].mean()
        axes = panels[task]
        colour = shades[lengths.index(length)]
        axes.plot(line.index, line.agreement, color=colour, marker="o", markersize=3)
        axes.plot(line.index, line.chance, color=colour, linestyle=":", linewidth=1)
        name = f"{length} tokens (n = {line.instances.iloc[0]:.0f})"
        ends[axes].append(CurveEnd(name, line.index[-1], line.agreement.iloc[-1], colour))
    _name_tasks(panels, table.k, ylim=(0, 1.03))
    figure.supylabel("agreement@k of all six methods")
    return style.name_ends(figure, ends)


def figure_predicted_k(table: pd.DataFrame) -> Axes:
    """Mean error of the k that each rule predicts: a bar over methods, a mark a method."""
    if table.empty:
        return style.draw_nothing(NOBODY)
    figure, panels = style.task_panels(table.task.unique(), 3.8, 4.0)
    rules = list(table.rule.unique())
    names = {"one_for_all": "one k for all, from people", "quarter": "a quarter of the tokens"}
    looks = method_looks(m for m in table.method.unique() if m in METHODS)
    for task, axes in panels.items():
        own = table[table.task == task]
        errors = own.groupby(["rule", "method"], sort=False).error.mean()
        means = errors.groupby("rule").mean()[rules]
        axes.barh(range(len(rules)), means, color="#DDDDDD", height=0.75)
        for method, look in looks.items():
            line = errors[errors.index.get_level_values("method") == method]
            places = [rules.index(rule) for rule in line.index.get_level_values("rule")]
            if len(line):
                axes.plot(line, places, linestyle="none", **look)
        axes.set(xlabel="mean error of k, in tokens", title=style.task_title(task))
        shown = [names.get(rule, rule.replace("_", " ")) for rule in rules]
        axes.set_yticks(range(len(rules)), shown)
        axes.invert_yaxis()
    return style.legend_below(figure, 3)


def figure_seeds(table: pd.DataFrame) -> Axes:
    """Pairwise difference of runs over the smallest of its study, by size; a line a study."""
    style.use_style()
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    colours = sns.color_palette("colorblind")
    published = table.drop_duplicates("published_run").published_apd.dropna()
    lines = {
        f"{style.task_title(task)}, {style.model_title(model)}": part
        for (task, model), part in table.groupby(["task", "model"], sort=False)
    }
    lines["published: e-SNLI, DistilBERT"] = pd.DataFrame({"apd": published})
    for number, (name, part) in enumerate(lines.items()):
        part = part.sort_values("apd")
        places = range(1, len(part) + 1)
        colour = colours[number % 10]
        over = part.apd / part.apd.min()
        axes.plot(places, over, label=name, color=colour, marker=MARKERS[number % len(MARKERS)])
        if "low" in part:
            axes.vlines(places, 1 + part.low, 1 + part.high, colors=[colour], alpha=0.6)
    axes.set(xlabel="runs, in order of size", ylabel="difference over the smallest")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left")  # where the smallest are
    figure.tight_layout()
    return axes


def figure_all_pairs(table: pd.DataFrame) -> Axes:
    """Mean agreement@k of each kind of pair, a panel a task.

    A line is the mean over the pairs of a kind, named at its end with how many these are; its band
    holds the middle four fifths of them. The kinds of pairs with a method of attention or of
    propagation are drawn as one.
    """
    if table.empty:
        return style.draw_nothing(ONE_METHOD)
    keys = ["task", "group", "method_a", "method_b", "k"]
    lines = table.groupby(keys, sort=False).agreement.mean().reset_index()
    lines["group"] = lines.group.where(lines.group.isin(GROUPS), REST)
    figure, panels = style.task_panels(lines.task.unique(), 3.6, 3.4, sharey=False)
    ends: dict[Axes, list[CurveEnd]] = defaultdict(list)
    for task, axes in panels.items():
        for group, (colour, marker) in GROUPS.items():
            inside = lines[(lines.task == task) & (lines.group == group)]
            if inside.empty:
                continue
            by_k = inside.groupby("k").agreement
            mean = by_k.mean()
            look: Look = {"color": colour, "linewidth": 2.2, "marker": marker, "markersize": 5}
            band = (by_k.quantile(0.1), by_k.quantile(0.9))
            style.draw_curve(axes, mean.index, mean, *band, 0.13, **look)
            name = f"{group} ({inside.groupby(['method_a', 'method_b']).ngroups})"
            ends[axes].append(CurveEnd(name, mean.index[-1], mean.iloc[-1], colour))
    _name_tasks(panels, lines.k, ylabel="agreement@k", ylim=(0.48, 1.02))
    return style.name_ends(figure, ends)


def figure_pair_matrix(matrices: dict[str, pd.DataFrame], k: int) -> Axes:
    """Mean agreement at one k of all pairs of methods, as colours.

    Methods that agree stand beside each other.
    """
    if not matrices:
        return style.draw_nothing(ONE_METHOD)
    style.use_style()
    sizes = [0.17 * len(matrix) + 2.2 for matrix in matrices.values()]
    shape = (max(sizes) + 1.2, sum(sizes) + 0.4)
    _, grid = plt.subplots(
        len(sizes), 1, squeeze=False, layout="constrained", figsize=shape, height_ratios=sizes
    )
    for axes, (task, matrix) in zip(grid[:, 0], matrices.items(), strict=True):
        order = similar_beside(matrix)
        shown = matrix.loc[order, order].iloc[1:, :-1]
        above = np.triu(np.ones(shown.shape, bool), 1)
        bar = {"label": f"agreement@{k}", "shrink": 0.6}
        look = {"cmap": "cividis", "vmin": 0.5, "vmax": 1, "cbar_kws": bar}
        sns.heatmap(shown, mask=above, ax=axes, **look, **(CELLS | {"annot": False}))
        style.finish_matrix(axes, task)
    return grid[0][0]


def similar_beside(matrix: pd.DataFrame) -> list[str]:
    """The names of a matrix of similarities, in the order of the leaves of its average linkage."""
    if len(matrix) < 3:
        return list(matrix.index)
    far = np.nan_to_num(1 - matrix.to_numpy(float), nan=1.0)
    far = (far + far.T) / 2
    np.fill_diagonal(far, 0)
    tree = linkage(squareform(far), "average", optimal_ordering=True)
    return [matrix.index[i] for i in leaves_list(tree)]
