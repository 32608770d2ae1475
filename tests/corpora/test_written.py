"""Texts in files of the repository: marks, subjects before a verb, and whose they are."""

import json
from functools import partial

import numpy as np
import pytest
from reference import CHECKOUT

from attreval.core.records import Instance
from attreval.core.tables import write_instances
from attreval.texts.rows import Counts
from compendium.corpora import TASKS, hybrid, written
from compendium.corpora.table import json_lines, with_words
from compendium.corpora.tasks import is_ours

OWN = {name: task for name, task in TASKS.items() if task.repository}
LINES = [
    {"id": "a", "label": "positive", "texts": ["A <u>fine</u>, <u>funny</u> film."]},
    {"id": "b", "label": "negative", "texts": ["Dull."]},
]


def test_underlined_words_are_marked_and_nothing_of_the_marks_is_left(tmp_path):
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(map(json.dumps, LINES)))
    task = TASKS["own_reviews"]
    rows = list(written.build_own_reviews({task.repository: file}, Counts()))
    fine, dull = with_words("own_reviews", rows, Counts(), print)
    assert (
        fine.id == "own_reviews/test/a"
        and fine.split == "test"
        and (fine.label, dull.label) == (1, 0)
    )
    assert fine.segments == ("A fine, funny film.",)
    marked = np.array(fine.word_texts())[fine.evidence.marks[0] > 0]
    assert marked.tolist() == ["fine", "funny"] and not dull.evidence.marks.any()


def test_words_before_a_verb_have_their_subject_and_the_tags_of_words_that_no_model_knows(tmp_path):
    line = {
        "id": "k",
        "label": "plural",
        "texts": ["the <u>keys</u> to it"],
        "tags": "DT NNS IN PRP",
    }
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps(line))
    table = tmp_path / "table.parquet"
    places = np.array([[0, 0, 3], [0, 4, 6], [0, 7, 9]])
    write_instances(table, [Instance("x", ("the to it",), 0, places, "train")], {"task": "x"})
    sources = {TASKS["own_agreement"].repository: file, "agreement_parsed": table}
    (row,) = written.build_own_agreement(sources, Counts())
    (one,) = with_words("own_agreement", [row], Counts(), print)
    assert one.word_texts() == ["the", "NNS", "to", "it"] and one.label == 1
    assert one.evidence.spans == ((1, 2, 0),) and one.evidence.attractors == 0


@pytest.mark.parametrize("name", OWN)
def test_our_own_texts_are_whole(name):
    task = OWN[name]
    file = task.own_files[task.repository]
    assert file == CHECKOUT / "data" / task.repository
    entries = list(json_lines(file))
    assert len(entries) == len({entry["id"] for entry in entries}) == 15
    for entry in entries:
        row = written.make_row(entry["id"], entry, task.labels, set())
        (one,) = with_words(name, [row], Counts(), print)
        assert len(one.segments) == len(task.segments)
        assert one.evidence.spans or one.evidence.marks.any(), "nothing says what decides"
    assert {entry["label"] for entry in entries} == set(task.labels)


def test_what_is_made_of_our_own_texts_alone_is_ours():
    ours = {name for name, task in TASKS.items() if is_ours(task)}
    assert ours == {*OWN, "hybrid_own_reviews", "hybrid_own_news"}


def test_a_printed_text_is_one_that_there_is_and_that_a_task_has_a_class_for():
    (one,) = written.printed_instances("yelp", ["poerner2018/salmon"])
    assert one.label == 0 and one.evidence.marks.any() and "<u>" not in one.segments[0]
    with pytest.raises(ValueError, match="no paper prints 'poerner2018/cod'; there are: poerner"):
        written.printed_instances("yelp", ["poerner2018/cod"])
    with pytest.raises(ValueError, match="label 'negative'; there are: business"):
        written.printed_instances("bbc", ["poerner2018/salmon"])


def test_a_hybrid_of_our_own_has_four_sentences(tmp_path):
    rows = [written.make_row(e["id"], e, TASKS["own_reviews"].labels, None) for e in LINES * 3]
    instances = list(with_words("x", rows, Counts(), print))
    write_instances(tmp_path / "t.parquet", instances, {"task": "x"})
    made = partial(hybrid.build_hybrid_own_reviews, {"own_reviews": tmp_path / "t.parquet"})
    assert [row.segments[0].count(".") for row in made(Counts())] == [4, 2]
