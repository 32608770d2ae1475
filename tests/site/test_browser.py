"""Does the site work in a browser, from the disk, on a desk and on a phone?"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

import pytest
from browsing import IN_BROWSER

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
