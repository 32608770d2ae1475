"""Seeds follow from names alone."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from attreval.core.seeds import generator, seed_of


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
