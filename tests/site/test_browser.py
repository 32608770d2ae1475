"""Does the site work in a browser, from the disk, on a desk and on a phone?"""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import unquote, urlsplit

import pytest
from browsing import IN_BROWSER
from bs4 import BeautifulSoup

pytestmark = IN_BROWSER


def open_pages(browser, home, width, height, pages="*.html"):
    """The pages of the site opened in a window of that size, with what the browser complained about."""
    context = browser.new_context(viewport={"width": width, "height": height})
    for path in sorted((home / "_site").rglob(pages)):
        page, said = context.new_page(), []
        page.on("console", lambda message, said=said: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error, said=said: said.append(f"error: {error}"))
        page.on("requestfailed", lambda request, said=said: said.append(f"failed: {request.url}"))
        asked = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri(), wait_until="load")
        yield path, page, said, asked
        page.close()
    context.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 740)])
def test_pages_load_whole_and_fit(browser, home, width, height):
    seen, images = 0, 0
    for path, page, said, asked in open_pages(browser, home, width, height):
        seen += 1
        assert not said, f"{path.name}: {said}"
        assert asked and all(url.startswith(("file://", "data:")) for url in asked), asked
        loaded = page.evaluate("[...document.images].map(i => [i.src, i.complete && i.naturalWidth, i.alt.trim()])")
        images += len(loaded)
        assert all(size and alt for _, size, alt in loaded), loaded
        assert page.evaluate("document.styleSheets.length") >= 2
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path.name} is {wide} px wide in a window of {width} px"
        text = page.inner_text("body")
        assert not re.search(r"\?\?|\{\{<|(?<!\w)@(fig|tbl|sec)-", text)
    assert seen >= 6 and images >= 7


def test_every_internal_link_and_anchor_leads_somewhere(browser, home):
    anchors, links = {}, []
    for path, page, *_ in open_pages(browser, home, 1280, 900):
        anchors[path] = set(page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
        links += [(path, url) for url in page.evaluate("[...document.links].map(a => a.href)")]
    assert len(links) > 100
    for path, url in links:
        parts = urlsplit(url)
        if parts.scheme != "file":
            assert parts.scheme == "https", f"{path.name}: {url}"
            continue
        target = type(path)(unquote(parts.path))
        if start := {".pdf": b"%PDF-", ".png": b"\x89PNG"}.get(target.suffix):
            assert target.read_bytes().startswith(start), f"{path.name}: {url} is no {target.suffix[1:]}"
            continue
        assert target in anchors, f"{path.name}: {url} is no page"
        assert not parts.fragment or unquote(parts.fragment) in anchors[target], f"{path.name}: {url} has no such place"


SEEN = """() => ({
  ids: [...document.querySelectorAll('[id]')].map(e => e.id),
  links: [...document.links].map(a => a.href),
  bare: [...document.images].filter(i => !i.naturalWidth || !i.alt.trim()).map(i => i.src),
})"""


def test_every_page_of_the_committed_run_is_without_a_flaw(browser, committed_home):
    """At 1,200 and 400 px no page scrolls sideways; nothing leaves the machine, lacks a description or an end."""
    ids, links, wrong = {}, [], []
    for path, page, said, asked in open_pages(browser, committed_home, 1200, 900):
        seen = page.evaluate(SEEN)
        ids[path] = set(seen["ids"])
        links += [(path, url) for url in seen["links"]]
        wrong += [(path.name, "named twice", name) for name, count in Counter(seen["ids"]).items() if count > 1]
        wrong += [(path.name, "undescribed", source) for source in seen["bare"]]
        wrong += [(path.name, "said", words) for words in said]
        wrong += [(path.name, "asked for", url) for url in asked if not url.startswith(("file://", "data:"))]
        for width in (1200, 400):
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            wrong += [(path.name, f"in a window of {width} px", wide)] if wide > width else []
    for path, url in links:
        parts = urlsplit(url)
        target, name = type(path)(unquote(parts.path)), unquote(parts.fragment)
        if parts.scheme == "file" and (not target.is_file() or (name and name not in ids.get(target, ()))):
            wrong.append((path.name, "leads nowhere", url))
    assert len(ids) > 100 and len(links) > 1000 and not wrong, wrong


def test_each_figure_shows_its_number_and_caption(browser, home):
    for _, page, *_ in open_pages(browser, home, 1280, 900, "paper/kamp2023.html"):
        captions = page.eval_on_selector_all("figure[id^=fig-] figcaption", "all => all.map(c => c.innerText)")
        assert len(captions) >= 4
        for number, caption in enumerate(captions, 1):
            assert re.match(rf"Figure\s{number}:\s\S", caption)
        tables = page.eval_on_selector_all("figure[id^=tbl-] figcaption", "all => all.map(c => c.innerText)")
        assert [int(re.match(r"Table\s(\d+):", caption).group(1)) for caption in tables] == list(
            range(1, len(tables) + 1)
        )
        above = page.eval_on_selector_all(
            "figure[id^=tbl-]",
            "all => all.map(f => f.querySelector('figcaption').getBoundingClientRect().top"
            " < f.querySelector('table').getBoundingClientRect().top)",
        )
        assert len(above) >= 5 and all(above), "a table's caption stands above it"


def test_captions_of_the_committed_run_say_what_their_figures_show(committed_home):
    pages = {name: (committed_home / "_site" / "paper" / f"{name}.html").read_text() for name in ("kamp2023", "claims")}
    page = BeautifulSoup(pages["kamp2023"], "html.parser")
    drawn = {name: "Intervals: 95" in page.find(id=f"fig-{name}").get_text() for name in ("human", "three-groups")}
    assert drawn == {"human": True, "three-groups": False}
    keys = {cell.get_text() for cell in BeautifulSoup(pages["claims"], "html.parser").select("td:first-child")}
    assert "Kamp" in keys and "kamp2023" not in keys
