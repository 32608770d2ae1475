"""Explanations in a terminal: coloured words, or words with their scores in columns."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shutil import get_terminal_size
from typing import TextIO

import regex
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from attreval.api.show.shown import (
    KEY,
    Shown,
    blend,
    describe_text,
    gather_remarks,
    has_sign,
    how_many_unread,
    method_title,
)
from attreval.core.units import STRETCHES
from attreval.metrics.scored_text import to_scale

PLAIN_WIDTH = 100  # of output that goes to a file
WIDEST_WORD = 24  # of a sentence half of what there is
PALE = 0.15  # strengths below this are not coloured
# the grey that colours are on: on white the palest would be the brightest of a dark terminal
PAPER = 200
NUMBER = 8  # columns of a score
# but what joins letters, the letters of flags, and Arabic signs that are seen
CONTROL = regex.compile(
    r"(?![\u200c\u200d\U000e0020-\U000e007f\p{GCB=Prepend}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]"
)


def show(
    explained: Iterable[Shown], stream: TextIO | None = None, width: int | None = None
) -> None:
    """Print explanations: in colour where `takes_colours`, else as plain tables.

    Args:
        explained: the texts.
        stream: standard output where not given.
        width: columns to fill; those of the terminal where not given, or 100 where there is none.
    """
    width = width or get_terminal_size((PLAIN_WIDTH, 24)).columns
    console = Console(file=stream or sys.stdout, width=width, highlight=False)
    print_explained(console, list(explained))


def takes_colours(console: Console) -> bool:
    """Whether it is a terminal that tells shades of a colour apart, and NO_COLOR is not set."""
    shades = console.color_system in ("256", "truecolor")
    return console.is_terminal and not console.no_color and shades


def print_explained(console: Console, explained: Sequence[Shown]) -> None:
    """The same on a console of rich."""
    if takes_colours(console):
        for part in coloured(explained):
            console.print(part)
        return
    alike, own = gather_remarks(explained)
    parts = [fold(printable(said), console.width) for said in alike]
    for one, remarks in zip(explained, own, strict=True):
        parts.append(plain_lines(one, console.width, remarks))
    for lines in parts:
        print("\n".join(lines), end="\n\n", file=console.file)


def coloured(explained: Sequence[Shown]) -> Iterator[RenderableType]:
    """Each text once a method, the same words below each other.

    A word of some strength is black on its colour, others are as the terminal has them, so that
    light and dark ones serve alike.
    """
    alike, own = gather_remarks(explained)
    head = [f"{KEY}; no colour: below {PALE:.0%} of it", *map(printable, alike)]
    yield Text("\n".join(head), style="dim")
    for one, remarks in zip(explained, own, strict=True):
        yield Text(printable(describe_text(one)), style="bold")
        rows = Table.grid(padding=(0, 1, 0, 0))
        for method in one.methods:
            title = Text(f"{printable(method_title(one, method))}:", style="bold")
            rows.add_row(title, _coloured_words(one, method))
            for remark in remarks.get(method, ()):
                rows.add_row("", Text(printable(remark), style="italic"))
        yield rows
        for note in notes(one):
            yield Text(printable(note), style="dim")
        yield ""


def _coloured_words(one: Shown, method: str) -> Text:
    """The words of a text, coloured by what a method says of them."""
    line = Text()
    before = 0
    for unit, strength in zip(one.units, to_scale(one.scores(method)), strict=True):
        if unit.segment != before:
            line.append("| ")
            before = unit.segment
        red, green, blue = blend(strength, has_sign(one, method), PAPER)
        ground = f"rgb(0,0,0) on rgb({red},{green},{blue})" if abs(strength) >= PALE else ""
        line.append(piece(unit.text), style=ground).append(" ")
    return line


def plain_lines(one: Shown, width: int, remarks: Mapping[str, Sequence[str]]) -> list[str]:
    """A table with a line a word and a column a method; further methods follow below.

    Args:
        one: the text.
        width: that no line is wider than.
        remarks: by method, said below the table.
    """
    widest = max(WIDEST_WORD, width // 2) if one.unit in STRETCHES else WIDEST_WORD
    words = [fit(piece(unit.text), widest) for unit in one.units]
    room = max([4, *map(cell_len, words)])
    left = {}  # columns, each by its name and numbers of one width
    for method in one.methods:
        numbers = [f"{score:+.3f}" for score in one.scores(method).round(3) + 0]  # no -0.000
        head = fit(printable(method), 22)
        cells = [head, *numbers]
        wide = max([NUMBER, *map(cell_len, cells)])
        left[method] = [" " * (wide - cell_len(cell)) + cell for cell in cells]
    out = fold(printable(describe_text(one)), width)
    while left:
        lines = [word + " " * (room - cell_len(word)) for word in ("", *words)]
        used = room
        for method, cells in list(left.items()):
            wider = used + 2 + cell_len(cells[0])
            if used > room and wider > width:
                break
            used = wider
            lines = [f"{line}  {cell}" for line, cell in zip(lines, cells, strict=True)]
            del left[method]
        out += map(str.rstrip, lines)
        out += [""] if left else []
    for note in [f"{m}: {said}" for m, found in remarks.items() for said in found] + notes(one):
        out += fold(printable(note), width)
    return out


def notes(one: Shown) -> list[str]:
    """What was not read, and which methods had nothing to say."""
    unread = [how_many_unread(one)] if one.unread else []
    return unread + [f"{method} left out: {why}" for method, why in one.left_out.items()]


def printable(text: str) -> str:
    """A text without control characters, which could move the cursor or change colours."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def piece(text: str) -> str:
    """A word or piece as it is printed; white space is an open box."""
    return printable(" ".join(text.split())) or "\N{OPEN BOX}"


def fit(text: str, width: int) -> str:
    """A text cut to so many columns."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def fold(text: str, width: int) -> list[str]:
    """Lines of a text no wider than so many columns."""
    lines = Text(text).wrap(Console(), max(20, width))
    return [line.plain.rstrip() for line in lines]
