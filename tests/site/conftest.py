"""The site of a made-up run, rendered once by the pandoc route."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import madeup
import pytest
from browsing import BROWSER, FLAGS

from compendium.site.committed import committed
from compendium.site.rendering import render


@contextmanager
def project_at(home):
    """Make `home` the project for a while."""
    before = os.environ.get("ATTREVAL_HOME")
    os.environ["ATTREVAL_HOME"] = str(home)
    try:
        yield
    finally:
        os.environ.pop("ATTREVAL_HOME") if before is None else os.environ.update(ATTREVAL_HOME=before)


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
def committed_home(tmp_path_factory):
    """A project folder with the real pages and the committed run of profile reference, by Quarto where there is one."""
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
