"""What holds for every method and measure: company, order, ids, seeds, and a truth that was
planted.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from reference import case, models

from attreval.core.alignment import tokenize
from attreval.core.seeds import generator
from attreval.methods import methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import LEAST, explain_instances
from attreval.metrics import erasure as faithfulness
from attreval.models.checks import PROBES
from attreval.models.scorer import Scorer

BUDGET = LEAST.changed(
    path_steps=8,
    path_steps_most=800,
    lime_samples=60,
    shap_evaluations=40,
    units=UnitSettings(shapley_samples=60),
)
METHODS = tuple(methods_for("transformer"))
NAMES = ("test", "task", "model", 1)


def scores_of(model, instances, methods=METHODS, precision="float64", group=8, budget=8192):
    """(instance id, method) -> scores."""
    scorer = Scorer(model, budget, precision)
    found = explain_instances(scorer, instances, methods, BUDGET, NAMES, group=group)
    return {(e.instance.id, m): a.scores for e in found for m, a in e.attributions.items()}


def assert_same(left, right, atol):
    for key in left.keys() & right.keys():
        np.testing.assert_allclose(left[key], right[key], atol=atol, err_msg=str(key))


@pytest.fixture(scope="module")
def together(tiny, texts):
    """Float32 scores of texts in one group."""
    return scores_of(tiny, texts[:4], precision="float32")


@pytest.fixture(scope="module")
def complete(tiny, texts):
    """Scores of a short text by all methods."""
    return scores_of(tiny, texts[2:3])


class CountingTokenizer:
    """Passes everything on, counts calls, and refuses to decode or to encode by other ways."""

    refused = ("decode", "batch_decode", "encode", "encode_plus", "tokenize")

    def __init__(self, inner):
        self.inner = inner
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.inner(*args, **kwargs)

    def __getattr__(self, name):
        assert name not in (*self.refused, "convert_tokens_to_string")
        return getattr(self.inner, name)


def counting(model):
    """The model with a tokenizer that counts; what it can answer is tried out before."""
    tokenizer = CountingTokenizer(model.tokenizer)
    model = replace(model, tokenizer=tokenizer)
    for need in PROBES:
        model.refusal(need)
    tokenizer.calls = 0
    return model, tokenizer


def erasures(model, tokens, rows, ratio):
    """Erasure of each row of scores, ties drawn by the row's number."""
    asked = []
    for i, scores in enumerate(rows):
        asked.append(("x", faithfulness.erase(tokens, scores, [ratio], generator("x", i))))
    return Scorer(model, precision="float64").converse(asked)


def test_scores_are_the_same_alone_and_each_text_is_tokenized_once(tiny, texts, together):
    """Contract 4; and 5: perturbed texts are rows of ids, never strings."""
    model, tokenizer = counting(tiny)
    # and in another order
    other = scores_of(model, texts[3::-1], precision="float32", group=1, budget=40)
    assert other.keys() == together.keys() and tokenizer.calls == len(texts[:4])
    assert_same(other, together, 1e-5)


def test_adding_a_method_moves_no_other(tiny, texts, complete):
    """Contract 8, LIME's samples included: of any two methods, one of these halves has the first
    and not the second.
    """
    for there, bit in product((0, 1), range((len(METHODS) - 1).bit_length())):
        half = [m for at, m in enumerate(METHODS) if (at >> bit) % 2 == there]
        assert_same(scores_of(tiny, texts[2:3], half), complete, 1e-9)


def test_seeds_follow_names_not_positions(tiny, texts):
    renamed = replace(texts[1], id="other")
    found = scores_of(tiny, [texts[1], renamed], ["random", "lime"])
    for method in ("random", "lime"):
        assert (found["s1", method] != found["other", method]).any()


def planted_texts():
    """Texts with the deciding word at different places."""
    others = ["the", "film", "was", "good", "and", "a", "slow", "plot", "is", "not", "bad", "ever"]
    for i, n in enumerate([8, 10, 13]):
        words = [others[(i + j) % len(others)] for j in range(n - 1)]
        words.insert((5 * i + 2) % n, models.SIGNAL)
        yield models.instance(" ".join(words), name=f"p{i}")


def place_of_truth(model, one):
    """(n,) 1 for the deciding token."""
    tokens = model.tokens(one)
    signal = model.tokenizer.convert_tokens_to_ids(models.SIGNAL)
    return (tokens.ids[tokens.content] == signal).astype(float)


WIDE = ("occlusion_3", "occlusion_7", "omission_3", "omission_7")
# the planted model has no layers to attend with or to propagate through, and none that captum could
# hook into
BLIND = {"random", "last", "deeplift", "deeplift_released", "deeplift_complete", "attention_head"}
BLIND |= {"lrp", "lrp_cp", "gim", "attention", "scaled_attention", "scaled_attention_squared"}
BLIND |= {"attention_rollout", "value_zeroing"}


def test_methods_find_the_planted_token(planted):
    units = UnitSettings(shapley_samples=300)
    budget = Budget(path_steps=8, path_steps_most=200, units=units)
    for method in (m for m in METHODS if m not in BLIND):
        for found in explain_instances(Scorer(planted), [*planted_texts()], [method], budget):
            truth = place_of_truth(planted, found.instance)
            scores = found.attributions[method].scores
            assert found.predicted == 1
            assert (scores == scores.max()).tolist() == truth.astype(bool).tolist(), method


def test_only_windows_cut_at_both_borders_always_find_a_planted_word(planted):
    """One of seven words decides, each once: whole windows of three words tie at borders, those of
    seven everywhere.
    """
    places = [" ".join([*"abcdefg"[:p], models.SIGNAL, *"abcdefg"[p:6]]) for p in range(7)]
    texts = [models.instance(text) for text in places]
    for rule, share in {"cut": 1.0, "cut_right": 0.60, "mean": 0.40, "whole": 0.40}.items():
        chances = []
        for found in explain_instances(Scorer(planted), texts, WIDE, Budget(windows=rule)):
            truth = place_of_truth(planted, found.instance)
            scores = [one.scores.round(6) for one in found.attributions.values()]
            chances += [truth[s == s.max()].mean() for s in scores]
        assert np.mean(chances) == pytest.approx(share, abs=0.005), rule


def test_scores_are_the_same_in_small_batches_and_without_some_instances(tiny, texts, together):
    assert_same(scores_of(tiny, texts[1:4], precision="float32", budget=40), together, 1e-5)


def test_erasing_never_tokenizes(tiny, texts):
    tokens = [tokenize(t, tiny.tokenizer, 64) for t in texts]
    model, tokenizer = counting(tiny)
    asked = [faithfulness.erase(t, np.arange(len(t.content)), [0.2, 0.5]) for t in tokens]
    Scorer(model).converse(("x", one) for one in asked)
    assert tokenizer.calls == 0


def test_erasure_of_a_constant_is_that_of_random(tiny):
    """Contract 6, for erasure: over seeds, ties fall on every set of tokens alike."""
    tokens = tiny.tokens(models.instance("good bad slow film brave"))
    draws = 400
    for size in (1, 2, 3):
        found = erasures(tiny, tokens, np.zeros((draws, 5)), size / 5)
        sets = [np.isin(np.arange(5), some) for some in combinations(range(5), size)]
        every = erasures(tiny, tokens, np.array(sets, float), size / 5)
        for kind, of in product(("", "normalised_"), ("comprehensiveness", "sufficiency")):
            drawn = np.array([getattr(one, kind + of)[0] for one in found])
            expected = np.array([getattr(one, kind + of)[0] for one in every])
            error = expected.std() / np.sqrt(draws)
            with case(size, kind + of):
                assert abs(drawn.mean() - expected.mean()) <= 4 * error + 1e-12
                assert {*drawn.round(9)} == {*expected.round(9)}
