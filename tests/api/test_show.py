"""Explanations as a page, in a terminal and as a picture: everything escaped, nothing wider than
its place.
"""

from __future__ import annotations

import io
import re
import warnings
from itertools import pairwise, product
from xml.etree import ElementTree

import numpy as np
import pytest
from bs4 import BeautifulSoup
from rich.cells import cell_len
from rich.console import Console

import attreval as av
from attreval.api.show import shown, terminal
from attreval.api.show.picture import draw_picture, missing_glyphs
from attreval.metrics.scored_text import to_scale

NASTY = [
    "<script>alert(\"x\")</script> & 'good' film",
    ("مرحا the film", "not bad \N{GRINNING FACE} !"),
    "good \x1b[31m film \u202e plot",
    "slow " * 100,
]


@pytest.fixture(scope="module")
def found(tiny):
    made = av.explain(tiny, NASTY, ["gradient_x_input", "gradient_l1", "occlusion_1"])
    return made.add("<b>theirs</b>", [[(0, 3, 1.0)]] * len(NASTY))


def test_a_page_escapes_texts_names_and_scores(found, tmp_path):
    names = ["Gradient x Input", "Gradient (L1)", "Occlusion (1)", "<b>theirs</b>"]
    for unit in ("word", "token"):
        shown = found.by(unit)
        page = shown.save(tmp_path / "x.html").read_text(encoding="utf-8")
        read = BeautifulSoup(page, "html.parser")
        assert not read.find_all(["script", "b", "link", "img"]) and "http" not in page
        assert "38 of 100 words were not read" in page
        for one, table in zip(shown, read.find_all("table"), strict=True):
            rows = table.find_all("tr")
            assert [row.th.text for row in rows] == names
            for method, row in zip(one.methods, rows, strict=True):
                parts = row.find_all("span", class_="part")
                assert [part["dir"] for part in parts] == ["auto"] * len(one.instance.segments)
                titles = [word["title"] for part in parts for word in part.find_all("span")]
                numbers = [f"{score:+.4g}" for score in one.scores(method)]
                assert [title.rsplit(": ", 1)[1] for title in titles] == numbers
                if not one.unread:
                    assert [part.text for part in parts] == list(one.instance.segments)


def luminance(colour):
    share = np.array(colour) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_colours_say_sign_and_strength_and_text_on_the_strongest_can_be_read(found):
    """At least 4.5 to 1 (WCAG), black on a white page and white on a dark one."""
    for full in (shown.FOR, shown.AGAINST, shown.UNSIGNED):
        for ground, ink in ((255, 0), (18, 255)):
            mixed = [shown.TINT * c + (1 - shown.TINT) * ground for c in full]
            light, dark = sorted([luminance(mixed), luminance([ink] * 3)], reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5
    read = BeautifulSoup(found[0]._repr_html_(), "html.parser")
    rows = dict(zip(found.methods, read.find_all("tr"), strict=True))
    signed = {shown.css(1), shown.css(-1)}
    unsigned = {shown.css(1, False)}
    for method, kinds in (("gradient_x_input", signed), ("gradient_l1", unsigned)):
        words = rows[method].find_all("span", style=True)
        grounds = {word["style"].removeprefix("background:") for word in words}
        assert {one[:7] for one in grounds} == {kind[:7] for kind in kinds}  # but for the opacity
        assert kinds & grounds  # the strongest word has the full colour
    assert to_scale(np.array([0, 0])).tolist() == [0, 0]
    assert to_scale(np.array([-2, 1])).tolist() == [-1, 0.5]
    assert shown.blend(0) == (255, 255, 255)
    assert len({shown.blend(1), shown.blend(-1), shown.blend(1, False)}) == 3


def test_plain_lines_are_aligned_and_no_wider_than_asked(found):
    for width, one in product((40, 100), found):
        lines = terminal.plain_lines(one, width, one.remarks)
        assert all(cell_len(line) <= width for line in lines)
        numbers = [line for line in lines if re.search(r"[+-]\d\.\d{3}$", line)]
        assert len(numbers) >= len(one.units)
        assert len({cell_len(line) for line in numbers}) <= len(one.methods)
        assert "\x1b" not in "".join(lines) and "\u202e" not in "".join(lines)


def test_columns_hold_in_every_script_and_what_is_seen_is_printed(tiny):
    text = "यह फिल्म cafe\u0301 電影 👩\u200d👩\u200d👧 שָׁלוֹם \u06dd ไม่"
    found = av.explain(tiny, text, "gradient_x_input").add("方法", [[(0, 2, 1.0)]])
    lines = terminal.plain_lines(found[0], 60, {"方法": ["不能相信" * 20]})
    head, *rows = [line for line in lines if line.endswith(("方法", "0"))]
    assert len({cell_len(line) for line in [head, *rows]}) == 1
    assert all(cell_len(line) <= 60 for line in lines) and "\ufffd" not in "".join(lines)
    shown_words = [line.split()[0] for line in rows]
    assert shown_words == [unit.text for unit in found[0].units]
    page = BeautifulSoup(found._repr_html_(), "html.parser")
    titles = [span["title"].split(":")[0] for span in page.find_all("span", title=True)]
    assert titles[: len(rows)] == shown_words
    assert [word["word"] for word in found.to_json()[0]["words"]] == shown_words


def on_screen(found, monkeypatch, term, width=80):
    """What is sent to a terminal of that kind."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    screen = io.StringIO()
    screen.isatty = lambda: True
    terminal.show(found, screen, width=width)
    return screen.getvalue()


def test_a_terminal_shows_colours_and_a_file_does_not(found, monkeypatch):
    said = on_screen(found, monkeypatch, "xterm-256color")
    plain = io.StringIO()
    terminal.show(found[:2], plain, width=80)
    assert "\x1b" not in plain.getvalue() and "gradient_x_input" in plain.getvalue()
    assert "\x1b[" in said and "\x1b[31m" not in said and "\u202e" not in said
    bare = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert all(cell_len(line) <= 80 for line in bare.splitlines()) and "Gradient x Input:" in bare


def test_a_terminal_without_shades_shows_scores(found, monkeypatch):
    plain = io.StringIO()
    terminal.show(found[:1], plain, width=80)
    for term in ("dumb", "xterm"):
        assert on_screen(found[:1], monkeypatch, term) == plain.getvalue()


def test_on_a_terminal_a_word_stands_below_itself(found, monkeypatch):
    """However many lines a row takes, and however long its label is."""
    titles = [shown.method_title(found[1], method) + ":" for method in found.methods]
    for width, high in ((40, 2), (120, 1)):
        said = on_screen(found[1:2], monkeypatch, "xterm-256color", width)
        bare = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines()]
        begins = [at for at, line in enumerate(bare) if line.startswith(tuple(titles))]
        assert len(begins) == len(titles)
        assert {after - before for before, after in pairwise(begins)} == {high}
        left = bare[begins[0]].index(found[1].units[0].text)
        assert left > max(map(len, titles))
        assert len({tuple(line[left:] for line in bare[at : at + high]) for at in begins}) == 1


def test_on_a_terminal_weak_words_are_as_it_has_them_and_others_black_on_their_colour(tiny):
    words = ["the", "film", "was", "good"]
    found = av.explain(tiny, " ".join(words), "gradient_x_input")
    found.add("mine", [[1.0, -terminal.PALE, 0.14, 0.0]])
    forced = {"force_terminal": True, "color_system": "truecolor", "no_color": False}
    console = Console(file=io.StringIO(), width=100, **forced)
    parts = [s for part in terminal.coloured(found) for s in console.render(part)]
    row = parts[[s.text.strip() for s in parts].index("mine:") + 1 :]
    styles = {word: next(s.style for s in row if word in s.text) for word in words}
    assert not any(styles[word].bgcolor or styles[word].color for word in ("was", "good"))
    for word in ("the", "film"):
        ink = luminance(styles[word].color.triplet)
        ground = luminance(styles[word].bgcolor.triplet)
        assert ink == 0 and (ground + 0.05) / 0.05 >= 4.5
        assert ground < 0.7  # the weakest is no lamp on a dark terminal


def test_no_number_is_minus_nothing(tiny):
    found = av.explain(tiny, "the film", "gradient_x_input").add("mine", [[-0.0, -0.0001]])
    assert not re.search(r"-0\.000\b", "\n".join(terminal.plain_lines(found[0], 100, {})))
    page = found._repr_html_()
    assert 'title="the: -0"' not in page and 'title="film: -0.0001"' in page


def test_pictures_hold_all_words(found, tmp_path):
    png = found[:2].save(tmp_path / "x.PNG")
    svg = found[:2].save(tmp_path / "x.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    words = [t.get_text() for axes in draw_picture(found[1:2]).axes for t in axes.texts]
    assert all(words.count(u.text) >= len(found.methods) for u in found[1].units)
    figure = draw_picture(found)
    width, height = figure.get_size_inches() * 72
    for text in figure.axes[0].texts:
        x, y = text.get_position()
        assert 0 <= x <= width and 0 <= y <= height


def on_line(text, shown):
    """The drawn words of a text by a function that ignores it, from left to right; the texts."""
    model = av.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["a", "b"])
    found = av.explain(model, text, "occlusion_1")
    with missing_glyphs():
        texts = draw_picture(found).axes[0].texts
    words = [unit.text for unit in found[0].units]
    mine = [t for t in texts if t.get_text().removeprefix("\u200f") in words]
    mine.sort(key=lambda t: t.get_position())
    assert [t.get_text() for t in mine] == shown.split()
    return texts, mine


def test_words_from_the_right_stand_in_the_order_of_reading():
    """As a browser sets them; brackets are turned by a mark before them."""
    arabic = "السعر 15.5 % في Star Wars (حسنا)"
    rtl = "\u200f"
    shown = f"{rtl}) حسنا {rtl}( Star Wars في {rtl}% 15.5 السعر"
    _, mine = on_line(arabic, shown)
    right = max(t.get_position()[0] for t in mine)
    assert right > 500  # the text begins at the right edge
    _, mine = on_line("He said שלום עולם 12 too", "He said 12 עולם שלום too")
    assert min(t.get_position()[0] for t in mine) < 200
    on_line("אבג 10:30 20% 2019", "2019 20 % 10 : 30 אבג")


def test_a_picture_takes_any_font_that_has_the_letters_and_says_where_none_has(tmp_path):
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from matplotlib import font_manager

    model = av.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["a", "b"])
    found = av.explain(model, "\U00011580 film 🫥", "occlusion_1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.save(tmp_path / "x.png")
        found.save_words(tmp_path / "words.png", least=1)
    texts, _ = on_line("\U00011580 film 🫥", "\U00011580 film 🫥")  # Siddham
    note = " ".join(t.get_text() for t in texts)
    assert "has Siddham, emoji or signs; boxes" in note
    box = TTGlyphPen(None)
    box.moveTo((0, 0))
    box.lineTo((0, 500))
    box.lineTo((500, 0))
    box.closePath()
    font = FontBuilder(1000)
    font.setupGlyphOrder([".notdef", "a"])
    font.setupCharacterMap({0x11580: "a"})
    font.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "a": box.glyph()})
    font.setupHorizontalMetrics({".notdef": (500, 0), "a": (500, 0)})
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Own Siddham", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(tmp_path / "own.ttf")
    fonts = font_manager.fontManager
    before = list(fonts.ttflist)
    fonts.addfont(tmp_path / "own.ttf")
    try:
        texts, _ = on_line("\U00011580 film 🫥", "\U00011580 film 🫥")
    finally:
        fonts.ttflist = before
    assert "Own Siddham" in texts[0].get_fontfamily()
    assert "has emoji or signs; boxes" in " ".join(t.get_text() for t in texts)


def test_endings_have_any_case_and_others_are_refused(found, tmp_path):
    for name in ("x.HTML", "x.Json", "x.JSONL"):
        assert found.save(tmp_path / name).stat().st_size > 100
    for name in ("x.pdf", "x"):
        with pytest.raises(ValueError, match=r"saved as \.html, \.json, \.png, \.svg"):
            found.save(tmp_path / name)
