"""Which tokens does a profile put forward: its peaks, the highest k, or phrases? (Kamp et al. 2023, Figs. 1, 4, 5.)"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Patch

from attreval.metrics.agreement import top_k
from attreval.metrics.dynamic_k import PEAK_RULES, local_maxima
from attreval.metrics.phrases import find_phrases, nearest_peaks
from attreval.papers.common.style import use_style
from attreval.papers.kamp2023.readings import Reading, voter_title

SHOWN_KS = (3, 5, 7)
PEAK, PLAIN, MEAN = "#DE8F05", "#9FC5E8", "#CC3311"


def draw_profile(reading: Reading, method: str, rule: str = "released"):
    """The scores of one text as bars, peaks in another colour, and which fixed k would show each token.

    A token that ties at the border of a fixed k is shown with it: as likely as not it would be selected.
    """
    use_style()
    method = method if method in reading.scores else next(iter(reading.scores))
    scores = reading.of(method)
    figure, axes = plt.subplots(figsize=(max(6.0, 0.42 * len(scores)), 3.4))
    peaks = set(local_maxima(scores, PEAK_RULES[rule]).tolist())
    axes.bar(range(len(scores)), scores, color=[PEAK if i in peaks else PLAIN for i in range(len(scores))], width=0.85)
    axes.axhline(scores.mean(), color=MEAN, linestyle=":", linewidth=1.4)
    for k in SHOWN_KS:
        sure, tied, _ = top_k(scores, k)
        for i in np.flatnonzero(sure | tied):
            row = SHOWN_KS.index(k)
            axes.annotate(
                str(k),
                (i, max(scores[i], 0)),
                xytext=(0, 2 + 9 * (len(SHOWN_KS) - 1 - row)),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color="#333333",
            )
    label_tokens(axes, reading.tokens)
    axes.margins(y=0.22)
    axes.set_ylabel(f"score by {voter_title(method)}")
    keys = [Patch(color=PEAK, label="peak: selected by dynamic k"), Patch(color=PLAIN, label="no peak")]
    keys.append(plt.Line2D([], [], color=MEAN, linestyle=":", label="mean"))
    keys.append(
        plt.Line2D([], [], linestyle="none", marker="$3$", color="#333333", label="selected by a fixed k of 3, 5, 7")
    )
    axes.legend(handles=keys, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9)
    figure.tight_layout()
    return axes


def draw_spans(reading: Reading, method: str, rule: str = "released"):
    """Above, the paper's sketch: each token belongs to its nearest peak. Below, phrases: runs above the mean."""
    use_style()
    method = method if method in reading.scores else next(iter(reading.scores))
    scores = reading.of(method)
    peaks = local_maxima(scores, PEAK_RULES[rule])
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(max(6.0, 0.42 * len(scores)), 5.2), sharex=True)
    nearest = nearest_peaks(scores, peaks)
    colours = sns.color_palette("colorblind", max(1, len(peaks)))
    upper.bar(range(len(scores)), scores, color=[colours[p] if p >= 0 else PLAIN for p in nearest], width=0.85)
    for number, peak in enumerate(peaks):
        upper.annotate(
            f"span {number + 1}",
            (peak, scores[peak]),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    upper.set_title("each token to its nearest peak", loc="left", fontsize=11)
    lower.bar(range(len(scores)), scores, color=PLAIN, width=0.85)
    for number, (start, end) in enumerate(find_phrases(scores, PEAK_RULES[rule])):
        lower.bar(range(start, end), scores[start:end], color=PEAK, width=0.85)
        at = start + int(np.argmax(scores[start:end]))
        lower.annotate(
            f"phrase {number + 1}", (at, scores[at]), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=9
        )
    lower.set_title("phrases: runs above the mean that hold a peak", loc="left", fontsize=11)
    for axes in (upper, lower):
        axes.axhline(scores.mean(), color=MEAN, linestyle=":", linewidth=1.4)
        axes.margins(y=0.18)
        axes.set_ylabel("score")
    label_tokens(lower, reading.tokens)
    figure.tight_layout()
    return upper


def label_tokens(axes, tokens: Sequence[str]) -> None:
    """The tokens below their bars."""
    shown = [piece.replace("$", r"\$") for piece in tokens]
    axes.set_xticks(range(len(shown)), shown, rotation=55, ha="right", rotation_mode="anchor", fontsize=10)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
