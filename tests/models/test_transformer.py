"""A classifier on disk and in memory, BART too: same answers, labels by name, sizes as asked, long
texts cut.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from reference import architectures as shapes
from reference import case, models
from reference.words import tiny_words
from transformers import BertConfig, BertModel

from attreval.models.loading import load_classifier, new_classifier
from attreval.models.placing import pick_precision
from attreval.models.scorer import Scorer
from attreval.models.training import train
from attreval.models.transformer import Transformer, load_transformer, match_labels
from compendium.config import ModelSpec, TrainingSpec


def logits(model, one):
    tokens = model.tokens(one)
    return Scorer(model).logits([(tokens.ids, tokens.segments)])[0]


def test_saved_and_loaded_it_answers_the_same_in_the_order_of_the_labels_asked_for(texts, tmp_path):
    for make in [models.tiny_model, lambda: shapes.tiny_classifier("bart")]:
        with case(make):
            model = make()
            model.save(tmp_path / "m")
            loaded = load_classifier(
                tmp_path / "m", device="cpu", max_length=500, labels=("yes", "no", "maybe")
            )
            assert loaded.family == "transformer" and loaded.labels == ("yes", "no", "maybe")
            assert loaded.max_length == 64  # the model has no more positions
            assert (
                not any(p.requires_grad for p in loaded.network.parameters())
                and not loaded.network.training
            )
            assert [loaded.output_of(k) for k in range(3)] == [2, 0, 1]
            for one in texts:
                assert loaded.tokens(one).texts == model.tokens(one).texts
                np.testing.assert_allclose(
                    logits(loaded, one), logits(model, one)[[2, 0, 1]], atol=1e-5
                )


def test_labels_are_matched_by_name(folder):
    assert load_transformer(folder, device="cpu", labels=("Yes", "no", "maybe")).labels == (
        "Yes",
        "no",
        "maybe",
    )
    assert match_labels(("a", "b"), ("A", "B"), "x") is None
    with pytest.raises(ValueError, match=r"has classes no, maybe, yes, the task has good, bad"):
        load_transformer(folder, device="cpu", labels=("good", "bad"))
    with pytest.raises(FileNotFoundError, match="train it with notebook 02"):
        load_transformer(folder / "nothing")


def test_precisions_are_copies_made_once(texts):
    model = models.tiny_model()
    assert model.at("float32") is model.network and model.at("float64") is model.at("float64")
    assert model.at("float64").dtype == torch.float64 and model.network.dtype == torch.float32
    tokens = model.tokens(texts[1])
    rows = [(tokens.ids, tokens.segments)]
    exact = Scorer(model).logits(rows, "float64")
    single = Scorer(model).logits(rows, "float32")
    half = Scorer(model).logits(rows, "bfloat16")
    assert 0 < np.abs(exact - single).max() < 1e-4 < np.abs(exact - half).max() < 0.5


def test_bfloat16_is_picked_where_it_is_faster(monkeypatch):
    for name, amx, avx, level, picked in (
        ("AMD EPYC", False, True, "AVX512", "bfloat16"),
        ("Intel Xeon", True, True, "AVX512", "bfloat16"),
        (
            "Intel Xeon",
            False,
            True,
            "AVX512",
            "float32",
        ),  # it has the instruction, at half the rate of float32
        ("AMD EPYC", False, False, "AVX512", "float32"),
        ("Intel Xeon", True, True, "AVX2", "float32"),
    ):
        with case(name, amx, avx, level, picked):
            has = {"cpu_name": name, "amx_bf16": amx, "avx512_bf16": avx}
            monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
            monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: level)
            for asked, found in (
                ("auto", picked),
                ("float32", "float32"),
                ("bfloat16", "bfloat16"),
            ):
                assert pick_precision(asked, torch.device("cpu")) == found


def test_long_pairs_are_cut_at_the_longer_text(tiny):
    """Zhao & Aletras 2023: a document is cut, the query about it is not; for both kinds of
    models.
    """
    for first, second, most in (
        (40, 5, 20),
        (5, 40, 20),
        (30, 30, 21),
        (4, 3, 20),
        (50, 0, 20),
    ):
        with case(first, second, most):
            texts = [" ".join(["good"] * first), " ".join(["bad"] * second)][: 2 if second else 1]
            instance = models.instance(*texts)
            short = min(first, second)
            words = replace(tiny_words("gru"), max_length=most).tokens(instance)
            pieces = replace(tiny, max_length=most + 1 + len(texts)).tokens(instance)
            for tokens in (words, pieces):
                kept = np.bincount(tokens.offsets[tokens.content, 0], minlength=2)
                assert kept.sum() == min(most, first + second)
                assert kept.min() == min(short, most // 2) and (
                    first == second or kept.argmax() == int(second > first)
                )
                assert tokens.dropped == first + second - kept.sum()


def test_positions_do_not_depend_on_ids():
    """RoBERTa and MPNet skip padding ids when they count positions: an erased token must move no
    other.
    """
    network, tokenizer = shapes.tiny_network("mpnet")
    model = Transformer("mpnet", network, tokenizer, shapes.LABELS, 64)
    assert model.first_alone  # tried out, before anything is counted
    seen = []
    network.mpnet.embeddings.position_embeddings.register_forward_hook(
        lambda m, given, out: seen.append(given[0])
    )
    pad = network.mpnet.embeddings.padding_idx
    for ids in ([[5, 6, 7, 8]], [[5, pad, pad, 8]]):
        model.logits(*(torch.tensor(x) for x in (ids, [[1] * 4], [[0] * 4])))
    assert (seen[0] == seen[1]).all() and seen[0][0].tolist() == [pad + 1 + i for i in range(4)]
    network.config.position_start = 0  # as in the released code of Zhao & Aletras
    model.logits(*(torch.tensor(x) for x in ([[5, 6]], [[1] * 2], [[0] * 2])))
    assert seen[-1][0].tolist() == [0, 1]


def test_training_texts_are_cut_and_what_is_saved_reads_on(tmp_path):
    model = models.untrained_model()
    seen = []
    texts = [
        models.instance(" ".join(["good" if i % 2 else "bad"] * 30), name=str(i), label=i % 2)
        for i in range(8)
    ]
    model.network.register_forward_hook(
        lambda m, args, given, out: seen.append(given["input_ids"]), with_kwargs=True
    )
    spec = TrainingSpec(batch_rows=4, evaluations_per_epoch=1, precision="float32", tokens=10)
    train(model, texts, texts, spec, tmp_path / "model", ("test",))
    assert {ids.shape[1] for ids in seen if len(ids) > 2} == {
        10
    }  # its last layer is tried out on two rows
    assert len(model.tokens(texts[0])) == 32


BART = {
    "architecture": "encoder_decoder",
    "layers": 2,
    "decoder_layers": 1,
    "hidden": 32,
    "heads": 2,
}


@pytest.fixture(scope="module")
def body(tiny, tmp_path_factory):
    """The folder of a BERT-shaped encoder without a head."""
    folder = tmp_path_factory.mktemp("encoder") / "body"
    torch.manual_seed(0)
    config = BertConfig(
        **tiny.network.config.to_dict() | {"intermediate_size": 128, "initializer_range": 0.3}
    )
    BertModel(config).save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return folder


def make(body, seed=1, **more):
    spec = ModelSpec(**BART | {"tokenizer": "local"} | more)
    return new_classifier(
        spec, ("a", "b"), ("m", seed), [], "small", "cpu", resolve=lambda name: str(body)
    )


def test_a_new_model_has_the_sizes_and_seed_asked(body):
    for architecture in ["encoder_decoder", "transformer"]:
        with case(architecture):
            asked = {
                "layers": 1,
                "hidden": 16,
                "heads": 2,
                "max_length": 16,
                "architecture": architecture,
            }
            first = make(body, 1, **asked)
            again = make(body, 1, **asked)
            other = make(body, 2, **asked)
            config = first.network.config
            assert (
                first.layers == 1
                and config.hidden_size == 16
                and config.num_labels == 2
                and first.labels == ("a", "b")
            )
            assert len(first.tokens(models.instance("good " * 40))) == 16
            weights = [
                next(iter(m.network.base_model.encoder.parameters())) for m in (first, again, other)
            ]
            assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_pretrained_weights_get_a_fresh_head(body):
    spec = ModelSpec(weights="local")
    made = new_classifier(
        spec, ("a", "b"), (1,), [], "small", "cpu", resolve=lambda name: str(body)
    )
    assert made.network.config.num_labels == 2
    theirs = BertModel.from_pretrained(body).encoder.layer[0].output.dense.weight
    assert torch.equal(made.network.bert.encoder.layer[0].output.dense.weight, theirs)


def test_it_starts_with_the_layers_of_an_encoder(body, tiny, texts):
    """Its encoder gives the states that the other one gives to a text of one part, layer
    by layer.
    """
    started = make(body, start="local")
    encoder = BertModel.from_pretrained(body)
    tokens = tiny.tokens(texts[1])
    ids = torch.from_numpy(tokens.ids[None])
    with torch.no_grad():
        theirs = encoder.eval()(ids, output_hidden_states=True).hidden_states
        ours = started.network.eval().model.encoder(ids, output_hidden_states=True).hidden_states
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            a, b, atol=1e-3
        )  # BERT and BART stabilise their normalisation differently
    layer = started.network.model.decoder.layers[0]
    source = encoder.encoder.layer[0]
    for own in (layer.self_attn, layer.encoder_attn):
        assert torch.equal(own.q_proj.weight, source.attention.self.query.weight)
    shared = started.network.model
    assert shared.decoder.embed_tokens.weight is shared.shared.weight


def test_an_encoder_that_does_not_fit_says_so(body):
    for change, said in (
        ({"hidden": 16}, r"'hidden': 16.*cannot start from local: bert with .*'hidden': 32"),
        ({"layers": 3}, r"3 \+ 1 layers cannot start .* 2 layers"),
    ):
        with case(change, said), pytest.raises(ValueError, match=said):
            make(body, start="local", **change)


def test_what_does_not_go_together_is_told():
    for change, words in (
        ({"weights": "x", "layers": None, "hidden": None, "heads": None}, "is a transformer"),
        ({"architecture": "transformer", "start": "x"}, "`start` is for an encoder_decoder"),
        (
            {"architecture": "gru", "start": "x", "layers": None, "heads": None},
            "no tokenizer, start",
        ),
        ({"layers": None}, "give either `weights`"),
    ):
        with case(change, words), pytest.raises(ValidationError, match=words):
            ModelSpec(**BART | {"tokenizer": "local"} | change)
