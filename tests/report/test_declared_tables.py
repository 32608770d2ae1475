"""Tables for the text: any text comes out as it went in, and declarations are checked."""

from __future__ import annotations

import unicodedata

import panflute as pf
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from compendium.site import rendering
from compendium.site import tables as tabulating
from compendium.site.markdown import ReportError, escape, pipe_table
from compendium.site.pandoc_route import pandoc

ODD = [
    "a|b",
    "a_b_c",
    "*bold*",
    "<b>x</b> &amp; y",
    "[link](x)",
    "`code` | ```",
    "$x_1$",
    "^sup^ ~sub~ ~~gone~~",
    "# no heading",
    "1. no list",
    "- no list",
    "-0.5",
    "--- ... --",
    "\"quoted\" 'it''s'",
    "@fig-none @kamp2023",
    "{{< var x >}}",
    "back\\slash \\| end\\",
    "https://x.example/a_b_c",
    "👩‍👩‍👧‍👦 🏳️‍🌈 family",
    "שלום עולם",
    "مرحبا | بالعالم",
    "e\u0301 combining",
    "漢字",
    "{#id .class}",
    "![x](y)",
    ":::",
    "!",
    "a\nb\tc",
    "",
    "[^1]",
]


def shown(table: str) -> list[list[str]]:
    """The texts of a Markdown table's cells, as pandoc reads them; below it, what a dash means where there is one."""
    block, *below = pandoc.read(table).content
    assert isinstance(block, pf.Table), block
    dashed = any(line.startswith("| ") and "| – " in line for line in table.splitlines()[2:])
    assert [pf.stringify(one)[:2] for one in below] == (["– "] if dashed else [])
    rows = [*block.head.content, *block.content[0].content]
    return [[pf.stringify(cell).strip() for cell in row.content] for row in rows]


def plain(text: str) -> str:
    """What a reader should see of a text: one line, single spaces."""
    return " ".join(text.split())


def seen(rows: list[list[str]]) -> list[list[str]]:
    return [[" ".join(cell.split()) for cell in row] for row in rows]


def test_odd_texts_stay_what_they_are():
    rows = [[text, text] for text in ODD]
    assert seen(shown(pipe_table(["a|b", "_c_"], rows, ["left", "right"]))) == [
        ["a|b", "_c_"],
        *([plain(t)] * 2 for t in ODD),
    ]


def test_characters_that_no_page_may_hold_are_replaced():
    assert shown(pipe_table(["x"], [["a\x00b\x1fc\ud800d\x85e"]], ["left"])) == [
        ["x"],
        ["a\ufffdb\ufffdc\ufffdd\ufffde"],
    ]


def test_no_markup_comes_out_of_a_cell():
    table = pandoc.read(pipe_table(["x"], [[text] for text in ODD], ["left"]))
    kinds = set()
    table.walk(lambda element, doc: kinds.add(type(element).__name__))
    assert not kinds & {
        "Emph",
        "Strong",
        "Code",
        "Math",
        "Link",
        "Image",
        "RawInline",
        "Cite",
        "Note",
        "Superscript",
        "Quoted",
        "Span",
    }


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]) | st.just(" "), max_size=12),
        min_size=1,
        max_size=12,
    )
)
def test_any_text_survives_a_table(texts):
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    assert seen(shown(pipe_table(["head"], [[text] for text in texts], ["left"]))) == [
        ["head"],
        *([plain(t)] for t in texts),
    ]


@settings(max_examples=40, deadline=None)
@given(st.text(st.sampled_from("ab1-_.*[](){}<>#|~^$@!&'\"`\\+: "), min_size=1, max_size=10))
def test_a_number_text_survives_in_a_sentence(text):
    paragraph = pandoc.read(f"x {escape(text)} y").content[0]
    smart = str.maketrans("’‘“”", "''\"\"")
    got = pf.stringify(paragraph).translate(smart).replace("…", "...").replace("—", "---").replace("–", "--")
    assert " ".join(got.split()) == " ".join(f"x {text} y".split())


def declare(tmp_path, **table):
    path = tmp_path / "tables.yml"
    path.write_text(yaml.safe_dump({"t": table}), encoding="utf-8")
    return tabulating.read_declarations(path)["t"]


CSV = "task,k,method,mean,low\nb,4,lime,0.51239,0.4\na,4,random,,0.1\na,4,lime,0.25,0.2\na,9,lime,0.9,0.8\n"
COLUMNS = [
    {"header": "Task", "text": "{task}"},
    {"header": "Mean", "text": "{mean:.3f} [{low:.1f}]"},
    {"header": "M", "text": "{method}"},
]


def test_a_table_is_filtered_sorted_renamed_and_formatted(tmp_path):
    (tmp_path / "05_x.csv").write_text(CSV)
    declared = declare(
        tmp_path,
        source=["05_x.csv"],
        where={"k": "some.k"},
        sort=["task", "-mean"],
        names={"a": "A_1", "lime": "LIME"},
        columns=COLUMNS,
    )
    table = tabulating.table_markdown("t", declared, {"05_x.csv": tmp_path / "05_x.csv"}, {"some.k": "4"})
    assert shown(table) == [
        ["Task", "Mean", "M"],
        ["A_1", "0.250 [0.2]", "LIME"],
        ["A_1", "–", "Random"],
        ["b", "0.512 [0.4]", "LIME"],
    ]
    assert table.splitlines()[1].split("|")[2].strip().endswith("-:")


def test_rows_can_become_columns_and_the_first_of_each_group_be_kept(tmp_path):
    (tmp_path / "05_x.csv").write_text("task,m,what,mean\nb,y,p,1\nb,y,q,2\na,x,q,4\na,x,p,3\na,z,p,5\na,z,q,\n")
    declared = declare(
        tmp_path,
        source="05_x.csv",
        spread={"rows": ["task", "m"], "by": "what", "value": "mean"},
        columns=[{"text": "{task}{m}"}, {"text": "{p:.0f}"}, {"text": "{q:.0f}"}],
    )
    tables = {"05_x.csv": tmp_path / "05_x.csv"}
    rows = shown(tabulating.table_markdown("t", declared, tables, {}))
    assert rows == [["by", "1", "2"], ["ax", "3", "4"], ["az", "5", "–"]]
    declared |= {"sort": ["task", "-p"], "first": {"of": "task", "rows": 1}}
    rows = shown(tabulating.table_markdown("t", declared, tables, {}))
    assert rows == [["az", "5", "–"], ["by", "1", "2"]]


def test_a_cell_that_is_a_text_already_is_shown_as_it_is(tmp_path):
    (tmp_path / "05_x.csv").write_text("ours,chance\n0.5 [0.76],0.40\n–,0.30\n")
    declared = declare(tmp_path, source="05_x.csv", columns=[{"text": "{ours:.2f}"}, {"text": "{chance:.2f}"}])
    rows = shown(tabulating.table_markdown("t", declared, {"05_x.csv": tmp_path / "05_x.csv"}, {}))
    assert rows == [["0.5 [0.76]", "0.40"], ["–", "0.30"]]


def test_a_dash_has_its_reason_below_the_table(tmp_path):
    (tmp_path / "05_x.csv").write_text(CSV)
    tables = {"05_x.csv": tmp_path / "05_x.csv"}
    declared = declare(tmp_path, source="05_x.csv", dash="nobody measured it.", columns=COLUMNS)
    assert tabulating.table_markdown("t", declared, tables, {}).endswith("|\n\n– nobody measured it.\n")
    del declared["dash"]
    assert tabulating.table_markdown("t", declared, tables, {}).endswith("|\n\n– no value in this run.\n")
    columns = [COLUMNS[0], COLUMNS[1] | {"missing": "none"}]
    made = tabulating.table_markdown("t", declare(tmp_path, source="05_x.csv", columns=columns), tables, {})
    assert "–" not in made and shown(made)[2] == ["a", "none"]


def test_an_empty_cell_is_a_dash(tmp_path):
    (tmp_path / "05_x.csv").write_text('a,b\n1," "\n')
    declared = declare(tmp_path, source="05_x.csv", columns=[{"header": "A", "text": "{a:.0f}"}, {"text": "{b}"}])
    rows = shown(tabulating.table_markdown("t", declared, {"05_x.csv": tmp_path / "05_x.csv"}, {}))
    assert rows == [["A", ""], ["1", "–"]]


def test_methods_have_their_titles(tmp_path):
    (tmp_path / "05_x.csv").write_text("method\nlime\nintegrated_gradients\n")
    declared = declare(tmp_path, source="05_x.csv", columns=[{"text": "{method}"}])
    rows = shown(tabulating.table_markdown("t", declared, {"05_x.csv": tmp_path / "05_x.csv"}, {}))
    assert rows == [["LIME"], ["Integrated Gradients"]]


def test_patterns_put_tables_together(tmp_path):
    for task in "ba":
        (tmp_path / f"02_train-{task}_accuracy.csv").write_text(f"task,mean\n{task},0.5\n")
    declared = declare(tmp_path, source=["02_train_accuracy.csv", "02_train-*_accuracy.csv"], columns=COLUMNS[:1])
    table = tabulating.table_markdown("t", declared, {path.name: path for path in tmp_path.glob("*.csv")}, {})
    assert shown(table) == [["Task"], ["a"], ["b"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "05_y.csv"}, "made from 05_y.csv; did you mean 05_x.csv"),
        ({"sort": ["-men"]}, "no column 'men'; did you mean mean"),
        ({"where": {"kk": 4}}, "column 'kk'"),
        ({"where": {"k": 5}}, r"table 't' \(05_x\.csv\): no row where k is 5"),
        (
            {"spread": {"rows": ["task"], "by": "method", "value": "mean"}},
            "several rows for one task and method",
        ),
        ({"spread": {"rows": ["task"], "by": "kind", "value": "mean"}}, "no column 'kind'"),
        ({"columns": [{"header": "x", "text": "{mena}"}]}, "column 'mena'.*mean"),
        ({"columns": [{"header": "x"}]}, "keys are header, text, align, missing"),
        ({"columns": []}, "needs `source`"),
        ({"sorted": ["x"]}, "has 'sorted'; did you mean sort"),
    ],
)
def test_wrong_declarations_are_named(tmp_path, change, message):
    (tmp_path / "05_x.csv").write_text(CSV)
    with pytest.raises(ReportError, match=message):
        declared = declare(tmp_path, **({"source": "05_x.csv", "columns": COLUMNS} | change))
        tabulating.table_markdown("t", declared, {"05_x.csv": tmp_path / "05_x.csv"}, {"some.k": "4"})


def test_numbers_nest_and_conflicts_are_named():
    assert rendering.nest({"a.b": "1", "a.c.d": "x_y"}) == {"a": {"b": "1", "c": {"d": "x\\_y"}}}
    for keys in (["a", "a.b"], ["a.b", "a.b.c"]):
        with pytest.raises(ReportError, match="is itself a number"):
            rendering.nest(dict.fromkeys(keys, "1"))


def test_numbers_keep_their_last_zero_through_the_file(tmp_path):
    tree = yaml.safe_load(yaml.safe_dump(rendering.nest({"a.x": "0.10", "a.y": "1e3", "a.z": "no"})))
    assert tree == {"a": {"x": "0.10", "y": "1e3", "z": "no"}}


def test_what_is_as_above_is_left_out_until_something_further_left_changes(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\none,p,1\none,p,1\none,q,1\ntwo,q,1\n")
    columns = [{"header": name, "text": f"{{{name}}}", "once": name != "c"} for name in "abc"]
    made = tabulating.table_markdown("t", {"source": "x.csv", "columns": columns}, {"x.csv": tmp_path / "x.csv"}, {})
    assert shown(made)[1:] == [["one", "p", "1"], ["", "", "1"], ["", "q", "1"], ["two", "q", "1"]]
