"""DeepLIFT in every layer of a transformer: its rule layer by layer, and completeness."""

import functools

import numpy as np
import pytest
import torch
from captum.attr import DeepLift
from reference import architectures as shapes
from reference import case
from reference import layered_slopes as slow
from reference.models import draw_weights, instance, tiny_model
from torch import nn
from torch.nn import functional

from attreval.methods.run import LEAST, explain_instances
from attreval.models.placing import freeze
from attreval.models.questions import DEEPLIFT_COMPLETE
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer
from attreval.models.transformer_deeplift import Rescale

# their reference, zero embeddings, leaves nothing to normalise; in XLNet the batch is not the first
# dimension
REFUSED = {
    "modernbert",
    "modernbert_mean",
    "t5",
    "llama",
    "llama_padded",
    "qwen2",
    "qwen3",
    "xlnet",
    "longformer",
}
TEXTS = ("the film", "a very slow plot , not good at all , was it ?", "good")


@functools.cache
def loaded(kind):
    network, tokenizer = shapes.tiny_network(kind)
    draw_weights(network, 1)
    return Transformer(kind, freeze(network), tokenizer, shapes.LABELS, 64)


def read(model, precision="float64"):
    rows = [(t.ids, t.segments) for t in (model.tokens(instance(text)) for text in TEXTS)]
    ids, mask, segments = Scorer(model).padded(rows)
    return mask, segments, model.embed(ids, precision).detach()


def test_a_bert_is_explained_layer_by_layer():
    for seed in range(2):
        with case(seed):
            model = tiny_model(seed)
            mask, segments, words = read(model)
            found = (
                model.relevance(words, mask, segments, torch.tensor([seed] * 3), DEEPLIFT_COMPLETE)
                .sum(2)
                .numpy()
            )
            network = model.at("float64")
            layer = network.bert.embeddings
            for b, length in enumerate(mask.sum(1).tolist()):
                added = (
                    layer.position_embeddings.weight[:length]
                    + layer.token_type_embeddings.weight[0]
                )
                expected = slow.bert(
                    network, words[b, :length].numpy(), added.detach().numpy(), seed
                )
                np.testing.assert_allclose(
                    found[b, :length], expected, atol=1e-9 * max(1, np.abs(expected).max())
                )


def test_scores_sum_to_the_difference_of_logits():
    for kind, precision, close in (
        *((kind, "float64", 1e-12) for kind in sorted(set(shapes.KINDS) - REFUSED)),
        ("bert", "float32", 2e-5),
    ):
        with case(kind, precision, close):
            model = loaded(kind)
            mask, segments, words = read(model, precision)
            targets = torch.tensor([0, 1, 2])
            found = model.relevance(words, mask, segments, targets, DEEPLIFT_COMPLETE).sum((1, 2))
            with torch.no_grad():
                ends = [
                    model.logits(None, mask, segments, precision, embeddings=x)
                    for x in (words, torch.zeros_like(words))
                ]
            owed = (ends[0] - ends[1]).gather(1, targets[:, None])[:, 0]
            assert float((found - owed).abs().max()) < close * max(1, float(owed.abs().max()))
            assert float(owed.abs().max()) > 1e-2


def test_differences_are_handed_back_whole():
    for compute in [
        lambda x: x * x,
        lambda x: x[:, :2] @ x[:, 2:4].mT,
        lambda x: torch.einsum("bij,bkj->bik", [x, x]),
        lambda x: functional.softmax(30 * x, -1),
        lambda x: functional.softmax(x.masked_fill(torch.arange(3) == 1, -torch.inf), -1),
        lambda x: functional.layer_norm(x, (3,)),
        lambda x: functional.rms_norm(x, (3,), eps=1e-6),
        lambda x: x / (1 + x.square()),
        lambda x: torch.sqrt(1 + x * x),
        lambda x: functional.silu(x) * x,
        functional.gelu,
    ]:
        with case(compute):
            x = torch.randn(
                2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)
            )
            real, reference = x
            points = real[None].clone().requires_grad_(True)
            with Rescale(nn.Identity()):
                out = compute(torch.cat([points, reference[None]]))
            torch.testing.assert_close(out.detach(), compute(x))
            for at in (0, -1):
                (gradient,) = torch.autograd.grad(out[0, 0, at], points, retain_graph=True)
                owed = (out[0, 0, at] - out[1, 0, at]).detach()
                torch.testing.assert_close(
                    (gradient[0] * (real - reference)).sum(), owed, atol=1e-10, rtol=1e-9
                )
            with Rescale(nn.Identity()):  # where both are equal it has the slope there
                out = compute(torch.cat([points, points]))
            found = torch.autograd.grad(out[0, 0, 0], points)[0]
            plain = torch.autograd.grad(compute(points)[0, 0, 0], points)[0]
            torch.testing.assert_close(found, plain)


def test_products_of_three_are_refused():
    x = torch.ones(2, 2, requires_grad=True)
    with (
        Rescale(nn.Identity()),
        pytest.raises(ValueError, match="products of two; einsum is given 3 factors"),
    ):
        torch.einsum("bi,bi,bi->bi", x, x, x)


def test_what_is_not_complete_is_refused():
    for kind in sorted(REFUSED - {"qwen2"}):
        with (
            case(kind),
            pytest.raises(
                ValueError, match=r"cannot be asked for this: (its scores miss|tried out)"
            ),
        ):
            explain_instances(
                Scorer(loaded(kind)), [instance("the film")], ["deeplift_complete"], LEAST
            )


def test_captum_agrees_where_it_knows_every_layer():
    for activation in [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.ELU]:
        with case(activation):
            torch.manual_seed(0)
            network = nn.Sequential(
                nn.Linear(5, 7), activation(), nn.Linear(7, 6), activation(), nn.Linear(6, 2)
            ).double()
            network.requires_grad_(False)
            x = torch.randn(4, 5, dtype=torch.float64)
            expected = DeepLift(network).attribute(x, baselines=torch.zeros_like(x), target=1)
            points = x.clone().requires_grad_(True)
            with Rescale(network):
                out = network(torch.cat([points, torch.zeros_like(points)]))[:4, 1]
            (gradient,) = torch.autograd.grad(out.sum(), points)
            torch.testing.assert_close(gradient * x, expected.detach(), atol=1e-10, rtol=1e-8)
