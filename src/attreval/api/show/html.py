"""Explanations as HTML that needs nothing else: words coloured by their scores.

Backgrounds are half transparent and text keeps the colour of its surroundings, so light and dark
pages serve alike.
"""

from collections.abc import Callable, Iterable
from html import escape

import numpy as np

from attreval.api.show.shown import (
    FAINT,
    KEY,
    Shown,
    css,
    describe_text,
    gather_remarks,
    has_sign,
    how_many_unread,
    method_title,
)
from attreval.metrics.scored_text import to_scale

UNREAD = 30  # words that were not read are shown up to so many
STYLE = """
.attreval-shown table{border-collapse:collapse;margin:.3em 0 1.4em;width:100%}
.attreval-shown th{text-align:left;vertical-align:top;padding:.25em 1em .25em 0;font-weight:600}
.attreval-shown th{white-space:nowrap;width:1%}
.attreval-shown td{text-align:left;padding:.25em 0;line-height:1.75;overflow-wrap:anywhere}
.attreval-shown .part{display:block;text-align:start;white-space:pre-wrap}
.attreval-shown .part span{padding:.1em .15em;border-radius:.2em}
.attreval-shown .note{opacity:.75;font-size:.9em}
"""
REPORT_STYLE = """
:root{--line:#8884;--bar:#2171b5}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin-top:2.2rem}
.answer{border:1px solid var(--line);border-left:.4rem solid var(--bar);border-radius:.4rem;padding:.6rem 1.2rem}
.note{opacity:.75;font-size:.9rem}.wide{overflow-x:auto}.wide table{border-collapse:collapse;font-size:.9rem}
.wide th,.wide td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--line)}
.wide th:first-child,.wide td:first-child{text-align:left}
"""  # noqa: E501
PAGE_STYLE = """:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:68rem;margin:2rem auto;padding:0 1rem}"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""


def page(explained: Iterable[Shown]) -> str:
    """A whole page."""
    explained = list(explained)
    several = "" if len(explained) == 1 else "s"
    return whole_page(f"{len(explained)} explained text{several}", fragment(explained))


def whole_page(title: str, body: str, style: str = "") -> str:
    """HTML that needs nothing else.

    Args:
        title: plain text.
        body: HTML below it.
        style: more rules of CSS.
    """
    return PAGE.format(title=escape(title), style=PAGE_STYLE + style, body=body)


def wide_table(head: str, rows: Iterable[str]) -> str:
    """A table for a page of REPORT_STYLE. head: its cells; rows: each a whole one."""
    body = "".join(rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def fragment(explained: Iterable[Shown], about: Callable[[Shown], str] = describe_text) -> str:
    """Tables with their style, for a notebook or a page. about: what is said of a text."""
    explained = list(explained)
    alike, own = gather_remarks(explained)
    head = "\n".join(f'<p class="note">{escape(line)}</p>' for line in [KEY, *alike])
    tables = []
    for one, remarks in zip(explained, own, strict=True):
        rows = "\n".join(_row(one, method, remarks.get(method, [])) for method in one.methods)
        title = f"<p><strong>{escape(about(one))}</strong></p>"
        notes = []
        if one.unread:
            shown = " ".join(u.text for u in one.unread[:UNREAD])
            more = " …" if len(one.unread) > UNREAD else ""
            notes.append(f"{how_many_unread(one)}: <bdi>{escape(shown + more)}</bdi>")
        notes += [f"{escape(m)} left out: {escape(why)}" for m, why in one.left_out.items()]
        below = "\n".join(f'<p class="note">{note}</p>' for note in notes)
        tables.append(f"<section>{title}\n<table>{rows}</table>\n{below}</section>")
    shown = "\n".join(tables)
    return f'<div class="attreval-shown"><style>{STYLE}</style>{head}\n{shown}</div>'


def _row(one: Shown, method: str, remarks: Iterable[str]) -> str:
    """One method, with what is to be known of its scores below them."""
    scores = one.scores(method)
    about = ""
    if method in one.gaps:
        missed = f"what its scores miss of the sum that they owe: {one.gaps[method]:+.3g}"
        about = f' title="{missed}"'
    signed = has_sign(one, method)
    shown = "".join(_part(one, at, scores, signed) for at in range(len(one.instance.segments)))
    shown += "".join(f'<span class="note">{escape(remark)}</span>' for remark in remarks)
    head = f'<th scope="row"{about}>{escape(method_title(one, method))}</th>'
    return f"<tr>{head}<td>{shown}</td></tr>"


def _part(one: Shown, segment: int, scores: np.ndarray, signed: bool) -> str:
    """One text, or one of a pair, up to the last word read, with what stands between words."""
    text = one.instance.segments[segment]
    at = 0
    out = []
    for unit, score, strength in zip(one.units, scores, to_scale(scores), strict=True):
        if unit.segment != segment:
            continue
        shown = text[max(at, unit.start) : unit.end] or "\N{MIDDLE DOT}"  # inside one character
        out.append(escape(text[at : unit.start]))
        title = f'title="{escape(shown)}: {score + 0:+.4g}"'  # where the pointer rests on it
        ground = f' style="background:{css(strength, signed)}"' if abs(strength) >= FAINT else ""
        out.append(f"<span{ground} {title}>{escape(shown)}</span>")
        at = max(at, unit.end)
    unread = [u for u in one.unread if u.segment == segment and u.start >= at]
    out.append(escape(text[at : unread[0].start if unread else len(text)]))
    return f'<span class="part" dir="auto">{"".join(out)}{"…" if unread else ""}</span>'
