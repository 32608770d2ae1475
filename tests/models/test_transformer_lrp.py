"""LRP of transformers: its rules layer by layer, what is conserved in each architecture, and what
is refused.
"""

import functools
from itertools import product

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference import case
from reference import layered_llama as slow_llama
from reference import layered_relevance as slow
from reference.models import draw_weights, instance, tiny_model
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from attreval.methods.run import LEAST, explain_instances
from attreval.models.placing import freeze
from attreval.models.questions import CP_LRP, GIM, LRP, PathGradient, PropagationRule
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer
from attreval.models.transformer_lrp import Propagation, unaccounted

# they compute norms, attention, or the rotation by positions in it
IN_FLOAT32 = {
    "llama",
    "llama_padded",
    "qwen2",
    "qwen3",
    "t5",
    "longformer",
    "modernbert",
    "modernbert_mean",
}
TEXTS = ("the film", "a very slow plot , not good at all , was it ?", "good")


@functools.cache
def without_biases(kind):
    """A network to which nothing but words adds anything: no biases, positions and types, and
    nothing to begin with.
    """
    network, tokenizer = shapes.tiny_network(kind)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            weight.mul_(not name.endswith("bias"))
        for module in network.modules():
            words = network.get_input_embeddings()
            if isinstance(module, nn.Embedding) and module.weight is not words.weight:
                module.weight.zero_()
        if network.config.is_encoder_decoder:
            network.get_input_embeddings().weight[network.config.decoder_start_token_id] = 0
    return classifier(kind, network, tokenizer)


def read(model):
    """Mask, segments and float64 word embeddings of texts in one batch."""
    rows = [(t.ids, t.segments) for t in (model.tokens(instance(text)) for text in TEXTS)]
    ids, mask, segments = Scorer(model).padded(rows)
    return mask, segments, model.embed(ids, "float64").detach()


def classifier(kind, network, tokenizer):
    return Transformer(kind, freeze(network), tokenizer, shapes.LABELS, 64)


# a model, what it adds to the vectors of words, and its twin, which relevance is read from layer by
# layer


def make_bert(seed, normed=True):
    model = tiny_model(seed, normed=normed)
    layer = model.at("float64").bert.embeddings
    added = layer.position_embeddings.weight + layer.token_type_embeddings.weight[0]
    return model, added, slow.bert


def make_gpt2():
    network, tokenizer = shapes.tiny_network("gpt2")
    draw_weights(network, 5)
    model = classifier("gpt2", network, tokenizer)
    return model, model.at("float64").transformer.wpe.weight, slow.gpt2


def make_llama(shared):
    """A Llama in which so many key-value heads serve two heads, its norms in the precision that
    they are given.
    """
    heads = {"num_attention_heads": 2, "num_key_value_heads": shared}
    network, tokenizer = shapes.tiny_network("llama", **heads)
    for layer in network.model.layers:
        for name in ("input_layernorm", "post_attention_layernorm"):
            setattr(layer, name, slow_llama.Norm(getattr(layer, name)))
    network.model.norm = slow_llama.Norm(network.model.norm)

    def twin(network, entered, own, *asked):
        return slow_llama.llama(network, entered, *asked)

    model = classifier("llama", network, tokenizer)
    return model, torch.zeros(64, model.network.config.hidden_size), twin


def test_a_network_is_explained_layer_by_layer():
    targets = torch.tensor([0, 1, 2])
    for model, added, twin in (
        make_bert(1),
        make_bert(2, False),
        make_gpt2(),
        make_llama(1),
        make_llama(2),
    ):
        mask, segments, words = read(model)
        lengths = mask.sum(1).tolist()
        network = model.at("float64")
        for rule, (b, length) in product((LRP, CP_LRP), enumerate(lengths)):
            with case(model.name, rule, b):
                found = model.relevance(words, mask, segments, targets, rule).sum(2)[b]
                own = words[b, :length]
                entered = (own + added[:length]).detach()
                expected = twin(network, entered, own.numpy(), b, rule.attention)
                size = np.abs(expected).max()
                close = (1e-6 if model.name == "llama" else 1e-9) * max(1, size)
                np.testing.assert_allclose(found[:length], expected, atol=close)
                assert size > 1e-3 and not found[length:].any()


class Kept(Propagation):
    """Adds up the relevance that arrives at attention weights and does not leave at their
    scores.
    """

    def __init__(self, network, rule):
        super().__init__(network, rule)
        self.kept = 0.0

    def softmax(self, function, scores, *args, **kwargs):
        weights = super().softmax(function, scores, *args, **kwargs)
        if not weights.requires_grad:
            return weights
        outputs = weights.detach()
        inputs = torch.where(outputs > 0, scores.detach(), 0)

        def count(arriving):
            relevance = (outputs * arriving).sum(-1, True)
            leaving = inputs * outputs * (arriving - relevance)
            self.kept += float(relevance.sum() - leaving.sum())

        weights.register_hook(count)
        return weights


def test_relevance_is_conserved():
    """Of words alone, where nothing else adds to what is computed; the softmax of AttnLRP keeps
    what it is at 0.

    The forward pass is the network's own; where biases add something they get what the words do
    not.
    """
    for kind, rule in product(shapes.KINDS, (LRP, CP_LRP)):
        rough = kind in IN_FLOAT32
        model = without_biases(kind)
        mask, segments, words = read(model)
        points = words.clone().requires_grad_(True)
        watch = Kept(model.at("float64"), rule)
        with case(kind, rule):
            with torch.no_grad():
                owed = model.logits(None, mask, segments, "float64", embeddings=words)[:, 1].sum()
            with watch:
                out = model.logits(None, mask, segments, "float64", embeddings=points)
            scores = out[:, 1].sum()
            assert_close(scores, owed, atol=1e-6 if rough else 1e-11, rtol=0)
            (gradient,) = torch.autograd.grad(scores, points)
            found = gradient * words
            close = max(1e-6 if rough else 1e-9, 1e-6 * rough * float(found.abs().sum()))
            assert abs(float(found.sum()) + watch.kept - float(owed)) < close
            assert bool(watch.kept) == (rule is LRP) and float(found.abs().max()) > 1e-4
            targets = torch.ones(len(words), dtype=torch.int64)
            asked = model.relevance(words, mask, segments, targets, rule)
            assert_close(asked, found, atol=1e-12, rtol=1e-9)
    for kind in shapes.KINDS:
        with case(kind):
            biased = shapes.tiny_classifier(kind)
            mask, segments, words = read(biased)
            missing = unaccounted(biased, words, mask, segments)
            assert missing < (1e-7 if kind in IN_FLOAT32 else 1e-14)
            assert not any(weight.requires_grad for weight in biased.network.parameters())


class Small(nn.Module):
    """A few functions of (B, D) vectors, with frozen weights."""

    def __init__(self, compute):
        super().__init__()
        self.compute = compute
        self.act = nn.GELU()

    def forward(self, x):
        return self.compute(self, x)


def shares(compute, x, rule=LRP):
    """x times its modified gradient."""
    network = Small(compute)
    points = x.clone().requires_grad_(True)
    with Propagation(network, rule):
        out = network(points)
    return out.detach(), torch.autograd.grad(out.sum(), points)[0] * x


X = torch.tensor([[0.5, -1.5, 2.0, 0.0]], dtype=torch.float64)


FUNCTIONS = (
    lambda m, x: m.act(x),
    lambda m, x: functional.gelu(x, approximate="tanh"),
    lambda m, x: torch.tanh(x),
    lambda m, x: functional.silu(x),
    lambda m, x: x * torch.sigmoid(x),
    lambda m, x: x * x,
    lambda m, x: x * torch.rsqrt(x.pow(2).mean() + 1e-6),
    lambda m, x: x / torch.sqrt(x.pow(2).mean() + 1e-6),
    lambda m, x: x * (x.pow(2).mean() + 1e-6) ** -0.5,
    lambda m, x: functional.rms_norm(x, (4,), eps=1e-6),
    lambda m, x: torch.einsum("bi,bi->bi", x, 2 * x),
    lambda m, x: torch.einsum("bi,bi->bi", [x, x]),
)


def test_each_entry_keeps_its_own_where_entries_do_not_mix():
    for at, compute in enumerate(FUNCTIONS):
        out, found = shares(compute, X)
        with case(at):
            assert_close(found, out, atol=1e-9, rtol=1e-9)


def test_at_zero_an_activation_has_its_slope():
    network = Small(lambda m, x: m.act(x))
    x = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    with Propagation(network, LRP):
        (slope,) = torch.autograd.grad(network(x).sum(), x)
    assert float(slope) == pytest.approx(0.5, abs=1e-5) and not network.act._forward_hooks


def test_gim_softens_the_softmax_and_leaves_activations_alone():
    """Gradients at twice the temperature, as the released code has them: not divided by it."""
    out, found = shares(lambda m, x: functional.softmax(m.act(x), -1)[..., 0], X, GIM)
    inner = X.clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(functional.gelu(inner).sum(), inner)
    softer = functional.softmax(functional.gelu(X) / 2, -1)
    expected = softer * (torch.eye(4, dtype=X.dtype)[0] - softer[0, 0]) * slope * X
    assert_close(found, expected, atol=1e-12, rtol=1e-9)
    assert_close(out, functional.softmax(functional.gelu(X), -1)[..., 0])


def test_attention_is_written_out_as_torch_computes_it():
    rng = torch.Generator().manual_seed(1)
    hidden = torch.zeros(2, 1, 5, 5, dtype=torch.bool)
    hidden[1, ..., 3:] = True
    added = torch.zeros(2, 1, 5, 5).masked_fill(hidden, -torch.inf)
    for heads, given in (
        (4, {"is_causal": True}),
        (2, {"enable_gqa": True}),
        (4, {"attn_mask": ~hidden}),
        (4, {"attn_mask": added}),
    ):
        q = torch.randn(2, 4, 5, 4, generator=rng)
        k = torch.randn(2, heads, 5, 4, generator=rng)
        v = torch.randn(2, heads, 5, 4, generator=rng)
        expected = functional.scaled_dot_product_attention(q, k, v, **given)
        for rule in (LRP, CP_LRP, GIM):
            asked = q.clone().requires_grad_(True)
            with case(given, rule), Propagation(nn.Identity(), rule):
                found = functional.scaled_dot_product_attention(asked, k, v, **given)
            assert_close(found.detach(), expected)
            if rule is not CP_LRP:
                (slope,) = torch.autograd.grad(found.sum(), asked)
                assert torch.isfinite(slope).all()


def test_what_has_no_rule_is_refused():
    network, tokenizer = shapes.tiny_network("bert")
    for layer in network.bert.encoder.layer:
        layer.intermediate.intermediate_act_fn = Small(lambda m, x: torch.exp(x) - 1)
    model = classifier("odd", network, tokenizer)
    assert "something in it has no rule of LRP" in model.refusal("lrp")
    with pytest.raises(ValueError, match=r"^x, lrp: 'odd' cannot be asked for this: 0\."):
        explain_instances(Scorer(model), [instance("the film")], ["lrp"], LEAST)


def test_what_cannot_be_asked_is_refused():
    x = torch.ones(1, 1, 2, 2, requires_grad=True)
    watch = Propagation(nn.Identity(), LRP)
    with watch, pytest.raises(ValueError, match="without dropout"):
        functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    with watch, pytest.raises(ValueError, match="mul_ writes a product into its first"):
        (x * 2).mul_(x)
    for reference, attention in ((True, "constant"), (True, "softened"), (False, "rescaled")):
        with pytest.raises(ValueError, match=f"goes with reference={not reference}"):
            PropagationRule(reference=reference, attention=attention)
    model = tiny_model()
    tokens = model.tokens(instance("the film"))
    bare = PathGradient(tokens.ids, tokens.segments, 0, rule=LRP, where="bare")
    with pytest.raises(ValueError, match="where='bare' goes with DEEPLIFT"):
        Scorer(model).answer([bare], [""])
