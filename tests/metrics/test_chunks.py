"""Chunks against their slow twin, and what they make of selections."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.chunking import chunked

from attreval.metrics.agreement import agreement_of
from attreval.metrics.chunks import chosen_chunks, find_chunks

SOME = ("the", "a", "of", "old", "man", "sea", "##s", "##ly", "was", ",", ".", "not", "film", "It", "n't")
WORDS = st.lists(st.sampled_from(SOME), max_size=25)


def test_a_phrase_begins_at_its_function_word():
    text = "the old man of the sea , who was un ##beliv ##able , slept ."
    tokens = text.split()
    parts = [" ".join(part) for part in chunked(tokens)]
    assert parts == ["the old man", "of the sea", ",", "who was un ##beliv ##able", ",", "slept", "."]
    assert find_chunks(tokens).tolist() == [0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4, 5, 6]


@given(tokens=WORDS)
def test_chunks_are_those_of_the_slow_twin(tokens):
    found = find_chunks(tokens)
    sizes = [len(part) for part in chunked(tokens)]
    assert found.tolist() == [at for at, size in enumerate(sizes) for _ in range(size)]


@given(tokens=WORDS.filter(bool), data=st.data())
def test_a_chunk_is_chosen_where_one_of_its_tokens_is(tokens, data):
    chunks = find_chunks(tokens)
    flags = st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens))
    selections = np.array([data.draw(flags), data.draw(flags)])
    found = chosen_chunks(selections, chunks)
    assert found.shape == (2, chunks.max() + 1)
    for row, chosen in zip(selections, found, strict=True):
        assert set(np.flatnonzero(chosen)) == set(chunks[row])
    if found.any() and len(set(chunks)) == len(tokens):  # chunks of one token change nothing
        assert agreement_of(list(found)) == agreement_of(list(selections))


def test_other_lengths_are_refused():
    with pytest.raises(ValueError, match="of 3 tokens do not fit chunks of 2"):
        chosen_chunks(np.ones(3, bool), np.array([0, 0]))
