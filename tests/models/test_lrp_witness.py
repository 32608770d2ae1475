"""AttnLRP by the lxt package (Achtibat et al. 2024), where somebody has installed it: a BERT in its own operations."""

import math

import numpy as np
import pytest
import torch
from reference.models import instance, tiny_model

from attreval.models.questions import LRP, PathGradient
from attreval.models.scorer import Scorer

rules = pytest.importorskip("lxt.explicit.functional", reason="lxt is a witness, not a dependency")
identity = pytest.importorskip("lxt.explicit.rules").identity
EPSILON = 1e-12


def linear(layer, x):
    return rules.linear_epsilon(x, layer.weight, layer.bias, epsilon=EPSILON)


def normed(layer, x):
    return rules.layer_norm_grad_fn.apply(x, layer.weight, layer.bias, layer.eps, EPSILON)


def attended(layer, x, heads):
    """(1, L, D) what self-attention gives, before the sum with its input."""
    q, k, v = (
        linear(m, x).view(1, x.shape[1], heads, -1).transpose(1, 2)
        for m in (layer.self.query, layer.self.key, layer.self.value)
    )
    scores = rules.matmul(q, k.transpose(2, 3), epsilon=EPSILON)
    weights = rules.softmax(identity(lambda s: s / math.sqrt(q.shape[-1]), scores), -1)
    out = rules.matmul(weights, v, epsilon=EPSILON).transpose(1, 2).reshape(x.shape)
    return linear(layer.output.dense, out)


def logits(network, words, segments):
    """(1, K) logits of a BERT classifier in lxt's operations."""
    first = network.bert.embeddings
    places = first.position_embeddings.weight[: words.shape[1]] + first.token_type_embeddings.weight[segments]
    x = normed(first.LayerNorm, rules.add2(words, places[None], epsilon=EPSILON))
    for layer in network.bert.encoder.layer:
        inner = attended(layer.attention, x, network.config.num_attention_heads)
        x = normed(layer.attention.output.LayerNorm, rules.add2(inner, x, epsilon=EPSILON))
        wide = identity(layer.intermediate.intermediate_act_fn, linear(layer.intermediate.dense, x))
        x = normed(layer.output.LayerNorm, rules.add2(linear(layer.output.dense, wide), x, epsilon=EPSILON))
    return linear(network.classifier, identity(torch.tanh, linear(network.bert.pooler.dense, x[:, 0])))


@pytest.mark.parametrize("seed", range(3))
def test_lxt_gives_the_same_relevance(seed):
    """It hands back relevance in place of gradients, with a stabiliser in every denominator."""
    model = tiny_model(seed)
    network = model.at("float64")
    for text in ("the film was not very good", "slow", "an unbelievable plot , was it ?"):
        tokens = model.tokens(instance(text))
        words = model.embed(torch.from_numpy(tokens.ids)[None], "float64").detach().requires_grad_(True)
        score = logits(network, words, torch.from_numpy(tokens.segments))[0, 1]
        (expected,) = torch.autograd.grad(score, words, score.detach())
        scorer = Scorer(model, precision="float64")
        (found,) = scorer.answer([PathGradient(tokens.ids, tokens.segments, 1, rule=LRP)], ["x"])
        wide = np.abs(expected.numpy()).max()
        np.testing.assert_allclose(found.gradient, expected[0].numpy(), atol=1e-6 * wide)
        assert wide > 1e-3
