"""Marks of people on words, on tokens, and on words that white space parts; the rated sentences;
texts left out.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from reference import models

from attreval.core.records import Evidence, Instance
from attreval.core.tables import write_instances
from attreval.metrics import scored_text as people
from attreval.texts.rows import Counts
from compendium import config, corpora
from compendium.corpora import reviews, table, text_pairs
from compendium.corpora.fetch import sources


def marked(*segments: str, marks, split="test", **fields) -> Instance:
    return replace(
        models.instance(*segments, **fields),
        split=split,
        evidence=Evidence(marks=np.array(marks, float)),
    )


def test_every_piece_of_a_marked_word_is_marked_and_punctuation_never(tiny):
    instance = marked(
        "an unbelievable plot ,", "not bad", marks=[[0, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 0]]
    )
    marks = people.token_marks(instance, tiny.tokens(instance))
    assert marks.tolist() == [[0, 0, 1, 1, 1, 0, 0, 1, 0], [0] * 9]
    assert people.relevance(marks).tolist() == [0, 0, 0.5, 0.5, 0.5, 0, 0, 0.5, 0]
    instance = marked("well-made", marks=[[1]])  # inside a word, too
    tokens = tiny.tokens(instance)
    pieces = [tokens.texts[c] for c in tokens.content]
    found = dict(zip(pieces, people.token_marks(instance, tokens)[0], strict=True))
    assert found["-"] == 0 and all(mark == 1 for piece, mark in found.items() if piece != "-")
    instance = marked("फि", marks=[[1]])  # a piece that is a mark alone is no punctuation
    letters = replace(tiny.tokens(instance), offsets=np.array([[-1, 0, 0], [0, 0, 1], [0, 1, 2]]))
    letters = replace(letters, special=np.array([True, False, False]), word=np.array([-1, 0, 0]))
    assert people.token_marks(instance, letters).tolist() == [[1, 1]]
    instance = models.instance("good film")
    with pytest.raises(ValueError, match="'x' holds no marks of people"):
        people.token_marks(instance, tiny.tokens(instance))


def test_a_highlighted_emoji_that_the_tokenizer_does_not_know_counts_as_a_word(tiny):
    """As in the authors' tokenizer, where it reads `[UNK]`; one that is in the vocabulary is
    punctuation.
    """
    texts = {"Sentence1": "good \N{ROCKET} \N{ROCKET} \N{GRINNING FACE} !", "Sentence2": "bad"}
    marks = {
        f"Sentence{part}_marked_{person}": texts[f"Sentence{part}"]
        for part in "12"
        for person in "123"
    }
    marks["Sentence1_marked_2"] = "*good* \N{ROCKET} *\N{ROCKET}* *\N{GRINNING FACE}* *!*"
    (row,) = text_pairs.annotated_row(
        {"pairID": "x", "gold_label": "neutral"} | texts | marks, "test", Counts()
    )
    words = table.words_of_segments(row.segments)
    instance = Instance(
        "x", row.segments, row.label, words, "test", row.evidence(row.segments, words)
    )
    tokens = tiny.tokens(instance)
    read = [tokens.texts[c] for c in tokens.content]
    assert read == ["good", "[UNK]", "[UNK]", "\N{GRINNING FACE}", "!", "bad"]
    assert people.token_marks(instance, tokens)[1].tolist() == [1, 0, 1, 0, 0, 0]


def test_words_are_joined_where_no_white_space_parts_them():
    words = np.array([[0, 0, 2], [0, 2, 5], [0, 6, 9], [1, 0, 3], [1, 3, 4]])
    instance = Instance(
        "x", ("don't who", "yes."), 0, words, "test", Evidence(marks=np.array([[0.0, 1, 0, 0, 1]]))
    )
    assert people.spaced_marks(instance).tolist() == [[1, 0, 1]]


def test_rated_sentences_are_marked_on_the_side_of_their_label_and_unknown_to_the_model(tmp_path):
    ratings = np.array([[0, 3, 0, -1], [0, -2, 0, -1]])
    sentences = [
        ("A great sad film", 1, "test/1"),
        ("A great sad film", 0, "train/2"),
        ("The plot is bland here", 1, "test/3"),  # no word rated like the label
        ("Known to the model , word for word", 1, "test/4"),
        ("R&amp;B was great .", 1, "dev/5"),
    ]
    made = []
    for text, label, name in sentences:
        marks = np.zeros((2, len(text.split())))
        marks[:, :4] = ratings * ("great" in text)
        made.append(
            marked(
                text,
                marks=marks,
                label=label,
                name=f"vader_movies/{name}",
                split=name.split("/")[0],
            )
        )
    known = marked(
        "known to the MODEL, word for word ...",
        marks=np.zeros((0, 7)),
        label=1,
        name="r1",
        split="train",
    )
    paths = {name: tmp_path / f"{name}.parquet" for name in ("vader_movies", "rotten_tomatoes")}
    write_instances(paths["vader_movies"], made, {})
    write_instances(paths["rotten_tomatoes"], [known], {})
    counts = Counts()
    rows = list(reviews.build_rated_movies(paths, counts))
    assert [row.id for row in rows] == ["rated_movies/test/1", "rated_movies/test/2"]
    positive, negative = (row.evidence(row.segments, row.words).marks.tolist() for row in rows)
    assert positive == [[0, 1, 0, 0], [0, 0, 0, 0]] and negative == [[0, 0, 0, 1], [0, 1, 0, 1]]
    assert (
        sum(counts.dropped.values()) == 3
        and counts.dropped["in train or dev of rotten_tomatoes"] == 1
    )
    assert counts.dropped["no word rated like the sentence"] == 1


def test_a_known_text_is_recognised_in_another_spelling_and_inside_another():
    known = reviews.Known(["the whole story of a dog"])
    same = (
        "The whole   story, of a dog!",
        "he whole story of a do",
        "And then: the whole story of a dog, and more",
    )
    other = ("story of a dog and a cat", "", "whole story of a")  # the last is too short to be sure
    assert all(map(known.holds, same)) and not any(map(known.holds, other))


PROFILE = """
name: made-up
models: { tiny: { layers: 1, hidden: 8, heads: 1, tokenizer: minilm } }
tasks:
  snli: { models: [tiny], train_rows: 4, dev_rows: 2, test_rows: 2, explain_rows: 1 }
  esnli: { models: [tiny], explain_rows: 1, optional: OPTIONAL }
explain: { methods: [random, lime] }
"""


@pytest.mark.parametrize(
    ("optional", "there", "left_out"),
    [("true", False, ["esnli"]), ("true", True, []), ("false", False, [])],
)
def test_an_optional_task_is_left_out_where_its_files_are_not(
    tmp_path, monkeypatch, optional, there, left_out
):
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path))
    if there:
        (tmp_path / "esnli").mkdir()
        for split in ("dev", "test"):
            (tmp_path / "esnli" / f"esnli_{split}.csv").touch()
    path = tmp_path / "made-up.yaml"
    path.write_text(PROFILE.replace("OPTIONAL", optional))
    loaded = config.load_profile(str(path))
    assert loaded.left_out == left_out and ("esnli" in loaded.tasks) == (not left_out)
    assert (
        corpora.at_hand("esnli") == there
        and corpora.at_hand("snli")
        and corpora.at_hand("rated_movies")
    )
    assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_what_is_at_hand_counts_the_tables_a_task_is_made_from(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path))
    monkeypatch.delenv("ATTREVAL_CORPORA", raising=False)
    assert not sources.has_files(corpora.TASKS["hybrid_newsgroups"]) and sources.has_files(
        corpora.TASKS["hybrid_bbc"]
    )
