"""Numbers and references: figures, tables and sections of a page."""

from __future__ import annotations

import re

import panflute as pf
import pytest

from compendium.site.markdown import ReportError
from compendium.site.pandoc_route import pandoc
from compendium.site.pandoc_route.pandoc import number

FIGURE = "::: {#fig-%s}\n![](p.png)\n\nCaption of %s.\n:::\n\n"
TABLE = "::: {#tbl-%s}\n| a | b |\n|---|--:|\n| 1 | 2 |\n\nCaption of %s.\n:::\n\n"


def html(text, sections=True):
    """A page's text with numbers, as HTML, and the numbers."""
    doc = pandoc.read(text)
    numbers = number(doc, lambda needle: "page.qmd:7", sections)
    return pf.convert_text(
        doc, "panflute", "html5", extra_args=["--wrap=none"], pandoc_path=pandoc.pypandoc.get_pandoc_path()
    ), numbers


def test_each_kind_counts_for_itself_in_reading_order():
    text = FIGURE % ("b", "b") + TABLE % ("x", "x") + FIGURE % ("a", "a") + TABLE % ("y", "y")
    _, numbers = html(text)
    assert numbers == {"fig-b": "1", "tbl-x": "1", "fig-a": "2", "tbl-y": "2"}


def test_sections_count_by_level_and_skip_the_unnumbered():
    text = "# A {#sec-a}\n\n## B {#sec-b}\n\n## C {#sec-c}\n\n"
    text += "# X {#sec-x .unnumbered}\n\n# D {#sec-d}\n\n## E {#sec-e}\n\n### F {#sec-f}\n"
    page, numbers = html(text)
    assert numbers == {
        "sec-a": "1",
        "sec-b": "1.1",
        "sec-c": "1.2",
        "sec-d": "2",
        "sec-e": "2.1",
        "sec-f": "2.1.1",
    }
    assert re.findall(r"<h(\d)", page) == ["2", "3", "3", "2", "2", "3", "4"]
    page, _ = html(text, sections=False)
    assert "header-section-number" not in page


def test_references_become_links_before_and_after_and_in_groups():
    text = (
        "@fig-a, see [@tbl-x; @sec-s], only [-@fig-a].\n\n# S {#sec-s}\n\n" + FIGURE % ("a", "a") + TABLE % ("x", "x")
    )
    page, _ = html(text)
    links = re.findall(r'<a href="(#[\w-]+)" class="xref">([^<]+)</a>', page)
    assert links == [
        ("#fig-a", "Figure\u00a01"),
        ("#tbl-x", "Table\u00a01"),
        ("#sec-s", "Section\u00a01"),
        ("#fig-a", "1"),
    ]


def test_captions_carry_the_number_and_describe_the_picture():
    page, _ = html(FIGURE % ("a", "*lines*, 2 < 3"))
    assert re.search(
        r'<figcaption>\s*<span class="float-number">Figure\u00a01:</span> Caption of <em>lines</em>, 2 &lt;',
        page,
    )
    assert 'alt="Caption of lines, 2 &lt; 3."' in page
    page, _ = html("::: {#fig-a}\n![Own words](p.png)\n\nCaption.\n:::\n")
    assert 'alt="Own words"' in page


def test_wide_tables_can_scroll_inside_and_outside_of_floats():
    page, _ = html(TABLE % ("x", "x") + "| a |\n|---|\n| 1 |\n")
    assert len(re.findall(r'<div class="scroll"[^>]*>\s*<table', page)) == page.count("<table") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@fig-lenghts\n\n" + FIGURE % ("lengths", "x"),
            r"page\.qmd:7: @fig-lenghts refers to no figure; did you mean fig-lengths",
        ),
        ("@sec-none", "refers to no section; there are none"),
        ("[@fig-a; @kamp2023]\n\n" + FIGURE % ("a", "a"), "mixes works"),
        ("::: {#fig-a}\n![](p.png)\n:::", "fig-a has no caption"),
        ("::: {#fig-a}\nWords.\n\nCaption.\n:::", "fig-a holds no picture"),
        ("::: {#tbl-a}\nWords.\n\nCaption.\n:::", "tbl-a holds no table"),
        (FIGURE % ("a", "a") + FIGURE % ("a", "b"), "'fig-a' is defined twice"),
    ],
)
def test_mistakes_say_where_and_what(text, message):
    with pytest.raises(ReportError, match=message):
        html(text)
