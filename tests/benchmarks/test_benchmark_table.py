"""The benchmark's table from made-up lines: medians, ratios, best settings, gaps."""

import csv
import math

import comparing
import pytest
import table
from reference import CHECKOUT

from compendium.site.declarations import DeclaredTable, read_declared
from compendium.site.tables import table_markdown

ABOUT = {
    "kind": "made-up",
    "processor": "none",
    "threads": 1,
    "texts": 2,
    "repeats": 3,
    "model": "m",
}
ABOUT |= {"versions": {"ours": {"attreval": "0"}}}
LINE = {
    "repeat": 1,
    "setting": "default",
    "texts": 2,
    "rows": 10,
    "tokens": 100,
    "gradient_tokens": 0,
}
LINE |= {"peak_mb": 500.0, "clock": "processor"}


def line(who, what, seconds, repeat=1, **more):
    return LINE | {"who": who, "what": what, "seconds": seconds, "repeat": repeat} | more


def test_a_ratio_is_of_medians_and_its_ends_are_of_single_repeats():
    ours = (2.0, 4.0, 3.0)
    theirs = (6.0, 4.0, 30.0)
    lines = [line("ours", "lime", s, r) for r, s in enumerate(ours)]
    lines += [line("ferret", "lime", s, r, rows=30) for r, s in enumerate(theirs)]
    (row,) = comparing.compare(lines)
    assert (row.peer, row.task, row.setting, row.repeats) == ("ferret", "LIME", "default", 3)
    assert (row.ours_seconds, row.ours_least, row.ours_most) == (1.5, 1.0, 2.0)
    assert (row.peer_seconds, row.peer_least, row.peer_most) == (3.0, 2.0, 15.0)
    assert row.ratio == 2.0
    assert (row.ratio_least, row.ratio_most) == (1.0, 10.0)
    assert (row.ours_rows, row.peer_rows, row.ours_tokens) == (5, 15, 50)


def test_sides_that_read_different_numbers_of_texts_are_compared_by_text():
    (row,) = comparing.compare(
        [line("ours", "lime", 2.0, texts=2), line("ferret", "lime", 3.0, texts=1)]
    )
    assert row.ratio == row.ratio_least == row.ratio_most == 3.0


def test_the_whole_is_a_sum_only_of_repeats_that_have_both_parts():
    lines = [
        line("ours", "six", 4.0, 1),
        line("ours", "faithfulness", 1.0, 1),
        line("ours", "six", 100.0, 2),
    ]
    lines += [line("ferret", "six", 9.0, 1), line("ferret", "faithfulness", 6.0, 1)]
    whole = next(row for row in comparing.compare(lines) if row.task == comparing.title("whole"))
    assert (whole.ours_seconds, whole.peer_seconds, whole.ratio) == (2.5, 7.5, 3.0)
    assert (whole.ours_rows, whole.peer_tokens, whole.repeats) == (10, 100, 1)
    assert not any(row.task == comparing.title("whole") for row in comparing.compare(lines[2:4]))


def test_of_several_settings_the_default_and_the_fastest_are_shown():
    lines = [line("ours", "occlusion", 1.0)]
    lines += [
        line("captum", "occlusion", s, setting=name)
        for name, s in (("default", 4.0), ("batch 16", 2.0))
    ]
    lines += [line("captum", "occlusion", 3.0, setting="batch 32")]
    assert [(row.setting, row.ratio) for row in comparing.compare(lines)] == [
        ("default", 4.0),
        ("best: batch 16", 2.0),
    ]


def test_what_one_side_lacks_is_a_dash_and_no_error():
    lines = [line("ours", "lime", 1.0), line("ferret", "partition_shap", 2.0)]
    theirs, ours = comparing.compare(lines)
    assert (theirs.peer, theirs.peer_seconds, ours.peer, ours.ours_seconds) == (
        "ferret",
        1.0,
        "",
        0.5,
    )
    assert all(
        map(
            math.isnan,
            (theirs.ours_seconds, theirs.ratio, theirs.ratio_most, ours.peer_rows, ours.ratio),
        )
    )
    text = table.markdown({"about": ABOUT, "lines": lines})
    assert "| ferret | Partition SHAP | default | – | 1.000 (1.000-1.000) | – | – : 5 |" in text
    assert "nan" not in text.lower()


def test_floors_are_best_rates_and_our_time_is_told_in_them():
    lines = [
        line("floor", "gemm", 2.0, setting="1000x1000x500", texts=4),
        line("floor", "forward", 1.0, setting="batch 1", tokens=50),
        line("floor", "forward", 2.0, setting="batch 8", tokens=400),
        line("floor", "forward", 4.0, repeat=2, setting="batch 8", tokens=400),
        line("floor", "gradient", 1.0, setting="batch 8", tokens=100),
        line("ours", "six", 6.0, tokens=500, gradient_tokens=100),
    ]
    assert [(f.what, f.setting, f.rate) for f in comparing.floors(lines)] == [
        ("gemm", "1000x1000x500", pytest.approx(2.0)),
        ("forward", "batch 1", 50.0),
        ("forward", "batch 8", 200.0),
        ("gradient", "batch 8", 100.0),
    ]
    # two texts: (400 / 200 + 100 / 100) seconds at the best rates, 6 spent
    assert comparing.compare(lines)[0].ours_floors == pytest.approx(2.0)
    assert math.isnan(comparing.compare(lines[-1:])[0].ours_floors)


def test_growth_is_by_text_ours_first_and_no_task_of_the_comparison():
    lines = [line("ferret", "growth_10", 20.0, texts=10), line("ours", "growth_10", 10.0, texts=10)]
    lines += [
        line("ours", "growth_1", 2.0, texts=1),
        line("ours", "growth_1", 4.0, repeat=2, texts=1),
    ]
    found = [(g.who, g.texts, g.seconds) for g in comparing.growth(lines)]
    assert found == [("ours", 1, 3.0), ("ours", 10, 1.0), ("ferret", 10, 2.0)]
    assert comparing.compare(lines) == []


def test_on_a_gpu_texts_a_second_stand_beside_seconds_of_the_wall():
    lines = [line("ours", "lime", 1.0, clock="wall"), line("ferret", "lime", 4.0, clock="wall")]
    text = table.markdown({"about": ABOUT, "lines": lines})
    assert "seconds of the wall" in text and "| 2.0 : 0.5 |" in text
    assert "Texts/s" not in table.markdown({"about": ABOUT, "lines": [line("ours", "lime", 1.0)]})


def test_a_page_keeps_what_stands_around_its_marks():
    start, end = table.MARKS
    once = table.put_between_marks(f"before\n{start}\nold\n{end}\nafter\n", "new\n")
    assert once == f"before\n{start}\n\nnew\n\n{end}\nafter\n"
    assert table.put_between_marks(once, "new\n") == once
    for page in ("no marks", f"{end}\n{start}", f"{start}{start}{end}"):
        with pytest.raises(ValueError, match="once each"):
            table.put_between_marks(page, "new")


def test_the_papers_files_have_every_column_and_no_nan(tmp_path):
    lines = [
        line("ours", "lime", 1.0),
        line("ferret", "partition_shap", 2.0),
        line("ours", "growth_1", 2.0, texts=1),
    ]
    paths = table.write_tables({"about": ABOUT, "lines": lines}, tmp_path)
    assert [path.name for path in paths] == [
        f"benchmark_{name}_made-up.csv" for name in ("peers", "floors", "growth")
    ]
    with paths[0].open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    told = [rows[0][name] for name in ("kind", "processor", "ratio")]
    assert told == ["made-up", ABOUT["processor"], ""] and float(rows[0]["peer_seconds"]) == 1.0


def test_what_is_published_comes_from_measured_lines(tmp_path):
    """No number of README or of the paper's files was typed; every machine stands there."""
    runs = table.whole_runs()
    assert runs
    readme = (CHECKOUT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(table.markdown(one) in readme for one in runs)
    made = [path for one in runs for path in table.write_tables(one, tmp_path)]
    # test_accuracy.py's
    kept = {path.name for path in table.TABLES.glob("*.csv")} - {
        "benchmark_accuracy.csv",
        "court.csv",
        "far_parts.csv",
        "far_sun.csv",
    }
    assert {path.name for path in made} == kept
    for path in made:
        assert path.read_bytes() == (table.TABLES / path.name).read_bytes()


def test_the_paper_can_print_them():
    declared = read_declared(CHECKOUT / "paper" / "tables.yml", DeclaredTable)
    files = {path.name: path for path in table.TABLES.glob("*.csv")}
    names = [name for name in declared if name.startswith("benchmark")]
    assert names
    for name in names:
        assert table_markdown(name, declared[name], files, {}).count("\n") > 3
