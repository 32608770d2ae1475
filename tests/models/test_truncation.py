"""Long texts are cut, and positions do not depend on what stands at them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from reference import models
from reference.words import tiny_words


@pytest.mark.parametrize("first, second, most", [(40, 5, 20), (5, 40, 20), (30, 30, 21), (4, 3, 20), (50, 0, 20)])
def test_long_pairs_are_cut_at_the_longer_text(tiny, first, second, most):
    """Zhao & Aletras 2023: a document is cut, the query about it is not; for both kinds of models."""
    texts = [" ".join(["good"] * first), " ".join(["bad"] * second)][: 2 if second else 1]
    instance = models.instance(*texts)
    short = min(first, second)
    words = replace(tiny_words("gru"), max_length=most).tokens(instance)
    pieces = replace(tiny, max_length=most + 1 + len(texts)).tokens(instance)
    for tokens in (words, pieces):
        kept = np.bincount(tokens.offsets[tokens.content, 0], minlength=2)
        assert kept.sum() == min(most, first + second)
        assert kept.min() == min(short, most // 2) and (first == second or kept.argmax() == int(second > first))
        assert tokens.dropped == first + second - kept.sum()


def test_positions_do_not_depend_on_ids():
    """RoBERTa and MPNet skip padding ids when they count positions: an erased token must move no other."""
    from transformers import MPNetConfig, MPNetForSequenceClassification

    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    network = MPNetForSequenceClassification(MPNetConfig(**sizes, intermediate_size=16)).eval()
    model = replace(models.tiny_model(), network=network, labels=("a", "b"), copies={})
    assert model.first_alone  # tried out, before anything is counted
    seen = []
    network.mpnet.embeddings.position_embeddings.register_forward_hook(lambda m, given, out: seen.append(given[0]))
    pad = network.mpnet.embeddings.padding_idx
    for ids in ([[5, 6, 7, 8]], [[5, pad, pad, 8]]):
        model.logits(*(torch.tensor(x) for x in (ids, [[1] * 4], [[0] * 4])))
    assert (seen[0] == seen[1]).all() and seen[0][0].tolist() == [pad + 1 + i for i in range(4)]
    network.config.position_start = 0  # as in the released code of Zhao & Aletras
    model.logits(*(torch.tensor(x) for x in ([[5, 6]], [[1] * 2], [[0] * 2])))
    assert seen[-1][0].tolist() == [0, 1]


def test_training_texts_are_cut_and_what_is_saved_reads_on(tmp_path):
    from attreval.models.training import train
    from compendium.config import TrainingSpec

    model = models.untrained_model()
    texts = [models.instance(" ".join(["good" if i % 2 else "bad"] * 30), name=str(i), label=i % 2) for i in range(8)]
    recorder = []
    network = model.network
    network.register_forward_hook(
        lambda m, args, kwargs, out: recorder.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    spec = TrainingSpec(batch_rows=4, evaluations_per_epoch=1, precision="float32", tokens=10)
    train(model, texts, texts, spec, tmp_path / "model", ("test",))
    assert {length for rows, length in recorder if rows > 2} == {10}  # its last layer is tried out on two rows
    assert len(model.tokens(texts[0])) == 32
