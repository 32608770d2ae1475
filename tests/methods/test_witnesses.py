"""The same numbers from well-known libraries: captum, lime, scikit-learn and scipy."""

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, IntegratedGradients, Occlusion, Saliency
from lime.lime_base import LimeBase
from numpy.testing import assert_allclose
from reference.models import scores_of
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, log_loss, pairwise_distances

from attreval.core import bootstrap as intervals
from attreval.methods import lime
from attreval.methods.method import Budget
from attreval.models.scorer import Scorer
from attreval.models.training import measure_performance

TARGET = 2


@pytest.mark.filterwarnings("ignore:Input Tensor 0 did not already require gradients")
def test_captum_gradients(tiny, unnormed, texts):
    """Of a text and of a pair, from the padding tokens on where a path is walked."""
    for model, one in ((tiny, texts[1]), (tiny, texts[3]), (unnormed, texts[1])):
        tokens = model.tokens(one)
        network = model.at("float64")
        segments = torch.from_numpy(tokens.segments)
        base = np.where(tokens.special, tokens.ids, tokens.pad_id)
        ids = torch.from_numpy(np.stack([tokens.ids, base]))
        end, start = model.embed(ids, "float64").detach()[:, None]

        def forward(x, network=network, segments=segments):
            return network(inputs_embeds=x, token_type_ids=segments.expand(len(x), -1)).logits

        path = {"baselines": start, "n_steps": 50, "method": "gausslegendre"}
        saliency = Saliency(forward).attribute(end.clone(), target=TARGET)
        asked = {
            "gradient_x_input": (InputXGradient(forward), {}),
            "integrated_gradients": (IntegratedGradients(forward), path),
            "integrated_gradients_plain": (IntegratedGradients(forward, False), path),
        }
        expected = {"gradient_l1": saliency.sum(dim=-1), "gradient_l2": saliency.norm(dim=-1)}
        for name, (explainer, more) in asked.items():
            found = explainer.attribute(end.clone(), target=TARGET, **more)
            expected[name] = found.sum(dim=-1)
        for name, values in expected.items():
            found = scores_of(model, name, tokens, TARGET, Budget(path_steps=50)).values
            theirs = values[0].detach().numpy()[tokens.content]
            assert_allclose(found, theirs, atol=1e-6, err_msg=name)


def test_captum_occlusion_is_the_mean_of_whole_windows(tiny, texts):
    network = tiny.at("float64")
    for which, size in ((0, 1), (3, 1), (1, 1), (1, 3), (1, 7)):
        tokens = tiny.tokens(texts[which])
        segments = torch.from_numpy(tokens.segments)

        def forward(content, tokens=tokens, segments=segments):
            ids = torch.from_numpy(tokens.ids).repeat(len(content), 1)
            ids[:, tokens.content] = content.long()
            with torch.no_grad():
                return network(input_ids=ids, token_type_ids=segments.expand(len(ids), -1)).logits

        content = torch.from_numpy(tokens.ids[tokens.content]).double()[None]
        theirs = Occlusion(forward).attribute(
            content, (size,), baselines=tokens.mask_id, target=TARGET
        )
        found = scores_of(tiny, f"occlusion_{size}", tokens, TARGET, Budget(windows="mean"))
        assert_allclose(found.values, theirs[0].numpy(), atol=1e-6)


def test_lime_library():
    def kernel(distances):
        return np.sqrt(np.exp(-(distances**2) / 25**2))

    for length, samples in ((3, 9), (12, 144)):
        rng = np.random.default_rng(length)
        masks = lime.draw_masks(length, samples, rng)
        values = rng.random(samples)
        rows = masks.astype(float)
        distances = pairwise_distances(rows, rows[:1], metric="cosine").ravel() * 100
        weights = lime.sample_weights(masks, 25.0)
        assert_allclose(weights, kernel(distances), atol=1e-9)
        library = LimeBase(kernel, random_state=0)
        probabilities = np.column_stack([1 - values, values])
        _, pairs, _, _ = library.explain_instance_with_data(
            rows, probabilities, distances, 1, length
        )
        expected = [dict(pairs).get(feature, 0) for feature in range(length)]
        found = lime.fit_surrogate(masks, values, weights)
        assert_allclose(found, expected, atol=1e-6)


def test_metrics_of_scikit_learn(tiny, texts):
    found = measure_performance(tiny, texts, "float64")
    gold = [t.label for t in texts]
    rows = [(t.ids, t.segments) for t in map(tiny.tokens, texts)]
    logits = Scorer(tiny, precision="float64").logits(rows)
    p = torch.softmax(torch.from_numpy(logits), dim=1).numpy()
    said = p.argmax(axis=1)
    assert found.accuracy == accuracy_score(gold, said)
    assert found.macro_f1 == f1_score(gold, said, average="macro")
    assert_allclose(found.loss, log_loss(gold, p, labels=[0, 1, 2]), atol=1e-9)
    assert found.correct.tolist() == (said == gold).tolist()


def test_scipy_bootstrap():
    values = np.random.default_rng(5).gamma(2.0, size=80)
    library = stats.bootstrap((values,), np.mean, n_resamples=8000, method="percentile", rng=1)
    ends = library.confidence_interval
    mean, low, high = intervals.bootstrap_mean(values, 8000, 0.95)
    assert mean == pytest.approx(values.mean())
    width = ends.high - ends.low
    assert abs(low - ends.low) < 0.05 * width and abs(high - ends.high) < 0.05 * width
