"""Heat maps of texts: words coloured by their scores, as HTML and as a picture.

These are Figures 1-3 of Poerner et al. (2018). Blue counts for the explained class, orange against
it, by score / (1.1 * largest size), the paper's scale. The highest score is bold, the evidence
underlined, so nothing is said by colour alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from attreval.api.show.picture import GREY, Pen
from attreval.api.show.shown import blend, css

ROW = (
    '<tr><th scope="row" style="text-align:left;white-space:nowrap">{}</th>'
    '<td dir="auto" style="text-align:left">{}</td></tr>'
)
KEY = "blue: for the explained class; orange: against it; bold: highest; underlined: evidence"


@dataclass(frozen=True)
class ColouredText:
    """A text to be shown in colour: W words, their scores by method, and which are evidence.

    after: what follows the text in grey, such as the verb. model, predicted: what read it and
    predicts of it, in words.
    """

    words: Sequence[str]
    rows: Mapping[str, ArrayLike]
    evidence: Sequence[bool] | np.ndarray
    after: str = ""
    model: str = ""
    predicted: str = ""

    def html(self) -> HTML:
        """A table with a row for each method: the text, coloured."""
        lines = []
        for name, words in self._scaled():
            parts = []
            for word, score, scaled, marked, highest in words:
                text = f"<u>{escape(word)}</u>" if marked else escape(word)
                text = f"<strong>{text}</strong>" if highest else text
                tint = f' style="background:{css(scaled)}"' if scaled else ""
                parts.append(f'<span title="{score:+.3g}"{tint}>{text}</span>')
            if self.after:
                parts.append(f'<span style="color:#595959">[{escape(self.after)}]</span>')
            lines.append(ROW.format(escape(name), " ".join(parts)))
        return HTML(
            f'<table class="coloured-text"><caption>{KEY}</caption>{"".join(lines)}</table>'
        )

    def draw(self, width: float = 7.0) -> Axes:
        """The same as a picture of `width` inches: its matplotlib axes."""
        pen = Pen(width)
        for name, words in self._scaled():
            shown = []
            for word, _, scaled, marked, highest in words:
                look = {"underlined": marked, "weight": "bold" if highest else "normal"}
                shown.append({"text": word, "ground": blend(scaled) if scaled else None, **look})
            if self.after:
                shown.append({"text": f"[{self.after}]", "colour": GREY})
            pen.row(name, shown)
        pen.line(KEY, colour=GREY)
        return pen.finish().axes[0]

    def _scaled(self) -> Iterator[tuple[str, list[tuple]]]:
        """Of each method (word, score, its colour's strength, evidence, highest) for each word."""
        for name, given in self.rows.items():
            scores = np.asarray(given, float)
            if not len(self.words) == len(scores) == len(self.evidence):
                raise ValueError(
                    f"each word has one score and is evidence or not; {name!r} has {len(scores)} "
                    f"scores for {len(self.words)} words, of which {len(self.evidence)} are said "
                    "to be evidence or not"
                )
            highest = np.arange(len(scores)) == (np.argmax(scores) if len(scores) else -1)
            columns = (self.words, scores, scale(scores), self.evidence, highest)
            yield name, list(zip(*columns, strict=True))


def draw_scores(table: pd.DataFrame) -> HTML:
    """One row a method. table: column token, then a column of scores a method."""
    rows = dict(table.iloc[:, 1:].items())
    return ColouredText(table["token"], rows, [False] * len(table)).html()


def scale(scores: np.ndarray) -> np.ndarray:
    """Scores in (-1, 1): divided by 1.1 times the largest size (Poerner et al. 2018, supplement).

    Zeros stay zeros. Raises ValueError for one that is no finite number.
    """
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite numbers to be shown in colour")
    largest = np.abs(scores).max(initial=0)
    return scores / (1.1 * largest) if largest > 0 else scores
