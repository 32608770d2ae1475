"""A user's own table: formats, forms of rationales, and tables that cannot be meant."""

import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference import case
from reference.files import write_csv, write_lines

from attreval.texts.data import Columns, read_own_data
from attreval.texts.files import read_texts
from attreval.texts.marks import make_evidence, read_rationale
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
    labels = [names.index(row["label"]) for row in rows]
    table = pa.table({"text": [row["text"] for row in rows], "label": labels})
    name = "data-00000-of-00001.arrow"
    with pa.OSFile(str(path / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    features = {"label": {"names": names, "_type": "ClassLabel"}}
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
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


def write_formats(folder):
    """The same table in every format that there is."""
    yield write_csv(folder / "comma.csv", ROWS)
    yield write_csv(folder / "tab.tsv", ROWS, "\t")
    yield write_csv(folder / "semicolon.csv", ROWS, ";")
    yield write_csv(folder / "marked.csv", ROWS, encoding="utf-8-sig")
    yield write_csv(folder / "wide.csv", ROWS, encoding="utf-16")
    yield write_lines(folder / "mine.jsonl", ROWS)
    yield write_text(folder / "mine.json", json.dumps(ROWS, indent=1))
    yield write_parquet(folder / "mine.parquet", ["text", "label"], zip(*PLAIN, strict=True))
    yield save_to_disk(folder / "saved", ROWS)


def test_every_format_gives_the_same_rows(tmp_path):
    """Formulas, quotes, line breaks and the word NA stay what they are."""
    for made in write_formats(tmp_path):
        with case(made.name):
            rows = read_own_data(made, Columns())
            assert read_texts(made) == [text for text, _ in PLAIN]
            assert [(row.segments[0], ("neg", "pos")[row.label]) for row in rows] == PLAIN
            assert [row.id for row in rows] == ["1", "2", "3", "4"]
            assert {(row.split, row.evidence) for row in rows} == {("test", None)}
            refuse(made, "did you mean 'text'", Columns(text="texts"))


def test_a_folder_of_datasets_with_splits_keeps_them_and_the_order_of_its_classes(tmp_path):
    folder = tmp_path / "saved"
    for split, rows in (("train", ROWS[:1]), ("validation", ROWS[1:2]), ("test", ROWS[2:])):
        save_to_disk(folder / split, rows, names=("pos", "neg"))
    listed = folder / "dataset_dict.json"
    listed.write_text(json.dumps({"splits": ["train", "validation", "test"]}))
    rows = read_own_data(folder, Columns())
    assert [row.split for row in rows] == ["train", "dev", "test", "test"]
    assert [row.label for row in rows] == [0, 1, 0, 1]
    listed.write_text(json.dumps({"splits": ["train", "validation"]}))
    refuse(folder, "no row of the split test, which is explained; it has dev, train")


def test_the_folder_of_eraser_gives_documents_queries_and_marks(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d1").write_text("one good day .\nanother bad day .")
    piece = {"docid": "d1", "start_token": 5, "end_token": 6, "text": "bad"}
    item = {"annotation_id": "d1:0", "classification": "NEG", "query": "is it ?"}
    other = item | {"annotation_id": "d1:1", "classification": "POS", "evidences": []}
    write_lines(tmp_path / "test.jsonl", [item | {"evidences": [[piece]]}])
    write_lines(tmp_path / "train.jsonl", [other])
    columns = Columns(pair="query", rationale="rationale", id="id")
    train, test = read_own_data(tmp_path, columns)
    assert (train.id, train.split, train.label) == ("d1:1", "train", 1)
    assert (test.id, test.split, test.label) == ("d1:0", "test", 0)
    assert train.segments[1] == test.segments[1] == "is it ?"
    assert train.evidence is None and marked(test) == ["bad"]
    outside = piece | {"docid": "../test.jsonl"}
    write_lines(tmp_path / "test.jsonl", [item | {"evidences": [[outside]]}])
    refuse(tmp_path, "line 1: its document '../test.jsonl' is not in", columns)


def marked(row):
    words = words_of_segments(row.segments)
    marks = row.evidence(row.segments, words).marks.any(axis=0)
    return [row.segments[s][a:b] for s, a, b in words[marks]]


def test_every_form_of_a_rationale_gives_the_same_marks():
    text = ("a good film.   Yes",)
    words = words_of_segments(text)
    for given in (
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
    ):
        with case(given):
            (spans,) = read_rationale(given, text)
            evidence = make_evidence([spans], text, words)
            held = [text[0][a:b] for _, a, b in words[evidence.marks[0] > 0]]
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
    marks = [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]]
    assert make_evidence(read_rationale(marks, text), text, words).marks.tolist() == marks
    assert read_rationale([[1, 2, 5]], text) == [[(1, 2, 5)]]
    evidence = make_evidence(read_rationale("[[2, 11]]", text), text, words)
    assert evidence.marks.tolist() == [[0, 1, 1, 0, 0, 0]] and evidence.spans == ((1, 3, 0),)
    assert make_evidence(
        [[(0, 0, 4)]], ("good.",), words_of_segments(("good.",))
    ).marks.tolist() == [[1, 0]]


def test_a_rationale_that_does_not_fit_is_counted_and_many_are_an_error():
    table = {
        "text": [f"a good film {n}" for n in range(4)],
        "label": ["a", "b"] * 2,
        "why": ["0 1", *["0 1 0 0"] * 3],
    }
    counts = Counts()
    found = read_own_data(table, Columns(rationale="why"), counts=counts)
    assert counts.noted == {"a rationale does not fit its text": 1}
    assert [row.evidence is not None for row in found] == [False, True, True, True]
    refuse(table | {"why": ["0 1"] * 4}, "4 of 4 values of 'why'", Columns(rationale="why"))


def refuse(path, words, columns=None, labels=()):
    with pytest.raises((ValueError, OSError), match=words):
        read_own_data(path, columns or Columns(), labels)


def test_a_missing_column_names_the_nearest_and_those_there_are(tmp_path):
    path = write_csv(tmp_path / "mine.csv", [{"Review text": "a", "labels": "b"}])
    words = r"no column 'label'; did you mean 'labels'\?; it has: 'Review text', 'labels'"
    refuse(path, words, Columns(text="Review text"))
    write_lines(tmp_path / "eraser" / "test.jsonl", [{"text": "a"}])
    refuse(tmp_path / "eraser", "ERASER's folder eraser has no column", Columns(text="review"))


def test_two_columns_of_one_name_are_refused_as_texts_to_explain_are(tmp_path):
    write_text(tmp_path / "m.csv", "text, text,label,,\nx,y,a,,\n")
    write_parquet(tmp_path / "m.parquet", ["text", "text", "label"], [["x"], ["y"], ["a"]])
    for path in tmp_path.iterdir():
        refuse(path, "has 2 columns 'text'")
        with pytest.raises(ValueError, match="has 2 columns 'text'"):
            read_texts(path)


def test_empty_cells_are_dropped_and_counted():
    table = {
        "text": ["a", "", " ", "a", "a", "c"],
        "pair": ["b", "b", "b", "", "b", "d"],
        "label": ["x", "x", "y", "x", "", "y"],
    }
    counts = Counts()
    found = read_own_data(table, Columns(pair="pair"), counts=counts)
    assert [(row.id, row.segments) for row in found] == [("1", ("a", "b")), ("6", ("c", "d"))]
    assert counts.dropped == {"empty text": 2, "empty pair": 1, "empty label": 1}
    refuse({"text": ["", ""], "label": ["a", "b"]}, r"no row that can be used \(2 empty text\)")
    refuse({"text": ["a"], "label": [""]}, "column 'label' is empty in every row")


def test_words_that_are_not_joined_are_no_text_and_old_line_ends_are_lines(tmp_path):
    parted = {"text": [["the", "film"], ["a"]], "label": ["x", "y"]}
    refuse(parted, r"'text' holds \['the', 'film'\]; a text is one string")
    (tmp_path / "old.csv").write_bytes(b"text,label\rgood,x\rbad,y\r")
    found = read_own_data(tmp_path / "old.csv", Columns())
    assert [row.segments for row in found] == [("good",), ("bad",)]


def test_what_is_not_utf8_is_told_by_byte_and_line(tmp_path):
    path = tmp_path / "mine.csv"
    plain = "text,label\na,b\n"
    for data, said in (
        ("text,label\nplain,a\ncaf\xe9 au lait,b\n".encode("latin-1"), "position 22, line 3"),
        (plain.encode("utf-16-le"), "zero bytes, as UTF-16 without a mark"),
        (plain.encode("utf-16")[:-1], "begins as UTF-16, but is cut off"),
    ):
        path.write_bytes(data)
        refuse(path, said)


def test_ids_that_occur_again_are_renamed_and_counted():
    ids = ["a", "a", "b", "a~2", "a", ""]
    counts = Counts()
    table = {"text": ["t"] * 6, "label": ["x", "y"] * 3, "id": ids}
    names = [row.id for row in read_own_data(table, Columns(id="id"), counts=counts)]
    assert names[:3] == ["a", "a~2", "b"] and len(set(names)) == 6 and names[-1] == "6"
    assert counts.noted["an id that occurs again"] == 3


def test_one_class_or_200_are_labels_and_texts_are_none():
    one = {"text": ["a"] * 3, "label": ["pos"] * 3}
    refuse(one, r"holds one class only, 'pos' \(3 rows\).*name all of them")
    counts = Counts()
    found = read_own_data(one, Columns(), ("neg", "pos"), counts)
    assert [row.label for row in found] == [1, 1, 1]
    assert counts.noted == {"one class only: pos": 3}
    names = [f"c{n % 200:03}" for n in range(600)]
    many = {"text": [f"text {n}" for n in range(600)], "label": names}
    labels = [row.label for row in read_own_data(many, Columns())]
    assert labels == [n % 200 for n in range(600)]
    refuse(many, "600 different values in 600 rows .*that is no label", Columns(label="text"))


def test_labels_are_names_or_numbers_and_others_are_told():
    def table(*labels):
        return {"text": ["t"] * len(labels), "label": list(labels)}

    mixed = table("0", "1", "POS", " neg ", "1.0")
    assert [row.label for row in read_own_data(mixed, Columns(), ("neg", "pos"))] == [0, 1, 1, 0, 1]
    words = r"holds 'POS' \(1 rows\), 'neg' \(1 rows\), which are not among a, b; name them so"
    refuse(mixed, words, labels=("a", "b"))
    refuse(mixed, r"holds '1' \(2 rows\), 'neg'", labels=("pos", "0"))
    numbers = table(10, 2, 10.0)
    assert [row.label for row in read_own_data(numbers, Columns())] == [1, 0, 1]  # by size: 2, 10


def test_splits_are_known_by_their_usual_names():
    table = {"text": ["t"] * 3, "label": ["x", "y", "x"], "part": ["Train", "validation", "test"]}
    found = read_own_data(table, Columns(split="part"))
    assert [row.split for row in found] == ["train", "dev", "test"]
    words = r"'part' holds 'fold 3' \(1 rows\), which are not among train, training, dev"
    refuse(table | {"part": ["fold 3", "dev", "test"]}, words, Columns(split="part"))


def test_a_file_that_is_none_says_what_it_is(tmp_path):
    pickled = pickle.dumps(Bomb())
    for name, data, said in (
        ("m.csv", b"", "m.csv is empty"),
        ("m.csv", b'text,label\n"never closed,a\nb,c\n', "parted by ','.*double quotes"),
        ("m.csv", b"text,label\na,b,c\nd,e\n", "no table of columns parted by ','"),
        ("m.xlsx", b"PK\x03\x04....", "save the sheet as CSV UTF-8"),
        ("m.docx", b"words", "ends in '.docx' is not known; give csv, tsv, jsonl, Parquet"),
        ("m.jsonl", b'{"text": "a"}\nnot json\n', "m.jsonl, line 2: no JSON object"),
        ("m.jsonl", b'[["a"]]\n', "line 1: an object of columns is needed"),
        ("m.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
        *((f"m.{suffix}", pickled, "never read") for suffix in ("pkl", "csv", "jsonl", "parquet")),
    ):
        (tmp_path / name).write_bytes(data)
        with case(name, data):
            refuse(tmp_path / name, said)
    folder = save_to_disk(tmp_path / "saved", ROWS)
    (stream,) = folder.glob("*.arrow")
    stream.write_bytes(pickled)
    refuse(folder, "cannot be read as Arrow")


class Bomb:
    """No pickle is ever read."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was read",))


def test_a_file_or_folder_that_is_not_there_or_holds_nothing(tmp_path):
    write_csv(tmp_path / "reviews.csv", ROWS)
    refuse(tmp_path / "review.csv", "there is no file .*; did you mean 'reviews.csv'")
    refuse(tmp_path, r"holds no data that is known \(it holds reviews.csv\); give csv")


def test_6000_rows_and_100000_words_are_read_whole(tmp_path):
    lines = [f"this is text number {n},{'pos' if n % 3 else 'neg'}\n" for n in range(6000)]
    long = "word " * 100_000
    path = write_text(tmp_path / "m.csv", "text,label\n" + "".join(lines) + f"{long},pos\n")
    rows = read_own_data(path, Columns())
    assert len(rows) == 6001 and rows[-1].segments == (long,) and rows[5999].id == "6000"
    assert sum(row.label for row in rows) == 4001
