"""What agents are shown: explanations on ids, in place or behind the text, and what their
gain is.
"""

import numpy as np
import pandas as pd
import pytest
from reference import models
from sklearn.metrics import f1_score

from attreval.core.units import find_units
from attreval.metrics.unified import simulatability
from attreval.metrics.unified.simulatability import (
    Marks,
    append_text,
    bootstrap_gain,
    inform,
    insert_symbols,
)
from compendium.config import BootstrapSpec
from compendium.papers.sun2024.agents import agents_learned

MARKS = Marks((900,), (901,), (902,), (903,), tuple((910 + r,) for r in range(9)), 3)
OPEN = 900
CLOSE = 901
WITHIN = 902
BETWEEN = 903


@pytest.fixture
def case(tiny):
    """`[CLS] un ##believ ##able film [SEP] slow plot [SEP]`, four units."""
    tokens = tiny.tokens(models.instance("unbelievable film", "slow plot"))
    return tokens, find_units(tokens, "word")


def shown(told, tokens):
    """Ids as words: marks by their sign, ranks by number."""
    names = {OPEN: "<", CLOSE: ">", WITHIN: ",", BETWEEN: ";"} | {
        910 + r: str(r + 1) for r in range(9)
    }
    own = dict(zip(tokens.ids.tolist(), tokens.texts, strict=True))
    return " ".join(names.get(i) or own[i] for i in told.ids.tolist())


MARKED = {  # pieces: what is said, and the part of each quote
    (((0,), (3,)), ((1,), (3,))): (
        "< WORD > 1 < film > 2 [SEP] slow < plot > 1 2",
        [0, 0, 1],
    ),
    (((0, 1), (2, 3)), ((1,), (2,))): (
        "< WORD < film > 2 > 1 [SEP] < < slow > 2 plot > 1",
        [0, 0, 1, 1],
    ),
    (((), (2,)),): ("WORD film [SEP] < slow > 1 plot", [1]),
}


def test_symbols_stand_around_whole_units_with_their_ranks_longer_quotes_outside(case):
    tokens, units = case
    for pieces, (said, parts) in MARKED.items():
        told = insert_symbols(tokens, units, list(pieces), MARKS)
        words = said.replace("WORD", "un ##believ ##able")
        assert shown(told, tokens) == f"[CLS] {words} [SEP]"
        assert len(told.segments) == len(told.ids)
        assert told.segments[told.ids == OPEN].tolist() == parts


def test_text_follows_behind_the_separator_and_what_does_not_fit_is_left_out_from_the_last_rank_on(
    case,
):
    tokens, units = case
    pieces = [((0,), (2,)), ((1,), (3,))]
    told = append_text(tokens, units, [((0, 1), (3,)), ((), (2,))], MARKS)
    said = (
        "[CLS] un ##believ ##able film [SEP] slow plot [SEP] un ##believ ##able film , plot ; "
        "slow [SEP]"
    )
    assert shown(told, tokens) == said and set(told.segments[9:]) == {1}
    lengths = [len(inform(tokens, units, pieces[:k], MARKS, "text", 99)) for k in (1, 2)]
    assert len(inform(tokens, units, pieces, MARKS, "text", lengths[1] - 1)) == lengths[0]
    assert inform(tokens, units, pieces, MARKS, "text", lengths[0] - 1) is tokens
    assert inform(tokens, units, [], MARKS, "symbol", 99) is tokens
    with pytest.raises(ValueError, match="shown as symbol or text; got 'song'"):
        inform(tokens, units, pieces, MARKS, "song", 99)


def test_marks_are_those_of_the_tokenizer(tiny):
    found = simulatability.read_marks(tiny.tokenizer, 12)
    assert found.separator == tiny.tokenizer.sep_token_id and len(found.ranks) == 12
    assert found.ranks[11] == tuple(tiny.tokenizer("12", add_special_tokens=False)["input_ids"])


def test_weighted_f1_is_scikit_learns_on_the_drawn_instances():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 12)
    predicted = rng.integers(0, 4, 12)
    weights = rng.multinomial(12, np.full(12, 1 / 12), size=40)
    for row, found in zip(
        weights, simulatability.weighted_f1(predicted, labels, weights.astype(float)), strict=True
    ):
        drawn = np.repeat(np.arange(12), row)
        assert found == pytest.approx(
            f1_score(labels[drawn], predicted[drawn], average="macro", zero_division=0)
        )


def test_gain():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    told = np.where(rng.random(300) < 0.9, labels, rng.integers(0, 3, 300))
    untold = rng.integers(0, 3, 300)
    gain, low, high = bootstrap_gain(told, untold, labels, 200, 0.95, np.random.default_rng(1))
    assert low < gain < high and low > 0.3
    assert gain == pytest.approx(
        simulatability.agreement_f1(told, labels) - simulatability.agreement_f1(untold, labels)
    )
    assert bootstrap_gain(told, told, labels, 50, 0.9, np.random.default_rng(1)) == (0.0, 0.0, 0.0)


def said(right, texts=120, seeds=(1,), model="tiny"):
    """Agents that say the model's class with a probability, and any class otherwise."""
    rows = []
    for agent in seeds:
        rng = np.random.default_rng(agent)
        labels = np.arange(texts) % 3
        own = np.where(rng.random(texts) < right, labels, rng.integers(0, 3, texts))
        rows += [
            ("t", model, 1, agent, f"i{i}", labels[i], own[i], labels[i]) for i in range(texts)
        ]
    columns = ["task", "model", "seed", "agent_seed", "instance", "label", "predicted", "planted"]
    return pd.DataFrame(rows, columns=columns)


def test_agents_that_guess_have_not_learned_and_say_so():
    frame = pd.concat([said(0.6, model="good"), said(0.0, model="guessing")])
    found = agents_learned(frame, BootstrapSpec(draws=400)).set_index("model")
    assert (
        found.learned.to_dict() == {"good": True, "guessing": False} and found.reason["good"] == ""
    )
    assert (
        found.reason["guessing"].startswith("agents") and "chance 0.33)" in found.reason["guessing"]
    )
    stuck = agents_learned(said(0.5).assign(predicted=0), BootstrapSpec(draws=100)).iloc[0]
    assert (
        not stuck.learned
        and stuck.f1 == pytest.approx(stuck.majority)
        and "not learned (F1 0.17" in stuck.reason
    )
    assert found.uniform.to_numpy() == pytest.approx(
        1 / 3
    ) and found.majority.to_numpy() == pytest.approx(1 / 6)
    empty = agents_learned(said(0.5).iloc[:0], BootstrapSpec(draws=10))
    assert empty.empty and set(empty) == set(found.reset_index())
    one = said(0.6)
    assert found.f1["good"] == f1_score(one.label, one.predicted, average="macro")
    assert found.low["good"] < found.f1["good"] < found.high["good"] and found.tested.eq(120).all()


def test_agents_that_do_not_use_what_gives_the_class_away_decide_nothing():
    deaf = said(0.6).assign(planted=lambda frame: frame.predicted)
    found = agents_learned(pd.concat([said(0.6, model="good"), deaf]), BootstrapSpec(draws=200))
    good, other = found.itertuples()
    assert good.learned and good.planted == pytest.approx(1 - good.f1) and good.planted_low > 0.1
    assert not other.learned and other.planted == 0
    assert other.reason.startswith("agents do not use an explanation that gives the class away")


def test_seeds_of_agents_widen_the_interval():
    """One agent has learned and two have not: texts alone would not show that the mean is
    unsure.
    """
    mixed = pd.concat([said(0.9, seeds=(1,)), said(0.0, seeds=(2, 3))])
    alike = said(0.3, seeds=(1, 2, 3))
    wide = agents_learned(mixed, BootstrapSpec(draws=400)).iloc[0]
    narrow = agents_learned(alike, BootstrapSpec(draws=400)).iloc[0]
    assert wide.agents == narrow.agents == 3 and wide.high - wide.low > 2 * (
        narrow.high - narrow.low
    )
    assert not wide.learned and wide.reason.startswith("agents are not surely better than chance")
    each = [
        agents_learned(said(0.3, seeds=(seed,)), BootstrapSpec(draws=2)).f1[0] for seed in (1, 2, 3)
    ]
    assert narrow.f1 == pytest.approx(np.mean(each)), "what several agents get is their mean"


def test_uniform_guessing_is_what_many_draws_give():
    """Of the classes that the model predicts: one that it never predicts, no agent would draw."""
    for counts in ((700, 200, 100), (600, 0, 400)):
        labels = np.repeat([0, 1, 2], counts)
        frame = said(0.0, texts=1000).assign(label=labels)
        found = agents_learned(frame, BootstrapSpec(draws=10, confidence=0.9)).iloc[0]
        rngs = map(np.random.default_rng, range(60))
        drawn = [rng.choice(np.unique(labels), 1000) for rng in rngs]
        expected = np.mean([f1_score(labels, guesses, average="macro") for guesses in drawn])
        assert found.uniform == pytest.approx(expected, abs=0.01)
