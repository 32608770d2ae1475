"""A real language model, as everybody can have it: 93 MB from the package registry."""

import numpy as np
import pytest
import torch
from safetensors import safe_open
from scipy.stats import spearmanr

import attreval as av
from attreval.api.explaining import score_by
from attreval.models.loading import new_classifier
from attreval.models.scorer import Scorer
from compendium.config import ModelSpec
from compendium.corpora.fetch.fetching import fetch_all
from compendium.corpora.fetch.pretrained import resolve_weights

pytestmark = pytest.mark.network
ASKED = {
    "template": "Review: {text}\nSentiment:",
    "labels": {"positive": " positive", "negative": " negative"},
}
TEXT = "The film was a tedious, overlong mess, though the music was lovely."


@pytest.fixture(scope="module")
def file():
    fetch_all((), ("smollm2",), print)
    return resolve_weights("smollm2")


@pytest.fixture(scope="module")
def model(file):
    return av.load(file, **ASKED, device="cpu")


def test_words_count_for_the_class_that_they_speak_for(model, capfd):
    found = av.explain(model, TEXT, ["occlusion_1", "lrp", "limsse_logit"], target="positive")
    for method in found.methods:
        scores = dict(zip([u.text for u in found[0].units], found[0].scores(method), strict=True))
        assert max(scores["tedious"], scores["mess"]) < 0 < scores["lovely"], method
    assert capfd.readouterr().err == ""  # no bars


def test_what_labels_share_is_no_evidence_for_either(model):
    """An erased word moves both logits together, and between the labels little."""
    tokens = model.tokens(found_instance(model))
    rows = np.repeat(tokens.ids[None], len(tokens) + 1, axis=0)
    rows[np.arange(len(tokens)), np.arange(len(tokens))] = tokens.mask_id
    rows = [(row, tokens.segments) for row in rows]
    logits = Scorer(score_by(model, "logit")).logits(rows)
    scores = Scorer(model).logits(rows)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1)
    evidence = np.diff(logits[-1] - logits[:-1])[:, 0]
    assert spearmanr((scores[-1] - scores[:-1])[:, 1], evidence).statistic > 0.99
    shared = (logits[-1] - logits[:-1]).mean(axis=1)
    assert np.abs(shared).mean() > np.abs(evidence).mean()


def found_instance(model):
    return av.explain(model, TEXT, "random")[0].instance


def test_an_erased_token_is_no_end_of_text(model):
    tokenizer = model.tokenizer
    ends = [tokenizer.eos_token_id, tokenizer.unk_token_id]
    assert model.erasing not in ends
    assert model.distances[model.erasing] < 0.8 * min(model.distances[one] for one in ends)


def test_probabilities_are_those_of_the_whole_prompt_read_by_transformers(model):
    prompt = model.tokenizer(ASKED["template"].format(text=TEXT), return_tensors="pt")
    with torch.no_grad():
        logits = model.network(**prompt).logits[0, -1]
    words = [model.tokenizer(word)["input_ids"] for word in ASKED["labels"].values()]
    expected = logits[[one for (one,) in words]].softmax(dim=0)
    found = list(av.explain(model, TEXT, "random")[0].probabilities.values())
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_its_weights_start_a_classifier_that_can_be_saved(file, model, tmp_path):
    spec = ModelSpec(weights="smollm2")
    made = new_classifier(spec, ("a", "b"), ("test",), [], resolve=resolve_weights)
    made.save(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as saved:
        for name, weights in model.network.model.state_dict().items():
            assert torch.equal(saved.get_tensor(f"model.{name}"), weights)
