"""What agents are shown: explanations on ids, in place or behind the text, and what their gain is."""

import numpy as np
import pytest
from reference import models
from sklearn.metrics import f1_score

from attreval.core.units import find_units
from attreval.metrics.unified.simulatability import (
    Marks,
    agreement_f1,
    append_text,
    bootstrap_gain,
    inform,
    insert_symbols,
    read_marks,
    weighted_f1,
)

MARKS = Marks((900,), (901,), (902,), (903,), tuple((910 + r,) for r in range(9)), 3)
OPEN, CLOSE, WITHIN, BETWEEN = 900, 901, 902, 903


@pytest.fixture
def case(tiny):
    """`[CLS] un ##believ ##able film [SEP] slow plot [SEP]`, four units."""
    tokens = tiny.tokens(models.instance("unbelievable film", "slow plot"))
    return tokens, find_units(tokens, "word")


def shown(told, tokens):
    """Ids as words: marks by their sign, ranks by number."""
    names = {OPEN: "<", CLOSE: ">", WITHIN: ",", BETWEEN: ";"} | {910 + r: str(r + 1) for r in range(9)}
    own = dict(zip(tokens.ids.tolist(), tokens.texts, strict=True))
    return " ".join(names.get(i) or own[i] for i in told.ids.tolist())


def test_symbols_stand_around_whole_units_with_their_ranks(case):
    tokens, units = case
    told = insert_symbols(tokens, units, [((0,), (3,)), ((1,), (3,))], MARKS)
    expected = "[CLS] < un ##believ ##able > 1 < film > 2 [SEP] slow < plot > 1 2 [SEP]"
    assert shown(told, tokens) == expected
    assert len(told.segments) == len(told.ids)
    inside = told.segments[told.ids == 900]
    assert inside.tolist() == [0, 0, 1]


def test_a_span_is_quoted_as_one_and_longer_quotes_go_outside(case):
    tokens, units = case
    told = insert_symbols(tokens, units, [((0, 1), (2, 3)), ((1,), (2,))], MARKS)
    assert shown(told, tokens) == "[CLS] < un ##believ ##able < film > 2 > 1 [SEP] < < slow > 2 plot > 1 [SEP]"


def test_a_piece_of_one_unit_has_one_quote(case):
    tokens, units = case
    told = insert_symbols(tokens, units, [((), (2,))], MARKS)
    assert shown(told, tokens) == "[CLS] un ##believ ##able film [SEP] < slow > 1 plot [SEP]"


def test_text_follows_behind_the_separator(case):
    tokens, units = case
    told = append_text(tokens, units, [((0, 1), (3,)), ((), (2,))], MARKS)
    expected = "[CLS] un ##believ ##able film [SEP] slow plot [SEP] un ##believ ##able film , plot ; slow [SEP]"
    assert shown(told, tokens) == expected
    assert set(told.segments[9:]) == {1}


@pytest.mark.parametrize("form", ["symbol", "text"])
def test_every_own_token_stays_in_its_order(case, form):
    tokens, units = case
    told = inform(tokens, units, [((0,), (2,)), ((1,), (3,))], MARKS, form, 99)
    rest = told.ids.tolist()
    for own in tokens.ids.tolist():  # a subsequence
        rest = rest[rest.index(own) + 1 :]
    assert len(told) > len(tokens)


def test_what_does_not_fit_is_left_out_from_the_last_rank_on(case):
    tokens, units = case
    pieces = [((0,), (2,)), ((1,), (3,))]
    lengths = [len(inform(tokens, units, pieces[:k], MARKS, "text", 99)) for k in (1, 2)]
    assert len(inform(tokens, units, pieces, MARKS, "text", lengths[1] - 1)) == lengths[0]
    assert inform(tokens, units, pieces, MARKS, "text", lengths[0] - 1) is tokens
    assert inform(tokens, units, [], MARKS, "symbol", 99) is tokens
    with pytest.raises(ValueError, match="shown as symbol or text; got 'song'"):
        inform(tokens, units, pieces, MARKS, "song", 99)


def test_marks_are_those_of_the_tokenizer(tiny):
    found = read_marks(tiny.tokenizer, 12)
    assert found.separator == tiny.tokenizer.sep_token_id and len(found.ranks) == 12
    assert found.ranks[11] == tuple(tiny.tokenizer("12", add_special_tokens=False)["input_ids"])


def test_weighted_f1_is_scikit_learns_on_the_drawn_instances():
    rng = np.random.default_rng(3)
    labels, predicted = rng.integers(0, 3, 12), rng.integers(0, 4, 12)
    weights = rng.multinomial(12, np.full(12, 1 / 12), size=40)
    for row, found in zip(weights, weighted_f1(predicted, labels, weights.astype(float)), strict=True):
        drawn = np.repeat(np.arange(12), row)
        assert found == pytest.approx(f1_score(labels[drawn], predicted[drawn], average="macro", zero_division=0))


def test_gain():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    told = np.where(rng.random(300) < 0.9, labels, rng.integers(0, 3, 300))
    untold = rng.integers(0, 3, 300)
    gain, low, high = bootstrap_gain(told, untold, labels, 200, 0.95, np.random.default_rng(1))
    assert low < gain < high and low > 0.3
    assert gain == pytest.approx(agreement_f1(told, labels) - agreement_f1(untold, labels))
    assert agreement_f1(told, labels) == f1_score(labels, told, average="macro")
    assert bootstrap_gain(told, told, labels, 50, 0.9, np.random.default_rng(1)) == (0.0, 0.0, 0.0)
