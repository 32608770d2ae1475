"""What people hand over: every shape of it is read to the letter, or refused with what would do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attreval as av
from attreval.core.records import Instance
from attreval.texts.data import Columns, read_own_data
from attreval.texts.given import read_columns, read_names, read_segments
from attreval.texts.marks import mark_instance, mark_words, read_rationale
from attreval.texts.rows import Counts
from attreval.texts.words import words_of

COLUMNS = Columns(rationale="rationale", id="id")
WORDS = st.sampled_from(["good", "a film", "lovely", "zwölf", "no . 1"])
LEAVES = WORDS | st.sampled_from(["", "  ", b"good", None, 3, 1.5, True, float("nan"), pd.NA])


def _wrap(inner):
    """Whatever a user might put texts into, around what is there already."""
    several = st.lists(inner, max_size=3)
    return st.one_of(
        several,
        several.map(tuple),
        several.map(lambda xs: pd.Series(xs, dtype=object)),
        several.map(lambda xs: np.array([*xs, None], dtype=object)[:-1]),
        several.map(lambda xs: (x for x in xs)),
        several.map(lambda xs: {str(k): x for k, x in enumerate(xs)}),
        several.map(lambda xs: pd.DataFrame({"text": pd.Series(xs, dtype=object)})),
        st.lists(WORDS, max_size=3).map(set),
        st.lists(WORDS, min_size=1, max_size=3).map(np.array),
        st.lists(WORDS, min_size=1, max_size=3).map(lambda xs: np.array([xs, xs])),
    )


def plainly_read(given):
    """The segments of each text, by the three sentences of the documentation, else None."""

    def one(text):
        parts = (text,) if isinstance(text, str) else text
        pair = isinstance(parts, tuple) and (parts is not text or len(parts) == 2)
        return parts if pair and all(isinstance(x, str) and x.strip() for x in parts) else None

    if isinstance(given, str | tuple):
        return None if one(given) is None else [one(given)]
    if not isinstance(given, list | pd.Series | np.ndarray):
        return None
    read = [one(text) for text in given]
    return read if read and None not in read else None


@given(st.recursive(LEAVES, _wrap, max_leaves=6))
def test_texts_of_any_shape_are_what_the_documentation_says_or_are_refused(texts):
    if hasattr(texts, "__next__"):
        held = list(texts)
        expected = plainly_read(held)
        texts = iter(held)
    else:
        expected = plainly_read(texts)
    if expected is None:
        with pytest.raises(ValueError, match=r"list|empty|no text"):
            read_segments(texts)
    else:
        assert read_segments(texts) == expected


NAMES = ["negative", "neutral", "positive"]


def test_a_mapping_numbers_the_classes_whichever_way_round():
    for order in [*permutations(range(3))]:
        for make in [int, np.int64, str]:
            given = {NAMES[k]: make(k) for k in order}
            assert read_names(given) == read_names({k: name for name, k in given.items()}) == NAMES


@given(
    st.dictionaries(
        st.sampled_from([*NAMES, "0", "1", 0, 1, 2, None]),
        st.sampled_from([*NAMES, "0", 0, 1, 2, True]),
    )
    | st.sampled_from(
        [set(NAMES), frozenset(NAMES), dict.fromkeys(NAMES).keys(), "abc", b"abc", 3, None]
    )
)
def test_what_numbers_no_classes_or_has_no_order_is_refused(labels):
    """What is read names the class of each number in the only way that the mapping allows."""
    try:
        found = read_names(labels)
    except ValueError as error:
        assert "order of the" in str(error)
        return
    assert isinstance(labels, Mapping) and len(found) == len(labels)
    forward, back = (
        {str(k): str(v) for k, v in pairs}
        for pairs in (labels.items(), ((v, k) for k, v in labels.items()))
    )
    numbered = {str(k): str(name) for k, name in enumerate(found)}
    other = [one for one in (forward, back) if one != numbered]
    assert numbered in (forward, back)
    assert not any(one.keys() == numbered.keys() for one in other)


def test_a_table_is_read_by_the_names_of_its_columns():
    for columns in [["pos", "neg"], ["neg", "pos"], [0, 1]]:
        numbers = np.array([[0.9, 0.1], [0.2, 0.8]])
        found = read_columns(pd.DataFrame(numbers, columns=columns), ["neg", "pos"], "f")
        np.testing.assert_array_equal(found, numbers[:, ::-1] if columns[0] == "pos" else numbers)


def test_a_table_of_other_columns_is_refused():
    for columns in [["pos", "other"], ["pos", "pos"], [1, 0], ["pos"]]:
        table = pd.DataFrame(np.full((2, len(columns)), 0.5), columns=columns)
        with pytest.raises(
            ValueError, match=r"f gives a table with columns .*, and labels are neg, pos"
        ):
            read_columns(table, ["neg", "pos"], "f")


def test_a_function_that_gives_a_table_is_explained_by_its_columns():
    def predict(texts):
        good = np.array([0.9 if "good" in text else 0.2 for text in texts])
        return pd.DataFrame({"pos": good, "neg": 1 - good})

    for labels in (["neg", "pos"], {"pos": 1, "neg": 0}, {0: "neg", 1: "pos"}):
        (found,) = av.explain(av.wrap(predict, labels=labels), ["a good film"], "omission_1")
        assert found.predicted == "pos" and found.probabilities == pytest.approx(
            {"neg": 0.1, "pos": 0.9}
        )


def test_names_that_turn_a_configuration_around_are_refused(tiny):
    network = tiny.network
    tokenizer = tiny.tokenizer
    assert av.wrap(network, tokenizer, {"yes": 2, "no": 0, "maybe": 1}).labels == (
        "no",
        "maybe",
        "yes",
    )
    assert av.wrap(network, tokenizer, network.config.id2label).labels == ("no", "maybe", "yes")
    assert av.wrap(network, tokenizer, ["nein", "vielleicht", "ja"]).labels == (
        "nein",
        "vielleicht",
        "ja",
    )
    for turned in (["yes", "maybe", "no"], {"yes": 0, "maybe": 1, "no": 2}):
        with pytest.raises(
            ValueError, match=r"outputs of .* are yes, maybe, no, and id2label .* no, maybe, yes"
        ):
            av.wrap(network, tokenizer, turned)


MARKED = Instance("m", ("not so good",), 0, words_of(("not so good",)))


def test_lists_of_marks_are_of_people_whatever_holds_them():
    """They were read as characters, of which [0, 0, 1] are the first of the first text."""
    for kind in [list, tuple, np.array]:
        for rows in [[[0, 0, 1], [0, 0, 1]], [[0, 0, 1]], [[0, 1, 0], [0, 0, 1]]]:
            found = mark_instance(MARKED, kind([kind(row) for row in rows]), 0).evidence.marks
            np.testing.assert_array_equal(found, rows)
            evidence = mark_words(
                read_rationale(rows, MARKED.segments), MARKED.segments, MARKED.words
            )
            np.testing.assert_array_equal(evidence.marks, rows)
            assert read_rationale(str(rows), MARKED.segments) == read_rationale(
                rows, MARKED.segments
            )


def test_marks_that_may_be_a_word_of_one_character_are_refused():
    segments = ("I agree",)
    instance = Instance("m", segments, 0, words_of(segments))
    with pytest.raises(
        ValueError,
        match=r"text 3: .* marks of words or stretches of characters; give marks as a numpy",
    ):
        mark_instance(instance, [[0, 1]], 3)
    assert read_rationale([[0, 1]], segments) is None
    assert mark_instance(instance, np.array([[0, 1]]), 3).evidence.marks.tolist() == [[0, 1]]
    assert mark_instance(instance, [{"start": 0, "end": 1}], 3).evidence.marks.tolist() == [[1, 0]]
    assert mark_instance(instance, {"start": 2, "end": 7}, 3).evidence.marks.tolist() == [[0, 1]]
    assert mark_instance(instance, [(0, 1), (2, 7)], 3).evidence.marks.tolist() == [[1, 1]]


def test_marks_that_are_no_numbers_are_refused():
    for wrong in ["good", [[0, 1, None]], [0, 1, np.nan], [0, 1, "x"]]:
        with pytest.raises(ValueError, match=r"text 2: (marks are finite numbers|a span is)"):
            mark_instance(MARKED, wrong, 2)


EMPTY = [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")]


def test_an_empty_cell_is_empty_whatever_its_library_writes_for_it():
    for empty in EMPTY:
        for column in ["text", "label", "rationale", "id"]:
            table = {
                "text": ["a b", "c d", "e f"],
                "label": ["x", "y", "x"],
                "rationale": ["1 0"] * 3,
                "id": ["p", "q", "r"],
            }
            counts = Counts()
            rows = read_own_data(
                table | {column: [*table[column][:2], empty]}, COLUMNS, counts=counts
            )
            dropped = column in ("text", "label")
            assert len(rows) == 3 - dropped and counts.dropped == (
                {f"empty {column}": 1} if dropped else {}
            )
            assert not counts.noted and (dropped or rows[2].id == ("3" if column == "id" else "r"))


def test_nullable_columns_and_infinite_numbers_are_read_as_they_stand():
    table = pd.DataFrame({"text": ["a", "b", None, "d"], "label": [0, 1, 1, None]}).convert_dtypes()
    assert [row.label for row in read_own_data(table, Columns(), ["x", "y"])] == [0, 1]
    with pytest.raises(ValueError, match=r"holds 'inf' \(1 rows\)"):
        read_own_data({"text": ["a", "b"], "label": [0.0, np.inf]}, Columns(), ["x", "y"])


TABLE = pd.DataFrame({"a": [1, 2]})
SINGLE = [
    "ab",
    b"ab",
    3,
    2.5,
    {"a": 1, "b": 2},
    {"a", "b"},
    {"a": 1, "b": 2}.keys(),
    np.array("a"),
    TABLE,
]


@pytest.mark.parametrize("given", SINGLE, ids=lambda given: type(given).__name__)
def test_what_is_given_of_each_text_is_a_list_wherever_it_is_given(given):
    """Strings, numbers, sets, mappings and tables are no lists of what is given of each text."""
    model = av.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"])
    texts = ["a film", "a plot"]
    found = av.explain(model, texts, "omission_1")
    refused = {
        "(no class|target is one class)": lambda: av.explain(
            model, texts, "omission_1", target=given
        ),
        "marks are a list": lambda: av.evaluate(model, found, marks=given),
        "neighbours are a list": lambda: av.evaluate(model, found, neighbours=given),
        "scores of 'theirs' are a list": lambda: found.add("theirs", given),
        "the column 'text' is a list": lambda: av.evaluate_texts(
            model, {"text": given, "label": ["no", "yes"]}
        ),
        "data are a file": lambda: av.evaluate_texts(model, [given, given]),
    }
    if not isinstance(given, str):
        refused["texts are a string"] = lambda: av.explain(model, given, "omission_1")
    for said, call in refused.items():
        with pytest.raises(ValueError, match=said):
            call()


def test_explanations_are_what_explain_gives():
    model = av.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"])
    found = av.explain(model, ["a film", "a plot"], "omission_1")
    for wrong in (list(found), found[0], "found"):
        with pytest.raises(TypeError, match=r"explanations come from attreval\.explain"):
            av.evaluate(model, wrong)
    assert len(av.evaluate(model, found[:1], "nc", draws=2)) == 2


def test_columns_of_several_lengths_are_named():
    with pytest.raises(ValueError, match="columns of different lengths: 'text' 2, 'label' 3"):
        read_own_data({"text": ["a", "b"], "label": ["x"] * 3}, Columns())
