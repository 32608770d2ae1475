"""Markdown that shows exactly a given text: escaping, pipe tables; and the error of a source that cannot be shown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

# Backslash escapes work for every ASCII punctuation mark; these are the ones that can start a construct.
SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#|~^$@!&'\"])")
# Characters that no HTML page may hold; pandoc would pass them on.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class ReportError(ValueError):
    """A page, a table declaration or a result that the text needs is missing or malformed."""


def hint(asked: str, known: Iterable[str], most: int = 12) -> str:
    """The end of an error message: near names first if there are any, then the names that exist."""
    names = sorted(set(known))
    near = difflib.get_close_matches(asked, names, 3, 0.5)
    listed = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}there are: {listed}" if names else "there are none"


def escape(text: str, at_start: bool = True) -> str:
    """One line of Markdown that renders as `text`; control characters become U+FFFD, line breaks spaces.

    at_start: whether it begins a block, where it must begin no list; inside of one its spaces are kept.
    """
    flat = CONTROL.sub("\ufffd", re.sub(r"[ \t\r\n\u2028\u2029]+", " ", str(text)))
    flat = SPECIAL.sub(r"\\\1", flat)
    if not at_start:
        return flat
    flat = flat.strip(" ")
    # A list marker at the start of a block; `-0.5` and `3.14` are none, `- x` and `3. x` are.
    return re.sub(r"^(\d+)?([-+.:])(?= |$)", r"\1\\\2", flat)


def with_minus(text: str) -> str:
    """The same text with minus signs, not hyphens, before its negative numbers; nought has no sign."""
    text = re.sub(r"(?<![\w.-])[-+](?=0(?:\.0*)?(?![\w.]))", "", text)
    return re.sub(r"(?<![\w.-])-(?=\.?\d)", "−", text)


def _escape_cell(text: str) -> str:
    """As `escape`; runs of dots and dashes, which typography would change, stay as they are."""
    return re.sub(r"(?<=[-.])([-.])", r"\\\1", escape(text))


def pipe_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[str]) -> str:
    """A Markdown pipe table of plain texts; `align` holds `left` or `right` for each column."""
    cells = [[_escape_cell(cell) for cell in row] for row in (headers, *rows)]
    # Where a line is long, the dashes give the columns their share of the width: as many as the widest cell.
    widths = [max(3, *(len(row[at]) for row in cells)) for at in range(len(headers))]
    rule = [
        "-" * (width - 1) + ":" if side == "right" else ":" + "-" * (width - 1)
        for width, side in zip(widths, align, strict=True)
    ]
    lines = [cells[0], rule, *cells[1:]]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def fence(body: str, attributes: str) -> str:
    """A fenced block whose fence is longer than any run of backticks in it."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    return f"{ticks}{{{attributes}}}\n{body}\n{ticks}"


def raw_html(html: str) -> str:
    """HTML output as a raw block, without the styles that pandas gives every table, and without scripts."""
    html = re.sub(r"<(style scoped|script)\b.*?</(style|script)>", "", html, flags=re.S | re.I)
    html = re.sub(r"""\s(?:border=(["']).*?\1|style="text-align: right;")""", "", html).strip()
    return fence(html, "=html")
