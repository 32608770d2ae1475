"""Explanations as a picture: every text once a method, its words on coloured ground."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
    strengths,
)
from attreval.api.show.terminal import piece
from attreval.core.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# points: of letters, from line to line
SIZE = 10.0
LINE = 17.0
LABEL = 130.0  # points for a method's name
MARGIN = 10.0
GREY = "0.35"
FONTS = ["DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Emoji"]


def save(explained: Iterable[Shown], path: Path) -> None:
    """Write a picture, of the kind that the path's ending says."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        draw_picture(explained).savefig(path)


def draw_picture(explained: Iterable[Shown], width: float = 9.0) -> Figure:
    """A figure of `width` inches, as high as the texts need; boxes where no font has a letter."""
    pen = Pen(width)
    explained = list(explained)
    alike, own = gather_remarks(explained)
    for one, remarks in zip(explained, own, strict=True):
        pen.line(describe_text(one), weight="bold")
        for method in one.methods:
            pen.row(method_title(one, method), _words(one, method))
            for remark in remarks.get(method, ()):
                pen.line(remark, colour=GREY, size=SIZE * 0.8)
        if one.unread:
            pen.line(how_many_unread(one), colour=GREY, size=SIZE * 0.8)
        pen.y += LINE * 0.6
    for line in [KEY, *alike]:
        pen.line(line, colour=GREY, size=SIZE * 0.8)
    return pen.finish()


def _words(one: Shown, method: str) -> Iterator[dict | None]:
    """What `Pen.put` takes of each word of a text, None where the second text of a pair begins."""
    before = 0
    for unit, strength in zip(one.units, strengths(one.scores(method)), strict=True):
        if unit.segment != before:
            yield None
            before = unit.segment
        ground = blend(strength, has_sign(one, method)) if abs(strength) >= FAINT else None
        yield {"text": piece(unit.text), "ground": ground}


class Pen:
    """Where the next word goes on a figure of `width` inches."""

    def __init__(self, width: float):
        font_manager = need("matplotlib.font_manager", "plots", "a picture")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(width, 1), dpi=150)
        self.renderer = FigureCanvasAgg(self.figure).get_renderer()
        known = {font.name for font in font_manager.fontManager.ttflist}
        self.fonts = [name for name in FONTS if name in known] or ["sans-serif"]
        self.room = width * 72 - 2 * MARGIN
        self.placed: list[tuple] = []
        self.x = MARGIN
        self.y = MARGIN
        self.left = MARGIN

    def width(self, text: str, size: float, weight: str) -> float:
        """How wide a text is, in points."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(family=self.fonts, size=size, weight=weight)
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
        size: float = SIZE,
        weight: str = "normal",
        underlined: bool = False,
    ) -> None:
        """One word, on a new line where it does not fit; one wider than a line is cut."""
        advance = self.width(text, size, weight)
        most = self.room + MARGIN - self.left
        if advance > most and len(text) > 1:
            kept = max(1, int(len(text) * most / advance) - 1)
            self.put(text[:kept], ground, colour, size, weight, underlined)
            self.put(text[kept:], ground, colour, size, weight, underlined)
            return
        if self.x > self.left and self.x + advance > self.room + MARGIN:
            self.start(self.left)
        style = {"color": colour, "fontsize": size, "fontweight": weight}
        self.placed.append((self.x, self.y, text, ground, advance, underlined, style))
        self.x += advance + SIZE * 0.42

    def line(
        self, text: str, colour: str = "black", size: float = SIZE, weight: str = "normal"
    ) -> None:
        """A sentence of its own, from the left edge."""
        self.start()
        for word in text.split():
            self.put(word, colour=colour, size=size, weight=weight)

    def row(self, label: str, words: Iterable[dict | None]) -> None:
        """A name, and beside it words, each as `put` takes it; None begins a line."""
        self.start(gap=2.0)
        top = self.y
        lowest = self.y
        for part in label.split():
            if self.x > MARGIN and self.x + self.width(part, SIZE, "bold") > LABEL:
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

    def finish(self) -> Figure:
        """The figure, as high as what was put on it; its axes count points from the upper left."""
        from matplotlib.patches import Rectangle

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
