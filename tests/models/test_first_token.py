"""The last layer for the first token alone: the same logits and gradients as with the whole layer,
for less work.
"""

from itertools import product

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference import case
from reference.models import instance, tiny_model
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attreval.models import first_token
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer
from attreval.models.transformer_hooks import AttentionWeights

SHORT = {"bert", "distilbert", "electra", "mpnet", "roberta", "xlm_roberta"}
TEXTS = (
    instance("the film was not good", "was it ?"),
    instance("a very slow plot , not good at all", "no", name="y"),
)


def padded(model, texts=TEXTS):
    return Scorer(model).padded([(t.ids, t.segments) for t in map(model.tokens, texts)])


def check_close(found, expected, close=1e-9):
    assert_close(found, expected, atol=close, rtol=0)


def test_logits_and_gradients_are_those_of_the_whole_layer():
    rng = np.random.default_rng(0)
    for kind, texts in product(sorted(SHORT), (TEXTS, TEXTS[:1], TEXTS[1:])):
        with case(kind, len(texts)):
            model = shapes.tiny_classifier(kind)
            ids, *more = padded(model, texts)
            gradients = []
            for whole in (False, True):
                vectors = model.embed(ids, "float64").detach().requires_grad_()
                out = model.logits(None, *more, "float64", embeddings=vectors, whole=whole)
                asked = out.softmax(dim=-1)[:, 1].sum() + out[:, 0].sum()
                gradients += torch.autograd.grad(asked, vectors)
            assert gradients[0].abs().max() > 1e-4
            check_close(*gradients)
            factors = torch.from_numpy(rng.random((*ids.shape, model.width)))
            bias = torch.from_numpy(-3 * rng.random((len(ids), 1, 1, ids.shape[1])))
            with torch.no_grad():
                plain = model.logits(ids, *more, "float64", whole=True)
                for change in ({}, {"entering": lambda x, by=factors: x * by}, {"bias": bias}):
                    found = model.logits(ids, *more, "float64", **change)
                    check_close(found, model.logits(ids, *more, "float64", whole=True, **change))
                    assert not change or (found - plain).abs().max() > 1e-4


def test_attention_implementations_and_precisions():
    """Masks are numbers or truth values, as transformers attends; and it computes in any
    precision.
    """
    ids = torch.tensor([[5, 9, 12, 7, 3], [5, 11, 3, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    ways = {(kind, how) for kind in SHORT for how in ("eager", "sdpa")} - {("mpnet", "sdpa")}
    for kind, how in ways:
        network = shapes.tiny_network(kind, attn_implementation=how)[0]
        assert network.config._attn_implementation == how and first_token.agrees(network)
        for dtype, close in ((torch.float64, 1e-9), (torch.float32, 2e-5), (torch.bfloat16, 0.2)):
            with case(kind, how, dtype), torch.no_grad():
                network.to(dtype)
                expected = network(input_ids=ids, attention_mask=mask).logits
                with first_token.last_layer(network):
                    found = network(input_ids=ids, attention_mask=mask).logits
                assert found.dtype == dtype
                check_close(found, expected, close)


def test_it_costs_less():
    """Of two layers one is left, and a little: what one token costs of the last, and the head."""
    model = shapes.tiny_classifier("bert")
    costs = []
    ids, mask, segments = padded(model, [instance("the film was not good " * 5)])
    for whole in (False, True):
        with FlopCounterMode(display=False) as counter:
            vectors = model.embed(ids).detach().requires_grad_(True)
            model.logits(None, mask, segments, embeddings=vectors, whole=whole).sum().backward()
        costs.append(counter.get_total_flops())
    assert costs[0] < 0.65 * costs[1]


def test_gradients_of_weights_are_those_of_the_whole_layer():
    """All but that of the last keys' bias, which moves all scores alike: 0 there, none here."""
    for kind in sorted(SHORT):
        with case(kind):
            model = shaped(kind)
            gradients = []
            for whole in (False, True):
                model.network.zero_grad(set_to_none=True)
                model.logits(*padded(model), whole=whole)[:, 1].sum().backward()
                gradients.append([p.grad for p in model.network.parameters()])
            assert model.network.training and model.first_alone
            missing = []
            for first, whole in zip(*gradients, strict=True):
                if first is not None:
                    check_close(first, whole)
                elif whole is not None:
                    missing.append(whole.abs().max())
            assert len(missing) == 1 and missing[0] < 1e-9


def shaped(kind, rate=0.0):
    """A tiny classifier in float64, being trained, with this dropout rate everywhere."""
    network, tokenizer = shapes.tiny_network(kind)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = rate
    model = Transformer(kind, network.double().train(), tokenizer, shapes.LABELS, 64)
    model.copies["float32"] = model.network  # what is asked in float32 is answered in float64
    return model


def test_dropout_is_drawn_from_the_same_distribution():
    """1,000 draws of one text in training: the logits have the same mean and spread."""
    for kind in ("bert", "mpnet"):
        with case(kind), torch.no_grad():
            model = shaped(kind, 0.2)
            rows = [x.expand(1000, -1) for x in padded(model, TEXTS[:1])]
            torch.manual_seed(0)
            short = model.logits(*rows)
            whole = model.logits(*rows, whole=True)
            error = ((short.var(dim=0) + whole.var(dim=0)) / 1000).sqrt()
            assert short.std(dim=0).min() > 0.05
            assert ((short.mean(dim=0) - whole.mean(dim=0)).abs() < 5 * error).all()
            assert_close(short.std(dim=0), whole.std(dim=0), rtol=0.1, atol=0)


def test_attention_of_the_last_layer_is_seen_whole():
    model = shapes.tiny_classifier("bert")
    rows = padded(model)
    length = rows[0].shape[1]
    for wanted, computed in (((0,), 1), ((1,), length), ((0, 1), length)):
        watch = AttentionWeights(2, (0, 1))
        with watch, torch.no_grad():
            logits, seen = model.attend(*rows, "float64", wanted, {0: 0.5})
        assert set(seen) == set(wanted)
        assert all(weights.shape[2:] == (length, length) for weights in seen.values())
        check_close(logits, model.attend(*rows, "float64", (0, 1), {0: 0.5})[0])
        assert watch.seen[1].shape[2] == computed


def test_the_network_is_left_as_it_was():
    network = tiny_model().network
    before = [list(module.__dict__) for module in network.modules()]
    with pytest.raises(RuntimeError, match="out of memory"), first_token.last_layer(network):
        assert "forward" in network.bert.encoder.layer[-1].__dict__
        raise RuntimeError("out of memory")
    assert before == [list(module.__dict__) for module in network.modules()]


def test_a_network_that_reads_other_tokens_computes_them():
    """A head of one's own that averages all tokens: found out by its logits, and read by the plain
    road.
    """
    model = tiny_model()
    own = model.network.bert.pooler.forward
    model.network.bert.pooler.forward = lambda states: own(states.mean(dim=1, keepdim=True))
    assert not model.first_alone
    ids, mask, segments = padded(model, TEXTS[:1])
    with torch.no_grad():
        expected = model.network(input_ids=ids, token_type_ids=segments, attention_mask=mask).logits
        assert_close(model.logits(ids, mask, segments), expected)


def test_other_architectures_take_the_plain_road_and_settings_the_right_one():
    assert {kind for kind in shapes.KINDS if shapes.tiny_classifier(kind).first_alone} == SHORT
    attending = {"output_attentions": True, "attn_implementation": "eager"}
    for setting in ({"is_decoder": True}, {"chunk_size_feed_forward": 4}, attending):
        network, tokenizer = shapes.tiny_network("bert", **setting)
        model = Transformer("bert", network.eval(), tokenizer, shapes.LABELS, 64)
        rows = padded(model, [instance("the film")] * 2)  # four tokens each
        with case(setting), torch.no_grad():
            found = model.logits(*rows, "float64")
            check_close(found, model.logits(*rows, "float64", whole=True))
