"""Explanations as a picture: every text once a method, its words on coloured ground, lines broken where they end."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from attreval.api.show.colours import KEY, blend, strengths
from attreval.api.show.shown import Shown, describe, has_sign, how_many_unread, title_of
from attreval.api.show.terminal import piece

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE, LINE = 10.0, 17.0  # points: of letters, from line to line
LABEL = 130.0  # points for a method's name
MARGIN = 10.0
FONTS = ["DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Emoji"]


def save(explained: Iterable[Shown], path: Path) -> None:
    """Write a picture, of the kind that the path's ending says."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        draw(explained).savefig(path)


def draw(explained: Iterable[Shown], width: float = 9.0) -> Figure:
    """A figure of `width` inches; its height is what the texts need. Letters that no font has are drawn as boxes."""
    from matplotlib import font_manager
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 1), dpi=150)
    canvas = FigureCanvasAgg(figure)
    known = {font.name for font in font_manager.fontManager.ttflist}
    pen = _Pen(canvas.get_renderer(), [name for name in FONTS if name in known], width * 72 - 2 * MARGIN)
    for one in explained:
        _place_text(pen, one)
    pen.line(KEY, colour="0.35", size=SIZE * 0.8)
    height = pen.y + MARGIN
    figure.set_size_inches(width, height / 72)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width * 72), ylim=(height, 0))
    axes.set_axis_off()
    for x, y, text, ground, advance, style in pen.placed:
        if ground is not None:
            edges = [x - 1.2, x + advance + 1.2]
            axes.fill_between(edges, y - SIZE, y + 3.2, color=[c / 255 for c in ground], linewidth=0)
        axes.text(x, y, text, va="baseline", parse_math=False, fontfamily=pen.fonts, **style)
    return figure


class _Pen:
    """Where the next word goes. placed: what has its place: x, y, text, ground, width and style of each, in points."""

    def __init__(self, renderer, fonts: list[str], room: float):
        self.renderer, self.fonts, self.room = renderer, fonts or ["sans-serif"], room
        self.placed: list[tuple] = []
        self.x, self.y, self.left = MARGIN, MARGIN, MARGIN

    def width(self, text: str, size: float, weight: str) -> float:
        """How wide a text is."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(family=self.fonts, size=size, weight=weight)
        wide, _, _ = self.renderer.get_text_width_height_descent(text, font, ismath=False)
        return wide * 72 / self.renderer.dpi

    def start(self, left: float = MARGIN, gap: float = 0.0) -> None:
        """Begin a line."""
        self.left, self.x, self.y = left, left, self.y + LINE + gap

    def put(self, text: str, ground=None, colour: str = "black", size: float = SIZE, weight: str = "normal") -> None:
        """One word, on a new line where it does not fit; one wider than a line is cut into pieces that fit."""
        advance, most = self.width(text, size, weight), self.room + MARGIN - self.left
        if advance > most and len(text) > 1:
            kept = max(1, int(len(text) * most / advance) - 1)
            self.put(text[:kept], ground, colour, size, weight)
            self.put(text[kept:], ground, colour, size, weight)
            return
        if self.x > self.left and self.x + advance > self.room + MARGIN:
            self.start(self.left)
        style = {"color": colour, "fontsize": size, "fontweight": weight}
        self.placed.append((self.x, self.y, text, ground, advance, style))
        self.x += advance + SIZE * 0.42

    def line(self, text: str, colour: str = "black", size: float = SIZE, weight: str = "normal") -> None:
        """A sentence of its own, from the left edge."""
        self.start()
        for word in text.split():
            self.put(word, colour=colour, size=size, weight=weight)


def _place_text(pen: _Pen, one: Shown) -> None:
    """One text: what is predicted, then every method."""
    pen.line(describe(one), weight="bold")
    for method in one.methods:
        pen.start(gap=2.0)
        top, tallest = pen.y, pen.y
        for word in title_of(one, method).split():
            if pen.x > MARGIN and pen.x + pen.width(word, SIZE, "bold") > LABEL:
                pen.start()
            pen.put(word, weight="bold")
        tallest, pen.y = pen.y, top
        pen.left = pen.x = MARGIN + LABEL
        before = 0
        for unit, strength in zip(one.units, strengths(one.scores(method)), strict=True):
            if unit.segment != before:
                pen.start(MARGIN + LABEL)
                before = unit.segment
            pen.put(piece(unit.text), blend(strength, has_sign(one, method)) if abs(strength) >= 0.005 else None)
        pen.y = max(pen.y, tallest)
    if one.unread:
        pen.line(how_many_unread(one), colour="0.35", size=SIZE * 0.8)
    pen.y += LINE * 0.6
