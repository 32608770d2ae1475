"""Uniform random masking: against its slow twin, special tokens kept, shares uniform, draws that
follow from names.
"""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import masks, models
from scipy.stats import kstest

from attreval.models.training import (
    mask_half,
    mask_share,
    masked_copies,
    measure_performance,
    train,
)
from compendium.config import TrainingSpec

MODEL = models.tiny_model()
LONG = models.instance(" ".join(["film"] * 40), "the plot was bad")
SPEC = TrainingSpec(
    epochs=2, batch_rows=8, learning_rate=5e-3, evaluations_per_epoch=1, precision="float32"
)


def batch_of(rows, seed):
    """Texts of many lengths, of one part and of two."""
    rng = np.random.default_rng(seed)
    words = ["the", "film", "bad", "unbelievably", "!"]
    made = [
        [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(1 + row % 2)]
        for row in range(rows)
    ]
    return [MODEL.tokens(models.instance(*parts, name=str(row))) for row, parts in enumerate(made)]


@given(rows=st.integers(1, 13), seed=st.integers(0, 10**6))
def test_a_batch_is_masked_as_its_slow_twin_masks_it(rows, seed):
    batch = batch_of(rows, seed)
    found = mask_half(batch, np.random.default_rng(seed))
    assert [tokens.ids.tolist() for tokens in found] == masks.masked_batch(
        batch, np.random.default_rng(seed)
    )


def test_every_number_of_masked_tokens_is_as_likely():
    rng = np.random.default_rng(1)
    tokens = MODEL.tokens(LONG)
    n = len(tokens.content)
    counts = np.array([(mask_share(tokens, rng).ids == tokens.mask_id).sum() for _ in range(2000)])
    assert kstest((counts + rng.random(len(counts))) / (n + 1), "uniform").pvalue > 0.001
    of_each = np.mean([mask_share(tokens, rng).ids == tokens.mask_id for _ in range(1000)], axis=0)
    # no place is masked more than another
    assert np.abs(of_each[tokens.content] - 0.5).max() < 0.08


def test_copies_follow_from_names_and_ids_alone():
    texts = models.toy(12)
    first = masked_copies(MODEL, texts, "a", 1)
    again = masked_copies(MODEL, texts[::-1], "a", 1)[::-1]
    other = masked_copies(MODEL, texts, "a", 2)
    ids = [[one.tokens.ids.tolist() for one in some] for some in (first, again, other)]
    assert ids[0] == ids[1] != ids[2]
    assert [(one.id, one.label) for one in first] == [(one.id, one.label) for one in texts]


def test_training_reads_masked_texts_and_checks_dev_as_it_is_and_masked(tmp_path):
    dev = models.toy(32, 1)
    weights = []
    for masked in (False, True):
        model = models.untrained_model()
        folder = tmp_path / str(masked)
        curve = train(model, models.toy(64), dev, SPEC.changed(masked=masked), folder, ("toy", 1))
        record = json.loads((folder / "training.json").read_text())
        assert record["training"]["masked"] == masked and record["dev_rows"] == 32
        weights.append((folder / "model.safetensors").read_bytes())
        both = [*dev, *(masked_copies(model, dev, "dev", "toy", 1) if masked else [])]
        assert min(one["dev_loss"] for one in curve) == pytest.approx(
            measure_performance(model, both).loss, abs=1e-6
        )
    assert weights[0] != weights[1]
