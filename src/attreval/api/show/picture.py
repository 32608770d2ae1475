"""Explanations as a picture: every text once a method, its words on coloured ground.

matplotlib sets the letters of a word in their order and shapes; the order of words on a line, and
fonts that have the letters, are found here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category, name

import regex

from attreval.api.show.direction import find_levels, order_on_line, word_levels
from attreval.api.show.shown import (
    FAINT,
    KEY,
    Shown,
    blend,
    describe_text,
    gather_remarks,
    has_sign,
    how_many_unread,
    method_title,
)
from attreval.api.show.terminal import piece
from attreval.core.extras import need
from attreval.metrics.scored_text import to_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# points: of letters, from line to line
SIZE = 10.0
LINE = 17.0
LABEL = 130.0  # points for a method's name
MARGIN = 10.0
GAP = SIZE * 0.42  # between words
GREY = "0.35"
FONTS = ["DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Emoji"]


def save(explained: Iterable[Shown], path: Path) -> None:
    """Write a picture, of the kind that the path's ending says."""
    with missing_glyphs():
        draw_picture(explained).savefig(path)


@contextmanager
def missing_glyphs() -> Iterator[None]:
    """Without matplotlib's warnings of them: `Pen.notes` says what is missing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def draw_picture(explained: Iterable[Shown]) -> Figure:
    """A figure nine inches wide, as high as the texts need; boxes where no font has a letter."""
    pen = Pen(9.0)
    explained = list(explained)
    alike, own = gather_remarks(explained)
    for one, remarks in zip(explained, own, strict=True):
        pen.line(describe_text(one), weight="bold")
        for method in one.methods:
            pen.row(method_title(one, method), _words(one, method))
            for remark in remarks.get(method, ()):
                pen.line(remark, colour=GREY)
        if one.unread:
            pen.line(how_many_unread(one), colour=GREY)
        pen.y += LINE * 0.6
    for line in [KEY, *alike, *pen.notes()]:
        pen.line(line, colour=GREY)
    return pen.finish()


def _script(letter: str) -> str:
    """The script of a letter, as Unicode names it."""
    if category(letter)[0] not in "LMN":
        return "emoji or signs"
    return name(letter, "some letters").partition(" ")[0].capitalize().replace("Cjk", "CJK")


@cache
def _letters_of(path: str) -> frozenset[str]:
    """What a font file has outlines for."""
    from matplotlib.font_manager import get_font

    font = get_font(path)
    return frozenset(map(chr, font.get_charmap() if font.scalable else ()))


def _words(one: Shown, method: str) -> Iterator[dict | None]:
    """What `Pen.put` takes of each word of a text, None where the second text of a pair begins."""
    scored = list(zip(one.units, to_scale(one.scores(method)), strict=True))
    for segment, text in enumerate(one.instance.segments):
        if segment:
            yield None
        words = [
            (unit.start + word.start(), unit.start + word.end(), strength, word.group())
            for unit, strength in scored
            if unit.segment == segment
            for word in regex.finditer(r"\S+|^\s*$", unit.text)  # a sentence has several
        ]
        levels = word_levels(text, [(start, end) for start, end, *_ in words])
        for (_, _, strength, word), level in zip(words, levels, strict=True):
            ground = blend(strength, has_sign(one, method)) if abs(strength) >= FAINT else None
            yield {"text": piece(word), "ground": ground, "level": level}


class Pen:
    """Where the next word goes on a figure of `width` inches."""

    def __init__(self, width: float):
        font_manager = need("matplotlib.font_manager", "plots", "a picture")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(width, 1), dpi=150)
        self.renderer = FigureCanvasAgg(self.figure).get_renderer()
        found = sorted(font_manager.fontManager.ttflist, key=lambda font: font.weight == 400)
        self.files = {
            font.name: font.fname
            for font in found
            if font.style == "normal" and "Last Resort" not in font.name  # which has but boxes
        }
        self.fonts = [name for name in FONTS if name in self.files]
        self.missing: set[str] = set()
        self.room = width * 72 - 2 * MARGIN
        self.placed: list[tuple] = []
        # by height, the levels of those whose order on the line they decide
        self.lines: dict[float, dict[int, tuple[int, int, int]]] = {}
        self.x = MARGIN
        self.y = MARGIN
        self.left = MARGIN

    def find_fonts(self, text: str) -> None:
        """Take in fonts that have what those so far do not have; `missing` is what none has."""
        lacking = {*regex.findall(r"[^\s\p{DI}]", text)} - self.missing
        for font in [*self.fonts, *self.files]:
            if not lacking:
                return
            has = lacking & _letters_of(self.files[font])
            if has and font not in self.fonts:
                self.fonts.append(font)
            lacking -= has
        self.missing |= lacking

    def notes(self) -> list[str]:
        """What is said of letters that no font has."""
        scripts = ", ".join(sorted({_script(letter) for letter in self.missing}))
        boxes = "boxes stand in their place; .html and .csv files show them"
        return [f"no font of this machine has {scripts}; {boxes}"] if scripts else []

    def width(self, text: str, weight: str) -> float:
        """How wide a text is, in points."""
        from matplotlib.font_manager import FontProperties

        self.find_fonts(text)
        font = FontProperties(family=self.fonts, size=SIZE, weight=weight)
        wide, _, _ = self.renderer.get_text_width_height_descent(text, font, ismath=False)
        return wide * 72 / self.renderer.dpi

    def start(self, left: float = MARGIN, gap: float = 0.0) -> None:
        """Begin a line."""
        self.left = left
        self.x = left
        self.y = self.y + LINE + gap

    def put(
        self,
        text: str,
        ground: tuple[int, int, int] | None = None,
        colour: str = "black",
        weight: str = "normal",
        underlined: bool = False,
        level: tuple[int, int, int] | None = None,
    ) -> None:
        """One word, on a new line where it does not fit; one wider than a line is cut.

        level: of `word_levels`; None leaves the word where it is put.
        """
        advance = self.width(text, weight)
        most = self.room + MARGIN - self.left
        letters = regex.findall(r"\X", text)
        if advance > most and len(letters) > 1:
            kept = max(1, int(len(letters) * most / advance) - 1)
            for part in (letters[:kept], letters[kept:]):
                self.put("".join(part), ground, colour, weight, underlined, level)
            return
        if self.x > self.left and self.x + advance > self.room + MARGIN:
            self.start(self.left)
        if level is not None and level[-1] % 2 > find_levels(text)[0]:
            text = f"\N{RIGHT-TO-LEFT MARK}{text}"  # turns brackets
        style = {"color": colour, "fontsize": SIZE, "fontweight": weight}
        self.placed.append((self.x, self.y, text, ground, advance, underlined, style))
        if level is not None:
            self.lines.setdefault(self.y, {})[len(self.placed) - 1] = level
        self.x += advance + GAP

    def line(self, text: str, colour: str = "black", weight: str = "normal") -> None:
        """A sentence of its own, from the left edge."""
        self.start()
        places = [word.span() for word in regex.finditer(r"\S+", text)]
        for (start, end), level in zip(places, word_levels(text, places), strict=True):
            self.put(text[start:end], colour=colour, weight=weight, level=level)

    def row(self, label: str, words: Iterable[dict | None]) -> None:
        """A name, and beside it words, each as `put` takes it; None begins a line."""
        self.start(gap=2.0)
        top = self.y
        for part in label.split():
            if self.x > MARGIN and self.x + self.width(part, "bold") > LABEL:
                self.start()
            self.put(part, weight="bold")
        lowest = self.y
        self.y = top
        self.left = self.x = MARGIN + LABEL
        for word in words:
            if word is None:
                self.start(MARGIN + LABEL)
            else:
                self.put(**word)
        self.y = max(self.y, lowest)

    def order_lines(self) -> None:
        """Move words to where they are read; a text that is read from the right begins there."""
        for line in self.lines.values():
            words = [self.placed[at] for at in line]
            x, *_ = words[0]
            right, _, _, _, advance, *_ = words[-1]
            levels = list(line.values())
            if levels[0][0]:
                x += self.room + MARGIN - right - advance
            for at in order_on_line(levels):
                _, *rest = words[at]
                self.placed[list(line)[at]] = (x, *rest)
                x += words[at][4] + GAP

    def finish(self) -> Figure:
        """The figure, as high as what was put on it; its axes count points from the upper left."""
        from matplotlib.patches import Rectangle

        self.order_lines()
        width = self.figure.get_figwidth()
        height = self.y + MARGIN
        self.figure.set_size_inches(width, height / 72)
        axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width * 72), ylim=(height, 0))
        axes.set_axis_off()
        for x, y, text, ground, advance, underlined, style in self.placed:
            if ground is not None:
                colour = [c / 255 for c in ground]
                corner = (x - 1.2, y - SIZE)
                box = Rectangle(corner, advance + 2.4, SIZE + 3.2, color=colour, linewidth=0)
                axes.add_patch(box)
            if underlined:
                axes.plot([x, x + advance], [y + 2.2] * 2, color="black", linewidth=0.8)
            axes.text(x, y, text, va="baseline", parse_math=False, fontfamily=self.fonts, **style)
        return self.figure
