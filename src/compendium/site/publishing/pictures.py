"""Pictures made small: a palette for PNG, fewer digits and words for SVG; and what is written on an SVG."""

from __future__ import annotations

import io
import re
from collections import Counter
from hashlib import sha256
from html import unescape

COLOURS = 128
NUMBER = re.compile(r"(?<![\w#.-])-?\d+\.\d{3,}")
STYLE = re.compile(r' style="([^"]*)"')
NO_TURN = re.compile(r' transform="rotate\(-?0 [^)]*\)"')
OFTEN = 3  # uses of a style from which on a class is shorter


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
    """The same picture: two digits behind each point, a class for each style used often, no names that nothing uses."""
    text = NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    text = re.sub(r"\n +", "\n", NO_TURN.sub("", text))
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)
    return _name_styles(text)


def _name_styles(text: str) -> str:
    """Styles that stand at several elements are said once, as classes of names that no other picture has."""
    often = [style for style, count in Counter(STYLE.findall(text)).items() if count >= OFTEN]
    if not often:
        return text
    own = "c" + sha256("".join(often).encode()).hexdigest()[:6]
    names = {style: f"{own}{at}" for at, style in enumerate(often)}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    text = STYLE.sub(lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0], text)
    return text.replace("</svg>", f'<style type="text/css">{rules}</style>\n</svg>', 1)


def written_on(svg: str) -> str:
    """What is written on an SVG, one text after the other."""
    return unescape(re.sub(r"<[^>]*>", " ", svg))
