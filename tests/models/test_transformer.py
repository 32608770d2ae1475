"""A classifier on disk and in memory: same answers, labels by name, sizes as asked, one copy a precision."""

import numpy as np
import pytest
import torch
from reference import architectures as shapes
from reference import models

from attreval.models.loading import load_classifier
from attreval.models.placing import pick_precision
from attreval.models.scorer import Scorer
from attreval.models.transformer import load_transformer, match_labels, new_transformer
from compendium.config import ModelSpec


def logits(model, one):
    tokens = model.tokens(one)
    return Scorer(model).logits([(tokens.ids, tokens.segments)])[0]


@pytest.mark.parametrize("make", [models.tiny_model, lambda: shapes.tiny_classifier("bart")])
def test_saved_and_loaded_it_answers_the_same_in_the_order_of_the_labels_asked_for(make, texts, tmp_path):
    model = make()
    model.save(tmp_path / "m")
    loaded = load_classifier(tmp_path / "m", device="cpu", max_length=500, labels=("yes", "no", "maybe"))
    assert loaded.family == "transformer" and loaded.labels == ("yes", "no", "maybe")
    assert loaded.max_length == 64  # the model has no more positions
    assert not any(p.requires_grad for p in loaded.network.parameters()) and not loaded.network.training
    assert [loaded.output_of(k) for k in range(3)] == [2, 0, 1]
    for one in texts:
        assert loaded.tokens(one).texts == model.tokens(one).texts
        np.testing.assert_allclose(logits(loaded, one), logits(model, one)[[2, 0, 1]], atol=1e-5)


def test_labels_are_matched_by_name(folder):
    assert load_transformer(folder, device="cpu", labels=("Yes", "no", "maybe")).labels == ("Yes", "no", "maybe")
    assert match_labels(("a", "b"), ("A", "B"), "x") is None
    with pytest.raises(ValueError, match=r"has classes no, maybe, yes, the task has good, bad"):
        load_transformer(folder, device="cpu", labels=("good", "bad"))


def test_no_model_says_how_to_get_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="train it with notebook 02"):
        load_transformer(tmp_path / "nothing")


def test_a_new_model_has_the_sizes_and_seed_asked(folder):
    spec = ModelSpec(layers=1, hidden=8, heads=2, tokenizer="local", max_length=16)
    first, again, other = (
        new_transformer(spec, ("a", "b"), ("model", seed), "small", "cpu", resolve=lambda name: folder)
        for seed in (1, 1, 2)
    )
    assert first.network.config.num_hidden_layers == 1 and first.network.config.hidden_size == 8
    assert first.labels == ("a", "b") and first.network.config.num_labels == 2
    assert len(first.tokens(models.instance("good " * 40))) == 16
    weights = [m.network.classifier.weight for m in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_pretrained_weights_get_a_fresh_head(tiny, tmp_path):
    folder = tmp_path / "body"
    tiny.network.bert.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    made = new_transformer(ModelSpec(weights="local"), ("a", "b"), (1,), "small", "cpu", resolve=lambda name: folder)
    assert made.network.config.num_labels == 2
    body = tiny.network.bert.encoder.layer[0].output.dense.weight
    assert torch.equal(made.network.bert.encoder.layer[0].output.dense.weight, body)


def test_precisions_are_copies_made_once(texts):
    model = models.tiny_model()
    assert model.at("float32") is model.network
    assert model.at("float64") is model.at("float64")
    assert model.at("float64").dtype == torch.float64 and model.network.dtype == torch.float32
    tokens = model.tokens(texts[1])
    rows = [(tokens.ids, tokens.segments)]
    exact, single, half = (Scorer(model).logits(rows, p) for p in ("float64", "float32", "bfloat16"))
    assert 0 < np.abs(exact - single).max() < 1e-4 < np.abs(exact - half).max() < 0.5


def test_precision_asked_for_is_taken():
    cpu = torch.device("cpu")
    assert pick_precision("float32", cpu) == "float32" and pick_precision("bfloat16", cpu) == "bfloat16"
    assert pick_precision("auto", cpu) in ("float32", "bfloat16")


@pytest.mark.parametrize(
    ("name", "amx", "avx", "level", "picked"),
    [
        ("AMD EPYC", False, True, "AVX512", "bfloat16"),
        ("Intel Xeon", True, True, "AVX512", "bfloat16"),
        ("Intel Xeon", False, True, "AVX512", "float32"),  # it has the instruction, at half the rate of float32
        ("AMD EPYC", False, False, "AVX512", "float32"),
        ("Intel Xeon", True, True, "AVX2", "float32"),
    ],
)
def test_bfloat16_is_picked_where_it_is_faster(monkeypatch, name, amx, avx, level, picked):
    has = {"cpu_name": name, "amx_bf16": amx, "avx512_bf16": avx}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: level)
    assert pick_precision("auto", torch.device("cpu")) == picked
