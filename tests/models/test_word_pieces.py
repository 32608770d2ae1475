"""Word-level networks that read a tokenizer's pieces, and transformers that read words."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference import case, models
from transformers import AutoTokenizer

from attreval.models.loading import load_classifier, new_classifier
from attreval.models.scorer import Scorer
from attreval.models.transformer import input_vectors
from attreval.models.words.vocabulary import PAD, WordVectors
from attreval.models.words.word_tokenizer import word_tokenizer
from compendium.config import ModelSpec
from compendium.corpora.table import words_of_segments
from compendium.papers.pipeline.training import load_vectors

SIZES = {"hidden": 4, "embedding_size": 32, "max_length": 64}
METHODS = ("occlusion_3", "omission_1", "limsse_logit", "lrp", "gradient_x_input", "lime")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The folder of a tiny BERT, whose tokenizer and vectors others take."""
    folder = tmp_path_factory.mktemp("tiny") / "local"
    models.tiny_model().save(folder)
    return str(folder)


def make(local, architecture="gru", **more):
    spec = ModelSpec(architecture=architecture, tokenizer="local", **SIZES | more)

    def vectors(name, vocabulary):
        return input_vectors(local)

    texts = models.sample_instances()
    given = (spec, ("a", "b"), (1,), texts, "small", "cpu")
    return new_classifier(*given, resolve=lambda name: local, vectors=vectors)


def test_pieces_are_a_transformers_own_without_special_ones(local):
    encoder = load_classifier(local, device="cpu")
    model = make(local)
    for text in models.sample_instances():
        theirs = encoder.tokens(text)
        ours = model.tokens(text)
        at = theirs.content
        with case(text.segments):
            assert_array_equal(ours.offsets, theirs.offsets[at])
            assert_array_equal(ours.word, theirs.word[at])
            assert ours.texts == tuple(theirs.texts[k] for k in at)
            assert not ours.special.any() and ours.dropped == theirs.dropped
    assert any(piece.startswith("##") for piece in model.vocabulary)
    cut = make(local, max_length=16).tokens(models.instance("unbelievable " * 8))
    assert len(cut) == 16 and cut.dropped == 8 - len(set(cut.word.tolist()))


def test_pieces_start_from_a_networks_input_vectors_and_survive_the_disk(local, tmp_path):
    model = make(local, embeddings="local")
    table = load_classifier(local, device="cpu").network.get_input_embeddings().weight
    ids = AutoTokenizer.from_pretrained(local).convert_tokens_to_ids(list(model.vocabulary))
    assert_array_equal(model.network.embedding.weight[2:].detach(), table[ids])
    model.save(tmp_path)
    loaded = load_classifier(tmp_path, device="cpu")
    for text in models.sample_instances():
        ours, theirs = model.tokens(text), loaded.tokens(text)
        assert_array_equal(ours.ids, theirs.ids)
        rows = [(ours.ids, ours.segments)]
        assert_array_equal(Scorer(model).logits(rows), Scorer(loaded).logits(rows))


def test_methods_explain_pieces(local):
    text = models.instance("an unbelievable plot", "not unbelievably bad")
    for architecture in ("gru", "qlstm", "cnn"):
        model = make(local, architecture, embeddings="local")
        tokens = model.tokens(text)
        for method in METHODS:
            scores = models.scores_of(model, method, tokens).values
            with case(architecture, method):
                assert scores.shape == (len(tokens),) and np.abs(scores).max() > 0


def test_words_are_cut_as_those_of_the_corpora():
    tokenizer = word_tokenizer(["film"])
    for text in (
        "The film didn't cost 1,000.50 dollars -- it's John's, they've: \"well-made\" (really)...",
        "Can't they wo n't, café naïve ½ 70s 9/11!",
    ):
        cut = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        assert cut["offset_mapping"] == [(a, b) for _, a, b in words_of_segments([text])]


def test_a_transformer_reads_the_words_of_its_training_set(tmp_path):
    known = WordVectors(["film", "good"], np.arange(1.0, 17).reshape(2, 8))
    sizes = {"layers": 1, "hidden": 8, "heads": 2}
    spec = ModelSpec(tokenizer="words", embeddings="vectors", vocabulary=10, **sizes)
    texts = models.toy(8)
    labels = ("bad", "good")
    model = new_classifier(spec, labels, (1,), texts, "small", "cpu", vectors=lambda *asked: known)
    table = model.network.get_input_embeddings().weight.detach()
    ids = model.tokenizer.convert_tokens_to_ids(["film", "good"])
    assert_array_equal(table[ids], known.table)
    assert not table[model.pad_id].any() and table[model.tokenizer.mask_token_id].any()
    model.save(tmp_path)
    assert len(AutoTokenizer.from_pretrained(tmp_path)) == 5 + 7
    loaded = load_classifier(tmp_path, device="cpu", labels=labels)
    tokens = loaded.tokens(models.instance("the film was odd"))
    assert tokens.texts == ("[CLS]", "the", "film", "was", "[UNK]", "[SEP]")
    assert tokens.word.tolist() == [-1, 0, 1, 2, 3, -1]
    pair = loaded.tokens(models.instance("a film", "good"))
    assert pair.segments.tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"have 8 dimensions, the model 4.*`hidden`"):
        spec = spec.changed(hidden=4)
        new_classifier(spec, labels, (1,), texts, "s", "cpu", vectors=lambda *asked: known)
    with pytest.raises(ValueError, match="starts from vectors embeddings, but none were given"):
        new_classifier(spec, labels, (1,), texts, "s", "cpu")


@pytest.mark.network
def test_the_registrys_weights_lend_their_vectors():
    found = load_vectors("minilm", ["film"])
    assert found.cased and found.table.shape == (30522, 384)
    assert found.words[PAD] == "[PAD]" and "##ly" in found.words
