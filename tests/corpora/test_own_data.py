"""A user's own table: formats, forms of rationales, and tables that cannot be meant."""

import json
import pickle
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.files import write_csv, write_lines

from attreval.texts.data import Columns, read_own_data
from attreval.texts.files import read_texts
from attreval.texts.marks import mark_words, read_rationale
from attreval.texts.rows import Counts
from compendium.corpora.table import words_of_segments

ROWS = [
    {"text": "a good film", "label": "pos", "why": [[2, 6]]},
    {"text": 'so "bad",\nreally', "label": "neg", "why": ["bad"]},
    {"text": "=1+1 is good", "label": "pos", "why": []},
    {"text": "NA", "label": "neg", "why": None},
]
PLAIN = [(row["text"], row["label"]) for row in ROWS]


def save_to_disk(path, rows, names=("neg", "pos")):
    """What datasets.Dataset.save_to_disk writes: an Arrow stream, its state and its columns."""
    path.mkdir(parents=True)
    table = pa.table(
        {"text": [r["text"] for r in rows], "label": [list(names).index(r["label"]) for r in rows]}
    )
    with (
        pa.OSFile(str(path / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as out,
    ):
        out.write_table(table)
    (path / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    )
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": names, "_type": "ClassLabel"},
    }
    (path / "dataset_info.json").write_text(json.dumps({"features": features}))
    return path


def write_text(path, text, encoding="utf-8"):
    path.write_text(text, encoding=encoding)
    return path


def write_parquet(path, names, columns):
    pq.write_table(
        pa.Table.from_arrays([pa.array(column) for column in columns], names=names), path
    )
    return path


FORMATS = {
    "csv": lambda folder: write_csv(folder / "mine.csv", ROWS),
    "tsv": lambda folder: write_csv(folder / "mine.tsv", ROWS, "\t"),
    "semicolons": lambda folder: write_csv(folder / "mine.csv", ROWS, ";"),
    "utf-8-sig": lambda folder: write_csv(folder / "mine.csv", ROWS, encoding="utf-8-sig"),
    "utf-16": lambda folder: write_csv(folder / "mine.csv", ROWS, encoding="utf-16"),
    "jsonl": lambda folder: write_lines(folder / "mine.jsonl", ROWS),
    "json": lambda folder: write_text(folder / "mine.json", json.dumps(ROWS, indent=1)),
    "parquet": lambda folder: write_parquet(
        folder / "mine.parquet", ["text", "label"], zip(*PLAIN, strict=True)
    ),
    "saved": lambda folder: save_to_disk(folder / "saved", ROWS),
}


def test_every_format_gives_the_same_rows(tmp_path):
    """Formulas, quotes, line breaks and the word NA stay what they are."""
    for kind in FORMATS:
        made = FORMATS[kind](tmp_path)
        rows = read_own_data(made, Columns())
        assert read_texts(made) == [text for text, _ in PLAIN]
        assert [(row.segments[0], ("neg", "pos")[row.label]) for row in rows] == PLAIN
        assert [(row.id, row.split, row.evidence) for row in rows] == [
            (str(n), "test", None) for n in (1, 2, 3, 4)
        ]
        refuse(made, "has no column 'texts'; did you mean 'text'", Columns(text="texts"))


def test_a_folder_of_datasets_with_splits_keeps_them_and_the_order_of_its_classes(tmp_path):
    folder = tmp_path / "saved"
    for split, rows in (("train", ROWS[:1]), ("validation", ROWS[1:2]), ("test", ROWS[2:])):
        save_to_disk(folder / split, rows, names=("pos", "neg"))
    (folder / "dataset_dict.json").write_text(
        json.dumps({"splits": ["train", "validation", "test"]})
    )
    rows = read_own_data(folder, Columns())
    assert [row.split for row in rows] == ["train", "dev", "test", "test"]
    assert [row.label for row in rows] == [0, 1, 0, 1]
    with pytest.raises(
        ValueError, match="no row of the split test, which is explained; it has dev, train"
    ):
        (folder / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "validation"]}))
        read_own_data(folder, Columns())


def test_the_folder_of_eraser_gives_documents_queries_and_marks(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d1").write_text("one good day .\nanother bad day .")
    piece = {"docid": "d1", "start_token": 5, "end_token": 6, "text": "bad"}
    item = {
        "annotation_id": "d1:0",
        "classification": "NEG",
        "query": "is it ?",
        "evidences": [[piece]],
    }
    write_lines(tmp_path / "test.jsonl", [item])
    write_lines(
        tmp_path / "train.jsonl",
        [item | {"annotation_id": "d1:1", "classification": "POS", "evidences": []}],
    )
    columns = Columns(pair="query", rationale="rationale", id="id")
    rows = read_own_data(tmp_path, columns)
    found = [(row.id, row.split, row.label, row.segments[1]) for row in rows]
    assert found == [("d1:1", "train", 1, "is it ?"), ("d1:0", "test", 0, "is it ?")]
    assert rows[0].evidence is None and marked(rows[1]) == ["bad"]
    write_lines(
        tmp_path / "test.jsonl", [item | {"evidences": [[piece | {"docid": "../test.jsonl"}]]}]
    )
    with pytest.raises(
        ValueError, match=r"test.jsonl, line 1: its document '../test.jsonl' is not in"
    ):
        read_own_data(tmp_path, columns)


def marked(row):
    words = words_of_segments(row.segments)
    marks = row.evidence(row.segments, words).marks
    return [
        row.segments[s][a:b]
        for (s, a, b), mark in zip(words, marks.any(axis=0), strict=True)
        if mark
    ]


def test_every_form_of_a_rationale_gives_the_same_marks():
    for given in [
        [[2, 6], [7, 11]],
        "[[2, 6], [7, 11]]",
        [[0, 2, 6], [0, 7, 11]],
        [0, 1, 1, 0],
        "0 1 1 0",
        "0,1,1,0",
        "[0 1 1 0]",
        [False, True, True, False],
        ["0", "1", "1", "0"],
        ["good", "film"],
        "['good', 'film']",
        "GOOD  film",
        [{"start_token": 1, "end_token": 3}],
        [[{"text": "good film"}]],
    ]:
        text = ("a good film.   Yes",)
        words = words_of_segments(text)
        (spans,) = read_rationale(given, text)
        evidence = mark_words([spans], text, words)
        held = [
            text[0][a:b] for (_, a, b), mark in zip(words, evidence.marks[0], strict=True) if mark
        ]
        assert [word for word in held if word != "."] == ["good", "film"]
        assert evidence.spans[0][0] == 1 and evidence.spans[0][2] == 0


NONE = [None, "", "[]", [], float("nan"), [0, 0, 0], "0 0 0", [[]]]
OTHER = [
    [0, 1],
    "0 1 1 0 1",
    [[2, 99]],
    [[6, 2]],
    ["bad"],
    [[1.5, 2]],
    7,
    [[{"start_token": 2, "end_token": 9}]],
]


def test_nothing_marked_is_no_evidence_and_marks_of_another_text_do_not_fit():
    for read, given in (([], NONE), (None, OTHER)):
        for one in given:
            assert read_rationale(one, ("a good film",)) == read, one


def test_several_people_and_both_texts_of_a_pair_can_be_marked():
    text = ("a good film", "a bad day")
    words = words_of_segments(text)
    people = read_rationale([[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]], text)
    assert mark_words(people, text, words).marks.tolist() == [
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1],
    ]
    assert read_rationale([[1, 2, 5]], text) == [[(1, 2, 5)]]
    evidence = mark_words(read_rationale("[[2, 11]]", text), text, words)
    assert evidence.marks.tolist() == [[0, 1, 1, 0, 0, 0]] and evidence.spans == ((1, 3, 0),)
    assert mark_words([[(0, 0, 4)]], ("good.",), words_of_segments(("good.",))).marks.tolist() == [
        [1, 0]
    ]


def test_a_rationale_that_does_not_fit_is_counted_and_many_are_an_error(tmp_path):
    rows = [
        {"text": f"a good film {n}", "label": "ab"[n % 2], "why": "0 1 0 0" if n else "0 1"}
        for n in range(4)
    ]
    counts = Counts()
    found = read_own_data(
        write_csv(tmp_path / "m.csv", rows), Columns(rationale="why"), counts=counts
    )
    assert counts.noted == {"a rationale does not fit its text": 1}
    assert [row.evidence is not None for row in found] == [False, True, True, True]
    for row in rows:
        row["why"] = "0 1"
    with pytest.raises(
        ValueError, match=r"4 of 4 values of 'why' do not fit .* character spans \[\[start, end\]"
    ):
        read_own_data(write_csv(tmp_path / "m.csv", rows), Columns(rationale="why"))


def refuse(path, words, columns=None, labels=()):
    with pytest.raises((ValueError, OSError), match=words):
        read_own_data(path, columns or Columns(), labels)


def test_a_missing_column_names_the_nearest_and_those_there_are(tmp_path):
    path = write_csv(tmp_path / "mine.csv", [{"Review text": "a", "labels": "b"}])
    words = (
        r"mine.csv has no column 'label'; did you mean 'labels'\?; it has: 'Review text', 'labels'"
    )
    refuse(path, words, Columns(text="Review text"))
    write_lines(tmp_path / "eraser" / "test.jsonl", [{"text": "a"}])
    refuse(
        tmp_path / "eraser", "ERASER's folder eraser has no column 'review'", Columns(text="review")
    )


def test_two_columns_of_one_name_are_refused_as_texts_to_explain_are(tmp_path):
    write_text(tmp_path / "m.csv", "text, text,label,,\nx,y,a,,\n")
    write_parquet(tmp_path / "m.parquet", ["text", "text", "label"], [["x"], ["y"], ["a"]])
    for path in tmp_path.iterdir():
        refuse(path, "has 2 columns 'text'; give each a name of its own")
        with pytest.raises(ValueError, match="has 2 columns 'text'"):
            read_texts(path)


def test_empty_cells_are_dropped_and_counted(tmp_path):
    rows = [
        ("a", "b", "x"),
        ("", "b", "x"),
        (" ", "b", "y"),
        ("a", "", "x"),
        ("a", "b", ""),
        ("c", "d", "y"),
    ]
    path = write_csv(
        tmp_path / "m.csv", [dict(zip(("text", "pair", "label"), row, strict=True)) for row in rows]
    )
    counts = Counts()
    found = read_own_data(path, Columns(pair="pair"), counts=counts)
    assert [row.segments for row in found] == [("a", "b"), ("c", "d")] and [
        row.id for row in found
    ] == ["1", "6"]
    assert counts.dropped == {"empty text": 2, "empty pair": 1, "empty label": 1}
    none = write_csv(tmp_path / "n.csv", [{"text": "", "label": x} for x in "ab"])
    refuse(none, r"n.csv holds no row that can be used \(2 empty text\)")
    refuse(
        write_csv(tmp_path / "n.csv", [{"text": "a", "label": ""}]),
        "column 'label' is empty in every row",
    )


def test_words_that_are_not_joined_are_no_text_and_old_line_ends_are_lines(tmp_path):
    parted = [{"text": ["the", "film"], "label": "x"}, {"text": ["a"], "label": "y"}]
    refuse(
        write_lines(tmp_path / "w.jsonl", parted),
        r"'text' holds \['the', 'film'\]; a text is one string",
    )
    (tmp_path / "old.csv").write_bytes(b"text,label\rgood,x\rbad,y\r")
    assert [row.segments for row in read_own_data(tmp_path / "old.csv", Columns())] == [
        ("good",),
        ("bad",),
    ]


def test_what_is_not_utf8_is_told_by_byte_and_line(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_bytes("text,label\nplain,a\ncaf\xe9 au lait,b\n".encode("latin-1"))
    refuse(
        path,
        r"mine.csv is not UTF-8: byte 0xe9 at position 22, line 3, near 'caf\xe9 au lait,b'.*CSV "
        r"UTF-8.*iconv",
    )
    path.write_bytes("text,label\na,b\n".encode("utf-16-le"))
    refuse(path, "zero bytes, as UTF-16 without a mark")
    path.write_bytes("text,label\na,b\n".encode("utf-16")[:-1])
    refuse(path, "begins as UTF-16, but is cut off")


def test_ids_that_occur_again_are_renamed_and_counted(tmp_path):
    rows = [
        {"text": "t", "label": "xy"[n % 2], "id": name}
        for n, name in enumerate(["a", "a", "b", "a~2", "a", ""])
    ]
    counts = Counts()
    found = read_own_data(write_csv(tmp_path / "m.csv", rows), Columns(id="id"), counts=counts)
    names = [row.id for row in found]
    assert names[:3] == ["a", "a~2", "b"] and len(set(names)) == 6 and names[-1] == "6"
    assert counts.noted["an id that occurs again"] == 3


def test_one_class_or_200_are_labels_and_texts_are_none(tmp_path):
    path = write_csv(tmp_path / "m.csv", [{"text": "a", "label": "pos"}] * 3)
    refuse(path, r"holds one class only, 'pos' \(3 rows\).*name all of them")
    counts = Counts()
    assert [row.label for row in read_own_data(path, Columns(), ("neg", "pos"), counts)] == [
        1,
        1,
        1,
    ]
    assert counts.noted == {"one class only: pos": 3}
    write_csv(path, [{"text": f"text {n}", "label": f"c{n % 200:03}"} for n in range(600)])
    assert Counter(row.label for row in read_own_data(path, Columns())) == dict.fromkeys(
        range(200), 3
    )
    refuse(
        path,
        "'text' holds 600 different values in 600 rows .*that is no label",
        Columns(label="text"),
    )


def test_labels_are_names_or_numbers_and_others_are_told(tmp_path):
    path = write_csv(
        tmp_path / "m.csv", [{"text": "t", "label": x} for x in ("0", "1", "POS", " neg ", "1.0")]
    )
    assert [row.label for row in read_own_data(path, Columns(), ("neg", "pos"))] == [0, 1, 1, 0, 1]
    words = r"'label' holds 'POS' \(1 rows\), 'neg' \(1 rows\), which are not among a, b; `labels`"
    refuse(path, words, labels=("a", "b"))
    refuse(path, r"holds '1' \(2 rows\), 'neg'", labels=("pos", "0"))
    numbers = write_lines(tmp_path / "m.jsonl", [{"text": "t", "label": x} for x in (10, 2, 10.0)])
    assert [row.label for row in read_own_data(numbers, Columns())] == [1, 0, 1]  # by size: 2, 10


def test_splits_are_known_by_their_usual_names(tmp_path):
    rows = [
        {"text": "t", "label": "xy"[n % 2], "part": part}
        for n, part in enumerate(["Train", "validation", "test"])
    ]
    path = write_csv(tmp_path / "m.csv", rows)
    assert [row.split for row in read_own_data(path, Columns(split="part"))] == [
        "train",
        "dev",
        "test",
    ]
    rows[0]["part"] = "fold 3"
    words = r"'part' holds 'fold 3' \(1 rows\), which are not among train, training, dev"
    refuse(write_csv(path, rows), words, Columns(split="part"))


def test_a_file_that_is_none_says_what_it_is(tmp_path):
    for name, data, words in [
        ("m.csv", b"", "m.csv is empty"),
        (
            "m.csv",
            b'text,label\n"never closed,a\nb,c\n',
            "no table of columns parted by ','.*double quotes",
        ),
        ("m.csv", b"text,label\na,b,c\nd,e\n", "no table of columns parted by ','"),
        ("m.xlsx", b"PK\x03\x04....", "save the sheet as CSV UTF-8"),
        ("m.docx", b"words", "ends in '.docx' is not known; give csv, tsv, jsonl, Parquet"),
        ("m.jsonl", b'{"text": "a"}\nnot json\n', "m.jsonl, line 2: no JSON object"),
        ("m.jsonl", b'[["a"]]\n', "line 1: an object of columns is needed"),
        ("m.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
        ("m.arrow", b"nothing of the kind", "cannot be read as Arrow"),
    ]:
        (tmp_path / name).write_bytes(data)
        refuse(tmp_path / name, words)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was read",))


def test_no_pickle_is_ever_read(tmp_path):
    for suffix in ["pkl", "csv", "jsonl", "parquet", "arrow"]:
        (tmp_path / f"m.{suffix}").write_bytes(pickle.dumps(Bomb()))
        refuse(tmp_path / f"m.{suffix}", "never read|cannot be read as Arrow")


def test_a_file_or_folder_that_is_not_there_or_holds_nothing(tmp_path):
    write_csv(tmp_path / "reviews.csv", ROWS)
    refuse(tmp_path / "review.csv", r"there is no file .*review.csv; did you mean 'reviews.csv'")
    refuse(tmp_path, r"holds no data that is known \(it holds reviews.csv\); give csv")


def test_6000_rows_and_100000_words_are_read_whole(tmp_path):
    lines = [f"this is text number {n},{'pos' if n % 3 else 'neg'}\n" for n in range(6000)]
    long = " ".join(["word"] * 100_000)
    path = write_text(tmp_path / "m.csv", "text,label\n" + "".join(lines) + f"{long},pos\n")
    rows = read_own_data(path, Columns())
    assert len(rows) == 6001 and rows[-1].segments == (long,) and rows[5999].id == "6000"
    assert sum(row.label for row in rows) == 4001
