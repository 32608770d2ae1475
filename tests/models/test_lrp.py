"""The word-level networks, LRP, DeepLIFT and cell decomposition against their equations, written
out token by token.
"""

import numpy as np
import pytest
import torch
from reference import networks, relevances, words

from attreval.models.questions import DEEPLIFT, LRP, PathGradient, PropagationRule
from attreval.models.scorer import Scorer
from attreval.models.words.lrp import RelevanceRules

KINDS = pytest.mark.parametrize("kind", words.KINDS, ids=str)
SEEDS = range(4)


def embedded(model, ids):
    return model.embed(torch.from_numpy(ids)[None], "float64")[0].detach().numpy()


def ask(scorer, rows, target, rule):
    """(T,) relevance of each row, asked side by side."""
    questions = [PathGradient(ids, np.zeros_like(ids), target, rule=rule) for ids in rows]
    return [answer.gradient.sum(axis=1) for answer in scorer.answer(questions, ["x"] * len(rows))]


@KINDS
@pytest.mark.parametrize("gate", ["logistic", "hard_sigmoid"])
def test_forward_pass_equals_the_equations(kind, gate):
    for seed in SEEDS:
        model = words.tiny_words(*kind, seed=seed, gate=gate, kernel=(3, 1, 2, 5)[seed])
        rows = words.rows(seed)
        found = Scorer(model, precision="float64").logits([(r, np.zeros_like(r)) for r in rows])
        for ids, logits in zip(rows, found, strict=True):
            np.testing.assert_allclose(
                logits, networks.forward(model, embedded(model, ids))[2], atol=1e-10
            )


@KINDS
@pytest.mark.parametrize("rule", [LRP, DEEPLIFT], ids=["lrp", "deeplift"])
def test_relevance_equals_the_rules_of_each_architecture(kind, rule):
    for seed in SEEDS:
        model = words.tiny_words(*kind, seed=seed, kernel=(3, 1, 2, 5)[seed])
        rows = words.rows(seed)
        scorer = Scorer(model, token_budget=[1, 20, 8192][seed % 3], precision="float64")
        for ids, found in zip(rows, ask(scorer, rows, seed % 3, rule), strict=True):
            expected = relevances.relevance(model, embedded(model, ids), seed % 3, rule.reference)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@KINDS
def test_relevance_is_conserved_when_biases_pass_theirs_on(kind):
    rule = PropagationRule(redistribute=True)
    for seed in SEEDS:
        model = words.tiny_words(*kind, seed=seed)
        scorer = Scorer(model, precision="float64")
        rows = words.rows(seed)
        scores = scorer.logits([(r, np.zeros_like(r)) for r in rows])[:, 1]
        for ids, found, score in zip(rows, ask(scorer, rows, 1, rule), scores, strict=True):
            assert found.sum() == pytest.approx(score, rel=1e-6, abs=1e-8), ids


def test_the_stabiliser_has_the_sign_of_the_sum_and_is_positive_at_zero():
    signs = RelevanceRules(LRP).stabiliser(torch.tensor([2.0, 0.0, -0.0, -3.0])) / LRP.epsilon
    assert signs.tolist() == pytest.approx([1, 1, 1, -1])


def test_biases_cancel_in_differences_so_deeplift_redistributes_none():
    with pytest.raises(ValueError, match="reference=False"):
        PropagationRule(reference=True, redistribute=True)
