"""Attributions made elsewhere: files that come back as they went, scores that reach the right
tokens, clear errors.
"""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import case

from attreval.methods import METHODS
from attreval.methods import attribution_files as files
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer
from compendium.config.own import AttributionsSpec, register_attributions


def rows(segments, method="theirs", **more):
    spans = [(s, at, at + 1) for s, text in enumerate(segments) for at in range(len(text))]
    return files.GivenScores(
        tuple(segments), method, np.array(spans).reshape(-1, 3), np.arange(len(spans)) / 7, **more
    )


def test_files_come_back_as_they_went(tmp_path):
    for ending in ["jsonl", "parquet"]:
        with case(ending):
            made = [rows(["a b"], id="1", target="yes"), rows(["Größe 🙂", 'x\n"y"'], "other")]
            files.write_attribution_file(path := tmp_path / f"scores.{ending}", made)
            found = files.read_attribution_file(path)
            for a, b in zip(made, found, strict=True):
                assert (a.segments, a.method, a.id, a.target) == (
                    b.segments,
                    b.method,
                    b.id,
                    b.target,
                )
                assert np.array_equal(a.spans, b.spans) and np.array_equal(a.scores, b.scores)


@given(st.lists(st.text(st.sampled_from("abcä "), min_size=1, max_size=6), min_size=1, max_size=2))
def test_tokens_are_found_from_left_to_right(segments):
    words = [(s, w) for s, text in enumerate(segments) for w in text.split()]
    spans = files.find_tokens([w for _, w in words], tuple(segments))
    assert [segments[s][a:b] for s, a, b in spans] == [w for _, w in words]
    assert spans.tolist() == sorted(spans.tolist())


def test_marks_of_word_pieces_and_case_do_not_count():
    found = files.find_tokens(["un", "##believ", "##able", "ĠFilm", "▁!"], ("Unbelievable film !",))
    assert found.tolist() == [[0, 0, 2], [0, 2, 8], [0, 8, 12], [0, 13, 17], [0, 18, 19]]
    assert files.find_tokens(["hono", "##re", "is"], ("Honoré is",)).tolist() == [
        [0, 0, 4],
        [0, 4, 6],
        [0, 7, 9],
    ]
    with pytest.raises(ValueError, match=r"'\[CLS\]' does not come"):
        files.find_tokens(["[CLS]", "Un"], ("Unbelievable film !",))


def test_tokens_that_leave_words_out_are_refused():
    """Else their scores would be those of other words; only what a model did not read may be
    missing, at the end.
    """
    refused = (
        ("that film", "that was a film"),
        ("hat", "hated"),
        ("film", "a film"),
        ("a c", "a bad", "b c"),
    )
    for tokens, *segments in refused:
        with pytest.raises(ValueError, match=r"does not come next|ends inside a word"):
            files.find_tokens(tokens.split(), tuple(segments))
    assert files.find_tokens(["that", "a"], ("that was", "a film")).tolist() == [
        [0, 0, 4],
        [1, 0, 1],
    ]


def test_scores_reach_the_tokens_that_hold_their_characters(tiny, texts):
    for instance in texts:
        tokens = tiny.tokens(instance)
        words = instance.words
        given_scores = files.GivenScores(
            instance.segments, "theirs", words, np.arange(1.0, len(words) + 1)
        )
        found = files.on_content_tokens(given_scores, tokens)
        slow = np.zeros(len(tokens))
        for (segment, start, end), score in zip(words, given_scores.scores, strict=True):
            inside = {
                t: min(end, b) - max(start, a)
                for t, (s, a, b) in enumerate(tokens.offsets)
                if s == segment
            }
            for t, size in inside.items():
                slow[t] += score * max(0, size) / sum(max(0, size) for size in inside.values())
        assert np.allclose(found, slow[tokens.content])
    first = files.GivenScores(instance.segments, "theirs", words[:1], np.ones(1))
    assert (
        np.count_nonzero(files.on_content_tokens(first, tokens))
        == (tokens.word[tokens.content] == 0).sum()
    )


def test_given_scores_stand_beside_ours_and_ask_nothing(tiny, texts, monkeypatch):
    stored = [
        files.GivenScores(i.segments, "theirs", i.words, np.ones(len(i.words)), id=i.id)
        for i in texts
    ]
    made = files.as_methods(stored, tiny.labels, METHODS)
    monkeypatch.setitem(METHODS, "theirs", made["theirs"])
    for e in explain_instances(Scorer(tiny), texts, ["theirs", "gradient_l2"]):
        assert np.isclose(
            e.attributions["theirs"].scores.sum(), len(e.instance.words) - e.tokens.dropped
        )
        assert (
            e.attributions["theirs"].cost.requested
            == 0
            < e.attributions["gradient_l2"].cost.requested
        )
    with pytest.raises(ValueError, match="has no scores for the text"):
        made["theirs"].given(
            texts[0].__class__("new", ("other",), 0, np.array([[0, 0, 5]])), None, 0
        )
    with pytest.raises(ValueError, match="made elsewhere"):
        next(made["theirs"].converse(None, 0, None, None))


def test_names_targets_and_doubles_are_checked(tiny, texts):
    with pytest.raises(ValueError, match=r"as one here is named.*'lime_theirs'"):
        files.as_methods([rows(["a"], "lime")], ["no", "yes"], METHODS)
    with pytest.raises(ValueError, match="explains the class 'maybe'; there are: no, yes"):
        files.as_methods([rows(["a"], target="maybe")], ["no", "yes"])
    with pytest.raises(ValueError, match="two rows for the text '1'"):
        files.as_methods([rows(["a"], id="1"), rows(["a"], id="1")], ["no", "yes"])
    with pytest.raises(ValueError, match=r"two rows for the text \('a',\)"):
        files.as_methods([rows(["a"]), rows(["a"])], ["no", "yes"])
    made = files.as_methods([rows([texts[0].segments[0]], target="YES")], ["no", "yes"])["theirs"]
    with pytest.raises(ValueError, match=r"explains the class 'yes'.*asked is 'no'"):
        made.given(
            texts[0].__class__("x", (texts[0].segments[0],), 0, texts[0].words[:1]),
            tiny.tokens(texts[0]),
            0,
        )


def test_scores_are_those_of_the_text_whatever_ids_say(tiny, texts):
    """Ids of a file that counts from 0 name other texts here; of equal texts the id decides, then
    the class.
    """

    def row(at, score, **more):
        return files.GivenScores(
            texts[at].segments,
            "theirs",
            texts[at].words,
            np.full(len(texts[at].words), score),
            **more,
        )

    def asked(made, at, name, target=0):
        instance = texts[at].__class__(f"mine/test/{name}", texts[at].segments, 0, texts[at].words)
        return made["theirs"].given(instance, tiny.tokens(instance), target).values.max()

    shifted = files.as_methods([row(0, 1.0, id="1"), row(1, 2.0, id="0")], tiny.labels)
    assert asked(shifted, 0, "0") <= 1.0 < asked(shifted, 1, "1") <= 2.0
    same = files.as_methods(
        [row(0, 1.0, id="a/1"), row(0, 2.0, id="1"), row(0, 3.0, id="2")], tiny.labels
    )
    found = np.array([asked(same, 0, name) for name in ("a/1", "1", "2", "9")])
    assert found == pytest.approx(found[0] * np.array([1, 2, 3, 1]))
    classes = files.as_methods(
        [row(0, 1.0, target=0), row(0, 2.0, target=tiny.labels[1])], tiny.labels
    )
    assert asked(classes, 0, "x", 1) == pytest.approx(2 * asked(classes, 0, "x", 0))
    either = files.as_methods(
        [row(0, 1.0), row(0, 2.0, target=1)], tiny.labels
    )  # what says no class is for the others
    assert asked(either, 0, "x", 1) == pytest.approx(2 * asked(either, 0, "x", 0))


def test_a_method_that_several_files_name_has_the_texts_of_all(tmp_path, tiny, texts, monkeypatch):
    monkeypatch.setattr("attreval.methods.METHODS", dict(METHODS))
    for at, text in enumerate(texts[:2]):
        one = files.GivenScores(
            text.segments, "theirs", text.words, np.full(len(text.words), at + 1.0)
        )
        files.write_attribution_file(tmp_path / f"{at}.jsonl", [one])
    specs = [
        AttributionsSpec(file=str(tmp_path / f"{at}.jsonl"), labels=tiny.labels) for at in range(2)
    ]
    register_attributions(specs)
    from attreval.methods import METHODS as known  # the one that was put in place

    for at, text in enumerate(texts[:2]):
        assert 0 < known["theirs"].given(text, tiny.tokens(text), 0).values.max() <= at + 1
    other = AttributionsSpec(file=str(tmp_path / "1.jsonl"), labels=["a", "b"])
    with pytest.raises(ValueError, match="as one here is named"):
        register_attributions([specs[0], other])


GOOD = {"text": "a b", "method": "m", "scores": [1, 2], "spans": [[0, 1], [2, 3]]}


def test_rows_that_are_wrong_are_named(tmp_path):
    for change, message in (
        ({"scores": [1]}, "1 scores for 2 spans"),
        ({"scores": [1, float("nan")]}, "score 1 is no finite number"),
        ({"scores": ["x", "y"]}, "list of numbers"),
        ({"spans": [[0, 1], [2, 9]]}, r"span \[0, 2, 9\] is not in the text"),
        ({"spans": None}, "`spans` or `tokens`"),
        ({"spans": ["01", [2, 3]]}, r"a span is \[start, end\]"),
        ({"text": ["a", "b", "c"]}, "a string, or two"),
        ({"method": None}, "row 1: no method"),
        ({"spans": None, "tokens": ["a", "z"]}, "'z' does not come"),
    ):
        with case(change, message):
            (path := tmp_path / "x.jsonl").write_text(json.dumps(GOOD | change) + "\n")
            with pytest.raises(ValueError, match=message):
                files.read_attribution_file(path)


def test_files_that_are_none_are_named(tmp_path):
    for name, content, message in (
        ("a.jsonl", "{", "line 1: no JSON"),
        ("a.jsonl", "[1]\n", "line 1: an object"),
        ("a.jsonl", "\n", "holds no attribution"),
        ("a.parquet", "x", "cannot be read as Parquet"),
        ("a.pkl", "x", "are read from"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=message):
            files.read_attribution_file(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="no file"):
        files.read_attribution_file(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="written as"):
        files.write_attribution_file(tmp_path / "a.csv", [])
