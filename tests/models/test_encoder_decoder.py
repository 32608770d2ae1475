"""A small BART: built as asked, started from an encoder, saved and loaded with the same answers."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from transformers import BertConfig, BertModel

from attreval.models.loading import new_classifier
from compendium.config import ModelSpec

SPEC = {"architecture": "encoder_decoder", "layers": 2, "decoder_layers": 1, "hidden": 32, "heads": 2}


@pytest.fixture(scope="module")
def body(tiny, tmp_path_factory):
    """The folder of a BERT-shaped encoder without a head."""
    folder = tmp_path_factory.mktemp("encoder") / "body"
    torch.manual_seed(0)
    config = BertConfig(**tiny.network.config.to_dict() | {"intermediate_size": 128, "initializer_range": 0.3})
    BertModel(config).save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return folder


def make(body, seed=1, **more):
    spec = ModelSpec(**SPEC | {"tokenizer": "local"} | more)
    return new_classifier(spec, ("a", "b"), ("m", seed), [], "small", "cpu", resolve=lambda name: str(body))


def test_it_has_the_sizes_and_seed_asked(body):
    first, again, other = make(body), make(body), make(body, seed=2)
    config = first.network.config
    assert (config.encoder_layers, config.decoder_layers, config.d_model) == (2, 1, 32)
    assert first.labels == ("a", "b") and config.num_labels == 2 and first.layers == 2
    weights = [m.network.model.encoder.layers[0].fc1.weight for m in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_it_starts_with_the_layers_of_an_encoder(body, tiny, texts):
    """Its encoder gives the states that the other one gives to a text of one part, layer by layer."""
    started, encoder = make(body, start="local"), BertModel.from_pretrained(body)
    tokens = tiny.tokens(texts[1])
    ids = torch.from_numpy(tokens.ids[None])
    with torch.no_grad():
        theirs = encoder.eval()(ids, output_hidden_states=True).hidden_states
        ours = started.network.eval().model.encoder(ids, output_hidden_states=True).hidden_states
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)  # BERT and BART stabilise their normalisation differently
    layer, source = started.network.model.decoder.layers[0], encoder.encoder.layer[0]
    for own in (layer.self_attn, layer.encoder_attn):
        assert torch.equal(own.q_proj.weight, source.attention.self.query.weight)
    shared = started.network.model
    assert shared.decoder.embed_tokens.weight is shared.shared.weight


def test_an_encoder_that_does_not_fit_says_so(body):
    with pytest.raises(ValueError, match=r"'hidden': 16.*cannot start from local: bert with .*'hidden': 32"):
        make(body, start="local", hidden=16)
    with pytest.raises(ValueError, match=r"3 \+ 1 layers cannot start .* 2 layers"):
        make(body, start="local", layers=3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": "x", "layers": None, "hidden": None, "heads": None}, "is a transformer"),
        ({"architecture": "transformer", "start": "x"}, "`start` is for an encoder_decoder"),
        ({"architecture": "gru", "start": "x", "layers": None, "heads": None}, "no tokenizer, start"),
        ({"layers": None}, "give either `weights`"),
    ],
)
def test_what_does_not_go_together_is_told(change, words):
    with pytest.raises(ValidationError, match=words):
        ModelSpec(**SPEC | {"tokenizer": "local"} | change)
