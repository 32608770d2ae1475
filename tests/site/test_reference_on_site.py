"""The reference pages on the site: in the navigation, with every card."""

from bs4 import BeautifulSoup

import attreval
from attreval.methods import METHODS
from attreval.metrics import METRICS

PAGES = {
    "methods": [f"method-{name}" for name in METHODS],
    "metrics": [f"metric-{name}" for name in METRICS],
    "api": [f"api-{name}" for name in attreval.__all__ if name != "__version__"],
}


def test_a_reference_page_is_in_the_navigation_and_has_every_section(home):
    for name in PAGES:
        page = BeautifulSoup(
            (home / "_site" / "paper" / f"{name}.html").read_text(encoding="utf-8"), "html.parser"
        )
        assert all(page.find(id=section) for section in PAGES[name])
        links = [link["href"] for link in page.select("header.site nav a")]
        assert [f"{name}.html"] == [
            link["href"] for link in page.select("header.site nav a[aria-current]")
        ]
        assert {f"{other}.html" for other in PAGES} <= set(links)
        listed = [link["href"].removeprefix("#") for link in page.select("nav.toc a")]
        assert set(PAGES[name]) <= set(listed)
