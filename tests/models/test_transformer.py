"""A classifier on disk and in memory, BART too: same answers, labels by name, sizes as asked, long
texts cut.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
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
    labels = ("yes", "no", "maybe")
    for model in (models.tiny_model(), shapes.tiny_classifier("bart")):
        with case(model.name):
            model.save(tmp_path / model.name)
            folder = tmp_path / model.name
            loaded = load_classifier(folder, device="cpu", max_length=500, labels=labels)
            assert loaded.family == "transformer" and loaded.labels == labels
            assert loaded.max_length == 64  # the model has no more positions
            assert not any(p.requires_grad for p in loaded.network.parameters())
            assert not loaded.network.training
            assert [loaded.output_of(k) for k in range(3)] == [2, 0, 1]
            for one in texts:
                assert loaded.tokens(one).texts == model.tokens(one).texts
                expected = logits(model, one)[[2, 0, 1]]
                assert_allclose(logits(loaded, one), expected, atol=1e-5)


def test_labels_are_matched_by_name(folder):
    asked = ("Yes", "no", "maybe")
    assert load_transformer(folder, device="cpu", labels=asked).labels == asked
    assert match_labels(("a", "b"), ("A", "B"), "x") is None
    with pytest.raises(ValueError, match="has classes no, maybe, yes, the task has good, bad"):
        load_transformer(folder, device="cpu", labels=("good", "bad"))
    with pytest.raises(FileNotFoundError, match="train it with notebook 02"):
        load_transformer(folder / "nothing")


def test_precisions_are_copies_made_once(texts):
    model = models.tiny_model()
    assert model.at("float32") is model.network and model.at("float64") is model.at("float64")
    assert model.at("float64").dtype == torch.float64 and model.network.dtype == torch.float32
    tokens = model.tokens(texts[1])
    rows = [(tokens.ids, tokens.segments)]
    scorer = Scorer(model)
    exact = scorer.logits(rows, "float64")
    rounded = [np.abs(scorer.logits(rows, one) - exact).max() for one in ("float32", "bfloat16")]
    assert 0 < rounded[0] < 1e-4 < rounded[1] < 0.5


def test_bfloat16_is_picked_where_it_is_faster(monkeypatch):
    cpu = torch.device("cpu")
    has = {}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    for name, amx, avx, level, picked in (
        ("AMD EPYC", False, True, "AVX512", "bfloat16"),
        ("Intel Xeon", True, True, "AVX512", "bfloat16"),
        # it has the instruction, at half the rate of float32
        ("Intel Xeon", False, True, "AVX512", "float32"),
        ("AMD EPYC", False, False, "AVX512", "float32"),
        ("Intel Xeon", True, True, "AVX2", "float32"),
    ):
        has |= {"cpu_name": name, "amx_bf16": amx, "avx512_bf16": avx}
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda level=level: level)
        assert pick_precision("auto", cpu) == picked, (name, amx, avx, level)
        assert pick_precision("float32", cpu) == "float32"


def test_long_pairs_are_cut_at_the_longer_text(tiny):
    """Zhao & Aletras 2023: a document is cut, the query about it is not; for both kinds of
    models.
    """
    for first, second, most in ((40, 5, 20), (5, 40, 20), (30, 30, 21), (4, 3, 20), (50, 0, 20)):
        texts = [" ".join(["good"] * first), " ".join(["bad"] * second)][: 2 if second else 1]
        one = models.instance(*texts)
        words = replace(tiny_words("gru"), max_length=most).tokens(one)
        pieces = replace(tiny, max_length=most + 1 + len(texts)).tokens(one)
        for tokens in (words, pieces):
            with case(first, second, most, tokens):
                kept = np.bincount(tokens.offsets[tokens.content, 0], minlength=2)
                assert kept.sum() == min(most, first + second)
                assert kept.min() == min(first, second, most // 2)
                assert first == second or kept.argmax() == int(second > first)
                assert tokens.dropped == first + second - kept.sum()


def test_positions_do_not_depend_on_ids():
    """RoBERTa and MPNet skip padding ids when they count positions: an erased token must move no
    other.
    """
    network, tokenizer = shapes.tiny_network("mpnet")
    model = Transformer("mpnet", network, tokenizer, shapes.LABELS, 64)
    assert model.first_alone  # tried out, before anything is counted
    seen = []
    table = network.mpnet.embeddings.position_embeddings
    table.register_forward_hook(lambda m, given, out: seen.append(given[0][0].tolist()))
    pad = network.mpnet.embeddings.padding_idx

    def read(*ids):
        row = torch.tensor([ids])
        model.logits(row, torch.ones_like(row), torch.zeros_like(row))
        return seen[-1]

    assert read(5, 6, 7, 8) == read(5, pad, pad, 8) == [pad + 1 + i for i in range(4)]
    network.config.position_start = 0  # as in the released code of Zhao & Aletras
    assert read(5, 6) == [0, 1]


def test_training_texts_are_cut_and_what_is_saved_reads_on(tmp_path):
    model = models.untrained_model()
    texts = [models.instance("good " * 30), models.instance("bad " * 30, name="y", label=1)] * 4
    seen = []

    def look(module, args, given, out):
        seen.append(given["input_ids"].shape)

    model.network.register_forward_hook(look, with_kwargs=True)
    spec = TrainingSpec(batch_rows=4, evaluations_per_epoch=1, precision="float32", tokens=10)
    train(model, texts, texts, spec, tmp_path / "model", ("test",))
    # its last layer is tried out on two rows
    assert {length for rows, length in seen if rows > 2} == {10}
    assert len(model.tokens(texts[0])) == 32


BART = {
    "architecture": "encoder_decoder",
    "layers": 2,
    "decoder_layers": 1,
    "hidden": 32,
    "heads": 2,
    "tokenizer": "local",
}


@pytest.fixture(scope="module")
def body(tiny, tmp_path_factory):
    """The folder of a BERT-shaped encoder without a head."""
    folder = tmp_path_factory.mktemp("encoder") / "body"
    torch.manual_seed(0)
    sizes = tiny.network.config.to_dict() | {"intermediate_size": 128, "initializer_range": 0.3}
    BertModel(BertConfig(**sizes)).save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return folder


def make(body, seed=1, **more):
    spec = ModelSpec(**(more if "weights" in more else BART | more))
    labels = ("a", "b")
    return new_classifier(spec, labels, ("m", seed), [], "small", "cpu", lambda name: str(body))


def test_a_new_model_has_the_sizes_and_seed_asked(body):
    asked = {"layers": 1, "hidden": 16, "heads": 2, "max_length": 16}
    for architecture in ("encoder_decoder", "transformer"):
        with case(architecture):
            made = [make(body, seed, architecture=architecture, **asked) for seed in (1, 1, 2)]
            config = made[0].network.config
            assert made[0].layers == 1 and config.hidden_size == 16 and config.num_labels == 2
            assert made[0].labels == ("a", "b")
            assert len(made[0].tokens(models.instance("good " * 40))) == 16
            encoders = [m.network.base_model.encoder for m in made]
            weights = [next(one.parameters()) for one in encoders]
            assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_pretrained_weights_get_a_fresh_head(body):
    made = make(body, weights="local").network
    assert made.config.num_labels == 2
    theirs = BertModel.from_pretrained(body).encoder.layer[0].output.dense.weight
    assert torch.equal(made.bert.encoder.layer[0].output.dense.weight, theirs)


def test_it_starts_with_the_layers_of_an_encoder(body, tiny, texts):
    """Its encoder gives the states that the other one gives to a text of one part, layer
    by layer.
    """
    started = make(body, start="local").network.eval().model
    encoder = BertModel.from_pretrained(body).eval()
    ids = torch.from_numpy(tiny.tokens(texts[1]).ids[None])
    with torch.no_grad():
        theirs = encoder(ids, output_hidden_states=True).hidden_states
        ours = started.encoder(ids, output_hidden_states=True).hidden_states
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, atol=1e-3)  # their normalisations are stabilised apart
    layer = started.decoder.layers[0]
    source = encoder.encoder.layer[0].attention.self.query.weight
    for own in (layer.self_attn, layer.encoder_attn):
        assert torch.equal(own.q_proj.weight, source)
    assert started.decoder.embed_tokens.weight is started.shared.weight


def test_an_encoder_that_does_not_fit_says_so(body):
    for change, said in (({"hidden": 16}, "'hidden': 16"), ({"layers": 3}, r"3 \+ 1 layers")):
        with pytest.raises(ValueError, match=f"{said}.* cannot start from local"):
            make(body, start="local", **change)


def test_what_does_not_go_together_is_told():
    sizes = dict.fromkeys(("layers", "hidden", "heads"))
    for change, said in (
        (sizes | {"weights": "x"}, "is a transformer"),
        ({"architecture": "transformer", "start": "x"}, "`start` is for an encoder_decoder"),
        (
            {"architecture": "gru", "start": "x", "layers": None, "heads": None},
            "no start",
        ),
        ({"layers": None}, "give either `weights`"),
    ):
        with case(change), pytest.raises(ValidationError, match=said):
            ModelSpec(**BART | change)
