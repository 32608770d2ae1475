"""A text coloured by its scores: green counts for the class, red against it."""

from __future__ import annotations

from html import escape

import pandas as pd
from IPython.display import HTML


def colour(score: float) -> str:
    """A background for a score in [-1, 1]; text on it stays readable."""
    tint = f"{min(1.0, abs(score)) * 0.75:.2f}"
    return f"rgba(0, 140, 70, {tint})" if score > 0 else f"rgba(200, 30, 30, {tint})"


BOX = "padding:0 .2em;margin:0 .05em;border-radius:.2em;background:"
ROW = (
    '<tr><th scope="row" style="text-align:left;white-space:nowrap">{}</th>'
    '<td dir="auto" style="text-align:left">{}</td></tr>'
)


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
