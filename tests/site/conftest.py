"""The site of a made-up run, rendered once by the pandoc route."""

import os
import shutil
from contextlib import contextmanager

import madeup
import pytest
from browsing import BROWSER, FLAGS
from bs4 import BeautifulSoup

from compendium import project
from compendium.site.committed import committed
from compendium.site.pandoc_route import pandoc
from compendium.site.rendering import render


@pytest.fixture(scope="package", autouse=True)
def answers():
    """Pandoc is asked the same once: it answers alike wherever a copy of the project lies."""
    kept = {}
    ask = pandoc.run

    def run(arguments, given):
        key = (*(word.replace(str(project.home()), "") for word in arguments), given)
        kept[key] = kept.get(key) or ask(arguments, given)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pandoc, "run", run)
        yield


@contextmanager
def project_at(home):
    """Make `home` the project for a while."""
    before = os.environ.get("ATTREVAL_HOME")
    os.environ["ATTREVAL_HOME"] = str(home)
    try:
        yield
    finally:
        os.environ.pop("ATTREVAL_HOME") if before is None else os.environ.update(
            ATTREVAL_HOME=before
        )


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A project folder with the real pages and a made-up run, staged and rendered."""
    home = tmp_path_factory.mktemp("site") / "project"
    madeup.copy_pages(home)
    madeup.make_run(home)
    with project_at(home):
        render("smoke", "pandoc")
    return home


@pytest.fixture(scope="session")
def parsed(home):
    """Every page of that site, parsed, by its path; do not change them."""
    found = sorted((home / "_site").rglob("*.html"))
    return {path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in found}


@pytest.fixture(scope="session")
def committed_home(tmp_path_factory):
    """The real pages and the committed run of profile reference; by Quarto, if any."""
    home = tmp_path_factory.mktemp("committed") / "project"
    madeup.copy_pages(home)
    shutil.copytree(madeup.PROJECT / "results" / "reference", home / "results" / "reference")
    with project_at(home):
        render("reference", "auto", committed("reference"))
    return home


@pytest.fixture
def fresh(home, tmp_path, monkeypatch):
    """The current project: a copy of that one, staged, without its site."""
    copy = shutil.copytree(home, tmp_path / "project", ignore=shutil.ignore_patterns("_site"))
    monkeypatch.setenv("ATTREVAL_HOME", str(copy))
    return copy


@pytest.fixture(scope="session")
def browser():
    """A headless browser; tests that ask for it are marked with browsing.IN_BROWSER."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()
