"""The site of a made-up run, rendered once by the pandoc route."""

import os
import shutil
from contextlib import contextmanager

import madeup
import pytest
from browsing import BROWSER, FLAGS
from bs4 import BeautifulSoup

from compendium import project
from compendium.site import rendering
from compendium.site.committed import committed
from compendium.site.pandoc_route import pandoc
from compendium.site.rendering import render_site

OPENED = ("index", "kamp2023", "poerner2018", "claims", "methods", "05_kamp2023")


@pytest.fixture(scope="package", autouse=True)
def once():
    """Pandoc is asked the same once, and the scorecards of equal claims are drawn once."""
    answers = {}
    ask = pandoc.run_pandoc
    drawn = {}
    draw = rendering.draw_scorecards

    def run(arguments, given):
        key = (*(word.replace(str(project.home()), "") for word in arguments), given)
        answers[key] = answers.get(key) or ask(arguments, given)
        return answers[key]

    def draw_once(tables, folder):
        key = tuple(path.read_bytes() for path in sorted(tables.glob("[!.]*_claims.csv")))
        if key not in drawn:
            drawn[key] = {path.name: path.read_bytes() for path in draw(tables, folder)}
        folder.mkdir(exist_ok=True)
        for name, data in drawn[key].items():
            (folder / name).write_bytes(data)
        return [folder / name for name in drawn[key]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pandoc, "run_pandoc", run)
        patch.setattr(rendering, "draw_scorecards", draw_once)
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
        render_site("smoke", "pandoc")
    return home


@pytest.fixture(scope="session")
def parsed(home):
    """Every page of that site, parsed, by its path; do not change them."""
    found = sorted((home / "_site").rglob("*.html"))
    return {path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in found}


@pytest.fixture(scope="session")
def committed_home(tmp_path_factory):
    """The committed run of profile reference, a page a kind; by Quarto, if there is any."""
    home = tmp_path_factory.mktemp("committed") / "project"
    madeup.copy_pages(home)
    shutil.copytree(madeup.PROJECT / "results" / "reference", home / "results" / "reference")
    with project_at(home), madeup.only_pages(*OPENED):
        render_site("reference", "auto", committed("reference"))
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
