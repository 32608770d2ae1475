"""Units of texts: words, pieces, and sentences by their final marks."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attreval.core.records import Tokens
from attreval.core.units import find_units, mask_units


def read(*parts):
    """Tokens of texts cut into words and single marks, a special token around each part."""
    rows = [(-1, "[CLS]", 0, 0, 0)]
    for side, part in enumerate(parts):
        found = enumerate(re.finditer(r"\w+|[^\w\s]", part))
        rows += [(word, match[0], side, match.start(), match.end()) for word, match in found]
        rows.append((-1, "[SEP]", side, 0, 0))
    return Tokens(
        ids=np.arange(len(rows)) + 10,
        segments=np.array([row[2] for row in rows]),
        special=np.array([row[0] < 0 for row in rows]),
        word=np.array([row[0] for row in rows]),
        offsets=np.array([(-1, 0, 0) if row[0] < 0 else row[2:] for row in rows]),
        texts=tuple(row[1] for row in rows),
        mask_id=1,
        pad_id=0,
    )


def test_sentences_end_at_final_marks_before_a_space_and_with_their_part():
    for parts, wanted in (
        (["It is good. Is it? Yes!"], ["It is good .", "Is it ?", "Yes !"]),
        (['He said: "No." Then he left.'], ['He said : " No . "', "Then he left ."]),
        (["It costs 3.50 today... or more."], ["It costs 3 . 50 today . . .", "or more ."]),
        (["no mark at all"], ["no mark at all"]),
        (["?"], ["?"]),
        (["One. Two", "Three. Four."], ["One .", "Two", "Three .", "Four ."]),
        (["多好！「好。」对"], ["多好 ！", "「 好 。 」", "对"]),
        (["أجمل؟ نعم۔ لا."], ["أجمل ؟", "نعم ۔", "لا ."]),
        (["यह है। वह है॥ है"], ["यह ह \u0948 ।", "वह ह \u0948 ॥", "ह \u0948"]),
    ):
        guessed = read(*parts)
        tokens = replace(guessed, written=tuple(parts))
        assert find_units(guessed, "sentence").groups == find_units(tokens, "sentence").groups
        units = find_units(tokens, "sentence")
        assert [" ".join(tokens.texts[p] for p in group) for group in units.groups] == wanted
        assert units.side.tolist() == sorted(units.side)
        kept = np.ones((1, len(units)), bool)
        kept[0, -1] = False
        (row,) = mask_units(tokens, units, kept)
        assert tuple(np.flatnonzero(row == tokens.mask_id)) == units.groups[-1]
    text = "A title\n\nOne. Two\nlines.\n \nEnd"
    whole = replace(read(text), written=(text,))
    for unit, sizes in (("sentence", [2, 2, 3, 1]), ("paragraph", [2, 5, 1])):
        assert [len(group) for group in find_units(whole, unit).groups] == sizes
    with pytest.raises(ValueError, match="there are: word, subword, sentence, paragraph"):
        find_units(tokens, "chapter")


@given(st.lists(st.text("ab .!?\"')", min_size=1, max_size=12), min_size=1, max_size=2))
def test_every_content_token_is_in_one_sentence_in_order(parts):
    tokens = read(*parts)
    units = find_units(tokens, "sentence")
    assert [p for group in units.groups for p in group] == tokens.content.tolist()
    assert all(len({tokens.offsets[p, 0] for p in group}) == 1 for group in units.groups)
