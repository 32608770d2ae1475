"""Word-level classifiers: the numbers of torch's own layers, in any batch, after a trip to the
disk; and they learn.
"""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from reference import case, models, words
from torch.testing import assert_close

from attreval.models import training
from attreval.models.loading import load_classifier, new_classifier
from attreval.models.scorer import Scorer
from attreval.models.training import measure_performance, train
from attreval.models.words import layers
from attreval.models.words.classifier import new_word_classifier
from attreval.models.words.vocabulary import (
    WordVectors,
    count_words,
    read_glove,
    read_vectors,
    start_embeddings,
)
from compendium import corpora
from compendium.config import ModelSpec, TrainingSpec
from compendium.papers.pipeline.training import load_vectors

SPEC = TrainingSpec(
    epochs=8,
    batch_rows=8,
    learning_rate=0.02,
    weight_decay=0,
    evaluations_per_epoch=1,
    patience=8,
    precision="float32",
    schedule="halving",
    watch="accuracy",
)


def layer_input(seed):
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal((7, 3, 6)))
    return x, torch.arange(7)[:, None, None] < torch.tensor([4, 7, 1])[None, :, None]


def test_logits_are_the_same_alone_and_padded_in_three_precisions():
    pairs = [(r, np.zeros_like(r)) for r in words.rows(4)]
    for kind in words.KINDS:
        model = words.tiny_words(*kind)
        exact = Scorer(model, 8192).logits(pairs, "float64")
        for precision, close in (("float64", 1e-12), ("float32", 1e-5), ("bfloat16", 0.15)):
            with case(kind, precision):
                together = Scorer(model, 8192).logits(pairs, precision)
                alone = Scorer(model, 1).logits(pairs, precision)
                assert_allclose(together, alone, atol=close)
                assert_allclose(together, exact, atol=close)
        assert np.abs(together - exact).max() > 1e-6


def test_an_empty_text_scores_the_bias():
    nothing = np.zeros(0, np.int64)
    for kind, company in product(words.KINDS, ([], [np.array([3, 4])])):
        model = words.tiny_words(*kind)
        rows = [(r, np.zeros_like(r)) for r in [nothing, *company]]
        bias = model.network.output.bias
        assert_allclose(Scorer(model).logits(rows)[0], bias, atol=1e-6, err_msg=kind)


def test_tokens_are_the_words():
    model = replace(words.tiny_words(), max_length=4)
    tokens = model.tokens(models.instance("the film was", "zebra good"))
    assert tokens.texts == ("the", "film", "zebra", "good")
    assert tokens.dropped == 1  # cut from the longer text
    assert tokens.ids.tolist() == [2, 3, 1, 5] and tokens.segments.tolist() == [0, 0, 1, 1]
    assert tokens.word.tolist() == [0, 1, 3, 4] and not tokens.special.any()
    with pytest.raises(ValueError, match="'empty' has no words"):
        model.tokens(models.instance("", name="empty"))


def test_vocabulary_is_the_most_frequent_words_ties_in_order():
    made = [models.instance("b a c a"), models.instance("b d A")]
    assert count_words(made, 6) == ("a", "b", "A", "c")
    assert count_words(made, 100) == ("a", "b", "A", "c", "d")


def test_embeddings_start_from_known_vectors_where_there_are_some():
    known = WordVectors(["film", "good"], np.arange(1.0, 9).reshape(2, 4))

    def start(size=4, **more):
        rng = np.random.default_rng(0)
        return start_embeddings(["Film", "good", "odd"], size, rng, replace(known, **more))

    table = start()
    assert not table[0].any() and 0 < np.abs(table[[1, 4]]).max() <= 0.05
    assert_array_equal(table[2:4], known.table)
    cased = start(cased=True)  # vectors that know capitals lack Film
    assert np.abs(cased[2]).max() <= 0.05
    assert_array_equal(cased[3], known.table[1])
    with pytest.raises(ValueError, match="have 4 dimensions, the model 7"):
        start(7)


def test_word_vectors_are_read_from_two_files_or_a_text_file(tmp_path):
    """As GloVe 840B writes them: a word may hold blanks, or be a number; other words than those
    asked for are left.
    """
    np.save(tmp_path / "e.npy", np.eye(2, dtype=np.float32))
    pd.DataFrame({"index": ["the", "film"]}).to_parquet(tmp_path / "i.parquet")
    found = read_glove(tmp_path / "e.npy", tmp_path / "i.parquet")
    assert found.words == ["the", "film"] and not found.cased
    assert_array_equal(found.table, np.eye(2))
    path = tmp_path / "v.txt"
    path.write_text("the 1 2 3\n. . . 4 5 6\nThe 7 8 9\n12 -1e-1 0 1\nodd x y z\n")
    found = read_vectors(path, ["The", "12", ". . .", "no"])
    assert found.words == [". . .", "The", "12"] and found.cased
    assert_allclose(found.table, [[4, 5, 6], [7, 8, 9], [-0.1, 0, 1]])
    assert read_vectors(path, []).table.shape == (0, 3)
    # counts of words and numbers first, as word2vec writes them
    path.write_text("2 3\nthe 1 2 3\na 4 5 6\n")
    assert read_vectors(path, ["a", "2"]).table.tolist() == [[4, 5, 6]]
    for text, said in (("a 1 2\nb 3\n", "line 2"), ("a 1 2\nb c d\n", "line 2"), ("", "no word")):
        path.write_text(text)
        with case(text), pytest.raises(ValueError, match=said):
            read_vectors(path, ["a", "b"])


def test_a_model_starts_from_the_file_that_its_embeddings_name(tmp_path, monkeypatch):
    (tmp_path / "v.txt").write_text("good 1 2 3\nbad 4 5 6\n")
    monkeypatch.setenv("ATTREVAL_CORPORA", str(tmp_path))

    def start(name, size):
        spec = ModelSpec(architecture="cnn", hidden=4, embeddings=name, embedding_size=size)
        texts = models.toy(4)
        return new_word_classifier(spec, ("a", "b"), (1,), texts, "small", "cpu", load_vectors)

    for name in ("v.txt", str(tmp_path / "v.txt")):
        made = start(name, 3)
        assert made.network.embedding.weight[made.index["bad"]].tolist() == [4, 5, 6]
    with pytest.raises(ValueError, match="have 3 dimensions, the model 300"):
        start("v.txt", 300)
    with pytest.raises(corpora.FetchError, match="folder that ATTREVAL_CORPORA names"):
        start("w.txt", 3)
    monkeypatch.delenv("ATTREVAL_CORPORA")
    with pytest.raises(corpora.FetchError, match="ATTREVAL_CORPORA is not set"):
        start("v.txt", 3)


def test_a_toy_task_is_learnt_and_survives_the_disk(tmp_path):
    sizes = {"hidden": 8, "embedding_size": 8, "dropout": 0.2, "max_length": 16}
    for architecture in words.ARCHITECTURES:
        folder = tmp_path / architecture
        spec = ModelSpec(architecture=architecture, **sizes)
        model = new_classifier(spec, ("bad", "good"), ("toy", 1), models.toy(96), "small", "cpu")
        with case(architecture):
            before = measure_performance(model, models.toy(40, 2)).accuracy
            sets = (models.toy(96), models.toy(24, 1))
            curve = train(model, *sets, SPEC, folder, ("toy", 1), {"task": "toy"})
            assert measure_performance(model, models.toy(40, 2)).accuracy > 0.95 > before
            assert not any(p.requires_grad for p in model.network.parameters())
            assert not model.network.training
            record = json.loads((folder / "training.json").read_text())
            assert record["curve"] == curve and record["task"] == "toy"
            loaded = load_classifier(folder, device="cpu", labels=("good", "bad"))
            assert (loaded.family, loaded.sizes) == (model.family, model.sizes)
            assert loaded.vocabulary == model.vocabulary
            pairs = [(t.ids, t.segments) for t in map(model.tokens, models.toy(8, 3))]
            found = Scorer(loaded).logits(pairs)[:, ::-1]
            assert_array_equal(found, Scorer(model).logits(pairs))
            # a word that is occluded stays a zero vector
            assert not model.network.embedding.weight[0].any()


def train_small(folder, **changes):
    """Train a tiny CNN on 8 texts by SPEC with some values changed; the record of it."""
    spec = ModelSpec(architecture="cnn", hidden=4, embedding_size=4, max_length=16)
    model = new_classifier(spec, ("bad", "good"), ("toy", 1), models.toy(8), "small", "cpu")
    train(model, models.toy(8), models.toy(8, 1), SPEC.model_copy(update=changes), folder, ())
    return json.loads((folder / "training.json").read_text())


def test_what_is_watched_decides_what_is_kept(tmp_path, monkeypatch):
    for watch, kept in (("loss", 0.1), ("accuracy", 0.9)):
        checks = [(0.1, 0.7), (0.9, 0.9), (1.0, 0.5)]

        def measure(*of, left=checks):
            return training.Performance(*left.pop(), 0, None, None)

        monkeypatch.setattr(training, "measure_performance", measure)
        assert train_small(tmp_path / "m", epochs=3, watch=watch)["best_dev_loss"] == kept


def test_the_rate_is_halved_after_stagnant_checks(tmp_path, monkeypatch):
    rates = []
    step = torch.optim.AdamW.step

    def watch(optimizer, *args, **more):
        rates.append(optimizer.param_groups[0]["lr"] / 1e-12)
        return step(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", watch)
    train_small(tmp_path / "m", learning_rate=1e-12, epochs=6, halve_after=2)
    assert rates == pytest.approx([1, 1, 1, 0.5, 0.5, 0.25])


def test_what_is_missing_or_contradictory_is_an_error():
    with pytest.raises(ValueError, match="a gru needs `hidden`, and no weights"):
        ModelSpec(architecture="gru", weights="minilm", hidden=8)
    spec = ModelSpec(architecture="gru", hidden=8, embeddings="glove")
    with pytest.raises(ValueError, match="starts from glove embeddings, but none were given"):
        new_word_classifier(spec, ("a", "b"), (1,), models.toy(4), "small", "cpu")


def test_lstm_is_that_of_torch():
    x, mask = layer_input(1)
    lengths = mask.sum(dim=0).flatten()
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    for directions in (1, 2):
        ours = layers.Recurrent("lstm", 6, 5, directions, "logistic", 0.0).double().eval()
        theirs = torch.nn.LSTM(6, 5, bidirectional=directions == 2).double()
        parts = {
            "weight_ih": ours.input_kernel,
            "weight_hh": ours.recurrent_kernel,
            "bias_ih": ours.bias,
            "bias_hh": torch.zeros_like(ours.bias),
        }
        with torch.no_grad():
            for d, (name, part) in product(range(directions), parts.items()):
                # torch has i f g o
                turned = part[d].unflatten(-1, (4, 5))[..., [0, 1, 3, 2], :].flatten(-2)
                own = getattr(theirs, f"{name}_l0{'_reverse' * d}")
                own.copy_(turned.mT if turned.ndim == 2 else turned)
            expected = theirs(packed)[1][0].transpose(0, 1).flatten(1)
            assert_close(ours(x, mask), expected, atol=1e-12, rtol=0)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_convolution_is_that_of_torch_with_same_padding():
    x, mask = layer_input(2)
    for kernel in (1, 2, 3, 5):
        core = words.tiny_words("cnn", kernel=kernel).at("float64").core
        theirs = torch.nn.Conv1d(6, 5, kernel, padding="same").double()
        theirs.load_state_dict({"weight": core.kernel, "bias": core.bias})
        for row, length in enumerate(mask.sum(dim=0).flatten().tolist()):
            expected = theirs(x[:length, row].T[None]).relu().amax(dim=2)[0]
            assert_close(core(x, mask)[row], expected, atol=1e-12, rtol=0)
