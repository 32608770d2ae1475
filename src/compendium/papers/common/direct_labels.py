"""Names at the ends of curves, in place of a legend, moved apart as little as keeps them legible."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib import rcParams
from scipy.optimize import isotonic_regression


def spread(places, gap: float, low: float, high: float) -> np.ndarray:
    """Places moved by the least squares that leave neighbours `gap` apart; between low and high where there is room.

    places: (n,), any unit; the answer keeps their order, equal ones in the order given.
    """
    places = np.asarray(places, float)
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    apart = isotonic_regression(places[order] - steps).x if len(places) else steps
    apart = np.clip(apart, low, max(low, high - gap * (len(places) - 1))) + steps
    out = np.empty(len(places))
    out[order] = apart
    return out


def room_for(names: Iterable[str], size: float = 8.0) -> float:
    """The `w_pad` of tight_layout (in sizes of the font) that leaves room for these names beside a panel."""
    return (2.2 + 0.56 * max(map(len, names), default=0)) * size / rcParams["font.size"]


def label_ends(axes, ends: Iterable[tuple[str, float, float, object]], size: float = 8.0) -> None:
    """Write names right of the axes, each joined by a thin line to where its curve ends.

    ends: name, x and y of the last point, colour. size: of the letters, in points. Call it when limits are final.
    """
    ends = list(ends)
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    to_axes = axes.transData + axes.transAxes.inverted()
    starts = np.array([to_axes.transform((x, y)) for _, x, y, _ in ends]).reshape(-1, 2)
    heights = spread(starts[:, 1], 1.2 * size / height, 0.0, 1.0)
    for (name, _, _, colour), (x, y), place in zip(ends, starts, heights, strict=True):
        joint = [x + 0.012, 1.015, 1.045]
        axes.plot(joint, [y, y, place], color=colour, linewidth=0.6, alpha=0.7, transform=axes.transAxes, clip_on=False)
        axes.text(1.055, place, name, color=colour, fontsize=size, va="center", transform=axes.transAxes)
