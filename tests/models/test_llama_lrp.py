"""LRP of a Llama-shaped model against its slow twin, layer by layer in float64."""

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference import layered_llama as slow
from reference.models import instance

from attreval.models.placing import freeze
from attreval.models.questions import CP_LRP, LRP
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer
from attreval.models.transformer_lrp import relevance

TEXTS = ("the film", "a very slow plot was not good", "good")


def model_of(shared):
    """A Llama in which so many key-value heads serve two heads, its norms in the precision that they are given."""
    network, tokenizer = shapes.tiny_network("llama", num_attention_heads=2, num_key_value_heads=shared)
    for layer in network.model.layers:
        for name in ("input_layernorm", "post_attention_layernorm"):
            setattr(layer, name, slow.Norm(getattr(layer, name)))
    network.model.norm = slow.Norm(network.model.norm)
    return Transformer("llama", freeze(network), tokenizer, shapes.LABELS, 64)


@pytest.mark.parametrize("shared", [1, 2], ids=["grouped", "own"])
@pytest.mark.parametrize("rule", [LRP, CP_LRP], ids=["attnlrp", "cp"])
def test_a_llama_is_explained_layer_by_layer(rule, shared):
    model = model_of(shared)
    rows = [(t.ids, t.segments) for t in (model.tokens(instance(text)) for text in TEXTS)]
    ids, mask, segments = Scorer(model).padded(rows)
    words = model.embed(ids, "float64").detach()
    found = relevance(model, words, mask, segments, torch.tensor([0, 1, 2]), rule).sum(2).numpy()
    network = model.at("float64")
    for b, length in enumerate(mask.sum(1).tolist()):
        expected = slow.llama(network, words[b, :length], b, rule.attention)
        np.testing.assert_allclose(found[b, :length], expected, atol=1e-6 * max(1, np.abs(expected).max()))
        assert np.abs(expected).max() > 1e-3 and not found[b, length:].any()
