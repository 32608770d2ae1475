"""One look for every figure: colour-blind safe, readable in print and on a phone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from compendium import corpora

# of the project's own profiles, by the name that they have there
MODELS = {name: name.upper() for name in ("gru", "lstm", "qgru", "qlstm", "cnn", "bert", "bart")}
MODELS |= {
    f"uni_{name}": f"{name.upper()} (one direction)" for name in ("gru", "lstm", "qgru", "qlstm")
}
MODELS |= {
    "minilm": "MiniLM",
    "minilm_256": "MiniLM (256 tokens)",
    "minilm_long": "MiniLM (512 tokens)",
    "minilm_seeds": "MiniLM (three seeds)",
    "minilm_plain": "MiniLM (plain twin)",
    "minilm_again": "MiniLM (another seed)",
    "minilm_masked": "MiniLM (masked twin)",
    "mpnet": "MPNet",
    "distilbert": "DistilBERT",
    "bert_512": "BERT (512 tokens)",
    "bert_long": "BERT (long texts)",
    "bart_small": "small BART",
    "bart_long": "BART (long texts)",
    "scibert": "SciBERT",
    "roberta": "RoBERTa",
    "tiny": "tiny encoder",
    "tiny_bart": "tiny BART",
}
END_SIZE = 9.0  # points of the name at the end of a curve
Look = dict[str, Any]  # what matplotlib takes by name
Kind = TypeVar("Kind")  # what a figure has a panel of


def use_style() -> None:
    """Set the look; every figure function calls it first."""
    frame = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    grid = {"axes.grid": True, "grid.color": "#e5e5e5", "grid.linewidth": 0.7}
    size = {"figure.dpi": 100, "savefig.dpi": 200}
    sns.set_theme(style="ticks", palette="colorblind", rc=frame | grid | size)


def draw_nothing(why: str) -> Axes:
    """A figure that says why there is nothing to draw, for a run that lacks what it shows."""
    use_style()
    _, axes = plt.subplots(figsize=(5, 1))
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center")
    return axes


def task_title(task: str) -> str:
    """A task as a person would write it, without what it asks."""
    return corpora.TASKS[task].short if task in corpora.TASKS else task


def model_title(model: str) -> str:
    """A model or architecture as a person would write it; one of a user's own keeps its name."""
    return MODELS.get(model.lower(), model)


def name_run(row: pd.Series) -> str:
    """A task and its model."""
    return f"{task_title(row.task)} ({model_title(row.model)})"


def task_panels(
    tasks: Iterable[Kind],
    width: float,
    height: float,
    columns: int = 2,
    margin: float = 0.0,
    **more: Any,
) -> tuple[Figure, dict[Kind, Axes]]:
    """A figure with a panel per task, `columns` per row, and the panels by task.

    width, height: of a panel, in inches. margin: inches for names. more: of `plt.subplots`.
    """
    use_style()
    tasks = list(tasks)
    rows = -(-len(tasks) // columns)
    columns = min(columns, len(tasks))
    size = (margin + width * columns, height * rows)
    options: Look = {"figsize": size, "sharey": True, **more}
    figure, grid = plt.subplots(rows, columns, squeeze=False, **options)
    for axes in grid.flat[len(tasks) :]:
        axes.set_axis_off()
    return figure, dict(zip(tasks, grid.flat, strict=False))


def draw_curve(
    axes: Axes,
    x: ArrayLike,
    middle: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    alpha: float = 0.1,
    **look: Any,
) -> None:
    """A curve with a band for its interval. look: of the curve, with its `color`."""
    axes.plot(x, middle, **look)
    axes.fill_between(x, low, high, color=look["color"], alpha=alpha, linewidth=0)


def legend_below(figure: Figure, columns: int, y: float = 0.02, **more: Any) -> Axes:
    """One legend below all panels, each entry once; give the first panel.

    more: further handles, by label.
    """
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    entries |= more
    figure.legend(
        list(entries.values()),
        list(entries),
        ncols=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, y),
    )
    figure.tight_layout()
    return figure.axes[0]


def spare_ticks(axes: Axes, ks: Iterable[int]) -> None:
    """A tick at each k, or at every fifth where there are many."""
    most = int(max(ks))
    every = list(range(1, most + 1))
    axes.set_xticks(every if most <= 12 else [1, *every[4::5]])


def finish_matrix(axes: Axes, task: str) -> None:
    """Title and labels of a heat map."""
    axes.grid(False)
    axes.set_title(task_title(task))
    axes.tick_params(length=0, labelsize=9)
    axes.set_xticklabels(axes.get_xticklabels(), rotation=40, ha="right")


def move_apart(places: ArrayLike, gap: float) -> np.ndarray:
    """Places moved as little as leaves neighbours `gap` apart, by least squares.

    They stay between 0 and 1 where there is room.
    """
    places = np.asarray(places, float)
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    apart = isotonic_regression(places[order] - steps).x if len(places) else steps
    most = max(0, 1 - gap * (len(places) - 1))
    apart = np.clip(apart, 0, most) + steps
    out = np.empty(len(places))
    out[order] = apart
    return out


def room_for_names(names: Iterable[str]) -> float:
    """The `w_pad` of tight_layout that leaves room for these names beside a panel."""
    return (2.2 + 0.56 * max(map(len, names), default=0)) * END_SIZE / rcParams["font.size"]


class CurveEnd(NamedTuple):
    """What a curve is called, its last point, and its colour."""

    name: str
    x: float
    y: float
    colour: Any


def label_ends(axes: Axes, ends: Sequence[CurveEnd], size: float = END_SIZE) -> None:
    """Write names right of the axes, each joined by a thin line to where its curve ends.

    size: of the letters, in points. Call it when limits are final.
    """
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    to_axes = axes.transData + axes.transAxes.inverted()
    starts = np.reshape([to_axes.transform((x, y)) for _, x, y, _ in ends], (-1, 2))
    heights = move_apart(starts[:, 1], 1.2 * size / height)
    for (name, _, _, colour), (x, y), place in zip(ends, starts, heights, strict=True):
        joint = [x + 0.012, 1.015, 1.045]
        look: Look = {"color": colour, "transform": axes.transAxes}
        axes.plot(joint, [y, y, place], linewidth=0.6, alpha=0.7, clip_on=False, **look)
        axes.text(1.055, place, name, fontsize=size, va="center", **look)


def name_ends(figure: Figure, ends: Mapping[Axes, Sequence[CurveEnd]]) -> Axes:
    """Lay panels out with room for names, and write them; give the first panel.

    ends: by panel, of `label_ends`.
    """
    names = [end[0] for of_panel in ends.values() for end in of_panel]
    figure.tight_layout(w_pad=room_for_names(names))
    for axes, of_panel in ends.items():
        label_ends(axes, of_panel)
    return figure.axes[0]


def heat_map(
    axes: Axes,
    values: np.ndarray,
    bold: np.ndarray,
    colours: Any,
    ends: tuple[float, float],
    dark: float,
    rows: Sequence[str],
    columns: Sequence[str],
    alpha: float | np.ndarray = 1.0,
    *,
    turn: int,
) -> None:
    """(rows, columns) values in colour and, in hundredths, in words.

    bold: (rows, columns) of these words. colours: a colour map, from the first of `ends` to the
    last. dark: words are white from this share of the scale outwards. turn: of the columns' names,
    in degrees.
    """
    axes.imshow(values, cmap=colours, vmin=ends[0], vmax=ends[1], aspect="auto", alpha=alpha)
    middle = np.mean(ends)
    strength = np.abs(values - middle) / (ends[1] - middle) * alpha
    for y, x in np.argwhere(~np.isnan(values)):
        style: Look = {
            "weight": "bold" if bold[y, x] else "normal",
            "color": "white" if strength[y, x] > dark else "black",
        }
        axes.text(x, y, f"{100 * values[y, x]:.0f}", ha="center", va="center", fontsize=8, **style)
    side = "center" if turn == 90 else "left"
    axes.set_xticks(range(len(columns)), columns, rotation=turn, ha=side, fontsize=8.5)
    axes.set_yticks(range(len(rows)), rows, fontsize=8.5)
    axes.xaxis.tick_top()
    bare(axes)


def bare(axes: Axes) -> None:
    """Axes of a heat map: neither ticks, nor grid, nor frame."""
    axes.tick_params(length=0)
    axes.grid(False)
    sns.despine(ax=axes, left=True, bottom=True)


def colour_bar(
    axes: Any, colours: Any, ends: tuple[float, float], label: str, **place: Any
) -> None:
    """One bar of colours beside one or more axes; place: what `Figure.colorbar` takes."""
    mappable = plt.cm.ScalarMappable(plt.Normalize(*ends), colours)
    bar = np.ravel(axes)[0].figure.colorbar(mappable, ax=axes, **place)
    bar.set_label(label)
    bar.outline.set_visible(False)
