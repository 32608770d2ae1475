"""Numbers of the text: a cell, a count or a mean of a table, and what is said without one."""

import pandas as pd
import pytest
from reference import CHECKOUT

from compendium.config import load_profile
from compendium.corpora import TASKS
from compendium.site.declarations import DeclaredNumber, read_declared
from compendium.site.markdown import ReportError, with_minus
from compendium.site.tables import csv_files, number_text, read_numbers

ROWS = [
    ("snli", "lime", 0.256, 1200, True),
    ("snli", "random", float("nan"), 12, False),
    ("imdb", "lime", 0.5, 3, True),
]
FRAME = pd.DataFrame(ROWS, columns=["task", "method", "share", "texts", "passes"])


def shown(frame, **given):
    """A number of a table as the text prints it."""
    return number_text("key", frame, DeclaredNumber(table="t", **given))


def test_a_number_is_what_its_cell_says():
    for given, text in [
        ({"where": {"task": "snli", "method": "lime"}, "column": "share", "format": ".2f"}, "0.26"),
        (
            {"where": {"task": "snli", "method": "lime"}, "column": "share", "format": ".1%"},
            "25.6\u00a0%",
        ),
        ({"where": {"task": "snli", "method": "lime"}, "column": "texts"}, "1,200"),
        (
            {"where": {"method": "random"}, "column": "share", "format": ".2f"},
            "not part of this run",
        ),
        ({"where": {"task": "snli"}, "take": "count"}, "2"),
        ({"where": {"task": "yelp"}, "take": "count"}, "0"),
        ({"where": {"task": "yelp"}, "column": "texts"}, None),
        ({"where": {"texts": "> 10"}, "column": "texts", "take": "sum"}, "1,212"),
        (
            {"where": {"method": "not random"}, "column": "share", "take": "mean", "format": ".3f"},
            "0.378",
        ),
        ({"where": {"passes": True}, "column": "task", "take": "list"}, "snli, imdb"),
        ({"where": {"task": ["imdb", "yelp"]}, "column": "method", "label": "methods"}, "LIME"),
        ({"where": {"task": "yelp"}, "column": "task", "take": "list"}, "none"),
        ({"where": {"task": "= imdb"}, "take": "count"}, "1"),
        ({"highest": "share", "column": "task"}, "imdb"),
        ({"lowest": "texts", "column": "task"}, "imdb"),
        ({"column": "method", "take": "distinct"}, "2"),
        ({"where": {"texts": 3}, "column": "share", "format": "p"}, ".500"),
    ]:
        assert shown(FRAME, **given) == text


def test_what_no_single_cell_answers_is_an_error():
    for given, said in [
        ({"column": "texts"}, "3 rows match"),
        ({"where": {"model": "x"}, "column": "texts"}, "no column 'model'"),
        ({"where": {"task": "imdb"}, "column": "share"}, "needs a `format`"),
    ]:
        with pytest.raises(ReportError, match=said):
            shown(FRAME, **given)


def test_a_value_that_begins_with_not_is_written_with_a_sign():
    verdicts = pd.DataFrame({"verdict": ["not reproduced", "reproduced", "not testable here"]})
    assert shown(verdicts, where={"verdict": "= not reproduced"}, take="count") == "1"
    with pytest.raises(ReportError, match="write '= not reproduced'"):
        shown(verdicts, where={"verdict": "not reproduced"}, take="count")


def test_a_malformed_declaration_is_an_error(tmp_path):
    for text, said in [
        ("a: {table: x, column: y}\na: {table: z, column: y}", "'a' is given twice"),
        ("a: {tables: x}", "table: Field required"),
        ("a: {table: x, colunm: y}", "colunm: unknown key; allowed are: .*column"),
        ("a: {table: x, take: mode, column: y}", "take: .*'mode'"),
        ("a: {table: x}", "needs `column`"),
    ]:
        (tmp_path / "numbers.yml").write_text(text)
        with pytest.raises(ReportError, match=said):
            read_declared(tmp_path / "numbers.yml", DeclaredNumber)


def test_numbers_of_tables_that_a_run_lacks_are_left_out(tmp_path):
    FRAME.to_csv(tmp_path / "05_one.csv")
    FRAME.to_csv(tmp_path / "05_two.csv")
    tables = {"both": "05_*", "one": "05_one", "gone": "06_one"}
    declared = {key: DeclaredNumber(table=table, take="count") for key, table in tables.items()}
    assert read_numbers(csv_files(tmp_path), declared) == {"both": "6", "one": "3"}


def test_negative_numbers_have_a_minus_sign():
    for given, shown in [
        ("-0.5 [-.6, -1]", "−0.5 [−.6, −1]"),
        ("Soft-NC 2-1, 2026-11-22 all-MiniLM-L6", "Soft-NC 2-1, 2026-11-22 all-MiniLM-L6"),
        ("- a (-3)", "- a (−3)"),
        ("-0.000 [-0.001, +0.00] -0 %, +0.5", "0.000 [−0.001, 0.00] 0 %, +0.5"),
    ]:
        assert with_minus(given) == shown


def test_what_the_text_says_of_a_task_is_in_every_profile_that_it_is_written_for():
    """A number of a task that no run puts before this judge would be missed only at the end."""
    for name in ["quick", "reference", "paper"]:
        profile = load_profile(name)
        judges = {"04": "pointing", "05": "agreement", "06": "faithfulness", "07": "diagnosis"}
        judged = {
            number: {run[0] for run in profile.explained_runs(judge)}
            for number, judge in judges.items()
        }
        for key, given in read_declared(CHECKOUT / "paper" / "numbers.yml", DeclaredNumber).items():
            wanted = given.where.get("task")
            notebook = given.table.partition("_")[0]
            if wanted in TASKS and notebook in judged and given.otherwise is None:
                assert wanted in judged[notebook], key
