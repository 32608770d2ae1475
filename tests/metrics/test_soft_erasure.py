"""The methods and soft measures of Zhao & Aletras (2023) against slow twins, and what must hold
whatever the scores.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import attributions, models, softness, walks
from reference.faithfulness import probability
from reference.scored import ask as ask_metrics
from reference.scored import scored
from reference.words import tiny_words
from scipy.stats import binomtest, ranksums

from attreval.core.records import Tokens
from attreval.core.seeds import generator, seed_of
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.metrics import FAITHFULNESS, diagnosticity
from attreval.metrics import soft_erasure as soft
from attreval.metrics.erasure import erase
from attreval.metrics.protocol import Protocol, find_layout
from attreval.metrics.scored_text import Settings
from attreval.metrics.soft_erasure import RATES
from attreval.models.questions import AttentionPath, PathGradient, SoftErasure, softmax
from attreval.models.questions.soft_erasure import draw_factors
from attreval.models.scorer import Scorer
from compendium.papers.zhao2023.deviations import OURS, RELEASED, SCALE

VOCABULARY = [w for w in models.WORDS.split() if not w.startswith("##")]
sentence = st.lists(
    st.sampled_from([*VOCABULARY, "unbelievable", "z"]), min_size=1, max_size=6
).map(" ".join)
text = st.one_of(st.tuples(sentence), st.tuples(sentence, sentence))
few_values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
OVER_RATES = ("pi_soft_nc", "pi_soft_ns")
NORMS = ("minmax", "sigmoid", "softmax", "rank", "calibrated")


def talk(scorer, tokens, target, name, steps=9):
    """The Scores of one method on several texts that share batches."""
    budget = Budget(path_steps=steps, path_steps_most=steps)
    run = METHODS[name].converse
    return scorer.converse(
        ("x", run(t, target, budget, generator("twin", i))) for i, t in enumerate(tokens)
    )


def ask(question):
    return (yield question)


@settings(max_examples=4)
@given(
    texts=st.lists(text, min_size=1, max_size=3),
    target=st.integers(0, 2),
    budget=st.sampled_from([1, 30, 8192]),
)
def test_methods_equal_their_twins(tiny, texts, target, budget):
    tokens = [tiny.tokens(models.instance(*t)) for t in texts]
    scorer = Scorer(tiny, budget, "float64")
    network = tiny.at("float64")
    steps = [*np.arange(10) / 10, 1.0]
    plain = talk(scorer, tokens, target, "gradient_x_input")
    expected = []
    for t, products in zip(tokens, plain, strict=True):
        weights, slope = attributions.attention(network, t, target)
        shared = partial(attributions.shared_products, network, t, target)
        deeplift = partial(attributions.deeplift, network, t, target)
        of_text = {
            "attention": weights,
            "scaled_attention": weights * slope,
            "scaled_attention_squared": weights**2,
            "gradient_x_input_shared": np.abs(shared()),
            "integrated_gradients_released": shared(steps),
            "deeplift": deeplift(),
            "deeplift_released": deeplift(bare=True),
        }
        of_text = {name: values[t.content] for name, values in of_text.items()}
        expected.append(of_text | {"gradient_x_input_absolute": np.abs(products.values)})
    for name in expected[0]:
        found = talk(scorer, tokens, target, name)
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.values, wanted[name], atol=1e-9, err_msg=name)


def test_they_explain_word_level_models_too():
    for architecture in ("gru", "qlstm", "cnn"):
        model = tiny_words(architecture)
        tokens = [model.tokens(models.instance("the film was good good"))]
        scorer = Scorer(model, precision="float64")

        def explained(name, scorer=scorer, tokens=tokens):
            return talk(scorer, tokens, 1, name, steps=100)[0].values

        plain = explained("gradient_x_input")
        last = plain[3:].sum()  # the two last words are one
        for name, values in {
            "gradient_x_input_absolute": np.abs(plain),
            "gradient_x_input_shared": np.abs([*plain[:3], last, last]),
            "integrated_gradients_zero": explained("integrated_gradients"),  # padding is zero
        }.items():
            np.testing.assert_allclose(explained(name), values, atol=1e-9, err_msg=architecture)


def test_attention_has_layers_and_only_transformers_have_it(exact, tiny):
    t = tiny.tokens(models.instance("good film"))
    with pytest.raises(ValueError, match="layers 0 to 1"):
        exact.converse([("x", ask(AttentionPath(t.ids, t.segments, 0, layers=(2,))))])
    words = tiny_words("gru")
    t = words.tokens(models.instance("good film"))
    softly = SoftErasure(t.ids, t.segments, np.ones((1, 2)), (0,), "attend")
    for question in (AttentionPath(t.ids, t.segments, 0), softly):
        with pytest.raises(ValueError, match="attention"):
            Scorer(words).converse([("x", ask(question))])


@settings(max_examples=40)
@given(
    scores=st.lists(few_values, min_size=1, max_size=7),
    norm=st.sampled_from(NORMS),
    rate=st.floats(0.05, 0.95),
)
def test_norms_equal_their_twins(scores, norm, rate):
    found = soft.to_unit_interval(np.array(scores), norm, rate)
    np.testing.assert_allclose(found, softness.importance(scores, norm, rate), atol=1e-9)
    assert ((found >= 0) & (found <= 1)).all()
    if norm in ("calibrated", "rank"):
        np.testing.assert_allclose(found.mean(), rate if norm == "calibrated" else 0.5, atol=1e-9)


def test_norms_refuse_what_is_no_number_and_other_names():
    for norm in NORMS:
        with pytest.raises(ValueError, match="finite"):
            soft.to_unit_interval(np.array([1.0, np.nan]), norm)
    with pytest.raises(ValueError, match=r"'other'; there are: minmax"):
        soft.to_unit_interval(np.zeros(2), "other")


@settings(max_examples=8)
@given(texts=st.lists(text, min_size=1, max_size=2), data=st.data(), norm=st.sampled_from(NORMS))
def test_soft_erasure_equals_the_twin(tiny, texts, data, norm):
    scorer = Scorer(tiny, 40, "float64")
    network = tiny.at("float64")
    tokens = [tiny.tokens(models.instance(*t)) for t in texts]
    scores = [
        np.array(data.draw(st.lists(few_values, min_size=(n := len(t.content)), max_size=n)))
        for t in tokens
    ]
    kind = data.draw(st.sampled_from(["keep", "noise", "variance"]))
    protocol = Protocol(soft=kind, norm=norm, draws=2, variance=0.5)
    hard = scorer.converse(("x", erase(t, s)) for t, s in zip(tokens, scores, strict=True))
    found = scorer.converse(
        ("x", soft.soft_erase(t, s, h.target, ("twin", i), protocol))
        for i, (t, s, h) in enumerate(zip(tokens, scores, hard, strict=True))
    )
    for i, (t, s, h, one) in enumerate(zip(tokens, scores, hard, found, strict=True)):
        a = np.zeros(len(t))
        a[t.content] = softness.importance(s, norm)
        for name, chance, half in (("sufficiency", a, "a"), ("comprehensiveness", 1 - a, "1-a")):
            whole, strengths = {
                "keep": (1.0, chance),
                "noise": (0.0, np.sqrt(0.5) * (1 - chance)),
                "variance": (0.0, np.sqrt(0.5 * (1 - chance))),
            }[kind]
            strengths = np.where(t.special, whole, strengths)
            drawn = "keep" if kind == "keep" else "noise"
            for draw, p in enumerate(getattr(one, name)):
                seed = seed_of("soft", "twin", i, half, draw)
                wanted = softness.probability(network, t, strengths, seed, drawn, h.target)
                assert p == pytest.approx(wanted, abs=1e-6)
        for at, name in enumerate(("comprehensiveness", "sufficiency")):
            value = softness.soft_values(h.full, h.erased, getattr(one, name).mean())[at]
            np.testing.assert_allclose(getattr(soft.soft_values(h, one), name), value, atol=1e-12)


@settings(max_examples=6)
@given(scores=st.lists(few_values, min_size=1, max_size=4))
def test_soft_erasure_over_many_rates_equals_its_twin(tiny, scores):
    words = " ".join(["good", "film", "bad", "slow"][: len(scores)])
    fields = Settings(protocol=Protocol(draws=1))
    text = scored(tiny, words, scores, names=("t",), settings=fields)
    found = list(ask_metrics(Scorer(tiny, precision="float64"), OVER_RATES, text).values())
    tokens = text.tokens
    network = tiny.at("float64")
    content = text.tokens.content
    k = int(Scorer(tiny, precision="float64").logits([(tokens.ids, tokens.segments)])[0].argmax())
    full = probability(network, tokens, set(), k)
    none = probability(network, tokens, set(range(len(tokens))), k)
    values = []
    for rate, (at, kept) in product(RATES, enumerate(("1-a", "a"))):
        strengths = np.ones(len(tokens))
        chances = np.array(softness.importance(scores, "calibrated", rate))
        strengths[content] = chances if kept == "a" else 1 - chances
        seed = seed_of("soft", "t", "m", kept, 0)
        p = softness.probability(network, tokens, strengths, seed, "keep", k)
        values.append(softness.soft_values(full, none, p)[at])
    values = np.reshape(values, (len(RATES), 2))
    areas = [walks.area(RATES, column.tolist()) / 0.8 for column in values.T]
    np.testing.assert_allclose(found, areas, atol=1e-6)
    equal = ask_metrics(Scorer(tiny, precision="float64"), ("soft_nc_equal", "soft_ns_equal"), text)
    np.testing.assert_allclose(list(equal.values()), values[RATES.index(0.5)], atol=1e-6)
    for name in OVER_RATES:
        with pytest.raises(ValueError, match="finite"):
            ask_metrics(Scorer(tiny), [name], scored(tiny, words, [*scores[1:], np.nan]))


def soft_erase(model, tokens, scores, protocol, query=None):
    """Hard and soft values of one attribution."""
    scorer = Scorer(model, precision="float64")
    (hard,) = scorer.converse([("x", erase(tokens, scores, None, None, protocol, query))])
    (found,) = scorer.converse(
        [("x", soft.soft_erase(tokens, scores, hard.target, ("x",), protocol, query))]
    )
    return hard, soft.soft_values(hard, found)


def test_scores_of_all_or_nothing_leave_or_take_the_whole_text(tiny):
    """Spec B8 (ii), (iii): with every token kept Soft-NS is 1; with none removed Soft-NC is 0."""
    tokens = tiny.tokens(models.instance("the brave film", "not bad"))
    rows = np.stack([np.ones(len(tokens)), tokens.special.astype(float)])
    scorer = Scorer(tiny, precision="float64")
    question = SoftErasure(tokens.ids, tokens.segments, rows, (1, 2))
    kept, gone = scorer.converse([("x", ask(question))])[0]
    np.testing.assert_allclose(kept, scorer.logits([(tokens.ids, tokens.segments)])[0], atol=1e-12)
    protocol = Protocol(erased="vector", baseline="content")
    hard, _ = soft_erase(tiny, tokens, np.arange(5.0), protocol)
    np.testing.assert_allclose(hard.erased, softmax(gone[None])[0, hard.target], atol=1e-12)


def test_draws_follow_their_seed_and_keep_the_share_that_is_asked_for():
    one, two = (draw_factors("keep", np.full(50, 0.3), 7, 400) for _ in range(2))
    assert (one == two).all() and set(np.unique(one)) == {0.0, 1.0} and abs(one.mean() - 0.3) < 0.01
    for share in (0.0, 1.0):
        assert (draw_factors("keep", np.full(5, share), 7, 16) == share).all()
    noise = draw_factors("noise", np.full(50, 0.5), 7, 400)
    assert abs(noise.mean() - 1) < 0.02 and abs(noise.std() - 0.5) < 0.02


@settings(max_examples=60)
@given(
    values=st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.5, 0.5 + 5e-7, 1.0])] * 2), min_size=1, max_size=9
    ),
    ties=st.sampled_from(["lose", "half", "win"]),
    margin=st.sampled_from([0.0, 1e-6]),
)
def test_diagnosticity_equals_the_twin(values, ties, margin):
    own, rival = np.array(values).T
    found = diagnosticity.wins(own, rival, Protocol(ties=ties, margin=margin)).mean()
    np.testing.assert_allclose(found, softness.diagnosticity(own, rival, ties, margin), atol=1e-12)


def test_pairs_without_a_number_are_refused():
    with pytest.raises(ValueError, match="1 of 2 have NaN"):
        diagnosticity.wins(np.array([0.1, np.nan]), np.zeros(2))
    with pytest.raises(ValueError, match="got 1 and 2"):
        diagnosticity.compare(np.ones(1), np.ones(2))


@given(seed=st.integers(0, 999), pairs=st.integers(1, 40))
def test_tests_are_scipys(seed, pairs):
    more, less = np.random.default_rng(seed).integers(0, 2, (2, pairs)).astype(float)
    found = diagnosticity.compare(more, less)
    np.testing.assert_allclose(found.rank_sum, ranksums(more, less).pvalue)
    up = ((more == 1) & (less == 0)).sum()
    down = ((more == 0) & (less == 1)).sum()
    np.testing.assert_allclose(found.paired, binomtest(up, up + down).pvalue if up + down else 1.0)
    np.testing.assert_allclose(found.difference, more.mean() - less.mean())
    assert np.isnan(diagnosticity.compare(more, np.full(pairs, 0.5)).paired)


CHANGES = RELEASED | OURS | SCALE


def test_every_change_runs_and_changes_what_it_says(tiny):
    """A change of the hard side moves hard numbers, one of the soft side soft ones alone."""
    soft_only = {"inverted", "norm", "unprotected", "sigmoid", "softmax", "rank", "calibrated"}
    neither = {"ties_win", "ties_half", "permuted"} | {n for n in CHANGES if n.startswith("swap")}
    # with another text as the baseline soft numbers are divided by others
    on_soft = soft_only | {"content", "mask", "vector", "all", "separator"}
    both = ("comprehensiveness", "sufficiency")
    tokens = tiny.tokens(models.instance("the brave film was not very good , not bad", "good plot"))
    before = Protocol(draws=3)

    def moved(now, then, measures):
        return not all(np.allclose(getattr(now, m), getattr(then, m)) for m in measures)

    for name, change in CHANGES.items():
        query = 1 if change.queries_only else None
        protocol = change.apply(before)
        rng = np.random.default_rng(3)
        scores = rng.standard_normal(len(find_layout(tokens, protocol, query).scored))
        plain = scores[: len(find_layout(tokens, before, query).scored)].copy()
        scores[len(plain) :] = 9.0  # of the separator, where it has a score
        hard, values = soft_erase(tiny, tokens, scores, protocol, query)
        old, old_values = soft_erase(tiny, tokens, plain, before, query)
        assert moved(values, old_values, both) == (name in on_soft), name
        measures = [*both, *(f"normalised_{measure}" for measure in both)]
        moved_hard = hard.ratios != old.ratios or moved(hard, old, measures)
        assert moved_hard == (name not in soft_only | neither), name


def test_a_noise_keeps_and_removes_nothing_that_could_be_counted(tiny):
    tokens = tiny.tokens(models.instance("the brave film was bad"))
    scorer = Scorer(tiny, precision="float64")
    scores = np.array([0.0, 4.0, 1.0, 1.0, 1.0])

    def rates(**fields):
        (found,) = scorer.converse(
            [("x", soft.soft_erase(tokens, scores, 0, ("t",), Protocol(**fields)))]
        )
        return found.keep_rate, found.drop_rate

    mean = (4 + 3) / 4 / 5  # of the scores by min-max
    np.testing.assert_allclose(rates(), (mean, mean))
    np.testing.assert_allclose(rates(inverted=True), (1 - mean, 1 - mean))
    # one rule each
    of_ns = (1 / (1 + np.exp(-scores))).mean()
    of_nc = (scores + 1).mean() / 5
    np.testing.assert_allclose(rates(norm="released"), (of_ns, of_nc))
    assert np.isnan(rates(soft="noise")).all()


@pytest.mark.parametrize("inverted", [False, True])
def test_the_oracle_beats_random_scores_in_the_papers_direction_and_softly_loses_in_the_released(
    inverted,
):
    """Contract 7, on a text of 200 tokens and a model that one of them decides."""
    length = 200
    pairs = 40
    model = models.Graded(length)
    ids = np.arange(1, length + 1)
    nought = np.zeros(length, int)
    tokens = Tokens(
        ids,
        nought,
        nought > 0,
        ids - 1,
        np.zeros((length, 3), int),
        ("x",) * length,
        mask_id=0,
        pad_id=0,
    )
    protocol = Protocol(inverted=inverted)

    def judge(scores, name):
        hard = yield from erase(tokens, scores, None, generator("ties", name), protocol)
        softened = yield from soft.soft_erase(
            tokens, scores, hard.target, ("graded", name), protocol
        )
        values = soft.soft_values(hard, softened)
        area = {
            "nc": hard.normalised_comprehensiveness.mean(),
            "ns": hard.normalised_sufficiency.mean(),
        }
        return area | {"soft_nc": values.comprehensiveness, "soft_ns": values.sufficiency}

    talks = [(f"oracle {i}", model.worth[tokens.ids]) for i in range(pairs)]
    talks += [(i, generator("graded", i).standard_normal(length)) for i in range(pairs)]
    found = Scorer(model, 60_000, "float64").converse(
        ("x", judge(scores, name)) for name, scores in talks
    )
    for metric in FAITHFULNESS:
        oracle, random = np.array([one[metric] for one in found]).reshape(2, pairs)
        wins = diagnosticity.wins(oracle, random).mean()
        assert wins == (0 if inverted and metric.startswith("soft") else 1), metric


def test_integrated_gradients_from_zero_are_complete_and_leave_special_tokens_alone(
    tiny, exact, texts
):
    tokens = [tiny.tokens(one) for one in texts]
    for t, scores in zip(
        tokens, talk(exact, tokens, 1, "integrated_gradients_zero", steps=200), strict=True
    ):
        empty = np.where(t.special, t.ids, -1)
        ends = PathGradient(t.ids, t.segments, 1, (0.0, 1.0), (0.0, 0.0), empty)
        low, high = exact.converse([("x", ask(ends))])[0].values
        np.testing.assert_allclose(scores.values.sum(), high - low, atol=1e-5)
        np.testing.assert_allclose(scores.gap, scores.values.sum() - (high - low), atol=1e-12)
        (whole,) = exact.logits([(t.ids, t.segments)])
        np.testing.assert_allclose(high, whole[1], atol=1e-9)
