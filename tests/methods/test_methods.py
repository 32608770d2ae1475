"""Every explanation method against a slow twin, in float64, on texts of many lengths, side
by side.
"""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import erasures, gradients, models, surrogate

from attreval.core.seeds import generator
from attreval.methods import METHODS, lime, methods_for
from attreval.methods import occlusion as erasure
from attreval.methods.method import Budget, UnitSettings, WindowRule
from attreval.models.scorer import Scorer

VOCABULARY = [w for w in models.WORDS.split() if not w.startswith("##")]
sentence = st.lists(
    st.sampled_from([*VOCABULARY, "unbelievable", "able", "z"]), min_size=1, max_size=7
).map(" ".join)
text = st.one_of(st.tuples(sentence), st.tuples(sentence, sentence))
several = st.lists(text, min_size=1, max_size=3)
STEPS = 7
PATHS = ("integrated_gradients", "integrated_gradients_plain")


def talk(scorer, tokens, target, method):
    """The Scores of one method on several texts that share batches."""
    budget = Budget(
        path_steps=STEPS,
        path_steps_most=STEPS,
        lime_samples=40,
        units=UnitSettings(shapley_samples=40),
    )
    talks = (method.converse(t, target, budget, generator("twin", i)) for i, t in enumerate(tokens))
    return scorer.converse(("x", one) for one in talks)


@settings(max_examples=6)
@given(texts=several, target=st.integers(0, 2), budget=st.sampled_from([1, 30, 8192]))
def test_gradients(tiny, unnormed, texts, target, budget):
    for model in (tiny, unnormed):
        tokens = [model.tokens(models.instance(*t)) for t in texts]
        scorer = Scorer(model, budget, "float64")
        names = ("gradient_l1", "gradient_l2", "gradient_x_input", *PATHS)
        found = {name: talk(scorer, tokens, target, METHODS[name]) for name in names}
        network = model.at("float64")
        for i, t in enumerate(tokens):
            plain = gradients.gradient_scores(network, t, target)
            path = gradients.integrated(network, t, target, STEPS)
            for name, slow in zip(names, (*plain, *path), strict=True):
                expected = np.array(slow)[t.content]
                assert_allclose(found[name][i].values, expected, atol=1e-9, err_msg=name)


def test_a_path_may_start_from_five_baselines(tiny, texts):
    network = tiny.at("float64")
    table = network.bert.embeddings.word_embeddings.weight.detach()
    for one in texts[:3]:
        t = tiny.tokens(one)
        starts = {
            "pad": table[t.pad_id],
            "mask": table[t.mask_id],
            "unknown": table[tiny.tokenizer.unk_token_id],
            "zero": 0 * table[0],
            "mean": table.mean(dim=0),
        }
        for baseline, start in starts.items():
            budget = Budget(path_steps=STEPS, path_steps_most=STEPS, path_baseline=baseline)
            slow = gradients.integrated(network, t, 1, STEPS, start)
            for name, expected in zip(PATHS, slow, strict=True):
                found = models.scores_of(tiny, name, t, budget=budget).values
                assert_allclose(found, np.array(expected)[t.content], atol=1e-9)
            fine = models.scores_of(tiny, PATHS[0], t, budget=budget.changed(path_steps=200))
            assert abs(fine.gap) < 1e-9  # what a baseline owes is paid


def test_a_baseline_that_a_vocabulary_lacks_is_refused(tiny):
    tokens = replace(tiny.tokens(models.instance("good film")), unknown_id=None)
    with pytest.raises(ValueError, match="it can be: pad, mask, zero, mean"):
        models.scores_of(tiny, PATHS[0], tokens, budget=Budget(path_baseline="unknown"))


@settings(max_examples=20)
@given(
    rule=st.sampled_from(get_args(WindowRule)),
    texts=several,
    target=st.integers(0, 2),
    budget=st.sampled_from([1, 60, 8192]),
    size=st.sampled_from([1, 3, 7]),
)
def test_occlusion_and_omission(tiny, rule, texts, target, budget, size):
    tokens = [tiny.tokens(models.instance(*t)) for t in texts]
    scorer = Scorer(tiny, budget, "float64")
    network = tiny.at("float64")
    for fast, slow in (
        (erasure.occlusion(size), erasures.occlude),
        (erasure.omission(size), erasures.omit),
    ):
        talks = ((fast.name, fast.converse(t, target, Budget(windows=rule), None)) for t in tokens)
        for t, scores in zip(tokens, scorer.converse(talks), strict=True):
            expected = erasures.erasure_scores(network, t, target, size, slow, rule)
            assert_allclose(scores.values, expected, atol=1e-9)


@settings(max_examples=8)
@given(texts=several, target=st.integers(0, 2))
def test_lime(tiny, texts, target):
    tokens = [tiny.tokens(models.instance(*t)) for t in texts]
    network = tiny.at("float64")
    found = talk(Scorer(tiny, precision="float64"), tokens, target, METHODS["lime"])
    for i, (t, scores) in enumerate(zip(tokens, found, strict=True)):
        masks = lime.draw_masks(len(t), max(2, min(len(t) ** 2, 40)), generator("twin", i))
        values = []
        for row in masks:
            ids = [token if kept else t.mask_id for token, kept in zip(t.ids, row, strict=True)]
            z = np.exp(erasures.logits(network, ids, t.segments))
            values.append(z[target] / z.sum())
        expected = surrogate.ridge(masks, values, surrogate.weights(masks, 25.0))
        assert_allclose(scores.values, expected[t.content], atol=1e-9)


def test_lime_draws_every_count_and_position_alike():
    whole, *masks = lime.draw_masks(5, 50_001, np.random.default_rng(3))
    counts = np.bincount((~np.array(masks)).sum(axis=1))
    assert whole.all() and counts[0] == 0 and np.abs(counts[1:] / 50_000 - 0.2).max() < 0.01
    assert np.abs(np.mean(masks, axis=0) - 0.4).max() < 0.01  # on average 3 of 5 are removed


def test_the_gap_is_what_a_path_misses(tiny, texts):
    """Contract 1: with many nodes it is nought, and the scores sum to s(text) - s(baseline)."""
    tokens = tiny.tokens(texts[1])
    budget = Budget(path_steps=1, path_steps_most=1)
    scores = models.scores_of(tiny, PATHS[0], tokens, budget=budget)
    base = np.where(tokens.special, tokens.ids, tokens.pad_id)
    network = tiny.at("float64")
    whole = erasures.logits(network, tokens.ids, tokens.segments)[1]
    none = erasures.logits(network, base, tokens.segments)[1]
    assert abs(scores.gap) >= 1e-3
    assert_allclose(scores.gap, scores.values.sum() - (whole - none), atol=1e-9)


def test_a_coarse_path_is_refined_while_its_gap_is_too_large(tiny, texts):
    tokens = tiny.tokens(texts[1])

    def ask(scorer, budget):
        return scorer.converse(
            (name, METHODS[name].converse(tokens, 1, budget, None)) for name in PATHS
        )

    for most, steps in ((1, 1), (3, 2), (64, None)):
        scorer = Scorer(tiny, precision="float64")
        found = ask(scorer, Budget(path_steps=1, path_steps_most=most, gap_tolerance=1e-5))
        nodes = scorer.costs[PATHS[0]].gradients
        assert scorer.costs[PATHS[1]].unique == 0  # both walk one path
        if steps is None:
            assert abs(found[0].gap) <= 1e-4 and nodes in (31, 63)  # 1 + 2 + 4 + ...
            steps = (nodes + 1) // 2
        assert nodes == 2 * steps - 1
        exact = Scorer(tiny, precision="float64")
        fixed = ask(exact, Budget(path_steps=steps, path_steps_most=steps))
        for a, b in zip(found, fixed, strict=True):
            assert_allclose(a.values, b.values, atol=1e-12)


def test_behind_layer_normalisation_plain_integrated_gradients_are_rounding_noise(
    tiny, unnormed, texts
):
    """It ignores what all dimensions of an embedding have in common, so a gradient sums to 0."""
    sizes = []
    plain = METHODS["integrated_gradients_plain"]
    for model in (tiny, unnormed):
        found = talk(Scorer(model, precision="float64"), [model.tokens(t) for t in texts], 0, plain)
        sizes.append(max(np.abs(s.values).max() for s in found))
    assert sizes[0] < 1e-13 < 1e-3 < sizes[1]


def test_one_token(tiny, exact):
    tokens = tiny.tokens(models.instance("good"))
    for name in methods_for("transformer"):
        (scores,) = talk(exact, [tokens], 1, METHODS[name])
        assert scores.values.shape == (1,) and np.isfinite(scores.values).all(), name
