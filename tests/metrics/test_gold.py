"""What people marked: SpanEx records made up here, highlights, and how annotators are merged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from reference import models

from attreval.core.records import Evidence
from attreval.core.units import find_units
from attreval.metrics.unified.plausibility import read_gold
from attreval.texts.rows import Counts
from compendium.corpora.table import words_of_segments
from compendium.corpora.tasks import TASKS
from compendium.corpora.text_pairs import build_spanex_fever, build_spanex_snli

PREMISE = "The brave film was good ."
HYPOTHESIS = "A film was not bad ."


def relation(level, labels, annotators, premise, hypothesis, name="r"):
    """A relation between two pieces of the texts, as the published records have it."""
    found = {"labels": labels, "annotators": annotators, "level": level, "id": name}
    for side, whole, piece in (
        ("premise", PREMISE, premise),
        ("hypothesis", HYPOTHESIS, hypothesis),
    ):
        start = whole.index(piece)
        found |= {f"{side}_text": piece, f"start_{side}": start, f"end_{side}": start + len(piece)}
    return found


RELATIONS = [
    relation("low", ["Synonym-SYSTEM-1", "Hypernym"], [1, 2], "film", "film"),
    relation("high", ["Antonym"], [1], "was good", "not bad"),
    relation("high", ["Dangler-SYSTEM-HYPOTHESIS"], [2], PREMISE, "A film"),
    relation("low", ["Synonym"], [1], "fil", "film", name="no whole word"),
    relation("low", ["Synonym"], [1], "good", "bad", name="151166_35_38_14_17_low"),
]
INTERACTIONS = (  # what they become, over words
    (2, 3, 7, 8, "low Synonym 1"),
    (2, 3, 7, 8, "low Hypernym 2"),
    (3, 5, 9, 11, "high Antonym 1"),
    (0, 6, 6, 8, "high Dangler-SYSTEM-HYPOTHESIS 2"),
)
SPANEX = Evidence(interactions=(*INTERACTIONS, (0, 2, 6, 12, "high Dangler 2")))


def write(tmp_path, *labels):
    """Files of records with these labels."""
    path = tmp_path / "snli_extended.jsonl"
    record = {"id": "7", "premise": PREMISE, "hypothesis": HYPOTHESIS}
    items = (record | {"label": label, "relations": RELATIONS} for label in labels)
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return {"spanex/snli_extended.jsonl": path, "spanex/fever_extended.jsonl": path}


def test_labels_are_matched_by_name(tmp_path):
    counts = Counts()
    rows = build_spanex_fever(
        write(tmp_path, "supports", "nei", "NOT ENOUGH INFO", "REFUTES", 2), counts
    )
    found = [TASKS["spanex_fever"].labels[row.label] for row in rows]
    assert found == ["SUPPORTS", "NOT ENOUGH INFO", "NOT ENOUGH INFO", "REFUTES"]
    assert counts.dropped == {"label 2 is none of the task's": 1}


def test_relations_become_interactions_over_words(tmp_path):
    counts = Counts()
    (row,) = build_spanex_snli(write(tmp_path, "neutral"), counts)
    assert (row.id, row.split, row.segments) == (
        "spanex_snli/test/7",
        "test",
        (PREMISE, HYPOTHESIS),
    )
    assert TASKS["spanex_snli"].labels[row.label] == "neutral"
    found = row.evidence(row.segments, words_of_segments(row.segments))
    assert found.interactions == INTERACTIONS
    why = (
        "relation without a whole word on one side",
        "relation that the authors' code leaves out",
    )
    assert counts.dropped == dict.fromkeys(why, 1)


def case(tiny, evidence):
    one = models.instance(PREMISE, HYPOTHESIS, evidence=evidence)
    tokens = tiny.tokens(one)
    return one, tokens, find_units(tokens, "word")


def test_relations_as_gold(tiny):
    """A dangler gives the units of its own side, the named one or the one that is no whole part,
    and no piece.
    """
    (gold,) = read_gold(*case(tiny, SPANEX))
    assert gold.interactions == {"low": (((2,), (7,)),), "high": (((3, 4), (9, 10)),)}
    assert gold.units == {"low": {2, 7}, "high": {0, 1, 3, 4, 6, 7, 9, 10}}
    first, second = read_gold(*case(tiny, SPANEX), "each")
    assert first.units["high"] == {3, 4, 9, 10} and second.units["high"] == {0, 1, 6, 7}
    (most,) = read_gold(*case(tiny, SPANEX), "majority")
    assert most.units == {"low": {2, 7}, "high": set()} and most.interactions["high"] == ()


def test_highlights_as_gold_and_none_where_nobody_marked_anything(tiny):
    marks = np.array(
        [np.isin(np.arange(12), marked) for marked in ([3, 4, 9], [4, 9, 10], [7])], float
    )
    (gold,) = read_gold(*case(tiny, Evidence(marks=marks)))
    assert gold.units["low"] == gold.units["high"] == {3, 4, 7, 9, 10}
    assert set(gold.interactions["low"]) == {((3,), (9,)), ((4,), (9,)), ((4,), (10,))}
    assert set(gold.interactions["high"]) == {((3, 4), (9,)), ((4,), (9, 10))}
    (most,) = read_gold(*case(tiny, Evidence(marks=marks)), "majority")
    assert most.units["low"] == {4, 9} and most.interactions["low"] == (((4,), (9,)),)
    assert read_gold(*case(tiny, Evidence())) == []
    with pytest.raises(ValueError, match="merged by union, majority, each; got 'some'"):
        read_gold(*case(tiny, Evidence()), "some")


def test_words_beyond_what_the_model_reads_are_nobodys(tiny):
    cut = type(tiny)("cut", tiny.network, tiny.tokenizer, tiny.labels, 9)
    one, tokens, units = case(cut, SPANEX)
    (gold,) = read_gold(one, tokens, units)
    assert gold.units["low"] <= set(range(len(units)))
    assert all(a and b for pieces in gold.interactions.values() for a, b in pieces)
