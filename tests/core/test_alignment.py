"""Sub-words, words and characters: shares against the slow twin, and nothing gained or lost on the
way.
"""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import alignment as slow
from reference import models

from attreval.core import alignment

stretches = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 4)), max_size=8
)
TOKENIZER = models.tiny_tokenizer()


def table(rows):
    return np.array([(s, a, a + n) for s, a, n in rows], dtype=np.int64).reshape(-1, 3)


@given(tokens=stretches, words=stretches, specials=st.integers(0, 2))
def test_shares_equal_the_twin(tokens, words, specials):
    offsets = np.concatenate([table(tokens), np.full((specials, 3), (-1, 0, 0))]).astype(np.int64)
    words = table([w for w in words if w[2]])
    shares = alignment.overlap_shares(offsets, words)
    assert shares.shape == (len(offsets), len(words))
    assert_allclose(shares, slow.overlap_shares(offsets, words), atol=1e-12)


anything = st.text("ab lyun'.-!é好\u200b\u0301\N{GRINNING FACE}م", max_size=30)


@given(text=anything, second=st.one_of(st.none(), anything), seed=st.integers(0, 99))
def test_relevance_is_conserved_on_any_text(text, second, seed):
    one = models.instance(text, *([] if second is None else [second]))
    assume(len(one.words))
    try:
        tokens = alignment.tokenize(one, TOKENIZER, 64)
    except ValueError as error:
        assert "nothing to explain" in str(error)
        return
    scores = np.random.default_rng(seed).standard_normal(len(tokens))
    scores[tokens.special] = 0
    sides = {int(s) for s in tokens.offsets[~tokens.special, 0]}
    # a side without words has nobody to give its relevance to
    assume(sides <= set(one.words[:, 0].tolist()))
    by_word = alignment.to_words(scores, tokens, one)
    assert_allclose(by_word.sum(), scores.sum(), atol=1e-9)
    back = alignment.to_tokens(by_word, tokens, one)
    assert_allclose(back.sum(), by_word.sum(), atol=1e-9)
    assert not back[tokens.special].any()


def test_pieces_of_a_word_share_its_score():
    one = models.instance("an unbelievable plot")
    tokens = alignment.tokenize(one, TOKENIZER, 64)
    assert tokens.texts == ("[CLS]", "a", "##n", "un", "##believ", "##able", "plot", "[SEP]")
    assert tokens.word.tolist() == [-1, 0, 0, 1, 1, 1, 2, -1]
    assert_allclose(alignment.to_words(np.arange(8.0), tokens, one), [1 + 2, 3 + 4 + 5, 6])
    shared = alignment.to_tokens(np.array([0.0, 3.0, 1.0]), tokens, one)
    assert_allclose(shared, [0, 0, 0, 1, 1, 1, 1, 0])
    assert alignment.marked_tokens(np.array([0, 1, 1]), tokens).tolist() == [0, 0, 0, 1, 1, 1, 1, 0]
