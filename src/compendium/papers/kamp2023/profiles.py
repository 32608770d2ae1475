"""Attribution profiles of single texts (Kamp et al. 2023, Figs. 1, 4 and 5).

Which tokens does a profile put forward: its peaks, the highest k, or phrases?
"""

from __future__ import annotations

import numpy as np
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Patch

from attreval.metrics.agreement import top_k
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima
from attreval.metrics.phrases import find_phrases, nearest_peaks
from compendium.papers.common.style import use_style
from compendium.papers.kamp2023.readings import Reading, voter_title

HEIGHTS = {3: 20, 5: 11, 7: 2}  # the paper's fixed k, each number so many points above its token's bar
PEAK, PLAIN, MEAN, INK = "#DE8F05", "#9FC5E8", "#CC3311", "#333333"


def draw_profile(reading: Reading, method: str, rule: str = "released"):
    """The scores of one text as bars, peaks in another colour, and which fixed k would show each token.

    A token that ties at the border of a fixed k is shown with it: as likely as not it would be selected.
    """
    use_style()
    method, scores = _scores(reading, method)
    figure, axes = plt.subplots(figsize=(max(6.0, 0.42 * len(scores)), 3.4))
    peaks = set(local_maxima(scores, PEAK_RULES[rule]).tolist())
    axes.bar(range(len(scores)), scores, color=[PEAK if i in peaks else PLAIN for i in range(len(scores))], width=0.85)
    axes.axhline(scores.mean(), color=MEAN, linestyle=":", linewidth=1.4)
    for k, height in HEIGHTS.items():
        sure, tied, _ = top_k(scores, k)
        for i in np.flatnonzero(sure | tied):
            _note(axes, str(k), (i, max(scores[i], 0)), height, fontsize=8, color=INK)
    _label_tokens(axes, reading)
    axes.margins(y=0.22)
    axes.set_ylabel(f"score by {voter_title(method)}")
    axes.legend(
        handles=[
            Patch(color=PEAK, label="peak: selected by dynamic k"),
            Patch(color=PLAIN, label="no peak"),
            plt.Line2D([], [], color=MEAN, linestyle=":", label="mean"),
            plt.Line2D([], [], linestyle="none", marker="$3$", color=INK, label="selected by a fixed k of 3, 5, 7"),
        ],
        ncols=4,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        fontsize=9,
    )
    figure.tight_layout()
    return axes


def draw_spans(reading: Reading, method: str, rule: str = "released"):
    """Above, the paper's sketch: each token belongs to its nearest peak. Below, phrases: runs above the mean."""
    use_style()
    _, scores = _scores(reading, method)
    peaks = local_maxima(scores, PEAK_RULES[rule])
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(max(6.0, 0.42 * len(scores)), 5.2), sharex=True)
    colours = sns.color_palette("colorblind", max(1, len(peaks)))
    nearest = [colours[peak] if peak >= 0 else PLAIN for peak in nearest_peaks(scores, peaks)]
    upper.bar(range(len(scores)), scores, color=nearest, width=0.85)
    for number, peak in enumerate(peaks, 1):
        _note(upper, f"span {number}", (peak, scores[peak]), 3, fontsize=9)
    upper.set_title("each token to its nearest peak", loc="left", fontsize=11)
    lower.bar(range(len(scores)), scores, color=PLAIN, width=0.85)
    for number, (start, end) in enumerate(find_phrases(scores, PEAK_RULES[rule]), 1):
        lower.bar(range(start, end), scores[start:end], color=PEAK, width=0.85)
        highest = start + int(np.argmax(scores[start:end]))
        _note(lower, f"phrase {number}", (highest, scores[highest]), 3, fontsize=9)
    lower.set_title("phrases: runs above the mean that hold a peak", loc="left", fontsize=11)
    for axes in (upper, lower):
        axes.axhline(scores.mean(), color=MEAN, linestyle=":", linewidth=1.4)
        axes.margins(y=0.18)
        axes.set_ylabel("score")
    _label_tokens(lower, reading)
    figure.tight_layout()
    return upper


def _scores(reading: Reading, method: str) -> tuple[str, np.ndarray]:
    """A method and its (n,) scores; the first there is where this one did not explain the text."""
    method = method if method in reading.scores else next(iter(reading.scores))
    return method, reading.of(method)


def _note(axes, text: str, place: tuple, above: float, **font) -> None:
    """A text so many points above a place."""
    axes.annotate(text, place, xytext=(0, above), textcoords="offset points", ha="center", **font)


def _label_tokens(axes, reading: Reading) -> None:
    """The tokens below their bars."""
    shown = [token.replace("$", r"\$") for token in reading.tokens]
    axes.set_xticks(range(len(shown)), shown, rotation=55, ha="right", rotation_mode="anchor", fontsize=10)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
