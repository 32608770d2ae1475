"""Pictures made small: a palette for PNG, fewer digits for SVG; and what is written on an SVG."""

from __future__ import annotations

import io
import re
from html import unescape

COLOURS = 128
NUMBER = re.compile(r"(?<![\w#.-])-?\d+\.\d{3,}")


def shrink_png(data: bytes, part: int = 1) -> bytes:
    """The same picture with few colours, on white, without anything said about it. part: 2 makes it half as wide."""
    from PIL import Image

    shown = Image.open(io.BytesIO(data)).convert("RGBA")
    page = Image.new("RGBA", shown.size, "white")
    page.alpha_composite(shown)
    size = (max(1, page.width // part), max(1, page.height // part))
    small = (
        page.convert("RGB")
        .resize(size, Image.Resampling.LANCZOS)
        .quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    )
    out = io.BytesIO()
    small.save(out, "png", optimize=True)
    return out.getvalue()


def shrink_svg(text: str) -> str:
    """The same picture with two digits behind each point, and lines not set in."""
    text = NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"\n +", "\n", text)


def written_on(svg: str) -> str:
    """What is written on an SVG, one text after the other."""
    return unescape(re.sub(r"<[^>]*>", " ", svg))
