"""Which words count for and against a class over many texts.

A word's score in a text is the mean over the places where it stands, divided by the largest size of
any score there: no text has more to say than another, however long it is or sure the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from attreval.api.explanation import Explanation
from attreval.api.show.shown import blend
from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.scored_text import to_scale

if TYPE_CHECKING:
    import pandas as pd

WORD_ENDINGS = (".csv", ".png", ".svg")
COLUMNS = ["class", "method", "word", "texts", "score", "low", "high"]
DRAWS = 1000
SHOWN = 10  # words for a class in a picture, and against it


def make_table(
    explained: Iterable[Explanation], methods: Iterable[str], least: int, confidence: float
) -> pd.DataFrame:
    """COLUMNS, see `Explanations.vocabulary`; the same text counts once."""
    import pandas as pd

    different = {(one.target, one.instance.id): one for one in explained}
    tables = [pd.DataFrame(columns=COLUMNS)]
    for method in methods:
        rows = [
            (*key, unit.text.casefold(), strength)
            for key, one in different.items()
            for unit, strength in zip(one.units, to_scale(one.scores(method)), strict=True)
        ]
        scored = pd.DataFrame(rows, columns=["class", "text", "word", "score"])
        often = scored.groupby(["class", "word"]).text.transform("nunique") >= least
        for label, kept in scored[often].groupby("class"):
            wide = kept.pivot_table("score", "text", "word")
            found = bootstrap_mean(wide.to_numpy(), DRAWS, confidence, "vocabulary", label, method)
            columns = (label, method, wide.columns, wide.count(), *found)
            table = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
            tables.append(table.sort_values("score", ascending=False))
    return pd.concat(tables[1:] or tables, ignore_index=True)


def save_table(table: pd.DataFrame, path: Path) -> None:
    """Write the table, or a picture of the strongest words of each class and method.

    ValueError for a picture of no word.
    """
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
        return
    if table.empty:
        raise ValueError("no word stands in enough texts for a picture; explain more, or least=1")
    from attreval.api.show.picture import Pen, missing_glyphs
    from attreval.api.show.terminal import piece

    pen = Pen(6.0)
    panels = list(table.groupby(["class", "method"], sort=False))
    pen.figure.set_size_inches(6.0, 0.9 + 4.6 * len(panels))
    all_axes = pen.figure.subplots(len(panels), squeeze=False)[:, 0]
    for axes, ((label, method), words) in zip(all_axes, panels, strict=True):
        ends = words.index[:SHOWN].union(words.index[-SHOWN:])
        shown = words.loc[ends].iloc[::-1]
        names = [piece(word) for word in shown.word]
        pen.find_fonts("".join(names))
        sizes = [shown.score - shown.low, shown.high - shown.score]
        colours = [[c / 255 for c in blend(1 if score > 0 else -1)] for score in shown.score]
        axes.barh(range(len(shown)), shown.score, xerr=sizes, color=colours)
        axes.set_yticks(range(len(shown)), names, fontfamily=pen.fonts, parse_math=False)
        axes.set_title(f"{label}, by {method}", parse_math=False)
    below = ["mean share of a text's largest score", *pen.notes()]
    pen.figure.supxlabel("\n".join(below), size="small")
    pen.figure.set_layout_engine("tight")
    with missing_glyphs():
        pen.figure.savefig(path)
