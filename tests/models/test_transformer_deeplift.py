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
from torch.testing import assert_close

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
        model = tiny_model(seed)
        mask, segments, words = read(model)
        targets = torch.full((3,), seed)
        found = model.relevance(words, mask, segments, targets, DEEPLIFT_COMPLETE).sum(2)
        network = model.at("float64")
        layer = network.bert.embeddings
        added = layer.position_embeddings.weight + layer.token_type_embeddings.weight[0]
        for b, length in enumerate(mask.sum(1).tolist()):
            own = words[b, :length].numpy()
            expected = slow.bert(network, own, added[:length].detach().numpy(), seed)
            close = 1e-9 * max(1, np.abs(expected).max())
            np.testing.assert_allclose(found[b, :length], expected, atol=close)


def test_scores_sum_to_the_difference_of_logits():
    targets = torch.tensor([0, 1, 2])
    complete = [(kind, "float64", 1e-12) for kind in shapes.KINDS if kind not in REFUSED]
    for kind, precision, close in [*complete, ("bert", "float32", 2e-5)]:
        with case(kind, precision):
            model = loaded(kind)
            mask, segments, words = read(model, precision)
            found = model.relevance(words, mask, segments, targets, DEEPLIFT_COMPLETE).sum((1, 2))
            ends = []
            for x in (words, torch.zeros_like(words)):
                with torch.no_grad():
                    ends.append(model.logits(None, mask, segments, precision, embeddings=x))
            owed = (ends[0] - ends[1]).gather(1, targets[:, None])[:, 0]
            size = float(owed.abs().max())
            assert size > 1e-2
            assert float((found - owed).abs().max()) < close * max(1, size)


FUNCTIONS = (
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
)


def test_differences_are_handed_back_whole():
    x = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    real, reference = x
    for at, compute in enumerate(FUNCTIONS):
        with case(at):
            points = real[None].clone().requires_grad_(True)
            with Rescale(nn.Identity()):
                out = compute(torch.cat([points, reference[None]]))
            assert_close(out.detach(), compute(x))
            for entry in (0, -1):
                asked = out[0, 0, entry]
                (gradient,) = torch.autograd.grad(asked, points, retain_graph=True)
                found = (gradient[0] * (real - reference)).sum()
                owed = (asked - out[1, 0, entry]).detach()
                assert_close(found, owed, atol=1e-10, rtol=1e-9)
            with Rescale(nn.Identity()):  # where both are equal it has the slope there
                out = compute(torch.cat([points, points]))
            found = torch.autograd.grad(out[0, 0, 0], points)
            plain = torch.autograd.grad(compute(points)[0, 0, 0], points)
            assert_close(found, plain)


def test_products_of_three_are_refused():
    x = torch.ones(2, 2, requires_grad=True)
    with Rescale(nn.Identity()), pytest.raises(ValueError, match="is given 3 factors"):
        torch.einsum("bi,bi,bi->bi", x, x, x)


def test_what_is_not_complete_is_refused():
    for kind in REFUSED - {"qwen2"}:  # which depends on its weights
        scorer = Scorer(loaded(kind))
        with case(kind), pytest.raises(ValueError, match=r"this: (its scores miss|tried out)"):
            explain_instances(scorer, [instance("the film")], ["deeplift_complete"], LEAST)


def test_captum_agrees_where_it_knows_every_layer():
    torch.manual_seed(0)
    x = torch.randn(4, 5, dtype=torch.float64)
    for kind in (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.ELU):
        layers = [nn.Linear(5, 7), kind(), nn.Linear(7, 6), kind(), nn.Linear(6, 2)]
        network = nn.Sequential(*layers).double().requires_grad_(False)
        expected = DeepLift(network).attribute(x, baselines=torch.zeros_like(x), target=1)
        points = x.clone().requires_grad_(True)
        with Rescale(network):
            out = network(torch.cat([points, torch.zeros_like(points)]))[:4, 1]
        (gradient,) = torch.autograd.grad(out.sum(), points)
        assert_close(gradient * x, expected.detach(), atol=1e-10, rtol=1e-8)
