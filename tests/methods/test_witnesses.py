"""The same numbers from well-known libraries: captum and lime."""

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, Occlusion, Saliency
from lime.lime_base import LimeBase
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, log_loss, pairwise_distances

from attreval.core import bootstrap as intervals
from attreval.methods import METHODS, lime
from attreval.methods.method import Budget
from attreval.models.scorer import Scorer
from attreval.models.training import evaluate

TARGET = 2


@pytest.fixture(params=["tiny", "unnormed"])
def network_of(request):
    return request.getfixturevalue(request.param)


def ours(model, tokens, converse, **budget):
    (scores,) = Scorer(model, precision="float64").converse(
        [("x", converse(tokens, TARGET, Budget(**budget), None))]
    )
    return scores.values


def from_embeddings(model, tokens):
    """A captum forward function over (B, L, D) word embeddings, and those of the text and of the
    baseline.
    """
    network = model.at("float64")
    segments = torch.from_numpy(tokens.segments)
    base = np.where(tokens.special, tokens.ids, tokens.pad_id)
    ends = [
        model.embed(torch.from_numpy(ids)[None], "float64").detach() for ids in (tokens.ids, base)
    ]
    return (
        lambda x: network(inputs_embeds=x, token_type_ids=segments.expand(len(x), -1)).logits,
        *ends,
    )


def from_content(model, tokens):
    """A captum forward function over (B, n) content ids."""
    network = model.at("float64")
    segments = torch.from_numpy(tokens.segments)

    def forward(content):
        ids = torch.from_numpy(tokens.ids).repeat(len(content), 1)
        ids[:, tokens.content] = content.long()
        with torch.no_grad():
            return network(input_ids=ids, token_type_ids=segments.expand(len(ids), -1)).logits

    return forward, torch.from_numpy(tokens.ids[tokens.content]).double()[None]


@pytest.mark.filterwarnings("ignore:Input Tensor 0 did not already require gradients")
@pytest.mark.parametrize("which", [1, 3])
def test_captum_gradients(network_of, texts, which):
    tokens = network_of.tokens(texts[which])
    forward, end, base = from_embeddings(network_of, tokens)
    path = {
        "baselines": base,
        "target": TARGET,
        "n_steps": 50,
        "method": "gausslegendre",
        "internal_batch_size": 32,
    }
    saliency = Saliency(forward).attribute(end.clone(), target=TARGET)
    plain = IntegratedGradients(forward, multiply_by_inputs=False)
    expected = {
        "gradient_l1": saliency.sum(dim=-1),
        "gradient_l2": saliency.norm(dim=-1),
        "gradient_x_input": InputXGradient(forward)
        .attribute(end.clone(), target=TARGET)
        .sum(dim=-1),
        "integrated_gradients": IntegratedGradients(forward)
        .attribute(end.clone(), **path)
        .sum(dim=-1),
        "integrated_gradients_plain": plain.attribute(end.clone(), **path).sum(dim=-1),
    }
    for name, values in expected.items():
        found = ours(network_of, tokens, METHODS[name].converse, path_steps=50)
        np.testing.assert_allclose(
            found, values[0].detach().numpy()[tokens.content], atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("size", [1, 3, 7])
def test_captum_occlusion_is_the_mean_of_whole_windows(tiny, texts, size):
    tokens = tiny.tokens(texts[1])
    forward, content = from_content(tiny, tokens)
    expected = (
        Occlusion(forward)
        .attribute(content, (size,), baselines=tokens.mask_id, target=TARGET)[0]
        .numpy()
    )
    found = ours(tiny, tokens, METHODS[f"occlusion_{size}"].converse, windows="mean")
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("length, samples", [(3, 9), (12, 144)])
def test_lime_library(length, samples):
    rng = np.random.default_rng(length)
    masks = lime.draw_masks(length, samples, rng)
    values = rng.random(samples)
    distances = (
        pairwise_distances(masks.astype(float), masks[:1].astype(float), metric="cosine").ravel()
        * 100
    )
    weights = lime.sample_weights(masks, 25.0)
    np.testing.assert_allclose(weights, np.sqrt(np.exp(-(distances**2) / 25**2)), atol=1e-9)
    library = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / 25**2)), random_state=0)
    probabilities = np.column_stack([1 - values, values])
    _, pairs, _, _ = library.explain_instance_with_data(
        masks.astype(float), probabilities, distances, 1, length
    )
    expected = [dict(pairs).get(feature, 0) for feature in range(length)]
    np.testing.assert_allclose(lime.fit_surrogate(masks, values, weights), expected, atol=1e-6)


@pytest.mark.parametrize("which", [0, 1, 3])
def test_captum_feature_ablation_is_occlusion(tiny, texts, which):
    tokens = tiny.tokens(texts[which])
    forward, content = from_content(tiny, tokens)
    expected = (
        FeatureAblation(forward)
        .attribute(content, baselines=tokens.mask_id, target=TARGET)[0]
        .numpy()
    )
    np.testing.assert_allclose(
        ours(tiny, tokens, METHODS["occlusion_1"].converse), expected, atol=1e-6
    )


def test_metrics_of_scikit_learn(tiny, texts):
    found = evaluate(tiny, texts, "float64")
    gold = [t.label for t in texts]
    logits = Scorer(tiny, precision="float64").logits(
        [(t.ids, t.segments) for t in map(tiny.tokens, texts)]
    )
    p = torch.softmax(torch.from_numpy(logits), dim=1).numpy()
    said = p.argmax(axis=1)
    assert found.accuracy == accuracy_score(gold, said) and found.macro_f1 == f1_score(
        gold, said, average="macro"
    )
    np.testing.assert_allclose(found.loss, log_loss(gold, p, labels=[0, 1, 2]), atol=1e-9)
    assert found.correct.tolist() == (said == gold).tolist()


def test_scipy_bootstrap():
    values = np.random.default_rng(5).gamma(2.0, size=80)
    library = stats.bootstrap(
        (values,), np.mean, n_resamples=8000, method="percentile", rng=1
    ).confidence_interval
    mean, low, high = intervals.bootstrap_mean(values, 8000, 0.95)
    assert mean == pytest.approx(values.mean())
    width = library.high - library.low
    assert abs(low - library.low) < 0.05 * width and abs(high - library.high) < 0.05 * width
