"""Heat maps of texts: words coloured by their scores, as HTML and as a picture (Poerner et al. 2018, Figs. 1-3).

Blue counts for the explained class, orange against it, by score / (1.1 * largest size), the paper's scale. The highest
score is bold, the evidence underlined, so nothing is said by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from IPython.display import HTML

from attreval.api.show.colours import blend, css
from attreval.api.show.picture import GREY, SIZE, Pen

WORD = "padding:.05em .15em;border-radius:.2em;background:"
ROW = (
    '<tr><th scope="row" style="text-align:left;white-space:nowrap">{}</th>'
    '<td dir="auto" style="text-align:left">{}</td></tr>'
)
KEY = "blue: for the predicted class; orange: against it; bold: highest; underlined: evidence"


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


def draw_scores(table: pd.DataFrame) -> HTML:
    """One row a method. table: column token, then a column of scores a method."""
    return colour_text(table["token"].tolist(), {m: table[m] for m in table.columns[1:]}, [False] * len(table))


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
            tint = f' style="{WORD}{css(scaled[at])}"' if scaled[at] else ""
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
    """The same as a picture of `width` inches: its matplotlib axes."""
    _check_lengths(words, rows, evidence)
    pen = Pen(width)
    for name, scores in rows.items():
        first = int(np.argmax(scores)) if len(words) else -1
        shown = [
            {"text": word, "ground": blend(score) if score else None, "underlined": bool(marked)}
            | {"weight": "bold" if at == first else "normal"}
            for at, (word, score, marked) in enumerate(zip(words, scale(scores), evidence, strict=True))
        ]
        pen.row(name, [*shown, *([{"text": f"[{after}]", "colour": GREY}] if after else [])])
    pen.line(KEY, colour=GREY, size=SIZE * 0.75)
    return pen.finish().axes[0]
