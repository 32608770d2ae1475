"""Explanations in a terminal: coloured words; where nobody looks at colours, words with their scores in columns."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable
from shutil import get_terminal_size
from textwrap import wrap
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from attreval.api.show.shown import KEY, Shown, blend, describe, has_sign, how_many_unread, strengths, title_of

PLAIN_WIDTH = 100  # of output that goes to a file
WIDEST_WORD = 24
PAPER = "rgb(0,0,0) on rgb(255,255,255)"
NUMBER = 8  # columns of a score


def show(explained: Iterable[Shown], stream: TextIO | None = None, width: int | None = None) -> None:
    """Print explanations: in colour on a terminal (unless NO_COLOR is set), else as plain tables.

    width: columns to fill; those of the terminal where not given, or 100 where there is none.
    """
    stream = stream or sys.stdout
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    width = width or get_terminal_size((PLAIN_WIDTH, 24)).columns
    if coloured:
        console = Console(file=stream, width=width, highlight=False)
        console.print(KEY, style="dim")
        for one in explained:
            for line in coloured_lines(one):
                console.print(line)
            console.print()
    else:
        for one in explained:
            print("\n".join(plain_lines(one, width)), end="\n\n", file=stream)


def coloured_lines(one: Shown) -> list[Text]:
    """The text once a method, black on coloured ground or on white, so that light and dark terminals serve alike."""
    out, remarks = [Text(printable(describe(one)), style="bold")], one.remarks
    for method in one.methods:
        scores = one.scores(method)
        line = Text().append(f"{printable(title_of(one, method))}: ", style="bold")
        line.append(" ", style=PAPER)
        before = 0
        for unit, strength in zip(one.units, strengths(scores), strict=True):
            if unit.segment != before:
                line.append("| ", style=PAPER)
                before = unit.segment
            red, green, blue = blend(strength, has_sign(one, method))
            line.append(piece(unit.text), style=f"rgb(0,0,0) on rgb({red},{green},{blue})")
            line.append(" ", style=PAPER)
        out += [line, *(Text(f"  {printable(remark)}", style="italic") for remark in remarks.get(method, ()))]
    return out + [Text(printable(note), style="dim") for note in notes(one)]


def plain_lines(one: Shown, width: int = PLAIN_WIDTH) -> list[str]:
    """A table with a line a word and a column a method, none wider than `width`; further methods follow below."""
    words = [fit(piece(unit.text), WIDEST_WORD) for unit in one.units]
    room = max([4, *map(cell_len, words)])
    columns = {method: [f"{score:+.3f}" for score in one.scores(method)] for method in one.methods}
    wide = {m: max(NUMBER, min(len(m), 22), *(len(x) for x in c)) for m, c in columns.items()}
    out, left = fold(printable(describe(one)), width), list(columns)
    while left:
        taken: list[str] = []
        used = room
        while left and (not taken or used + 2 + wide[left[0]] <= width):
            used += 2 + wide[left[0]]
            taken.append(left.pop(0))
        head = [fit(printable(m), wide[m]).rjust(wide[m]) for m in taken]
        out.append("  ".join([" " * room, *head]).rstrip())
        for at, word in enumerate(words):
            numbers = [columns[m][at].rjust(wide[m]) for m in taken]
            out.append("  ".join([word + " " * (room - cell_len(word)), *numbers]))
        out += [""] if left else []
    for note in [f"{m}: {said}" for m, remarks in one.remarks.items() for said in remarks] + notes(one):
        out += fold(printable(note), width)
    return out


def notes(one: Shown) -> list[str]:
    """What was not read, and which methods had nothing to say."""
    unread = [how_many_unread(one)] if one.unread else []
    return unread + [f"{method} left out: {why}" for method, why in one.left_out.items()]


def printable(text: str) -> str:
    """A text without control characters, which could move the cursor, change colours or turn the line round."""
    kept = ("\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}")
    return "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in kept else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def piece(text: str) -> str:
    """A word or piece as it is printed; white space is an open box."""
    return printable(text) if text.strip() else "\N{OPEN BOX}"


def fit(text: str, width: int) -> str:
    """A text cut to so many columns."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def fold(text: str, width: int) -> list[str]:
    """Lines of a text no wider than so many columns."""
    return wrap(text, max(20, width)) or [""]
