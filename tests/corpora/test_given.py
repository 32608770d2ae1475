"""What people hand over: every shape of it is read to the letter, or refused with what would do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import case

import attreval as av
from attreval.core.records import Instance
from attreval.texts.data import Columns, read_own_data
from attreval.texts.given import read_columns, read_names, read_segments
from attreval.texts.marks import make_evidence, mark_instance, read_rationale
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
    for order, make in product(permutations(range(3)), (int, np.int64, str)):
        numbers = {NAMES[k]: make(k) for k in order}
        turned = {k: name for name, k in numbers.items()}
        assert read_names(numbers) == read_names(turned) == NAMES


@given(
    st.dictionaries(
        st.sampled_from([*NAMES, "0", "1", 0, 1, 2, None]),
        st.sampled_from([*NAMES, "0", 0, 1, 2, True]),
    )
    | st.sampled_from([set(NAMES), dict.fromkeys(NAMES).keys(), "abc", b"abc", 3, None])
)
def test_what_numbers_no_classes_or_has_no_order_is_refused(labels):
    """What is read names the class of each number in the only way that the mapping allows."""
    try:
        found = read_names(labels)
    except ValueError as error:
        assert "order of the" in str(error)
        return
    assert isinstance(labels, Mapping) and len(found) == len(labels)
    forward = {str(k): str(v) for k, v in labels.items()}
    back = {str(v): str(k) for k, v in labels.items()}
    numbered = {str(k): str(name) for k, name in enumerate(found)}
    assert numbered in (forward, back)
    others = [one for one in (forward, back) if one != numbered]
    assert not any(one.keys() == numbered.keys() for one in others)


def test_a_table_is_read_by_the_names_of_its_columns():
    numbers = np.array([[0.9, 0.1], [0.2, 0.8]])
    for columns, turned in ((["pos", "neg"], True), (["neg", "pos"], False), ([0, 1], False)):
        table = pd.DataFrame(numbers, columns=columns)
        found = read_columns(table, ["neg", "pos"], "f")
        np.testing.assert_array_equal(found, numbers[:, ::-1] if turned else numbers)


def test_a_table_of_other_columns_is_refused():
    for columns in (["pos", "other"], ["pos", "pos"], [1, 0], ["pos"]):
        table = pd.DataFrame(np.full((2, len(columns)), 0.5), columns=columns)
        with case(columns), pytest.raises(ValueError, match="and labels are neg, pos"):
            read_columns(table, ["neg", "pos"], "f")


def test_a_function_that_gives_a_table_is_explained_by_its_columns():
    def predict(texts):
        good = np.array([0.9 if "good" in text else 0.2 for text in texts])
        return pd.DataFrame({"pos": good, "neg": 1 - good})

    for labels in (["neg", "pos"], {"pos": 1, "neg": 0}, {0: "neg", 1: "pos"}):
        (found,) = av.explain(av.wrap(predict, labels=labels), ["a good film"], "omission_1")
        assert found.predicted == "pos"
        assert found.probabilities == pytest.approx({"neg": 0.1, "pos": 0.9})


def test_names_that_turn_a_configuration_around_are_refused(tiny):
    own = ("no", "maybe", "yes")
    other = ("nein", "vielleicht", "ja")
    wrap = partial(av.wrap, tiny.network, tiny.tokenizer)
    for asked, labels in (
        ({"yes": 2, "no": 0, "maybe": 1}, own),
        (tiny.network.config.id2label, own),
        (list(other), other),
    ):
        assert wrap(asked).labels == labels
    for turned in (["yes", "maybe", "no"], {"yes": 0, "maybe": 1, "no": 2}):
        with pytest.raises(ValueError, match="are yes, maybe, no, and id2label"):
            wrap(turned)


MARKED = Instance("m", ("not so good",), 0, words_of(("not so good",)))


def test_lists_of_marks_are_of_people_whatever_holds_them():
    """They were read as characters, of which [0, 0, 1] are the first of the first text."""
    both = ([[0, 0, 1], [0, 0, 1]], [[0, 0, 1]], [[0, 1, 0], [0, 0, 1]])
    for kind, rows in product((list, tuple, np.array), both):
        with case(kind, rows):
            found = mark_instance(MARKED, kind([kind(row) for row in rows]), 0).evidence.marks
            np.testing.assert_array_equal(found, rows)
            people = read_rationale(rows, MARKED.segments)
            evidence = make_evidence(people, MARKED.segments, MARKED.words)
            np.testing.assert_array_equal(evidence.marks, rows)
            assert read_rationale(str(rows), MARKED.segments) == people


def test_marks_that_may_be_a_word_of_one_character_are_refused():
    segments = ("I agree",)
    instance = Instance("m", segments, 0, words_of(segments))
    with pytest.raises(ValueError, match=r"text 3: .* give marks as a numpy"):
        mark_instance(instance, [[0, 1]], 3)
    assert read_rationale([[0, 1]], segments) is None
    for stretches, marks in (
        (np.array([[0, 1]]), [[0, 1]]),
        ([{"start": 0, "end": 1}], [[1, 0]]),
        ({"start": 2, "end": 7}, [[0, 1]]),
        ([(0, 1), (2, 7)], [[1, 1]]),
    ):
        assert mark_instance(instance, stretches, 3).evidence.marks.tolist() == marks


def test_marks_that_are_no_numbers_are_refused():
    for wrong in ("good", [[0, 1, None]], [0, 1, np.nan], [0, 1, "x"]):
        with case(wrong), pytest.raises(ValueError, match=r"text 2: (marks are finite|a span is)"):
            mark_instance(MARKED, wrong, 2)


EMPTY = [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")]


def test_an_empty_cell_is_empty_whatever_its_library_writes_for_it():
    table = {
        "text": ["a b", "c d", "e f"],
        "label": ["x", "y", "x"],
        "rationale": ["1 0"] * 3,
        "id": ["p", "q", "r"],
    }
    for column, empty in product(table, EMPTY):
        counts = Counts()
        cells = table | {column: [*table[column][:2], empty]}
        with case(column, empty):
            rows = read_own_data(cells, COLUMNS, counts=counts)
            dropped = {f"empty {column}": 1} if column in ("text", "label") else {}
            assert counts.dropped == dropped and not counts.noted
            ids = {"id": ["p", "q", "3"], "rationale": ["p", "q", "r"]}
            assert [row.id for row in rows] == ids.get(column, ["p", "q"])


def test_nullable_columns_and_infinite_numbers_are_read_as_they_stand():
    table = pd.DataFrame({"text": ["a", "b", None, "d"], "label": [0, 1, 1, None]}).convert_dtypes()
    assert [row.label for row in read_own_data(table, Columns(), ["x", "y"])] == [0, 1]
    with pytest.raises(ValueError, match="holds 'inf'"):
        read_own_data({"text": ["a", "b"], "label": [0.0, np.inf]}, Columns(), ["x", "y"])


TWO = {"a": 1, "b": 2}
SINGLE = (
    "ab",
    b"ab",
    3,
    2.5,
    TWO,
    set(TWO),
    TWO.keys(),
    np.array("a"),
    pd.DataFrame({"a": [1, 2]}),
)


def test_what_is_given_of_each_text_is_a_list_wherever_it_is_given():
    """Strings, numbers, sets, mappings and tables are no lists of what is given of each text."""
    model = av.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"])
    explain = partial(av.explain, model, methods="omission_1")
    texts = ["a film", "a plot"]
    found = explain(texts)
    places = {
        "(no class|target is one class)": lambda given: explain(texts, target=given),
        "marks are a list": lambda given: av.evaluate(model, found, marks=given),
        "neighbours are a list": lambda given: av.evaluate(model, found, neighbours=given),
        "scores of 'theirs' are a list": lambda given: found.add("theirs", given),
        "the column 'text' is a list": lambda given: av.evaluate_texts(
            model, {"text": given, "label": ["no", "yes"]}
        ),
        "data are a file": lambda given: av.evaluate_texts(model, [given, given]),
        "texts are a string": explain,
    }
    for one, (said, call) in product(SINGLE, places.items()):
        if not (isinstance(one, str) and call is explain):
            with case(one, said), pytest.raises(ValueError, match=said):
                call(one)


def test_explanations_are_what_explain_gives():
    model = av.wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"])
    found = av.explain(model, ["a film", "a plot"], "omission_1")
    for wrong in (list(found), found[0], "found"):
        with pytest.raises(TypeError, match=r"explanations come from attreval\.explain"):
            av.evaluate(model, wrong)
    assert len(av.evaluate(model, found[:1], "nc", draws=2)) == 2


def test_columns_of_several_lengths_are_named():
    with pytest.raises(ValueError, match="different lengths: 'text' 2, 'label' 3"):
        read_own_data({"text": ["a", "b"], "label": ["x"] * 3}, Columns())
