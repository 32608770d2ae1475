"""Attention rollout and value zeroing against their slow twins, on encoders of several shapes, side
by side.
"""

import numpy as np
import pytest
import torch
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
    typed = {"token_type_ids": torch.tensor(tokens.segments[None])} if model.typed else {}
    return {
        "input_ids": torch.tensor(tokens.ids[None]),
        "attention_mask": torch.ones(1, len(tokens)),
    } | typed


def test_attention_rollout():
    model = tiny_model(1)
    texts = sample_instances()
    for found in explain_instances(
        Scorer(model, precision="float64"), texts, ["attention_rollout"], LEAST
    ):
        tokens = found.tokens
        layers = mixing.attention_layers(model.at("float64"), **given_to(model, tokens))
        expected = mixing.rolled_out(layers, passed=1)
        np.testing.assert_allclose(
            found.attributions["attention_rollout"].scores, expected[tokens.content], atol=1e-10
        )
    mixed = np.ones((2, 3, 3))
    mixed[1, 0] = 0  # the first token's last state is of no token
    assert not roll_out(mixed).any()


def test_value_zeroing():
    for kind in KINDS:
        for budget in [1, 8192]:
            with case(kind, budget):
                model = shapes.tiny_classifier(kind)
                texts = [
                    instance("the film"),
                    instance("not very good , was it ?", name="y"),
                    instance("bad", name="z"),
                ]
                scorer = Scorer(model, budget, "float64")
                tokens = [model.tokens(one) for one in texts]
                found = scorer.answer([ValueZeroing(t.ids, t.segments) for t in tokens], ["x"] * 3)
                explained = explain_instances(scorer, texts, ["value_zeroing"], LEAST)
                for t, distances, one in zip(tokens, found, explained, strict=True):
                    expected = mixing.zeroed_layers(model.at("float64"), **given_to(model, t))
                    np.testing.assert_allclose(distances, expected, atol=1e-10)
                    scores = one.attributions["value_zeroing"].scores
                    np.testing.assert_allclose(
                        scores, mixing.rolled_out(expected, passed=0)[t.content], atol=1e-9
                    )
                    assert distances.max() > 1e-3


def test_only_a_model_is_asked_whose_first_token_sums_up_the_text():
    refused = {
        "gpt2": "decoder",
        "bart": "off its decoder",
        "modernbert_mean": "not read off a first token",
    }
    for kind, reason in (refused | {"longformer": "its attention weights are"}).items():
        model = shapes.tiny_classifier(kind)
        for name in ("attention_rollout", "value_zeroing"):
            with pytest.raises(ValueError, match=reason):
                explain_instances(Scorer(model), [instance("the film")], [name], LEAST)


def test_a_layer_that_cannot_be_run_again_alone_is_refused(monkeypatch):
    network, tokenizer = shapes.tiny_network("bert")
    model = Transformer("odd", freeze(network), tokenizer, shapes.LABELS, 64)
    layer = network.bert.encoder.layer[1]
    calls = []
    plain = layer.forward
    monkeypatch.setattr(
        layer, "forward", lambda *a, **k: plain(*a, **k) * (calls.append(0) or len(calls))
    )
    assert model.refusal("layers") == "a layer that is run again alone gives other states"
