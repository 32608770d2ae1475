"""The same network, its tokens erased to mask, padding or the mean vector."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from reference import models, words

from attreval.models.erasing import erase_to
from attreval.models.scorer import Scorer


def logits(model, ids):
    return Scorer(model).logits([(ids, np.zeros_like(ids))])[0]


def by_vectors(model, vectors):
    mask = torch.ones(1, len(vectors))
    return model.logits(None, mask, 0 * mask.long(), embeddings=vectors[None])[0]


def blanked(model, tokens):
    """Logits with the third token erased, by its id, and by the mean of the embeddings."""
    ids = tokens.ids.copy()
    ids[2] = tokens.mask_id
    vectors = model.embed(torch.from_numpy(tokens.ids)[None])[0].clone()
    return ids, vectors


def test_a_transformer_erases_to_the_token_or_vector_asked_for():
    text = models.sample_instances()[1]
    for what in ("mask", "pad"):
        model = models.tiny_model()
        erase_to(model, what)
        tokens = model.tokens(text)
        expected = getattr(model.tokenizer, f"{what}_token_id")
        assert tokens.mask_id == tokens.pad_id == expected
    model = models.tiny_model()
    before = logits(model, model.tokens(text).ids)
    mean = model.network.get_input_embeddings().weight.mean(dim=0)
    erase_to(model, "mean")
    tokens = model.tokens(text)
    assert_allclose(logits(model, tokens.ids), before, atol=1e-6)
    assert tokens.mask_id == tokens.pad_id == model.vocabulary_size - 1
    ids, vectors = blanked(model, tokens)
    vectors[2] = mean
    assert_allclose(logits(model, ids), by_vectors(model, vectors), atol=1e-5)
    model.tokenizer.mask_token = None
    with pytest.raises(ValueError, match=r"erase: mask: .* no such token; `mean` will do"):
        erase_to(model, "mask")


def test_a_word_level_network_erases_to_the_mean():
    text = models.instance("the film was good and very slow")
    for architecture in ("gru", "cnn"):
        model = words.tiny_words(architecture)
        model.reuse_from = 0
        mean = model.network.embedding.weight.mean(dim=0)
        erase_to(model, "mean")
        tokens = model.tokens(text)
        ids, vectors = blanked(model, tokens)
        vectors[2] = mean
        expected = by_vectors(model, vectors)
        assert_allclose(logits(model, ids), expected, atol=1e-6)
        # also where windows could be computed anew alone
        scores = models.scores_of(model, "occlusion_1", tokens).values
        whole = logits(model, tokens.ids)[1]
        assert_allclose(scores[2], whole - float(expected[1]), atol=1e-5)
        with pytest.raises(ValueError, match="no such token"):
            erase_to(model, "mask")
    assert_array_equal(tokens.ids[[0, 4]], [2, 1])
