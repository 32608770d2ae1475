"""Attention rollout and value zeroing against their slow twins, on encoders of several shapes, side
by side.
"""

from itertools import product

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference import architectures as shapes
from reference import case, mixing
from reference.models import instance, sample_instances, tiny_model

from attreval.methods.attention import roll_out
from attreval.methods.run import LEAST, explain_instances
from attreval.models.placing import freeze
from attreval.models.questions import ValueZeroing
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer

KINDS = ("bert", "roberta", "distilbert", "electra", "mpnet", "deberta_v2")


def given_to(model, tokens):
    given = {"input_ids": tokens.ids, "attention_mask": np.ones(len(tokens))}
    if model.typed:
        given["token_type_ids"] = tokens.segments
    return {name: torch.tensor(row[None]) for name, row in given.items()}


def test_attention_rollout():
    model = tiny_model(1)
    scorer = Scorer(model, precision="float64")
    name = "attention_rollout"
    for found in explain_instances(scorer, sample_instances(), [name], LEAST):
        tokens = found.tokens
        layers = mixing.attention_layers(model.at("float64"), **given_to(model, tokens))
        expected = mixing.rolled_out(layers, passed=1)[tokens.content]
        assert_allclose(found.attributions[name].scores, expected, atol=1e-10)
    mixed = np.ones((2, 3, 3))
    mixed[1, 0] = 0  # the first token's last state is of no token
    assert not roll_out(mixed).any()


def test_value_zeroing():
    said = {"x": "the film", "y": "not very good , was it ?", "z": "bad"}
    texts = [instance(text, name=name) for name, text in said.items()]
    for kind, budget in product(KINDS, (1, 8192)):
        model = shapes.tiny_classifier(kind)
        scorer = Scorer(model, budget, "float64")
        tokens = [model.tokens(one) for one in texts]
        with case(kind, budget):
            found = scorer.answer([ValueZeroing(t.ids, t.segments) for t in tokens], ["x"] * 3)
            explained = explain_instances(scorer, texts, ["value_zeroing"], LEAST)
            for t, distances, one in zip(tokens, found, explained, strict=True):
                layers = mixing.zeroed_layers(model.at("float64"), **given_to(model, t))
                assert_allclose(distances, layers, atol=1e-10)
                expected = mixing.rolled_out(layers, passed=0)[t.content]
                scores = one.attributions["value_zeroing"].scores
                assert_allclose(scores, expected, atol=1e-9)
                assert distances.max() > 1e-3


def test_only_a_model_is_asked_whose_first_token_sums_up_the_text():
    for kind, reason in {
        "gpt2": "decoder",
        "bart": "off its decoder",
        "modernbert_mean": "not read off a first token",
        "longformer": "its attention weights are",
    }.items():
        scorer = Scorer(shapes.tiny_classifier(kind))
        for name in ("attention_rollout", "value_zeroing"):
            with pytest.raises(ValueError, match=reason):
                explain_instances(scorer, [instance("the film")], [name], LEAST)


def test_a_layer_that_cannot_be_run_again_alone_is_refused(monkeypatch):
    network, tokenizer = shapes.tiny_network("bert")
    model = Transformer("odd", freeze(network), tokenizer, shapes.LABELS, 64)
    layer = network.bert.encoder.layer[1]
    plain = layer.forward
    calls = []

    def forward(*args, **more):
        calls.append(0)
        return plain(*args, **more) * len(calls)

    monkeypatch.setattr(layer, "forward", forward)
    assert model.refusal("layers") == "a layer that is run again alone gives other states"
