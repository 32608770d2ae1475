"""The first pieces of each explanation of one input, as a table for people."""

from __future__ import annotations

from html import escape

import pandas as pd
from IPython.display import HTML

from attreval.papers.common.coloured_text import colour

CELL = '<td style="text-align:left"><span style="padding:0 .2em;border-radius:.2em;background:{}">{}</span></td>'


def draw_pieces(table: pd.DataFrame) -> HTML:
    """One line a method, its first pieces in order, coloured by their share of the first one's score.

    table: columns method, rank, piece, score.
    """
    rows = []
    for method, part in table.groupby("method", sort=False):
        top = part.score.abs().max() or 1.0
        cells = "".join(
            CELL.format(colour(row.score / top), f"{escape(row.piece)} ({row.score:.3f})") for row in part.itertuples()
        )
        rows.append(f'<tr><th scope="row" style="text-align:left;white-space:nowrap">{escape(method)}</th>{cells}</tr>')
    return HTML(f'<table class="scores">{"".join(rows)}</table>')
