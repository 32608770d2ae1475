"""A run beside the committed one: numbers, rows, columns, verdicts, and how the command ends."""

import json
import re
import shutil

import madeup
import pytest
from bs4 import BeautifulSoup
from reference import CHECKOUT
from typer.testing import CliRunner

from attreval.cli import app
from attreval.core.tables import read_csv, write_csv, write_json
from compendium import project
from compendium.project import Results
from compendium.site.committed import claims_json
from compendium.site.rendering import render_site, stage
from compendium.site.verify import State, compare_cells, compare_tables, verify_run

COMMITTED = CHECKOUT / "results" / "reference" / "quick"
TABLES = (
    *("01_data_corpora", "03_overview_models", "05_kamp2023_lengths", "04_poerner2018_claims"),
    *("05_kamp2023_claims", "06_zhao2023_claims", "07_sun2024_claims"),
)
STORED = """task,k,value,low,note
snli,1,0.123457,,as it was
snli,2,0.5,0.25,as it was
imdb,1,7.0,6.5,0.50 (0.43)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of quick in a project that has committed it: its tables are copies of the others."""
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    stored = tmp_path / "results" / "reference" / "quick"
    for place in (stored, tmp_path / "results" / "quick"):
        (place / "tables").mkdir(parents=True)
        for name in TABLES:
            shutil.copy(COMMITTED / "tables" / f"{name}.csv", place / "tables")
        shutil.copy(COMMITTED / "manifest.json", place)
    shutil.copy(COMMITTED / "claims.json", stored)
    for name in ("config/quick.yaml", "paper/claims.yml"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(CHECKOUT / name, tmp_path / name)
    return project.results("quick")


def call(*words: str):
    return CliRunner().invoke(app, ["verify", *words])


def compare(tmp_path, here: str | None, stored: str = STORED) -> dict:
    """(row, column) -> state of each counted cell of two tables. here: None for no table."""
    (tmp_path / "stored.csv").write_text(stored)
    if here is not None:
        (tmp_path / "here.csv").write_text(here)
    cells = compare_tables(tmp_path / "here.csv", tmp_path / "stored.csv")
    return {(one.row, one.column): one.state for one in cells.itertuples()}


def others(found: dict) -> dict:
    """What is not equal."""
    return {cell: state for cell, state in found.items() if state != State.EQUAL}


@pytest.mark.parametrize(
    ("stored", "here", "state"),
    [
        ("0.5", "0.5", State.EQUAL),
        ("0.5", "0.5004", State.NEAR),
        ("0.5", "0.5006", State.BEYOND),
        ("-0.5", "0.5", State.BEYOND),
        ("0.0", "1e-07", State.NEAR),
        ("0.0", "-2e-06", State.BEYOND),
        ("1e-09", "3e-09", State.NEAR),
        ("128.0", "128.1", State.NEAR),
        ("7", "7.0", State.NEAR),
        ("7000", "7001", State.BEYOND),
        ("", "", None),
        ("", "0.5", State.BEYOND),
        ("0.5", "", State.BEYOND),
        ("0.5", "inf", State.BEYOND),
        (None, "0.5", State.NEW),
        ("0.5", None, State.MISSING),
        (None, "", None),
        ("0.50 (0.43)", "0.50 (0.43)", State.EQUAL),
        ("0.50 (0.43)", "0.50 (0.44)", State.BEYOND),
        ("0.50 (0.43)", "0.50", State.BEYOND),
        ("1,234.5", "1,234.6", State.NEAR),
        ("plural 31.2%", "plural 31.2%", None),
        ("plural 31.20%", "plural 31.21%", None),
        ("plural 31.2%", "plural 41.2%", State.WORDS),
        ("True", "False", State.WORDS),
        ("lime", "", State.WORDS),
        ("lime", None, State.WORDS),
    ],
)
def test_a_cell_is_equal_within_tolerance_or_beyond(stored, here, state):
    assert compare_cells(stored, here) == state


def test_rows_are_found_by_their_keys_and_long_fractions_cut(tmp_path):
    header, *rows = STORED.splitlines()
    turned = "\n".join([header, *reversed(rows)]).replace("0.123457", "0.12345678901")
    found = compare(tmp_path, turned)
    assert len(found) == 6 and not others(found)  # without the empty cell and the words
    exchanged = compare(tmp_path, STORED.replace("snli,1", "snli,3").replace("snli,2", "snli,1"))
    assert exchanged["snli, 1", "value"] == State.BEYOND
    assert exchanged["snli, 1", "low"] == State.BEYOND  # a number where there was none
    assert exchanged["snli, 2", "value"] == State.MISSING
    assert exchanged["snli, 3", "value"] == State.NEW


def test_rows_and_columns_of_one_side_are_told(tmp_path):
    less = "\n".join(STORED.splitlines()[:-1]) + "\n"
    numbers = dict.fromkeys([("imdb, 1", name) for name in ("value", "low", "note")])
    assert others(compare(tmp_path, less)) == dict.fromkeys(numbers, State.MISSING)
    assert others(compare(tmp_path, STORED, less)) == dict.fromkeys(numbers, State.NEW)
    renamed = others(compare(tmp_path, STORED.replace("low", "lower")))
    assert renamed["imdb, 1", "low"] == State.MISSING
    assert renamed["imdb, 1", "lower"] == State.NEW and len(renamed) == 4
    without_key = set(compare(tmp_path, STORED.replace("task,k", "corpus,k")).values())
    assert without_key == {State.MISSING, State.NEW, State.WORDS}
    (tmp_path / "here.csv").unlink()
    assert set(compare(tmp_path, None).values()) == {State.MISSING, State.WORDS}


def test_rows_with_one_key_are_taken_in_their_order(tmp_path):
    twice = STORED + "imdb,1,8.0,6.5,again\n"
    found = others(compare(tmp_path, twice))
    assert found["imdb, 1 (again, 1)", "value"] == State.NEW
    assert {row for row, _ in found} == {"imdb, 1 (again, 1)"}
    alike = "task,value\nsnli,1\nsnli,1\nsnli,2\n"
    assert not others(compare(tmp_path, alike, alike))
    assert others(compare(tmp_path, alike.replace("2", "3"), alike)) == {
        ("snli (again, 2)", "value"): State.BEYOND
    }


def test_a_table_without_rows_is_as_committed(tmp_path):
    empty = "method,value\n"
    assert compare(tmp_path, empty, empty) == {}
    assert others(compare(tmp_path, "method,value\nlime,0.5\n", empty)) == {
        ("lime", "value"): State.NEW
    }


def test_what_is_the_machines_is_not_compared(run):
    table = run.tables / "03_overview_models.csv"
    write_csv(table, read_csv(table).assign(precision="bfloat16"))
    made = "method,precision,correlation\nlime,bfloat16,0.99\n"
    (run.tables / "03_explain-snli-minilm-s1-0_precision.csv").write_text(made)
    assert verify_run("quick").as_committed


def test_the_same_run_is_as_committed_and_the_command_ends_with_0(run):
    found = verify_run("quick")
    total = f"{len(found.cells):,}"
    assert found.as_committed and len(found.cells) > 1000
    assert found.line == f"{total} of {total} numbers as committed; 81 of 81 verdicts"
    done = call()
    assert done.exit_code == 0 and done.stdout == f"{found.line}\n"
    told = json.loads(call("--json").stdout)
    assert told["summary"] == found.line and told["verdicts"] == []
    assert {row["table"] for row in told["tables"]} == set(TABLES)


def test_another_processor_and_corpora_had_here_alone_are_named(run):
    facts = run.facts()
    facts["machine"]["processor"] = "Abacus"
    write_json(run.root / "manifest.json", facts | {"corpora": facts["corpora"] | {"esnli": {}}})
    found = verify_run("quick")
    assert found.as_committed
    assert re.search(
        r"; networks were trained on another processor \(AMD.*; here Abacus, avx2.*\); "
        "the committed run was without esnli$",
        found.line,
    )


def test_what_differs_is_counted_named_and_ends_with_1(run):
    table = run.tables / "03_overview_models.csv"
    models = read_csv(table)
    models.loc[0, "accuracy"] += 1e-5
    models.loc[1, "accuracy"] += 0.25
    write_csv(table, models)
    (run.tables / "01_data_corpora.csv").unlink()
    done = call()
    assert done.exit_code == 1
    total = len(verify_run("quick").cells) - 22  # words of the absent table
    counted = f"{total - 89:,} of {total:,} numbers as committed"
    told = "(1 within tolerance, 1 beyond tolerance, 88 not in this run, 22 words otherwise)"
    assert done.stdout.splitlines()[-1] == f"{counted} {told}; 81 of 81 verdicts"
    assert "03_overview_models" in done.stdout and "05_kamp2023_lengths" not in done.stdout
    cells = call("--table", "03_*")
    assert cells.exit_code == 1 and "snli, bart_small" in cells.stdout
    assert "01_data" not in cells.stdout and "verdicts" not in cells.stdout
    assert call("--table", "05_kamp2023_lengths").exit_code == 0


def test_within_tolerance_is_as_committed(run):
    table = run.tables / "03_overview_models.csv"
    models = read_csv(table)
    write_csv(table, models.assign(accuracy=models.accuracy * 1.0001))
    done = call()
    assert done.exit_code == 0 and f"({len(models)} within tolerance)" in done.stdout


def change_claim(run, claim: str, **values) -> None:
    """Give a claim of the run here other values."""
    for path in run.tables.glob("*_claims.csv"):
        claims = read_csv(path)
        for name, value in values.items():
            claims.loc[claims.claim == claim, name] = value
        write_csv(path, claims)


def test_verdicts_that_differ_are_told_with_what_lies_at_an_edge(run):
    claims = read_csv(run.tables / "04_poerner2018_claims.csv").set_index("claim")
    stored = claims.loc["limsse-best-on-hybrid"]
    change_claim(run, "limsse-best-on-hybrid", verdict="inconclusive", low=-0.002)
    found = verify_run("quick")
    (turned,) = found.turned
    assert not found.as_committed and found.line.endswith("; 80 of 81 verdicts")
    assert turned["claim"] == "limsse-best-on-hybrid"
    interval = f"{stored.value:.3f} [{stored.low:.3f}, {stored.high:.3f}]"
    assert turned["committed"] == f"{interval}, {stored.texts} texts: reproduced"
    low = f"{stored.low:.3g} there, -0.002 here"
    edge = f"the interval's lower end is {low}, on either side of 0"
    assert turned["why"] == f"an edge: {edge}"
    done = call()
    assert done.exit_code == 1 and edge in done.stdout


def test_why_a_verdict_differs_is_told_by_corpora_samples_and_settings(run):
    facts = run.facts()
    del facts["corpora"]["hybrid_imdb"]
    facts["samples"]["pointing"] = "Profile quick: gru on n = 4 texts; 1 seed. Intervals: 95 %."
    facts["settings"]["bootstrap"]["draws"] = 7
    facts["settings"]["device"] = "cuda"
    facts["settings"]["since_then"] = True
    write_json(run.root / "manifest.json", facts)
    change_claim(run, "limsse-best-on-hybrid", verdict="contradicted")
    change_claim(run, "length-bias", verdict="not testable here", reason="4 texts decide nothing")
    first, second = (one["why"] for one in verify_run("quick").turned)
    both = "corpora that are not at hand here: hybrid_imdb"
    settings = "settings that differ: 1, such as bootstrap.draws"
    samples = "other samples: Profile quick: gru on n = 4 texts; 1 seed"
    assert first == f"{both}; {samples}; {settings}"
    assert second == f"4 texts decide nothing; {both}; {settings}"


def test_what_has_no_known_reason_says_so_and_what_has_not_run_does(run):
    change_claim(run, "limsse-best-on-hybrid", verdict="contradicted")
    (run.root / "manifest.json").unlink()
    (run.tables / "07_sun2024_claims.csv").unlink()
    turned = {one["claim"]: one for one in verify_run("quick").turned}
    assert turned.pop("limsse-best-on-hybrid")["why"] == "not known"
    assert len(turned) > 10
    assert {one["why"] for one in turned.values()} == {"its notebook has not run here"}


def test_where_there_is_nothing_to_compare_the_command_ends_with_2(run):
    done = call("--table", "99_none")
    assert done.exit_code == 2 and "is called 99_none" in done.stderr
    shutil.rmtree(run.root)
    done = call()
    assert done.exit_code == 2 and done.stdout == ""
    assert "`attreval run --profile quick` makes them" in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    (run.root.parent / "reference" / "quick" / "claims.json").unlink()
    done = call()
    assert done.exit_code == 2 and "there are: none" in done.stderr


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The real pages, and a made-up run of quick that is committed, too."""
    home = tmp_path / "project"
    monkeypatch.setenv("ATTREVAL_HOME", str(home))
    madeup.copy_pages(home)
    madeup.make_run(home, "quick")
    run = project.results("quick")
    stored = Results(home / "results" / "reference" / "quick")
    shutil.copytree(run.root, stored.root)
    (stored.root / "manifest.json").unlink()  # a made-up one lacks what reasons are taken from
    (stored.root / "claims.json").write_text(claims_json(run.tables))
    return run


def test_the_page_of_this_machine_shows_its_run_beside_the_committed_one(own):
    page = own.root.parents[1] / "paper" / "tables" / "_this-machine.md"
    stage("quick")
    assert "numbers as committed; 32 of 32 verdicts" in page.read_text()
    assert page.read_text().count("None.") == 2
    change_claim(own, "limsse-best-on-hybrid", verdict="contradicted", value=0.75)
    with madeup.only_pages("this_machine"):
        site = render_site("quick", "pandoc")
    shown = BeautifulSoup((site / "paper" / "this_machine.html").read_text(), "html.parser")
    text = " ".join(shown.find("main").get_text(" ").split())
    assert "31 of 32 verdicts" in text and "0.750" in text and "04_poerner2018_claims" in text
    assert len(shown.find("main").find_all("table")) == 3


def test_without_a_run_of_ones_own_the_page_says_how_to_get_one(own):
    own.root.rename(own.root.with_name("mine"))
    stored = Results(own.root.parent / "reference" / "quick")
    for shown, results in (("quick", stored), ("mine", None)):
        stage(shown, results)
        said = (own.root.parents[1] / "paper" / "tables" / "_this-machine.md").read_text()
        assert said.startswith("Nothing is compared here: ") and said.count("\n") == 1
        asked = "`attreval run --profile quick` makes them" if results else "there are: quick"
        assert asked in said
