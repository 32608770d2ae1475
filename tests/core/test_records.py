"""Records refuse what cannot be, and say what came; seeds follow from names alone."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.models import instance

from attreval.core.records import Attribution, Cost, Evidence, Instance
from attreval.core.seeds import generator, seed_of


def attribution(scores, features=((1,), (2,)), level="token"):
    return Attribution("one", "lime", 1, level, features, np.array(scores, dtype=float))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_must_be_finite(bad):
    with pytest.raises(ValueError, match=f"lime on 'one': score 1 of 2 is {bad}"):
        attribution([0.0, bad])


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], []])
def test_scores_must_be_one_a_feature(scores):
    with pytest.raises(ValueError, match="scores for 2 features"):
        attribution(scores)


def test_level_must_be_known():
    with pytest.raises(ValueError, match="'word' is not one of token, pair, span"):
        attribution([1.0, 2.0], level="word")


def test_features_share_their_score_on_tokens():
    pairs = attribution([3.0, 4.0], ((1, 2), (2, 4)), "pair")
    assert pairs.on_tokens(6).tolist() == [0, 1.5, 1.5 + 2, 0, 2, 0]
    assert attribution([3.0, 4.0]).on_tokens(4).tolist() == [0, 3, 4, 0]


@pytest.mark.parametrize(
    "word", [(0, 3, 9), (0, 2, 2), (0, -1, 2), (1, 0, 2), (-1, 0, 2), (0, 4, 3)], ids=lambda w: ",".join(map(str, w))
)
def test_words_must_lie_in_their_text(word):
    with pytest.raises(ValueError, match=r"'x': word 1 is .*outside its text"):
        Instance("x", ("good",), 0, np.array([(0, 0, 4), word]))


def test_marks_must_be_one_a_word():
    with pytest.raises(ValueError, match="marks for 3 words, but it has 2"):
        instance("good film", evidence=Evidence(marks=np.zeros((1, 3))))


@pytest.mark.parametrize("segments", [(), ("a", "b", "c")])
def test_one_or_two_segments(segments):
    with pytest.raises(ValueError, match=f"has {len(segments)} segments"):
        Instance("x", segments, 0, np.zeros((0, 3), int))


def test_words_as_strings():
    assert instance("good  film", "not bad").word_texts() == ["good", "film", "not", "bad"]
    assert instance("").word_texts() == []


def test_reused_is_what_was_not_computed():
    assert Cost(requested=5, unique=2).reused == 3


def test_content_tokens_are_those_not_special(tiny):
    tokens = tiny.tokens(instance("good film", "bad"))
    assert tokens.content.tolist() == [1, 2, 4] and len(tokens) == 6


def test_a_seed_is_the_hash_of_its_names():
    digest = hashlib.sha256(b"explain\x1fsnli\x1f1").digest()
    assert seed_of("explain", "snli", 1) == int.from_bytes(digest[:8], "big") // 2


@given(
    names=st.lists(st.text(alphabet="abc1", max_size=4), min_size=1, max_size=4),
    more=st.text(alphabet="abc1", max_size=4),
)
def test_other_names_are_other_seeds(names, more):
    assert 0 <= seed_of(*names) < 2**63
    assert seed_of(*names) == seed_of(*names)
    assert seed_of(*names, more) != seed_of(*names)
    assert seed_of(*names, more) != seed_of(*names[:-1], names[-1] + more)


def test_generators_of_the_same_names_draw_the_same():
    a, b, c = (generator("x", i).random(4).tolist() for i in (1, 1, 2))
    assert a == b != c
