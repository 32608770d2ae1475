"""A classifier from a folder or from memory, texts from files, and what is refused with a
reason.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from reference import models

import attreval as av
from attreval.api.loading import WITHOUT_LIMIT
from attreval.texts.files import read_texts
from attreval.texts.given import join_pairs

TEXTS = ["the film was very good .", ("the brave film", "not bad")]


def test_a_folder_is_loaded_and_reads_all_that_the_network_has_positions_for(tiny, folder):
    model = av.load(folder)
    assert model.max_length == 64 and av.load(str(folder), max_length=10).max_length == 10
    assert av.load(folder, max_length=1000).max_length == 64
    mine = av.explain(model, TEXTS, "occlusion_1")
    theirs = av.explain(tiny, TEXTS, "occlusion_1")
    for one, other in zip(mine, theirs, strict=True):
        scores = [shown.scores("occlusion_1") for shown in (one, other)]
        np.testing.assert_allclose(*scores, atol=1e-5)
    for length in (0, 2, -1):
        with pytest.raises(ValueError, match=f"at least 3; got {length}"):
            av.load(folder, max_length=length)


def test_a_module_in_memory_is_wrapped_and_left_as_it_is():
    tiny = models.tiny_model()
    network = tiny.network.train().requires_grad_(True)
    before = {name: weights.clone() for name, weights in network.state_dict().items()}
    model = av.wrap(network, tiny.tokenizer, ["no", "maybe", "yes"])
    mine = av.explain(model, TEXTS, "integrated_gradients")
    theirs = av.explain(models.tiny_model(), TEXTS, "integrated_gradients")
    for one, other in zip(mine, theirs, strict=True):
        scores = [shown.scores("integrated_gradients") for shown in (one, other)]
        np.testing.assert_allclose(*scores, atol=1e-5)
    assert model.max_length == 64 and network.training
    assert all(weights.requires_grad and weights.grad is None for weights in network.parameters())
    assert all(torch.equal(before[name], weights) for name, weights in network.state_dict().items())
    assert av.wrap(network, tiny.tokenizer).labels == ("no", "maybe", "yes")


def test_a_wrapped_module_that_goes_on_training_is_asked_without_its_dropout():
    tiny = models.tiny_model()
    model = av.wrap(tiny.network, tiny.tokenizer, tiny.labels)
    (calm,) = av.explain(model, TEXTS[0], "all", samples=8)
    tiny.network.train()
    frozen = tiny.network.base_model.encoder.layer[0].eval()
    before = [module.training for module in tiny.network.modules()]
    for again in (model, av.wrap(tiny.network, tiny.tokenizer, tiny.labels)):
        (found,) = av.explain(again, TEXTS[0], "all", samples=8)
        assert found.probabilities == pytest.approx(calm.probabilities, abs=1e-6)
        for method in calm.methods:
            wanted = calm.scores(method)
            np.testing.assert_allclose(found.scores(method), wanted, atol=1e-5, err_msg=method)
        assert [module.training for module in tiny.network.modules()] == before
    assert not frozen.training and tiny.network.training


class Module(torch.nn.Module):
    """A module with what a classifier must have; `answer` makes its output."""

    def __init__(self, answer):
        super().__init__()
        self.embedding = torch.nn.Embedding(200, 4)
        self.answer = answer
        named = {"id2label": {0: "a", 1: "b"}, "num_labels": 2}
        self.config = SimpleNamespace(is_encoder_decoder=False, model_type="mine", **named)
        self.dtype = torch.float32

    @property
    def base_model(self):
        return self

    def get_input_embeddings(self):
        return self.embedding

    def forward(self, attention_mask, input_ids=None, inputs_embeds=None):
        vectors = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        return self.answer(vectors, attention_mask[..., None], input_ids)


def summed(vectors, mask, ids):
    return SimpleNamespace(logits=(vectors * mask).sum(dim=1)[:, :2])


def test_a_module_that_is_no_transformer_is_wrapped_where_it_answers_as_one():
    model = av.wrap(Module(summed), models.tiny_tokenizer())
    assert model.labels == ("a", "b") and model.max_length == WITHOUT_LIMIT
    methods = ["gradient_x_input", "occlusion_1"]
    (found,) = av.explain(model, "good film", methods, target=0, unit="token")
    table = model.network.embedding.weight.detach().numpy()
    wanted = table[found.tokens.ids[1:-1], 0]
    np.testing.assert_allclose(found.scores("gradient_x_input"), wanted, atol=1e-5)


def test_a_module_that_gives_no_such_logits_is_refused():
    def of(logits):
        return lambda x, m, ids: SimpleNamespace(logits=logits(x, m))

    def sums(x, m):
        return (x * m).sum(dim=1)[:, :2]

    def in_float32(x, m):  # as products of integers are
        if x.dtype == torch.float64:
            raise RuntimeError("expected scalar type Float but found Double")
        return sums(x, m) * (1 + 5e-4 * len(x))

    for answer, labels, said in (
        (of(in_float32), None, "in a batch"),
        (lambda x, m, ids: sums(x, m), None, "cannot be asked as a sequence classifier"),
        (summed, ["a", "b", "c"], r"logits of shape \(1, 2\) for a text; with 3 labels"),
        (of(lambda x, m: sums(x, m)[:, :1]), None, r"they must have shape \(1, 2\)"),
        (of(lambda x, m: x[:, :, :2]), None, "it gives logits of shape"),
        (of(lambda x, m: x.sum(dim=1)[:, :2]), None, "stands beside a text in a batch"),
        (of(lambda x, m: sums(x, m) * np.nan), None, "are not finite"),
        (of(lambda x, m: sums(x, m) * (1 + 5e-4 * len(x))), None, "in a batch"),
    ):
        with pytest.raises(ValueError, match=said):
            av.wrap(Module(answer), models.tiny_tokenizer(), labels)


def test_a_module_is_wrapped_by_the_check_that_loading_makes():
    """Other logits by embeddings leave methods that ask by ids; gradients are refused."""

    def answer(x, m, ids):
        return SimpleNamespace(logits=summed(x, m, ids).logits * (1 + 5e-4 * (ids is None)))

    module = Module(answer)
    model = av.wrap(module, models.tiny_tokenizer())
    assert "differ from those by ids" in model.refusal("embeddings")
    assert av.explain(model, ["good film"], ["occlusion_1"]).methods == ["occlusion_1"]
    with pytest.raises(ValueError, match="differ from those by ids"):
        av.explain(model, ["good film"], ["gradient_l1"])


def test_classes_stand_in_the_order_of_their_numbers():
    module = Module(summed)
    module.config.id2label = {1: "pos", 0: "neg"}
    assert av.wrap(module, models.tiny_tokenizer()).labels == ("neg", "pos")


def test_what_is_no_classifier_or_no_fast_tokenizer_is_refused(tiny):
    with pytest.raises(ValueError, match="Linear has no config, get_input_embeddings"):
        av.wrap(torch.nn.Linear(2, 2), tiny.tokenizer, ["a", "b"])
    with pytest.raises(ValueError, match="no fast tokenizer"):
        av.wrap(tiny.network, object(), tiny.labels)


def test_classes_without_a_name_of_their_own_are_refused(tiny):
    for wrong in ([*"aab"], ["a", "A ", "b"], ["a", None, "b"], [3.5, "a", "b"], ["", "a", "b"]):
        with pytest.raises(ValueError, match="needs one of its own"):
            av.wrap(tiny.network, tiny.tokenizer, wrong)
    assert av.wrap(tiny.network, tiny.tokenizer, np.arange(3)).labels == ("0", "1", "2")


def test_a_model_within_an_adapter_is_told_to_be_merged(tiny):
    around = Module(summed)
    around.merge_and_unload = lambda: tiny.network
    with pytest.raises(ValueError, match=r"give module.merge_and_unload\(\)"):
        av.wrap(around, tiny.tokenizer)


def write(path, content, encoding="utf-8"):
    path.write_bytes(content.encode(encoding))
    return path


def test_texts_are_read_from_files(tmp_path):
    table = 'id,Text,other\n1,"good, ""very"" good\nfilm",x\n2,bad,y\n'
    long = "word " * 100_000
    lines = [json.dumps({"text": "a\u2028b", "y": 1}), "", json.dumps("plain")]
    for name, content, texts in (
        ("a.csv", table, ['good, "very" good\nfilm', "bad"]),
        ("b.csv", "Text;Stars\na, b;1\n", ["a, b"]),
        ("c.csv", "review\ngood\nnot bad\n", ["good", "not bad"]),
        ("d.txt", "good\nbad film\n", ["good", "bad film"]),
        ("e.jsonl", "\n".join(lines), ["a\u2028b", "plain"]),
        ("d.txt", "a\u2028b\r\nc\u0085d", ["a\u2028b", "c\u0085d"]),
        ("d.csv", "text\na\u2028b\nc\x0bd\n", ["a\u2028b", "c\x0bd"]),
        ("f.csv", f"text\n{long}\n", [long]),
    ):
        assert read_texts(write(tmp_path / name, content)) == texts
    pairs = read_texts(write(tmp_path / "a.csv", table, "utf-8-sig"), pair_column="other")
    assert pairs[1] == ("bad", "y")
    named = write(tmp_path / "b.csv", "Review;Stars\na, b;1\n")
    assert read_texts(named, column="Review") == ["a, b"]
    assert read_texts(write(tmp_path / "b.tsv", "a\tb\nx\ty\n"), column="b") == ["y"]


def test_files_that_hold_no_texts_are_refused_with_the_line(tmp_path):
    for name, content, column, said in (
        ("a.csv", "text,y\ngood,1\n,2\n", None, r"row 2: `text` is no text \(''\)"),
        ("a.csv", "y,text\n1,good\n2\n", None, "row 2: `text` is no text"),
        ("a.csv", "a,b\n1,2\n", None, "say with --column which of these holds the texts: a, b"),
        ("b.csv", "Review;Stars\na, b;1\n", None, "which of these holds the texts: Review, Stars"),
        ("a.csv", "a,b\n1,2\n", "c", "no column 'c'; it has: 'a', 'b'"),
        ("a.csv", "text\n", None, "holds no text"),
        ("a.txt", "good\n\nbad\n", None, "row 2: `text` is no text"),
        ("a.txt", "good\n", "text", "has no columns"),
        ("a.jsonl", '{"text": "good"}\n{"text": 3}\n', None, r"row 2: `text` is no text \(3\)"),
    ):
        with pytest.raises(ValueError, match=said):
            read_texts(write(tmp_path / name, content), column)


def test_pairs_are_as_many_as_texts():
    assert join_pairs(["a", "b"], []) == ["a", "b"] and join_pairs(["a"], ["b"]) == [("a", "b")]
    with pytest.raises(ValueError, match="2 texts and 1 second texts"):
        join_pairs(["a", "b"], ["c"])


def test_a_tokenizer_of_another_model_is_told_when_it_is_wrapped():
    tiny = models.tiny_model()
    tiny.network.resize_token_embeddings(10)
    with pytest.raises(ValueError, match=r"gives ids up to 105 .* the model has 10 embeddings"):
        av.wrap(tiny.network, tiny.tokenizer, ["no", "maybe", "yes"])


def test_what_a_caller_puts_around_changes_nothing(tiny):
    methods = ["gradient_x_input", "lrp", "occlusion_1"]
    expected = av.explain(tiny, TEXTS, methods).words()
    for around in (
        torch.inference_mode(),
        torch.no_grad(),
        torch.autocast("cpu", dtype=torch.bfloat16),
    ):
        with around:
            assert av.explain(tiny, TEXTS, methods).words() == expected
