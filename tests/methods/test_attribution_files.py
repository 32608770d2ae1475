"""Attributions made elsewhere: files that come back as they went, scores that reach the right
tokens, clear errors.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import case
from reference.models import instance

from attreval.methods import METHODS
from attreval.methods import attribution_files as files
from attreval.methods.run import explain_instances
from attreval.models.scorer import Scorer
from compendium.config.own import AttributionsSpec, register_attributions


def rows(segments, method="theirs", **more):
    spans = [(s, at, at + 1) for s, text in enumerate(segments) for at in range(len(text))]
    scores = np.arange(len(spans)) / 7
    return files.GivenScores(tuple(segments), method, np.array(spans), scores, **more)


def of_text(instance, scores, **more):
    """Scores of the words of a text."""
    scores = np.broadcast_to(scores, len(instance.words)).astype(float)
    return files.GivenScores(instance.segments, "theirs", instance.words, scores, **more)


def test_files_come_back_as_they_went(tmp_path):
    made = [rows(["a b"], id="1", target="yes"), rows(["Größe 🙂", 'x\n"y"'], "other")]
    for ending in ("jsonl", "parquet"):
        path = tmp_path / f"scores.{ending}"
        files.write_attribution_file(path, made)
        for a, b in zip(made, files.read_attribution_file(path), strict=True):
            for name, value in vars(a).items():
                assert np.array_equal(value, getattr(b, name)), (ending, name)


@given(st.lists(st.text(st.sampled_from("abcä "), min_size=1, max_size=6), min_size=1, max_size=2))
def test_tokens_are_found_from_left_to_right(segments):
    words = [(s, w) for s, text in enumerate(segments) for w in text.split()]
    spans = files.find_tokens([w for _, w in words], tuple(segments))
    assert [segments[s][a:b] for s, a, b in spans] == [w for _, w in words]
    assert spans.tolist() == sorted(spans.tolist())


def test_marks_of_word_pieces_and_case_do_not_count():
    for tokens, text, expected in (
        (["un", "##believ", "##able", "ĠFilm", "▁!"], "Unbelievable film !", [0, 2, 8, 13, 18]),
        (["hono", "##re", "is"], "Honoré is", [0, 4, 7]),
    ):
        found = files.find_tokens(tokens, (text,))
        assert found[:, 1].tolist() == expected
        assert (found[1:, 1] - found[:-1, 2] <= 1).all() and found[-1, 2] == len(text)
    with pytest.raises(ValueError, match=r"'\[CLS\]' does not come"):
        files.find_tokens(["[CLS]", "Un"], ("Unbelievable film !",))


def test_tokens_that_leave_words_out_are_refused():
    """Else their scores would be those of other words; only what a model did not read may be
    missing, at the end.
    """
    for tokens, *segments in (
        ("that film", "that was a film"),
        ("hat", "hated"),
        ("film", "a film"),
        ("a c", "a bad", "b c"),
    ):
        with pytest.raises(ValueError, match=r"does not come next|ends inside a word"):
            files.find_tokens(tokens.split(), tuple(segments))
    found = files.find_tokens(["that", "a"], ("that was", "a film"))
    assert found.tolist() == [[0, 0, 4], [1, 0, 1]]


def test_scores_reach_the_tokens_that_hold_their_characters(tiny, texts):
    for one in texts:
        tokens = tiny.tokens(one)
        given_scores = of_text(one, np.arange(1, len(one.words) + 1))
        slow = np.zeros(len(tokens))
        for (segment, start, end), score in zip(one.words, given_scores.scores, strict=True):
            inside = np.zeros(len(tokens))
            for t, (s, a, b) in enumerate(tokens.offsets):
                inside[t] = (s == segment) * max(0, min(end, b) - max(start, a))
            slow += score * inside / inside.sum()
        found = files.on_content_tokens(given_scores, tokens)
        np.testing.assert_allclose(found, slow[tokens.content])
    first = files.GivenScores(one.segments, "theirs", one.words[:1], np.ones(1))
    reached = files.on_content_tokens(first, tokens) != 0
    assert reached.tolist() == (tokens.word[tokens.content] == 0).tolist()


def test_given_scores_stand_beside_ours_and_ask_nothing(tiny, texts, monkeypatch):
    stored = [of_text(one, 1, id=one.id) for one in texts]
    made = files.as_methods(stored, tiny.labels, METHODS)["theirs"]
    monkeypatch.setitem(METHODS, "theirs", made)
    for e in explain_instances(Scorer(tiny), texts, ["theirs", "gradient_l2"]):
        theirs = e.attributions["theirs"]
        assert np.isclose(theirs.scores.sum(), len(e.instance.words) - e.tokens.dropped)
        assert theirs.cost.requested == 0 < e.attributions["gradient_l2"].cost.requested
    with pytest.raises(ValueError, match="has no scores for the text"):
        made.given(instance("other"), None, 0)
    with pytest.raises(ValueError, match="made elsewhere"):
        next(made.converse(None, 0, None, None))


def test_names_targets_and_doubles_are_checked(tiny):
    twice = rows(["a"], id="1")
    for stored, said in (
        ([rows(["a"], "lime")], "'lime_theirs'"),
        ([rows(["a"], target="maybe")], "explains the class 'maybe'; there are: no, yes"),
        ([twice, twice], "two rows for the text '1'"),
        ([rows(["a"]), rows(["a"])], r"two rows for the text \('a',\)"),
    ):
        with case(said), pytest.raises(ValueError, match=said):
            files.as_methods(stored, ["no", "yes"], METHODS)
    made = files.as_methods([rows(["good"], target="YES")], ["no", "yes"])["theirs"]
    with pytest.raises(ValueError, match=r"explains the class 'yes'.*asked is 'no'"):
        made.given(instance("good"), tiny.tokens(instance("good")), 0)


def test_scores_are_those_of_the_text_whatever_ids_say(tiny, texts):
    """Ids of a file that counts from 0 name other texts here; of equal texts the id decides, then
    the class.
    """

    def ask(stored, at=0, name="x", target=0):
        """The largest score that one of the texts, of this id, is given."""
        made = files.as_methods(stored, tiny.labels)["theirs"]
        one = replace(texts[at], id=f"mine/test/{name}")
        return made.given(one, tiny.tokens(one), target).values.max()

    first, second, *_ = texts
    shifted = [of_text(first, 1, id="1"), of_text(second, 2, id="0")]
    assert ask(shifted, 0, "0") <= 1.0 < ask(shifted, 1, "1") <= 2.0
    unit = ask([of_text(first, 1)])
    same = [of_text(first, score, id=name) for score, name in ((1, "a/1"), (2, "1"), (3, "2"))]
    found = [ask(same, 0, name) for name in ("a/1", "1", "2", "9")]
    assert found == pytest.approx(unit * np.array([1, 2, 3, 1]))
    # a row that says no class is for the others
    for known in (0, None):
        stored = [of_text(first, 1, target=known), of_text(first, 2, target=tiny.labels[1])]
        found = [ask(stored, target=target) for target in (0, 1)]
        assert found == pytest.approx([unit, 2 * unit])


def test_a_method_that_several_files_name_has_the_texts_of_all(tmp_path, tiny, texts, monkeypatch):
    known = dict(METHODS)
    monkeypatch.setattr("attreval.methods.METHODS", known)
    paths = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    for at, path in enumerate(paths):
        files.write_attribution_file(path, [of_text(texts[at], at + 1)])
    specs = [AttributionsSpec(file=str(path), labels=tiny.labels) for path in paths]
    register_attributions(specs)
    for at, text in enumerate(texts[:2]):
        assert 0 < known["theirs"].given(text, tiny.tokens(text), 0).values.max() <= at + 1
    other = AttributionsSpec(file=str(paths[1]), labels=["a", "b"])
    with pytest.raises(ValueError, match="as one here is named"):
        register_attributions([specs[0], other])


GOOD = {"text": "a b", "method": "m", "scores": [1, 2], "spans": [[0, 1], [2, 3]]}


def test_rows_that_are_wrong_are_named(tmp_path):
    path = tmp_path / "x.jsonl"
    for change, said in (
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
        path.write_text(json.dumps(GOOD | change) + "\n")
        with case(change), pytest.raises(ValueError, match=said):
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
