"""Curves, flips and correlations of erasure against slow twins, and what ties and constants get."""

from itertools import permutations, product

import numpy as np
import pytest
import torch
from captum.metrics import infidelity as captum_infidelity
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import erasures, models, walks
from reference.scored import ask, scored

from attreval.metrics import METRICS
from attreval.metrics.erased_sets import DRAWS, SHARE, SIZES, draw_lost, draw_sets
from attreval.metrics.scored_text import ScoredText, Settings
from attreval.metrics.walk import STEPS, ask_left, ask_walk, correlate, erasing_order
from attreval.models.scorer import Scorer

few = st.sampled_from([-1.0, 0.0, 0.5, 2.0])  # few, so that ties are common
words = st.lists(
    st.sampled_from(["good", "bad", "film", "unbelievable", "slow"]), min_size=1, max_size=6
).map(" ".join)
READ_OFF_WALKS = (
    "deletion",
    "insertion",
    "aopc",
    "flip_share",
    "flip_first",
    "effective_complexity",
    "monotonicity",
)
SINGLE = ("faithfulness_estimate", "monotonicity_ranks")
SETS = ("faithfulness_correlation", "infidelity")
FIDELITY = ("f_fidelity_plus", "f_fidelity_minus")
ALL = (*READ_OFF_WALKS, *SINGLE, *SETS, *FIDELITY)


# of a batch, to be padded, and scores of any length
explained = st.lists(
    st.tuples(words, st.lists(few, min_size=30, max_size=30)), min_size=1, max_size=3
)


@settings(max_examples=8)
@given(texts=explained)
def test_walks_equal_their_twins(tiny, texts):
    scorer = Scorer(tiny, 50, "float64")
    network = tiny.at("float64")
    asked = [
        scored(tiny, text, scores[: len(tiny.tokens(models.instance(text)).content)])
        for text, scores in texts
    ]
    talks = [(name, METRICS[name].ask(text, "m")) for text in asked for name in READ_OFF_WALKS]
    found = np.reshape(scorer.converse(talks), (len(asked), -1))
    for text, row in zip(asked, found, strict=True):
        tokens = text.tokens
        order = erasing_order(text, "m").tolist()
        k = int(erasures.logits(network, tokens.ids, tokens.segments).argmax())
        shares, gone = walks.walk(network, tokens, order, k, deleting=True)
        _, back = walks.walk(network, tokens, order, k, deleting=False)
        content = [int(p) for p in tokens.content]
        predicted = []
        for size in range(len(order) + 1):
            lost = {content[i] for i in order[:size]}
            ids = [0 if p in lost else i for p, i in enumerate(tokens.ids)]
            predicted.append(int(erasures.logits(network, ids, tokens.segments).argmax()))
        wanted = [
            walks.area(shares, gone),
            walks.area(shares, back),
            np.mean([gone[0] - p for p in gone]),
            walks.flip(shares, predicted),
            float(predicted[1] != k),
            walks.complexity(shares, back, gone[0]),
            walks.monotone(gone),
        ]
        np.testing.assert_allclose(row, wanted, atol=1e-9)


@settings(max_examples=8)
@given(text=words, data=st.data())
def test_correlations_and_infidelity_equal_their_twins(tiny, text, data):
    scorer = Scorer(tiny, 50, "float64")
    network = tiny.at("float64")
    n = len(tiny.tokens(models.instance(text)).content)
    given_text = scored(tiny, text, data.draw(st.lists(few, min_size=n, max_size=n)))
    scores = given_text.scores["m"]
    tokens = given_text.tokens
    found = ask(scorer, (*SINGLE, *SETS), given_text)
    k = int(erasures.logits(network, tokens.ids, tokens.segments).argmax())
    drops = walks.singles(network, tokens, k)
    if n == 1:
        assert all(np.isnan(found[name]) for name in (*SINGLE, "faithfulness_correlation"))
    else:
        constant = np.ptp(scores) == 0
        sizes = np.abs(scores)
        estimate = 0 if constant else walks.pearson(scores, drops)
        assert found["faithfulness_estimate"] == pytest.approx(estimate)
        ranked = 0 if np.ptp(sizes) == 0 else walks.pearson(_ranks(sizes), _ranks(np.abs(drops)))
        assert found["monotonicity_ranks"] == pytest.approx(ranked)
    assert (draw_sets(given_text, SHARE).sum(axis=1) == -(-n // 5)).all()  # a fifth, rounded up
    for name, share in (("faithfulness_correlation", SHARE), ("infidelity", None)):
        sets = draw_sets(given_text, share)
        (left,) = scorer.converse([("x", ask_left(given_text, sets))])
        gone = [set(tokens.content[one].tolist()) for one in sets]
        taken = [walks.probability(network, tokens, one, k) for one in gone]
        np.testing.assert_allclose(left.p, taken, atol=1e-9)
        sums = [float(scores[one].sum()) for one in sets]
        if name == "infidelity":
            assert found[name] == pytest.approx(walks.infidelity(sums, left.drops), abs=1e-9)
        elif n > 1 and np.ptp(sums) > 0:
            assert found[name] == pytest.approx(walks.pearson(sums, left.drops))


def _ranks(values):
    return [sum(o < v for o in values) + sum(o == v for o in values) / 2 for v in values]


@given(n=st.integers(1, 40), inside=st.booleans(), seed=st.integers(0, 99))
def test_f_fidelity_takes_random_tokens_of_one_side_and_never_too_many(n, inside, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    lost = draw_lost(order, inside, rng)
    sizes = [-(-n * round(10 * share) // 10) for share in SIZES]
    sizes = [size for size in sizes if inside or size < n]
    assert lost.shape == (DRAWS * len(sizes), n)
    for row, size in zip(lost, np.repeat(sizes, DRAWS), strict=True):
        side = set((order[:size] if inside else order[size:]).tolist())
        assert set(np.flatnonzero(row).tolist()) <= side
        assert row.sum() == max(1, min(len(side) // 2, n // 10))
    if n == 1:
        assert len(draw_lost(order, False, rng)) == 0


def test_f_fidelity_of_a_planted_word_is_what_its_loss_takes(planted):
    """Of two tokens the first holds the signal: inside goes that, outside the other."""
    scorer = Scorer(planted, precision="float64")
    found = ask(scorer, FIDELITY, scored(planted, "key film", [1.0, 0.0]))
    half = ask(scorer, ("aopc",), scored(planted, "key", [1.0]))["aopc"]  # of the whole fall
    alone = np.mean(np.array(SIZES) <= 0.5)  # sizes of one token; of two tokens either may go
    assert alone <= found["f_fidelity_plus"] / (2 * half) <= 1
    assert abs(found["f_fidelity_minus"]) < 1e-12


def test_one_token_is_asked_and_nan_is_refused(tiny, exact):
    found = ask(exact, ALL, scored(tiny, "good", [0.5]))
    # nothing to compare with, or to take away
    never = {*SINGLE, "faithfulness_correlation", "f_fidelity_minus"}
    assert {name for name, value in found.items() if np.isnan(value)} == never
    for name in ALL:
        with pytest.raises(ValueError, match="finite"):
            ask(exact, (name,), scored(tiny, "good film", [np.nan, 1.0]))


def test_ties_are_broken_in_every_order(tiny):
    drawn = set()
    for at in range(60):
        text = scored(tiny, "film was bad", [0] * 3, names=(at,))
        drawn.add(tuple(erasing_order(text, "m").tolist()))
    assert drawn == set(permutations(range(3)))


def test_a_constant_correlates_with_nothing_and_still_models_tell_nothing():
    rising = np.arange(3.0)
    assert correlate(np.ones(3), rising) == correlate(np.ones(3), rising, ranks=True) == 0.0
    assert np.isnan([correlate(rising, np.ones(3)), correlate(np.ones(1), np.ones(1))]).all()
    assert correlate(rising**2, np.sqrt(rising), ranks=True) == pytest.approx(1)
    assert correlate(np.array([0.0, 1e-300]), np.array([0.0, 1.0])) == pytest.approx(1)


def test_the_query_stays_and_long_texts_are_walked_in_fewer_steps(tiny, exact):
    def walk_along(text, scores, deleting=True, **more):
        asked = scored(tiny, text, scores, **more)
        return exact.converse([("x", ask_walk(asked, "m", deleting))])[0]

    pair = (("good film", "bad plot"), [3.0, 2.0, 1.0, 0.0])
    walk = walk_along(*pair, settings=Settings(query=1))
    both = walk_along(*pair)
    assert len(walk.p) == 3 and len(both.p) == 5
    assert both.p[1] == pytest.approx(walk.p[1]) and both.p[-1] != pytest.approx(walk.p[-1])
    walk = walk_along(" ".join(["film"] * 62), np.arange(62.0), deleting=False)
    assert len(walk.p) == STEPS + 1
    assert walk.shares[-1] == 1 and walk.p[-1] == pytest.approx(walk.full)
    assert np.diff(walk.shares).max() <= 2 / 62 + 1e-12


def test_what_metrics_share_is_computed_once(tiny):
    """Metrics of one walk each way cost the texts of two; sets and single tokens serve methods."""
    one = scored(tiny, "the film was very good", [3.0, 1.0, 2.0, 0.0, 5.0])
    scores = {"m": one.scores["m"], "other": -one.scores["m"]}
    text = ScoredText(one.instance, one.tokens, scores)
    scorer = Scorer(tiny, precision="float64")
    scorer.converse((name, METRICS[name].ask(text, "m")) for name in READ_OFF_WALKS)
    # erased down to nothing, and the four with some left alone
    assert sum(cost.unique for cost in scorer.costs.values()) == 5 + 1 + 4
    before = {account: cost.requested for account, cost in scorer.costs.items()}
    for method, name in product(text.scores, (*SINGLE, *SETS)):
        scorer.converse([(f"{name} {method}", METRICS[name].ask(text, method))])
    asked = {a: c.requested for a, c in scorer.costs.items() if a not in before}
    assert sum(asked.values()) == (5 + 1) + 2 * (50 + 1)


@settings(max_examples=10)
@given(text=words, data=st.data())
def test_infidelity_is_captums_where_the_best_factor_is_positive(tiny, text, data):
    """Captum perturbs a row that says which tokens are there, by the same sets."""
    n = len(tiny.tokens(models.instance(text)).content)
    scores = data.draw(st.lists(few, min_size=n, max_size=n))
    one = scored(tiny, text, scores)
    scorer = Scorer(tiny, precision="float64")
    sets = draw_sets(one, None)

    def forward(there):
        (left,) = scorer.converse([("x", ask_left(one, there.numpy() < 0.5))])
        return torch.from_numpy(left.p)

    def perturb(there):
        gone = torch.from_numpy(sets[: len(there)]).double()
        return gone, there - gone

    whole = torch.ones(1, n, dtype=torch.float64)
    attributions = torch.tensor([scores], dtype=torch.float64)
    how = {"n_perturb_samples": len(sets), "normalize": True}
    error = captum_infidelity(forward, perturb, whole, attributions, **how).item()
    (left,) = scorer.converse([("x", ask_left(one, sets))])
    found = ask(scorer, ("infidelity",), one)["infidelity"]
    if (sets @ np.array(scores)) @ left.drops >= 0:
        assert found == pytest.approx(error, abs=1e-9)
    else:  # a negative factor would make the reverse as good
        assert found == pytest.approx(np.mean(left.drops**2)) and error <= found + 1e-12


def test_ties_are_the_mean_over_orders(tiny, exact):
    """A constant gets on average what all orders of tokens get, as random scores do."""
    names = READ_OFF_WALKS[:-1]

    def values(scores, at=0):
        text = scored(tiny, "the film was bad", list(scores), names=(at,))
        return list(ask(exact, names, text).values())

    orders = np.array([values(order) for order in permutations(range(4))])
    drawn = np.array([values([0] * 4, at) for at in range(150)])
    error = orders.std(axis=0) / np.sqrt(150)
    assert (np.abs(drawn.mean(axis=0) - orders.mean(axis=0)) < 4 * error + 1e-9).all()
    assert ((drawn.std(axis=0) > 0) | (error == 0)).all()
