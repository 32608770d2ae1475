"""A training that is cut off goes on where it was: the same weights and curve as one that never was."""

import json
import time

import pytest
import torch
from reference import models

from attreval.core.spent import seconds_of
from attreval.models import unfinished
from attreval.models.training import train
from compendium.config import TrainingSpec

SPEC = TrainingSpec(
    epochs=3, batch_rows=8, learning_rate=5e-3, evaluations_per_epoch=2, patience=9, precision="float32"
)
CHANGES = {
    "warm-up and decay": {},
    "halving": {"schedule": "halving", "halve_after": 1, "learning_rate": 5e-2},
    "masked": {"masked": True},
    "averaged": {"averaging": 0.9},
    "stops early": {"epochs": 30, "patience": 2},
}


def run(folder, spec, flip=False, **more):
    """Train a small model with dropout; (bytes of its weights, record)."""
    model = models.untrained_model()
    assert any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in model.network.modules())
    train(model, models.toy(32), models.toy(16, 1, flip=flip), spec, folder, ("toy", 1), **more)
    return (folder / "model.safetensors").read_bytes(), json.loads((folder / "training.json").read_text())


class CutOff(Exception):
    pass


def cut_off_at(*steps):
    """A callback that ends a training at the first of these steps that it comes to, each once."""
    left = set(steps)

    def notify(done, of, words):
        if done in left:
            left.discard(done)
            raise CutOff

    return notify


@pytest.mark.parametrize("change", CHANGES)
def test_cut_off_anywhere_it_ends_the_same(tmp_path, monkeypatch, change):
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    spec = SPEC.model_copy(update=CHANGES[change])
    flip = change == "stops early"
    whole, record = run(tmp_path / "whole", spec, flip)
    cuts = (1, 2, 5)  # before a check, at one (each second step), after another
    notify = cut_off_at(*cuts)
    for _ in cuts:
        with pytest.raises(CutOff):
            run(tmp_path / "parts", spec, flip, notify=notify, unfinished=tmp_path / "kept" / "training.pt")
        torch.rand(7)  # what came between must not matter
        assert not (tmp_path / "parts").exists()
    found, again = run(tmp_path / "parts", spec, flip, notify=notify, unfinished=tmp_path / "kept" / "training.pt")
    assert found == whole
    assert again["curve"] == record["curve"] and again["best_dev_loss"] == record["best_dev_loss"]


def test_one_that_had_ended_but_for_the_saving_only_saves(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    kept = tmp_path / "training.pt"
    for spec, flip in ((SPEC, False), (SPEC.model_copy(update={"epochs": 30, "patience": 2}), True)):
        whole, _ = run(tmp_path / "first", spec, flip, unfinished=kept)
        again, _ = run(tmp_path / "second", spec, flip, unfinished=kept, notify=cut_off_at(*range(1, 999)))
        assert again == whole
        kept.unlink()


def test_it_is_kept_now_and_then(tmp_path, monkeypatch):
    for seconds in (1e9, 0.0):
        monkeypatch.setattr(unfinished, "KEEP_EVERY", seconds)
        run(tmp_path / f"{seconds}", SPEC.model_copy(update={"epochs": 1}), unfinished=tmp_path / "training.pt")
        assert (tmp_path / "training.pt").exists() == (seconds == 0)
    assert not list(tmp_path.glob(".*"))


def test_what_it_took_stands_beside_it_and_adds_up(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    kept = tmp_path / "training.pt"
    assert seconds_of(kept) == 0
    with pytest.raises(CutOff):
        run(tmp_path / "parts", SPEC, notify=cut_off_at(5), unfinished=kept)
    before = seconds_of(kept)
    assert before > 0
    start = time.process_time()
    _, record = run(tmp_path / "parts", SPEC, unfinished=kept)
    assert before < seconds_of(kept) <= before + time.process_time() - start
    assert record["seconds"] > 0
