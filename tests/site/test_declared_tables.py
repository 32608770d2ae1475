"""Tables for the text: any text comes out as it went in, and declarations are checked."""

import unicodedata

import panflute as pf
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from compendium.site import rendering
from compendium.site import tables as tabulating
from compendium.site.declarations import DeclaredTable, read_declared
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
]
ODD += [
    "# no heading",
    "1. no list",
    "- no list",
    "-0.5",
    "--- ... --",
    "\"quoted\" 'it''s'",
    "@fig-none @kamp2023",
]
ODD += [
    "{{< var x >}}",
    "back\\slash \\| end\\",
    "https://x.example/a_b_c",
    "👩‍👩‍👧‍👦 🏳️‍🌈 family",
    "שלום עולם",
    "[^1]",
]
ODD += [
    "مرحبا | بالعالم",
    "e\u0301 combining",
    "漢字",
    "{#id .class}",
    "![x](y)",
    ":::",
    "!",
    "a\nb\tc",
    "",
]
MARKUP = {"Emph", "Strong", "Code", "Math", "Link", "Image", "RawInline", "Cite", "Note"}
MARKUP |= {"Superscript", "Quoted", "Span"}


def shown(table: str) -> list[list[str]]:
    """The texts of a Markdown table's cells, as pandoc reads them; a dash is explained below."""
    block, *below = pandoc.read_markdown(table).content
    assert isinstance(block, pf.Table), block
    dashed = any(line.startswith("| ") and "| – " in line for line in table.splitlines()[2:])
    assert [pf.stringify(one)[:2] for one in below] == (["– "] if dashed else [])
    rows = [*block.head.content, *block.content[0].content]
    return [[pf.stringify(cell).strip() for cell in row.content] for row in rows]


def plain(text: str) -> str:
    """What a reader should see of a text: one line, single spaces."""
    return " ".join(text.split())


def survives(texts, head="head") -> bool:
    """Whether texts come out of a table as they went in."""
    rows = shown(pipe_table([head], [[text] for text in texts], ["left"]))
    return [[plain(cell) for cell in row] for row in rows] == [
        [plain(text)] for text in (head, *texts)
    ]


def test_odd_texts_stay_what_they_are_and_no_markup_comes_out_of_a_cell():
    assert survives(ODD, "a|_c_")
    kinds = set()
    table = pandoc.read_markdown(pipe_table(["x"], [[text] for text in ODD], ["left"]))
    table.walk(lambda element, doc: kinds.add(type(element).__name__))
    assert not kinds & MARKUP


def test_characters_that_no_page_may_hold_are_replaced():
    made = pipe_table(["x"], [["a\x00b\x1fc\ud800d\x85e"]], ["left"])
    assert shown(made) == [["x"], ["a\ufffdb\ufffdc\ufffdd\ufffde"]]


ANY = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]) | st.just(" "), max_size=12
)


@settings(max_examples=15)  # each asks pandoc
@given(st.lists(ANY, min_size=8, max_size=24))
def test_any_text_survives_a_table(texts):
    assert survives([unicodedata.normalize("NFC", text) for text in texts])


NUMBERS = st.text(st.sampled_from("ab1-_.*[](){}<>#|~^$@!&'\"`\\+: "), min_size=1, max_size=10)


@settings(max_examples=15)  # each asks pandoc
@given(st.lists(NUMBERS, min_size=8, max_size=24))
def test_a_number_text_survives_in_a_sentence(texts):
    paragraphs = pandoc.read_markdown("\n\n".join(f"x {escape(text)} y" for text in texts)).content
    smart = str.maketrans("’‘“”", "''\"\"")
    for paragraph, text in zip(paragraphs, texts, strict=True):
        got = (
            pf.stringify(paragraph)
            .translate(smart)
            .replace("…", "...")
            .replace("—", "---")
            .replace("–", "--")
        )
        assert plain(got) == plain(f"x {text} y")


def declare(tmp_path, **table):
    """A declaration of a table made from `05_x.csv`."""
    path = tmp_path / "tables.yml"
    path.write_text(yaml.safe_dump({"t": {"source": "05_x.csv"} | table}), encoding="utf-8")
    return read_declared(path, DeclaredTable)["t"]


def make(tmp_path, declared, text=None, variables=None):
    """The Markdown of a declared table whose source holds this text."""
    if text:
        (tmp_path / "05_x.csv").write_text(text)
    return tabulating.table_markdown(
        "t", declared, {p.name: p for p in tmp_path.glob("*.csv")}, variables or {}
    )


CSV = (
    "task,k,method,mean,low\nb,4,lime,0.51239,0.4\na,4,random,,0.1\n"
    "a,4,lime,0.25,0.2\na,9,lime,0.9,0.8\n"
)
COLUMNS = {"Task": "{task}", "Mean": "{mean:.3f} [{low:.1f}]", "M": "{method}"}
COLUMNS = [{"header": header, "text": text} for header, text in COLUMNS.items()]


def test_a_table_is_filtered_sorted_renamed_and_formatted(tmp_path):
    given = {
        "where": {"k": "some.k"},
        "sort": ["task", "-mean"],
        "names": {"a": "A_1", "lime": "LIME"},
    }
    table = make(tmp_path, declare(tmp_path, columns=COLUMNS, **given), CSV, {"some.k": "4"})
    rows = [["A_1", "0.250 [0.2]", "LIME"], ["A_1", "–", "Random"], ["b", "0.512 [0.4]", "LIME"]]
    assert shown(table) == [["Task", "Mean", "M"], *rows]
    assert table.splitlines()[1].split("|")[2].strip().endswith("-:")


def test_values_that_become_columns_are_averaged_over_seeds(tmp_path):
    spread = {"rows": ["m"], "by": "what", "value": "mean", "over": ["seed"]}
    declared = declare(tmp_path, spread=spread, columns=[{"text": "{m}"}, {"text": "{p:.1f}"}])
    text = "m,seed,what,mean\ny,1,p,1\ny,2,p,2\nx,1,p,4\nx,2,p,6\n"
    assert shown(make(tmp_path, declared, text)) == [["y", "1.5"], ["x", "5.0"]]
    with pytest.raises(ReportError, match="several rows for one m and what"):
        make(tmp_path, declared, text + "x,2,p,6\n")


def test_rows_can_become_columns_and_the_first_of_each_group_be_kept(tmp_path):
    spread = {"rows": ["task", "m"], "by": "what", "value": "mean"}
    declared = declare(
        tmp_path, spread=spread, columns=[{"text": t} for t in ("{task}{m}", "{p:.0f}", "{q:.0f}")]
    )
    text = "task,m,what,mean\nb,y,p,1\nb,y,q,2\na,x,q,4\na,x,p,3\na,z,p,5\na,z,q,\n"
    assert shown(make(tmp_path, declared, text)) == [
        ["by", "1", "2"],
        ["ax", "3", "4"],
        ["az", "5", "–"],
    ]
    declared = declared.changed(sort=["task", "-p"], first={"of": "task", "rows": 1})
    assert shown(make(tmp_path, declared)) == [["az", "5", "–"], ["by", "1", "2"]]


def test_a_cell_that_is_a_text_already_is_shown_as_it_is(tmp_path):
    declared = declare(tmp_path, columns=[{"text": "{ours:.2f}"}, {"text": "{chance:.2f}"}])
    made = make(tmp_path, declared, "ours,chance\n0.5 [0.76],0.40\n–,0.30\n")
    assert shown(made) == [["0.5 [0.76]", "0.40"], ["–", "0.30"]]


def test_a_dash_or_an_empty_cell_has_its_reason_below_the_table(tmp_path):
    declared = declare(tmp_path, dash="nobody measured it.", columns=COLUMNS)
    assert make(tmp_path, declared, CSV).endswith("|\n\n– nobody measured it.\n")
    declared = declare(tmp_path, columns=COLUMNS)
    assert make(tmp_path, declared).endswith("|\n\n– no value in this run.\n")
    made = make(tmp_path, declare(tmp_path, columns=[COLUMNS[0], COLUMNS[1] | {"missing": "none"}]))
    assert "–" not in made and shown(made)[2] == ["a", "none"]
    empty = declare(tmp_path, columns=[{"header": "A", "text": "{a:.0f}"}, {"text": "{b}"}])
    assert shown(make(tmp_path, empty, 'a,b\n1," "\n')) == [["A", ""], ["1", "–"]]


def test_patterns_put_tables_together(tmp_path):
    for task in "ba":
        (tmp_path / f"02_train-{task}_accuracy.csv").write_text(f"task,mean\n{task},0.5\n")
    declared = declare(
        tmp_path, source=["02_train_accuracy.csv", "02_train-*_accuracy.csv"], columns=COLUMNS[:1]
    )
    assert shown(make(tmp_path, declared)) == [["Task"], ["a"], ["b"]]


def test_of_what_is_true_or_not_there_may_be_none(tmp_path):
    declared = declare(tmp_path, where={"t": True}, columns=[{"header": "A", "text": "{a}"}])
    assert shown(make(tmp_path, declared, "a,t\n1,False\n2,True\n")) == [["A"], ["2"]]
    for rows in ("1,False\n", ""):
        assert shown(make(tmp_path, declared, f"a,t\n{rows}")) == [["A"]]


def test_wrong_declarations_are_named(tmp_path):
    for change, message in [
        ({"source": "05_y.csv"}, "05_y.csv; there are: 05_x.csv; did you mean '05_x.csv'"),
        ({"sort": ["-men"]}, "no column 'men'; there are: .*; did you mean 'mean'"),
        ({"where": {"kk": 4}}, "column 'kk'"),
        ({"where": {"k": 5}}, r"table 't' \(05_x\.csv\): no row where k is 5"),
        (
            {"spread": {"rows": ["task"], "by": "method", "value": "mean"}},
            "several rows for one task and method",
        ),
        ({"spread": {"rows": ["task"], "by": "kind", "value": "mean"}}, "no column 'kind'"),
        ({"columns": [{"header": "x", "text": "{mena}"}]}, "column 'mena'.*mean"),
        ({"columns": [{"header": "x"}]}, "columns.0.text: Field required"),
        ({"columns": []}, "columns: .* at least 1 item"),
        ({"source": []}, "source: .* at least 1"),
        ({"source": ""}, "source: .* at least 1"),
        ({"sorted": ["x"]}, "sorted: unknown key; allowed are: .*sort"),
        (
            {"columns": [{"header": None, "text": "{k}"}]},
            r"tables\.yml, t: columns\.0\.header: .*valid string \(got None\)",
        ),
        (
            {"columns": [{"text": "{k}", "missing": False}]},
            r"missing: .*valid string \(got False\)",
        ),
        ({"names": {"a": 1}}, r"names\.a: .*valid string \(got 1\)"),
        ({"dash": None}, r"dash: .*valid string \(got None\)"),
    ]:
        with pytest.raises(ReportError, match=message):
            make(
                tmp_path, declare(tmp_path, **({"columns": COLUMNS} | change)), CSV, {"some.k": "4"}
            )


def test_numbers_nest_keep_their_last_zero_and_conflicts_are_named():
    assert rendering.nest({"a.b": "1", "a.c.d": "x_y"}) == {"a": {"b": "1", "c": {"d": "x\\_y"}}}
    for keys in (["a", "a.b"], ["a.b", "a.b.c"]):
        with pytest.raises(ReportError, match="is itself a number"):
            rendering.nest(dict.fromkeys(keys, "1"))
    tree = yaml.safe_load(
        yaml.safe_dump(rendering.nest({"a.x": "0.10", "a.y": "1e3", "a.z": "no"}))
    )
    assert tree == {"a": {"x": "0.10", "y": "1e3", "z": "no"}}


def test_what_is_as_above_is_left_out_until_something_further_left_changes(tmp_path):
    columns = [{"header": name, "text": f"{{{name}}}", "once": name != "c"} for name in "abc"]
    made = make(
        tmp_path, declare(tmp_path, columns=columns), "a,b,c\none,p,1\none,p,1\none,q,1\ntwo,q,1\n"
    )
    assert shown(made)[1:] == [["one", "p", "1"], ["", "", "1"], ["", "q", "1"], ["two", "q", "1"]]
