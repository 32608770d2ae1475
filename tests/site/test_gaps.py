"""Gaps of a profile of one's own are named; in the project's own profiles they are errors."""

import shutil
from collections import Counter
from dataclasses import replace

import madeup
import pytest
from inventory import inventory

from compendium.site.markdown import ReportError
from compendium.site.pictures import NOT_HERE
from compendium.site.rendering import allows_gaps, render_site, stage


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The real pages, and runs `mine` and `smoke` that lack a notebook, a table and a number."""
    home = tmp_path_factory.mktemp("gaps") / "project"
    madeup.copy_pages(home)
    for profile in ("mine", "smoke"):
        madeup.make_run(home, profile)
        results = home / "results" / profile
        for name in ("06_zhao2023", "09_planted"):
            (results / "notebooks" / f"{name}.ipynb").unlink()
        (results / "tables" / "06_zhao2023_aopc.csv").unlink()
        for numbers in (results / "numbers" / "all.json", results / "tables" / "00_madeup.csv"):
            numbers.write_text(numbers.read_text().replace("faithfulness.ratios", "something.else"))
    return home


@pytest.fixture
def partial(runs, monkeypatch):
    """That project, as the current one."""
    monkeypatch.setenv("ATTREVAL_HOME", str(runs))
    return runs


def test_gaps_of_ones_own_profile_are_named(partial):
    assert stage("mine")["faithfulness.ratios"] == NOT_HERE
    assert (
        "This table is not part of this run"
        in (partial / "paper" / "tables" / "_zhao-aopc.md").read_text()
    )
    assert (partial / "paper" / "notebooks" / "06_zhao2023.ipynb").exists()
    with madeup.only_pages("zhao2023"):
        page = (render_site("mine", "pandoc") / "paper" / "zhao2023.html").read_text()
    assert page.count("not part of this run") >= 2 and "This table is" in page
    said = "This figure is not part of this run."
    assert page.count(f"<p><em>{said}</em></p>") == page.count("06_zhao2023.html#cell-") > 1
    assert (partial / "_site" / "paper" / "attreval.pdf").read_bytes().startswith(b"%PDF-")
    made = inventory(partial / "_site", "zhao2023")
    written = inventory(partial, "zhao2023")
    assert replace(made, references=()) == replace(written, references=())
    # some go with the sentence they stand in
    assert not Counter(made.references) - Counter(written.references)
    sentences = page.partition('id="sec-faithfulness-results"')[2].partition("</section>")[0]
    assert "The other numbers of this paragraph are not part of this run." in sentences
    assert "gives their averages" not in sentences and "carries meaning here" in sentences
    listed = (partial / "paper" / "tables" / "_notebooks.md").read_text()
    assert "06_zhao2023" not in listed and "05_kamp2023" in listed


def test_gaps_of_the_projects_profiles_are_errors(partial):
    assert allows_gaps("mine") and not allows_gaps("smoke")
    with pytest.raises(ReportError, match="06_zhao2023_aopc"):
        stage("smoke")
    tables = partial / "results" / "smoke" / "tables"
    shutil.copy(tables / "03_overview_cost.csv", tables / "06_zhao2023_aopc.csv")
    with pytest.raises(ReportError, match="has no column"):
        stage("smoke")
