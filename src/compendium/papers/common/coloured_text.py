"""Heat maps of texts: words coloured by their scores, as HTML and as a picture (Poerner et al. 2018, Figs. 1-3).

Green counts for the explained class, red against it, by score / (1.1 * largest size), the paper's scale. The highest
score is bold, the evidence underlined, so nothing is said by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath

from compendium.papers.common.style import use_style

FOR, AGAINST = (0 / 255, 140 / 255, 70 / 255), (200 / 255, 30 / 255, 30 / 255)
TINT = 0.75  # of the full colour at most, so that black text on it stays readable
SIZE, LEADING = 10.0, 1.55  # points; lines apart, in sizes
LABEL = 92.0  # points for a method's name
WORD = "padding:.05em .15em;border-radius:.2em;background:"
BOX = "padding:0 .2em;margin:0 .05em;border-radius:.2em;background:"
ROW = (
    '<tr><th scope="row" style="text-align:left;white-space:nowrap">{}</th>'
    '<td dir="auto" style="text-align:left">{}</td></tr>'
)
KEY = "green: for the predicted class; red: against it; bold: highest; underlined: evidence"


@dataclass(frozen=True)
class ColouredText:
    """A text to be shown in colour: W words, (W,) scores by what gave them, and which words are evidence.

    after: what follows the text. model, predicted: what read it and predicts of it, in words.
    """

    words: tuple[str, ...]
    rows: dict[str, np.ndarray]
    evidence: np.ndarray
    after: str = ""
    model: str = ""
    predicted: str = ""

    def html(self) -> HTML:
        """See `colour_text`."""
        return colour_text(self.words, self.rows, self.evidence, self.after)

    def draw(self):
        """See `draw_text`."""
        return draw_text(self.words, self.rows, self.evidence, self.after)


def colour(score: float) -> str:
    """A background for a score in [-1, 1]; text on it stays readable."""
    tint = f"{min(1.0, abs(score)) * TINT:.2f}"
    return f"rgba(0, 140, 70, {tint})" if score > 0 else f"rgba(200, 30, 30, {tint})"


def draw_scores(table: pd.DataFrame) -> HTML:
    """One line a method, one box a token. table: column token, then a column of scores in [-1, 1] a method."""
    rows = []
    for method in table.columns[1:]:
        boxes = [
            f'<span title="{score:+.2f}" style="{BOX}{colour(score)}">{escape(token)}</span>'
            for token, score in zip(table["token"], table[method], strict=True)
        ]
        rows.append(ROW.format(escape(method), " ".join(boxes)))
    return HTML(f'<table class="scores">{"".join(rows)}</table>')


def scale(scores: Sequence[float]) -> np.ndarray:
    """Scores in (-1, 1): divided by 1.1 times the largest size (Poerner et al. 2018, supplement); zeros stay zeros."""
    scores = np.asarray(scores, dtype=float)
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite numbers to be shown in colour")
    largest = np.abs(scores).max(initial=0)
    return scores / (1.1 * largest) if largest > 0 else scores


def _check_lengths(words: Sequence[str], rows: Mapping[str, Sequence[float]], evidence: Sequence[bool]) -> None:
    """ValueError where words, scores and evidence do not go together."""
    for name, scores in rows.items():
        if not len(words) == len(scores) == len(evidence):
            raise ValueError(
                f"a word has one score and is evidence or not; {name!r} has {len(scores)} scores for {len(words)} "
                f"words, of which {len(evidence)} are said to be evidence or not"
            )


def colour_text(
    words: Sequence[str], rows: Mapping[str, Sequence[float]], evidence: Sequence[bool], after: str = ""
) -> HTML:
    """A table as HTML, one row a method: the text, coloured. after: what follows it in grey, such as the verb."""
    _check_lengths(words, rows, evidence)
    lines = []
    for name, scores in rows.items():
        raw, scaled = np.asarray(scores, dtype=float), scale(scores)
        first = int(raw.argmax()) if len(raw) else -1
        parts = []
        for at, word in enumerate(words):
            text = f"<u>{escape(word)}</u>" if evidence[at] else escape(word)
            text = f"<strong>{text}</strong>" if at == first else text
            tint = f' style="{WORD}{colour(scaled[at])}"' if scaled[at] else ""
            parts.append(f'<span title="{raw[at]:+.3g}"{tint}>{text}</span>')
        if after:
            parts.append(f'<span style="color:#595959">[{escape(after)}]</span>')
        lines.append(ROW.format(escape(name), " ".join(parts)))
    return HTML(f'<table class="coloured-text"><caption>{KEY}</caption>{"".join(lines)}</table>')


def draw_text(
    words: Sequence[str],
    rows: Mapping[str, Sequence[float]],
    evidence: Sequence[bool],
    after: str = "",
    width: float = 7.0,
):
    """The same as a picture of `width` inches; every word is a text of its own at the place we have measured for it."""
    _check_lengths(words, rows, evidence)
    use_style()
    names = {name: _break_label(name, LABEL - SIZE) for name in rows}
    shown = [(name, *_place_words(words, scores, after, width * 72 - LABEL)) for name, scores in rows.items()]
    shown = [(name, placed, max(lines, len(names[name]))) for name, placed, lines in shown]
    height = sum((lines + 0.6) * SIZE * LEADING for _, _, lines in shown) + SIZE * LEADING
    figure = plt.figure(figsize=(width, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width * 72), ylim=(-height, 0))
    axes.set_axis_off()
    top = SIZE * LEADING
    for name, placed, lines in shown:
        for line, part in enumerate(names[name]):
            _write(axes, 0, -(top + line * SIZE * LEADING), part, SIZE, "bold")
        scaled, first = scale(rows[name]), int(np.argmax(rows[name])) if len(words) else -1
        for at, (x, line, advance, text) in enumerate(placed):
            left, base = LABEL + x, -(top + line * SIZE * LEADING)
            if at == len(words):
                _write(axes, left, base, text, SIZE, "normal", "#595959")
                continue
            if scaled[at]:
                tint = (*(FOR if scaled[at] > 0 else AGAINST), TINT * abs(scaled[at]))
                axes.add_patch(Rectangle((left - 1, base - 3), advance + 2, SIZE + 3.5, color=tint, linewidth=0))
            _write(axes, left, base, text, SIZE, "bold" if at == first else "normal")
            if evidence[at]:
                axes.plot([left, left + advance], [base - 2.2] * 2, color="black", linewidth=0.8)
        top += (lines + 0.6) * SIZE * LEADING
    _write(axes, 0, -height + SIZE * 0.4, KEY, SIZE * 0.75, "normal", "#595959")
    return axes


def _place_words(words: Sequence[str], scores: Sequence[float], after: str, room: float):
    """([(x, line, advance, text) of each word and of what follows], number of lines), in points, broken at `room`."""
    first = int(np.argmax(scores)) if len(words) else -1
    space, x, line, placed = SIZE * 0.38, 0.0, 0, []
    for at, text in enumerate([*words, *([f"[{after}]"] if after else [])]):
        advance = _text_width(text, SIZE, "bold" if at == first else "normal")
        if x and x + advance > room:
            x, line = 0.0, line + 1
        placed.append((x, line, advance, text))
        x += advance + space
    return placed, line + 1


def _break_label(name: str, room: float) -> list[str]:
    """The lines of a method's name, in bold, none wider than `room` unless one word is."""
    lines = [""]
    for word in name.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _text_width(longer, SIZE, "bold") > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _text_width(text: str, size: float, weight: str) -> float:
    """How wide a text is, in points; a dollar sign is a dollar sign."""
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text.replace("$", r"\$"), size=size, prop=FontProperties(weight=weight))
    return float(path.get_extents().x1)


def _write(axes, x: float, y: float, text: str, size: float, weight: str, colour: str = "black") -> None:
    """Put a text at a place, in the font it was measured in."""
    font = {"fontsize": size, "fontweight": weight, "color": colour, "parse_math": False}
    axes.text(x, y, text, va="baseline", **font)
