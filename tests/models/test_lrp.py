"""The word-level networks, LRP, DeepLIFT and cell decomposition against their equations, written
out token by token.
"""

from itertools import product

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference import case, networks, relevances, words

from attreval.models.questions import DEEPLIFT, LRP, PathGradient
from attreval.models.scorer import Scorer
from attreval.models.words.lrp import RelevanceRules

SEEDS = range(4)


def embedded(model, ids):
    return model.embed(torch.from_numpy(ids)[None], "float64")[0].detach().numpy()


def ask(scorer, rows, target, rule):
    """(T,) relevance of each row, asked side by side."""
    questions = [PathGradient(ids, np.zeros_like(ids), target, rule=rule) for ids in rows]
    return [answer.gradient.sum(axis=1) for answer in scorer.answer(questions, ["x"] * len(rows))]


def test_forward_pass_equals_the_equations():
    for kind, gate, seed in product(words.KINDS, ("logistic", "hard_sigmoid"), SEEDS):
        with case(kind, gate, seed):
            model = words.tiny_words(*kind, seed=seed, gate=gate, kernel=(3, 1, 2, 5)[seed])
            rows = words.rows(seed)
            found = Scorer(model, precision="float64").logits([(r, np.zeros_like(r)) for r in rows])
            for ids, logits in zip(rows, found, strict=True):
                expected = networks.forward(model, embedded(model, ids))[2]
                assert_allclose(logits, expected, atol=1e-10)


def test_relevance_equals_the_rules_of_each_architecture():
    for kind, rule, seed in product(words.KINDS, (LRP, DEEPLIFT), SEEDS):
        with case(kind, rule, seed):
            model = words.tiny_words(*kind, seed=seed, kernel=(3, 1, 2, 5)[seed])
            rows = words.rows(seed)
            target = seed % 3
            scorer = Scorer(model, token_budget=[1, 20, 8192][target], precision="float64")
            for ids, found in zip(rows, ask(scorer, rows, target, rule), strict=True):
                vectors = embedded(model, ids)
                expected = relevances.relevance(model, vectors, target, rule.reference)
                assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_stabiliser_has_the_sign_of_the_sum_and_is_positive_at_zero():
    signs = RelevanceRules(LRP).stabiliser(torch.tensor([2.0, 0.0, -0.0, -3.0])) / LRP.epsilon
    assert signs.tolist() == pytest.approx([1, 1, 1, -1])
