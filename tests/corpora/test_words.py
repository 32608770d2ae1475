"""Every word lies in its text, none is empty or white space, and nothing else is left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attreval.texts.words import words_of as own_words
from compendium.corpora.table import word_bounds, words_of_segments, writable

anything = st.text("abDn't.,-!?12 \t\n\u00a0\u2028é\u0301好م\N{GRINNING FACE}\0", max_size=40)


def texts_of(text):
    return [text[a:b] for a, b in next(word_bounds([text]))]


@given(anything)
def test_words_hold_every_character_that_is_not_white_space_once(text):
    words = next(word_bounds([text]))
    assert (words[:, 0] < words[:, 1]).all()
    assert (words[1:, 0] >= words[:-1, 1]).all()
    assert not any(text[a:b].isspace() for a, b in words)
    covered = np.zeros(len(text), dtype=int)
    for a, b in words:
        covered[a:b] += 1
    assert all(count == 1 for count, char in zip(covered, text, strict=True) if not char.isspace())


@given(st.lists(anything, max_size=6))
def test_a_text_has_the_same_words_alone_and_among_others(texts):
    together = [words.tolist() for words in word_bounds(texts)]
    assert together == [next(word_bounds([text])).tolist() for text in texts]


def test_known_texts():
    for text, words in (
        ("", []),
        (" \t\n ", []),
        ("The cat didn't sleep.", ["The", "cat", "did", "n't", "sleep", "."]),
        ("one\ttwo\n\nthree", ["one", "two", "three"]),
        ("well-made", ["well", "-", "made"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("nul \0 inside", ["nul", "\0", "inside"]),
        (writable("a \ud83d b"), ["a", "\N{REPLACEMENT CHARACTER}", "b"]),
    ):
        assert texts_of(text) == words
        assert len(words_of_segments([text, " "])) == len(words)


def test_each_character_is_a_word_where_no_spaces_are_written():
    text = "我很喜欢 K-pop。この映画は good"
    found = [text[a:b] for _, a, b in own_words((text,))]
    assert found == [*"我很喜欢", "K-pop", *"。この映画は", "good"]
