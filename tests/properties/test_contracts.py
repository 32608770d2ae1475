"""What holds for every method and measure: company, order, ids, seeds, and a truth that was
planted.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from reference import case, models

from attreval.core.alignment import tokenize
from attreval.core.seeds import generator
from attreval.methods import methods_for
from attreval.methods.method import Budget, UnitSettings
from attreval.methods.run import explain_instances
from attreval.metrics import erasure as faithfulness
from attreval.models.checks import PROBES
from attreval.models.scorer import Scorer

FEWER = {
    "path_steps": 8,
    "lime_samples": 60,
    "riemann_steps": 8,
    "limsse_epochs": 20,
    "shap_evaluations": 40,
}
BUDGET = Budget(**FEWER, units=UnitSettings(shapley_samples=60))
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

    def __init__(self, inner):
        self.inner = inner
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.inner(*args, **kwargs)

    def __getattr__(self, name):
        if name in {
            "decode",
            "batch_decode",
            "encode",
            "encode_plus",
            "tokenize",
            "convert_tokens_to_string",
        }:
            raise AssertionError(f"explaining must not use the tokenizer's {name}")
        return getattr(self.inner, name)


def counting(model):
    """The model with a tokenizer that counts; what it can answer is tried out before."""
    tokenizer = CountingTokenizer(model.tokenizer)
    model = replace(model, tokenizer=tokenizer)
    for need in PROBES:
        model.refusal(need)
    tokenizer.calls = 0
    return model, tokenizer


def erasures(model, tokens, rows, ratios, name="x"):
    """Erasure of each row of scores, ties drawn by the row's number."""
    talks = (
        (name, faithfulness.erase(tokens, s, ratios, generator(name, i)))
        for i, s in enumerate(rows)
    )
    return Scorer(model, precision="float64").converse(talks)


def test_scores_are_the_same_alone_and_each_text_is_tokenized_once(tiny, texts, together):
    """Contract 4; and 5: perturbed texts are rows of ids, never strings."""
    model, tokenizer = counting(tiny)
    other = scores_of(
        model, texts[3::-1], precision="float32", group=1, budget=40
    )  # and in another order
    assert other.keys() == together.keys() and tokenizer.calls == len(texts[:4])
    assert_same(other, together, 1e-5)


def test_adding_a_method_moves_no_other(tiny, texts, complete):
    """Contract 8, LIME's samples included: of any two methods, one of these halves has the first
    and not the second.
    """
    for there in [0, 1]:
        for bit in range((len(METHODS) - 1).bit_length()):
            with case(there, bit):
                half = [m for at, m in enumerate(METHODS) if (at >> bit) % 2 == there]
                assert_same(scores_of(tiny, texts[2:3], half), complete, 1e-9)


def test_seeds_follow_names_not_positions(tiny, texts):
    first = texts[1]
    renamed = replace(texts[1], id="other")
    same = scores_of(tiny, [first, renamed], ["random", "lime"])
    for method in ("random", "lime"):
        assert (same["s1", method] != same["other", method]).any()


def planted_texts():
    """Texts with the deciding word at different places."""
    others = ["the", "film", "was", "good", "and", "a", "slow", "plot", "is", "not", "bad", "ever"]
    for i, n in enumerate([8, 10, 13]):
        words = [others[(i + j) % len(others)] for j in range(n - 1)]
        words.insert((5 * i + 2) % n, models.SIGNAL)
        yield models.instance(" ".join(words), name=f"p{i}")


def place_of_truth(model, one):
    tokens = model.tokens(one)
    return tokens, (
        tokens.ids[tokens.content] == model.tokenizer.convert_tokens_to_ids(models.SIGNAL)
    ).astype(float)


WIDE = ("occlusion_3", "occlusion_7", "omission_3", "omission_7")
# the planted model has no layers to attend with or to propagate through, and none that captum could
# hook into
BLIND = ("random", "last", "deeplift", "deeplift_released", "attention_head")
BLIND += ("lrp", "lrp_cp", "gim", "deeplift_complete")
BLIND += (
    "attention",
    "scaled_attention",
    "scaled_attention_squared",
    "attention_rollout",
    "value_zeroing",
)


def test_methods_find_the_planted_token(planted):
    for method in [m for m in METHODS if m not in BLIND]:
        with case(method):
            budget = Budget(
                path_steps=8, path_steps_most=200, units=UnitSettings(shapley_samples=300)
            )
            for found in explain_instances(
                Scorer(planted), list(planted_texts()), [method], budget
            ):
                _, truth = place_of_truth(planted, found.instance)
                scores = found.attributions[method].scores
                assert found.predicted == 1
                assert scores.argmax() == truth.argmax() and (scores == scores.max()).sum() == 1


def test_only_windows_cut_at_both_borders_always_find_a_planted_word(planted):
    """One of seven words decides, each once: whole windows of three words tie at borders, those of
    seven everywhere.
    """
    for rule, share in (
        ("cut", 1.0),
        ("cut_right", 0.60),
        ("mean", 0.40),
        ("whole", 0.40),
    ):
        with case(rule, share):
            places = [" ".join([*"abcdefg"[:p], models.SIGNAL, *"abcdefg"[p:6]]) for p in range(7)]
            chances = []
            for found in explain_instances(
                Scorer(planted),
                [models.instance(t) for t in places],
                list(WIDE),
                Budget(windows=rule),
            ):
                _, truth = place_of_truth(planted, found.instance)
                scores = [one.scores.round(6) for one in found.attributions.values()]
                chances += [truth[s == s.max()].mean() for s in scores]
            assert np.mean(chances) == pytest.approx(share, abs=0.005)


def test_scores_are_the_same_in_small_batches_and_without_some_instances(tiny, texts, together):
    assert_same(scores_of(tiny, texts[1:4], precision="float32", budget=40), together, 1e-5)


def test_erasing_never_tokenizes(tiny, texts):
    tokens = [tokenize(t, tiny.tokenizer, 64) for t in texts]
    model, tokenizer = counting(tiny)
    scorer = Scorer(model)
    scorer.converse(
        ("x", faithfulness.erase(t, np.arange(len(t.content)), [0.2, 0.5])) for t in tokens
    )
    assert tokenizer.calls == 0


def test_erasure_of_a_constant_is_that_of_random(tiny):
    """Contract 6, for erasure: over seeds, ties fall on every set of tokens alike."""
    for size in [1, 2, 3]:
        with case(size):
            tokens = tiny.tokens(models.instance("good bad slow film brave"))
            ratio = size / 5
            draws = 400
            found = erasures(tiny, tokens, [np.zeros(5)] * draws, [ratio])
            marked = [
                np.isin(np.arange(5), chosen).astype(float)
                for chosen in combinations(range(5), size)
            ]
            every = erasures(tiny, tokens, marked, [ratio])
            for name in (
                "comprehensiveness",
                "sufficiency",
                "normalised_comprehensiveness",
                "normalised_sufficiency",
            ):
                drawn, all_sets = (
                    np.array([getattr(e, name)[0] for e in some]) for some in (found, every)
                )
                assert (
                    abs(drawn.mean() - all_sets.mean())
                    <= 4 * all_sets.std() / np.sqrt(draws) + 1e-12
                )
                assert {*drawn.round(9)} == {*all_sets.round(9)}
