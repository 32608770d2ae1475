"""Records refuse what cannot be, and say what came; seeds follow from names alone."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import case
from reference.models import instance

from attreval.core.records import Attribution, Evidence, Instance
from attreval.core.seeds import seed_of


def attribution(scores, features=((1,), (2,)), level="token"):
    return Attribution("one", "lime", 1, level, features, np.array(scores, dtype=float))


def test_an_attribution_has_a_finite_score_for_each_feature():
    for scores, level, said in (
        ([0.0, np.nan], "token", "lime on 'one': score 1 of 2 is nan"),
        ([0.0, -np.inf], "token", "score 1 of 2 is -inf"),
        ([1.0], "token", "scores for 2 features"),
        ([[1.0, 2.0]], "token", "scores for 2 features"),
        ([], "token", "scores for 2 features"),
        ([1.0, 2.0], "word", "'word' is not one of token, pair, span"),
    ):
        with case(scores, level), pytest.raises(ValueError, match=said):
            attribution(scores, level=level)


def test_features_share_their_score_on_tokens():
    pairs = attribution([3.0, 4.0], ((1, 2), (2, 4)), "pair")
    assert pairs.on_tokens(6).tolist() == [0, 1.5, 1.5 + 2, 0, 2, 0]
    assert attribution([3.0, 4.0]).on_tokens(4).tolist() == [0, 3, 4, 0]


def test_words_must_lie_in_their_text():
    for word in ((0, 3, 9), (0, 2, 2), (0, -1, 2), (1, 0, 2), (-1, 0, 2), (0, 4, 3)):
        with case(word), pytest.raises(ValueError, match=r"'x': word 1 is .*outside its text"):
            Instance("x", ("good",), 0, np.array([(0, 0, 4), word]))


def test_parts_and_evidence_must_fit_the_words():
    for segments in ((), ("a", "b", "c")):
        with pytest.raises(ValueError, match=f"has {len(segments)} segments"):
            Instance("x", segments, 0, np.zeros((0, 3), int))
    for name, part in (("marks", np.zeros((1, 3))), ("tags", ("NN",) * 3), ("classes", (1,))):
        with pytest.raises(ValueError, match=f"{name} for [13] words, but it has 2"):
            instance("good film", evidence=Evidence(**{name: part}))


def test_words_as_strings():
    assert instance("good  film", "not bad").word_texts() == ["good", "film", "not", "bad"]


def test_a_seed_is_the_hash_of_its_names():
    digest = hashlib.sha256(b"explain\x1fsnli\x1f1").digest()
    assert seed_of("explain", "snli", 1) == int.from_bytes(digest[:8], "big") // 2


names = st.text(alphabet="abc1", max_size=4)


@given(names=st.lists(names, min_size=1, max_size=4), more=names)
def test_other_names_are_other_seeds(names, more):
    assert 0 <= seed_of(*names) < 2**63
    assert seed_of(*names, more) not in (seed_of(*names), seed_of(*names[:-1], names[-1] + more))
