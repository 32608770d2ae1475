"""Hybrid documents: every word knows its sentence's class, and nothing is lost or made up."""

import json
from collections import Counter

import numpy as np
import pytest
from reference.files import write_tar
from reference.models import instance

from attreval.core.tables import read_about, read_instances, write_instances
from attreval.texts.rows import Counts
from compendium import corpora
from compendium.corpora import hybrid, topics
from compendium.corpora.fetch.fetching import with_tables
from compendium.corpora.table import make_table

KINDS = ("tide", "loom", "kiln")  # each class has its own word, so a sentence gives its class away


def write_parent(folder):
    """A task table whose sentences name their class: 23 test texts and one training text."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(23):
        label = number % 3
        ends = [".", "!", "?", ".\n\n"]
        parts = [
            f"Here the {KINDS[label]} number {number}-{at} \t waits{ends[at]}"
            for at in range(rng.integers(1, 5))
        ]
        made.append(instance(" ".join(parts), name=f"t{number}", label=label, split="test"))
    made.append(instance("Never the training text.", name="train", label=0, split="train"))
    path = folder / "parent.parquet"
    write_instances(path, made, {})
    return path, [i for i in made if i.split == "test"]


def build(path):
    counts = Counts()
    return list(hybrid.build_hybrid("bbc", {"bbc": path}, counts)), counts


def test_every_sentence_of_test_comes_once_and_its_words_have_its_class(tmp_path):
    path, texts = write_parent(tmp_path)
    rows, counts = build(path)
    numbers = Counter()
    for row in rows:
        made = instance(row.segments[0])
        evidence = row.evidence(row.segments, made.words)
        words = made.word_texts()
        assert len(evidence.classes) == len(words)
        said = [at for at, word in enumerate(words) if word in KINDS]
        assert [KINDS[evidence.classes[at]] for at in said] == [words[at] for at in said]
        for start, end in zip(said, [*said[1:], len(words) + 2], strict=True):
            # a sentence begins two words before the one that names its class
            assert set(evidence.classes[start - 2 : end - 2]) == {evidence.classes[start]}
        numbers.update(word for word in row.segments[0].split() if "-" in word)
        assert row.split == "test" and "training" not in row.segments[0]
        share = Counter(evidence.classes)
        assert share[row.label] >= max(share.values()) - 10  # white space words against spaCy's
    assert numbers == Counter(
        word for text in texts for word in text.segments[0].split() if "-" in word
    )
    assert counts.noted["sentences"] == numbers.total()
    lengths = [sum(w in KINDS for w in instance(row.segments[0]).word_texts()) for row in rows]
    assert lengths[:-1] == [10] * (len(rows) - 1) and 1 <= lengths[-1] <= 10


def test_the_label_is_the_class_of_most_words_the_lowest_on_a_tie(tmp_path):
    path = tmp_path / "t.parquet"
    texts = [("One two three four five six.", 2), ("One two.", 1), ("One two three four.", 1)]
    for size, label in ((3, 1), (2, 2)):
        write_instances(
            path, [instance(t, name=t, label=k, split="test") for t, k in texts[:size]], {}
        )
        (row,), _ = build(path)
        assert row.label == label
    assert list(hybrid.sentences_of([" \n\t ", "One  oar.\n\n Two nets!"])) == [
        [],
        ["One oar.", "Two nets!"],
    ]


def test_a_hybrid_table_is_made_from_its_parents_table(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path))
    path, _ = write_parent(tmp_path)
    task = corpora.TASKS["hybrid_bbc"]
    given = task, {"bbc": path}, {"task": task.name, "labels": list(task.labels)}, lambda line: None
    made = make_table(*given)
    first = made.read_bytes()
    assert make_table(*given).read_bytes() == first
    found = corpora.load_task("hybrid_bbc", "test")
    plain = [
        s
        for text in hybrid.sentences_of(i.segments[0] for i in read_instances(path, "test"))
        for s in text
    ]
    assert not any(" ".join(plain[:10]) == i.segments[0] for i in found), "sentences are shuffled"
    assert read_about(made)["rows"] == {"test": len(found)}
    assert all(len(i.evidence.classes) == len(i.words) for i in found)
    with pytest.raises(ValueError, match="no split 'train'; there are: test"):
        corpora.load_task("hybrid_bbc", "train")


def test_tasks_are_fetched_behind_the_tables_they_are_made_from():
    names = [task.name for task in with_tables(("agreement_ud", "hybrid_bbc", "imdb"))]
    assert names == ["imdb", "bbc", "agreement_parsed", "agreement_ud", "hybrid_bbc"]
    with pytest.raises(ValueError, match="unknown task 'hybrid_bcc'"):
        with_tables(("hybrid_bcc",))


def test_relevant_words_meet_words_by_both_rules():
    made = instance("X-rays of a diodes resistor ray amplifier")
    listed = ["rays", "diode", "resistors"]
    marks = topics.mark_listed_words(listed, made.segments, made.words).marks
    words = made.word_texts()
    by_rule = [{word for word, marked in zip(words, row, strict=True) if marked} for row in marks]
    assert by_rule[0] >= {"diodes"} and "resistor" not in by_rule[0] and "ray" not in by_rule[0]
    assert by_rule[1] >= {"resistor", "ray"} and "diodes" not in by_rule[1]
    assert "amplifier" not in by_rule[0] | by_rule[1]
    assert any("rays" in word.lower() for word in by_rule[0])


def test_posts_with_lists_are_found_in_the_archive(tmp_path):
    posts = {
        "test/sci.med/1": "From: x\n\nthe nurse waits",
        "train/sci.med/2": "old",
        "test/sci.med/3": "no list",
    }
    posts |= {
        "test/sci.electronics/4": "From: y\n\na diode",
        "test/sci.electronics/1": "same number, other group",
    }
    archive = write_tar(
        tmp_path / "a.tar.gz", {f"20news-bydate-{name}": text for name, text in posts.items()}
    )
    lists = {
        "sci.med/1": [["Nurse ", 1.0], ["", 0.5]],
        "sci.med/2": [["old", 1]],
        "sci.electronics/4": [["", 1]],
    }
    for name, words in lists.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.json").write_text(json.dumps({"article": name, "words": words}))
    sources = {f"mohseni/{group}": tmp_path / group for group in topics.GROUPS}
    counts = Counts()
    rows = list(
        topics.build_manual_newsgroups(
            sources | {"newsgroups/20news-bydate.tar.gz": archive}, counts
        )
    )
    assert [(row.id, row.label) for row in rows] == [("manual_newsgroups/test/sci.med/1", 13)]
    assert counts.dropped == {
        "an empty list": 1,
        "a list whose post is not in the official test part": 1,
    }
    words = instance(*rows[0].segments)
    assert (
        rows[0]
        .evidence(words.segments, words.words)
        .marks[:, words.word_texts().index("nurse")]
        .all()
    )
