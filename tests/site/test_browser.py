"""Does the site work in a browser, from the disk, on a desk and on a phone?"""

import re
from collections import Counter
from urllib.parse import unquote, urlsplit

import madeup
from browsing import IN_BROWSER
from bs4 import BeautifulSoup

pytestmark = IN_BROWSER
# how files begin that a page leads to
STARTS = {
    ".pdf": b"%PDF-",
    ".png": b"\x89PNG",
    ".zip": b"PK",
}
SEEN = """() => ({
  ids: [...document.querySelectorAll('[id]')].map(e => e.id),
  links: [...document.links].map(a => a.href),
  bare: [...document.images].filter(i => !i.naturalWidth || !i.alt.trim()).map(i => i.src),
  sheets: document.styleSheets.length,
  text: document.body.innerText,
})"""
# the width of a picture, and how high its letters are, in points: of text, and of text as outlines
LETTERS = """() => [
  document.documentElement.viewBox.baseVal.width,
  [...document.querySelectorAll('text')].map(e => parseFloat(getComputedStyle(e).fontSize)),
  [...document.querySelectorAll('g[transform*=scale]')].map(e => {
    const { c, d } = e.transform.baseVal.consolidate().matrix;
    return 100 * Math.hypot(c, d);
  }),
]"""
LINE = 470  # points of a line of the printed page
LEAST = 6.8  # points: seven, or nearly
# drawn before letters grew with the figure, from what is not committed
WAITING = ("04_poerner2018_example",)
ABOVE = """all => all.map(f => f.querySelector('figcaption').getBoundingClientRect().top
  < f.querySelector('table').getBoundingClientRect().top)"""


def open_pages(browser, home, pages="*.html"):
    """The pages of the site opened, with what the browser said and asked for."""
    page = browser.new_page()
    said = []
    asked = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("requestfailed", lambda request: said.append(f"failed: {request.url}"))
    page.on("request", lambda request: asked.append(request.url))
    for path in sorted((home / "_site").rglob(pages)):
        if not path.stat().st_size:
            continue
        said.clear()
        asked.clear()
        page.set_viewport_size({"width": 1200, "height": 900})
        page.goto(path.as_uri(), wait_until="load")
        yield path, page, said, asked
    page.close()


def test_pages_of_the_committed_run_are_without_a_flaw(browser, committed_home):
    """At 1,200 and 360 px none scrolls sideways; nothing leaves the machine or lacks a description.

    Where links lead inside of pages that are not opened here, test_site checks.
    """
    ids = {}
    links = []
    wrong = []
    for path, page, said, asked in open_pages(browser, committed_home):
        seen = page.evaluate(SEEN)
        ids[path] = set(seen["ids"])
        links += [(path, url) for url in seen["links"]]
        wrong += [
            (path.name, "named twice", name)
            for name, count in Counter(seen["ids"]).items()
            if count > 1
        ]
        wrong += [(path.name, "undescribed", source) for source in seen["bare"]]
        wrong += [(path.name, "said", words) for words in said]
        wrong += [
            (path.name, "asked for", url)
            for url in asked
            if not url.startswith(("file://", "data:"))
        ]
        wrong += [
            (path.name, "unfilled", left)
            for left in re.findall(r"\?\?|\{\{<|(?<!\w)@(?:fig|tbl)-", seen["text"])
        ]
        assert seen["sheets"] or path.name == "explorer.html"
        for width in (1200, 360):
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            wrong += [(path.name, f"in a window of {width} px", wide)] if wide > width else []
    for path, url in links:
        parts = urlsplit(url)
        target = type(path)(unquote(parts.path))
        name = unquote(parts.fragment)
        inside = name and target in ids
        if parts.scheme == "file" and (
            not target.is_file() or (inside and name not in ids[target])
        ):
            wrong.append((path.name, "leads nowhere", url))
        elif (start := STARTS.get(target.suffix)) and not target.read_bytes().startswith(start):
            wrong.append((path.name, f"is no {target.suffix}", url))
        elif parts.scheme not in ("file", "https"):
            wrong.append((path.name, "leads away", url))
    assert len(ids) >= 7 and len(links) > 300 and not wrong, wrong


def test_letters_of_every_figure_can_be_read_on_the_printed_page(browser, committed_home):
    """Pictures that the site draws, and the notebooks', but for those that wait for their run."""
    page = browser.new_page()
    pages = (committed_home / "_site" / "paper").glob("*.html")
    texts = "".join(path.read_text(encoding="utf-8") for path in pages)
    run = committed_home / "results" / "reference" / "full" / "figures"
    paths = [
        run / f"{notebook}_{name}.svg"
        for notebook, name in set(re.findall(r'src="notebooks/(\w+)_files/([\w-]+)\.png"', texts))
    ]
    paths += (committed_home / "paper" / "figures").glob("*.svg")
    small = {}
    for path in filter(type(run).exists, paths):
        page.goto(path.as_uri())
        wide, written, drawn = page.evaluate(LETTERS)
        small[path.stem] = min(written + drawn) * min(1, LINE / wide)
    wrong = {
        name: size for name, size in small.items() if size < LEAST and not name.startswith(WAITING)
    }
    assert len(small) > 30 and not wrong, wrong


def test_the_sheet_that_quarto_has_opens_contents_and_lines_numbers_up(browser):
    """As Quarto's pages are where no script can be loaded: its own sheet folds the contents."""
    page = browser.new_page()
    paper = madeup.PROJECT / "paper"
    sheet = (paper / "styles.css").read_text()
    theme, rules = (paper / "attreval.scss").read_text().split("/*-- scss:rules --*/")
    colours = set(re.findall(r"#\w{6}", theme))
    assert colours and colours <= set(re.findall(r"#\w{6}", sheet)), "colours of one look"
    page.set_content(f"""<style>.collapse:not(.show) {{ display: none; }} .nav-link {{ text-decoration: none; }}</style>
      <style>{rules}{sheet}</style>
      <nav class="navbar"><a class="nav-link" id="there">There</a><a class="nav-link active" id="here">Here</a></nav>
      <nav id="TOC"><ul><li>One<ul class="collapse"><li id="folded">Two</li></ul></li></ul></nav>
      <table><tr><td id="number" style="text-align: right;">0.03 [0.02, 0.06]</td></tr></table>
      <table class="dataframe"><tr><td id="cell">0.5</td></tr></table>""")  # noqa: E501

    def style_of(name, of):
        return page.eval_on_selector(f"#{name}", f"one => getComputedStyle(one)['{of}']")

    assert page.locator("#folded").is_visible() and style_of("number", "whiteSpace") == "nowrap"
    assert (style_of("cell", "textAlign"), style_of("cell", "whiteSpace")) == ("right", "nowrap")
    assert style_of("here", "boxShadow") != "none" == style_of("there", "boxShadow")
    page.close()


def test_the_paper_of_the_committed_run_has_twelve_pages_at_most(committed_home):
    made = (committed_home / "_site" / "paper" / "attreval.pdf").read_bytes()
    assert 8 <= len(re.findall(rb"/Type\s*/Page\b", made)) <= 12


def test_captions_stand_above_tables_and_say_what_the_committed_run_shows(browser, committed_home):
    for _, page, *_ in open_pages(browser, committed_home, "paper/kamp2023.html"):
        above = page.eval_on_selector_all("figure[id^=tbl-]", ABOVE)
        assert len(above) >= 5 and all(above)
    pages = {
        name: (committed_home / "_site" / "paper" / f"{name}.html").read_text()
        for name in ("kamp2023", "claims")
    }
    page = BeautifulSoup(pages["kamp2023"], "html.parser")
    drawn = {
        name: "Intervals: 95" in page.find(id=f"fig-{name}").get_text()
        for name in ("human", "three-groups")
    }
    assert drawn == {"human": True, "three-groups": False}
    for _, claims, *_ in open_pages(browser, committed_home, "paper/claims.html"):
        paper, claim = (
            claims.locator(f"#tbl-scorecard td:nth-child({at})").first.bounding_box()
            for at in (1, 2)
        )
        assert claim["width"] > 3 * paper["width"]
        assert claims.locator("#tbl-scorecard th").all_inner_texts() == [
            "Paper",
            "Claim",
            "Ours",
            "Null",
            "Verdict",
        ]
        assert claims.locator("header a", has_text="Explorer").count() == 1  # of our own texts
    for _, pointing, *_ in open_pages(browser, committed_home, "paper/poerner2018.html"):
        # a text that the paper prints
        assert pointing.locator("#fig-example-topics img").count() == 1
    keys = {
        cell.get_text()
        for cell in BeautifulSoup(pages["claims"], "html.parser").select("td:first-child")
    }
    assert "Kamp" in keys and "kamp2023" not in keys
