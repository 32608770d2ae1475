"""Training: every row once, the best checkpoint kept, same seed same weights, also where it is cut
off and goes on.
"""

import itertools
import json
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import case, models
from safetensors.torch import load_file

from attreval.core.tables import seconds_of
from attreval.models import unfinished
from attreval.models.loading import new_classifier
from attreval.models.training import _parameter_groups, batches, measure_performance, train
from attreval.models.transformer import load_transformer
from compendium.config import ModelSpec, TrainingSpec

SPEC = TrainingSpec(
    epochs=4,
    batch_rows=8,
    learning_rate=5e-3,
    evaluations_per_epoch=2,
    patience=9,
    precision="float32",
)
sizes = st.lists(st.integers(1, 60), min_size=1, max_size=300)


@given(lengths=sizes, rows=st.integers(1, 40), window=st.integers(1, 5), seed=st.integers(0, 99))
def test_batches_hold_each_row_once(lengths, rows, window, seed):
    def draw(seed, window):
        return batches(np.array(lengths), rows, np.random.default_rng(seed), window)

    made = draw(seed, window)
    assert sorted(np.concatenate(made)) == list(range(len(lengths))) and max(map(len, made)) <= rows
    if len(lengths) > max(20, 2 * rows):  # of few texts two seeds may well make the same
        assert [batch.tolist() for batch in made] != [
            batch.tolist() for batch in draw(seed + 1, window)
        ]
    sorted_inside = draw(seed, len(lengths))
    spreads = sorted(
        (min(lengths[i] for i in batch), max(lengths[i] for i in batch)) for batch in sorted_inside
    )
    assert all(high <= low for (_, high), (low, _) in itertools.pairwise(spreads))
    assert len(made) <= -(-len(lengths) // rows) + len(lengths) // (rows * window)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(model, folder, curve) of one training."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    model = models.untrained_model()
    heard = []
    sets = models.toy(128), models.toy(24, 1)
    curve = train(
        model, *sets, SPEC, folder, ("toy", 1), {"task": "toy"}, lambda *said: heard.append(said)
    )
    assert [said[:2] for said in heard] == [(i, 64) for i in range(1, 65)]
    return model, folder, curve


def test_a_learnable_task_is_learnt_recorded_and_ready_to_be_asked(trained):
    model, folder, curve = trained
    assert measure_performance(models.untrained_model(), models.toy(40, 2)).accuracy < 0.8
    found = measure_performance(model, models.toy(40, 2))
    assert found.accuracy > 0.9 and found.macro_f1 > 0.9
    assert curve[-1]["train_loss"] < curve[0]["train_loss"]
    assert [round(c["epoch"], 3) for c in curve] == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    record = json.loads((folder / "training.json").read_text())
    best = min(c["dev_loss"] for c in curve)
    wanted = {
        "curve": curve,
        "task": "toy",
        "best_dev_loss": best,
        "names": ["toy", "1"],
        "labels": ["bad", "good"],
    }
    wanted |= {
        "train_rows": 128,
        "dev_rows": 24,
        "training": SPEC.model_dump(),
        "precision": "float32",
    }
    assert wanted.items() <= record.items()
    assert [p.name for p in folder.parent.iterdir()] == ["model"]
    assert not model.network.training and not model.copies
    assert not any(p.requires_grad for p in model.network.parameters())
    for one in (model, load_transformer(folder, device="cpu")):
        assert measure_performance(one, models.toy(24, 1)).loss == pytest.approx(best, abs=1e-6)


def test_the_same_seed_gives_the_same_weights_and_replaces_an_older_model(trained, tmp_path):
    found = []
    for seed in (2, 1):
        train(
            models.untrained_model(),
            models.toy(128),
            models.toy(24, 1),
            SPEC,
            tmp_path / "m",
            ("toy", seed),
        )
        found.append((tmp_path / "m" / "model.safetensors").read_bytes())
    assert found[1] == (trained[1] / "model.safetensors").read_bytes() != found[0]


def test_early_stopping_keeps_the_best_and_stops(tmp_path):
    """The dev set teaches the opposite, so the first check is the best one."""
    spec = SPEC.changed(epochs=30, patience=2)
    model = models.untrained_model()
    curve = train(
        model, models.toy(128), models.toy(24, 1, flip=True), spec, tmp_path / "model", ("toy", 1)
    )
    losses = [c["dev_loss"] for c in curve]
    best = int(np.argmin(losses))
    assert best == len(losses) - 3 and curve[-1]["epoch"] < 15
    assert measure_performance(model, models.toy(24, 1, flip=True)).loss == pytest.approx(
        losses[best], abs=1e-6
    )


def test_checks_on_dev_see_the_weights_of_their_step(tmp_path):
    """A copy in the faster precision, made before training, must not answer for the trained
    weights.
    """
    spec = SPEC.changed(precision="bfloat16", epochs=1)
    model = models.untrained_model()
    measure_performance(model, models.toy(4), "bfloat16")
    curve = train(model, models.toy(128), models.toy(24, 1), spec, tmp_path / "model", ("toy", 1))
    losses = [c["dev_loss"] for c in curve]
    assert measure_performance(model, models.toy(24, 1), "bfloat16").loss == pytest.approx(
        min(losses), abs=1e-3
    )
    assert (
        measure_performance(models.untrained_model(), models.toy(24, 1), "bfloat16").loss
        not in losses
    )
    assert len(set(losses)) == len(losses) == 2  # nor that of an earlier check for a later one


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_training_that_diverges_is_an_error_and_leaves_no_model(tmp_path):
    spec = SPEC.changed(learning_rate=1e30, epochs=1)
    with pytest.raises(ArithmeticError, match=r"diverged.*lower training.learning_rate"):
        train(
            models.untrained_model(),
            models.toy(16),
            models.toy(8),
            spec,
            tmp_path / "model",
            ("toy", 1),
        )
    assert not (tmp_path / "model").exists()


def test_training_needs_rows_and_known_labels(tmp_path):
    unknown = "label 2; the model has 2 classes: 0 bad, 1 good"
    for wrong, said in (
        ([], "instances in train and dev; got"),
        ([replace(models.toy(1)[0], label=2)], unknown),
    ):
        for sets in ((wrong, models.toy(4)), (models.toy(4), wrong)):
            with pytest.raises(ValueError, match=said):
                train(models.untrained_model(), *sets, SPEC, tmp_path / "model", ())
    assert not list(tmp_path.iterdir())


def test_the_running_average_is_what_is_kept(tmp_path):
    """With averaging the saved weights trail behind the last ones."""
    moved = []
    for decay in (0.0, 0.9):
        spec = SPEC.changed(epochs=1, averaging=decay)
        folder = tmp_path / f"{decay}"
        model = models.untrained_model()
        start = {name: p.clone() for name, p in model.network.named_parameters()}
        train(model, models.toy(24), models.toy(8, 1), spec, folder, ("average",))
        saved = load_file(folder / "model.safetensors")
        moved.append(sum(float((saved[name] - start[name]).norm()) for name in start))
    assert 0 < moved[1] < moved[0]


def steps_of(monkeypatch, spec, folder, model=None):
    """The rate of each group, and the norm of the gradient, at each step of a short training."""
    seen = []
    step = torch.optim.AdamW.step

    def watch(optimizer, *args, **more):
        norm = sum(
            float(p.grad.norm()) ** 2
            for g in optimizer.param_groups
            for p in g["params"]
            if p.grad is not None
        )
        seen.append(([g["lr"] for g in optimizer.param_groups], norm**0.5))
        return step(optimizer, *args, **more)

    monkeypatch.setattr(torch.optim.AdamW, "step", watch)
    train(
        model or models.untrained_model(),
        models.toy(48),
        models.toy(8, 1),
        spec,
        folder,
        ("steps",),
    )
    return seen


def test_the_gradient_is_clipped_where_the_profile_says_so(tmp_path, monkeypatch):
    for clip, held in (
        (1e-3, True),
        (None, False),
    ):
        with case(clip, held):
            seen = steps_of(monkeypatch, SPEC.changed(epochs=1, clip=clip), tmp_path / "m")
            assert all(norm <= 1.001e-3 for _, norm in seen) == held


def small_words():
    spec = ModelSpec(architecture="cnn", hidden=4, embedding_size=4)
    return new_classifier(spec, "ab", (1,), models.toy(4), "w", "cpu")


def test_the_head_learns_at_its_own_rate(tmp_path, monkeypatch):
    model = models.untrained_model()
    groups = _parameter_groups(model.network, SPEC.changed(head_learning_rate=1.0))
    heads = [g["params"] for g in groups if g.get("lr") == 1.0]
    named = {id(p): name for name, p in model.network.named_parameters()}
    assert {named[id(p)] for part in heads for p in part} == {
        "classifier.weight",
        "classifier.bias",
    }
    still = {named[id(p)] for g in groups if g["weight_decay"] == 0 for p in g["params"]}
    assert still == {
        name for name in named.values() if "LayerNorm" in name or name.endswith("bias")
    }
    assert sorted(id(p) for g in groups for p in g["params"]) == sorted(named)
    assert [g["weight_decay"] for g in groups if g.get("lr") == 1.0] == [SPEC.weight_decay, 0.0]
    spec = SPEC.changed(epochs=1, learning_rate=1e-4, head_learning_rate=1e-3)
    for rates, _ in steps_of(monkeypatch, spec, tmp_path / "m", model):
        assert sorted(set(rates))[1] == pytest.approx(
            10 * sorted(set(rates))[0]
        )  # both follow the schedule
    groups = _parameter_groups(small_words().network, SPEC.changed(head_learning_rate=1.0))
    assert [len(g["params"]) for g in groups if g.get("lr") == 1.0] == [
        1,
        1,
    ]  # weight and bias of the output layer


def test_the_rate_decays_along_a_line_or_a_cosine(tmp_path, monkeypatch):
    found = {}
    for schedule in ("linear", "cosine"):
        spec = SPEC.changed(epochs=2, warmup=0.25, learning_rate=1e-4, schedule=schedule)
        found[schedule] = [
            rates[0] / 1e-4 for rates, _ in steps_of(monkeypatch, spec, tmp_path / schedule)
        ]
    at = np.arange(12)
    left = np.minimum(1, (12 - at) / 9)
    np.testing.assert_allclose(found["linear"], np.minimum((at + 1) / 3, left))
    np.testing.assert_allclose(
        found["cosine"], np.minimum((at + 1) / 3, (1 + np.cos(np.pi * (1 - left))) / 2)
    )


def test_frozen_layers_stay_as_they_were_pretrained(tmp_path):
    for count in [0, 1]:
        with case(count):
            model = models.untrained_model()
            spec = SPEC.changed(epochs=1, frozen_layers=count)
            before = {name: p.clone() for name, p in model.network.named_parameters()}
            train(model, models.toy(24), models.toy(8, 1), spec, tmp_path / "m", (1,))
            still = {
                name for name, p in model.network.named_parameters() if torch.equal(p, before[name])
            }
            lowest = (
                "bert.embeddings.",
                *(f"bert.encoder.layer.{layer}." for layer in range(count)),
            )
            nothing = {
                "bert.encoder.layer.1.attention.self.key.bias"
            }  # it moves all scores of the last layer's query alike
            assert still - nothing == {name for name in before if name.startswith(lowest)}


def test_frozen_layers_are_an_encoders(tmp_path):
    for model, count, said in (
        (small_words(), 1, "is none"),
        (models.untrained_model(), 99, "has 2 layers"),
    ):
        with pytest.raises(ValueError, match=said):
            train(
                model,
                models.toy(8),
                models.toy(8),
                SPEC.changed(frozen_layers=count),
                tmp_path / "m",
                (1,),
            )


# A training that is cut off goes on where it was: the same weights and curve as one that never was

SHORT = SPEC.changed(epochs=3)
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
    assert any(
        isinstance(part, torch.nn.Dropout) and part.p > 0 for part in model.network.modules()
    )
    train(model, models.toy(32), models.toy(16, 1, flip=flip), spec, folder, ("toy", 1), **more)
    return (folder / "model.safetensors").read_bytes(), json.loads(
        (folder / "training.json").read_text()
    )


class CutOff(Exception):
    pass


def cut_off_at(*steps):
    """A callback that ends a training at the first of these steps that it comes to, each once."""
    left = set(steps)

    def notify(done, of, words):
        if done in left:
            left.remove(done)
            raise CutOff

    return notify


def test_cut_off_anywhere_it_ends_the_same(tmp_path, monkeypatch):
    for change in CHANGES:
        with case(change):
            monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
            spec = SHORT.changed(**CHANGES[change])
            flip = change == "stops early"
            whole, record = run(tmp_path / "whole", spec, flip)
            cuts = (1, 2, 5)  # before a check, at one (each second step), after another
            kept = {"notify": cut_off_at(*cuts), "unfinished": tmp_path / "kept" / "training.pt"}
            for _ in cuts:
                with pytest.raises(CutOff):
                    run(tmp_path / "parts", spec, flip, **kept)
                torch.rand(7)  # what came between must not matter
                assert not (tmp_path / "parts").exists()
            found, again = run(tmp_path / "parts", spec, flip, **kept)
            assert found == whole
            assert (
                again["curve"] == record["curve"]
                and again["best_dev_loss"] == record["best_dev_loss"]
            )


def test_one_that_had_ended_but_for_the_saving_only_saves(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    kept = tmp_path / "training.pt"
    for spec, flip in ((SHORT, False), (SHORT.changed(epochs=30, patience=2), True)):
        whole, _ = run(tmp_path / "first", spec, flip, unfinished=kept)
        again, _ = run(
            tmp_path / "second", spec, flip, unfinished=kept, notify=cut_off_at(*range(1, 999))
        )
        assert again == whole
        kept.unlink()


def test_it_is_kept_now_and_then(tmp_path, monkeypatch):
    for seconds in (1e9, 0.0):
        monkeypatch.setattr(unfinished, "KEEP_EVERY", seconds)
        run(tmp_path / f"{seconds}", SHORT.changed(epochs=1), unfinished=tmp_path / "training.pt")
        assert (tmp_path / "training.pt").exists() == (seconds == 0)
    assert not list(tmp_path.glob(".*"))


def test_what_it_took_stands_beside_it_and_adds_up(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    kept = tmp_path / "training.pt"
    assert seconds_of(kept) == 0
    with pytest.raises(CutOff):
        run(tmp_path / "parts", SHORT, notify=cut_off_at(5), unfinished=kept)
    before = seconds_of(kept)
    assert before > 0
    start = time.process_time()
    _, record = run(tmp_path / "parts", SHORT, unfinished=kept)
    assert before < seconds_of(kept) <= before + time.process_time() - start
    assert record["seconds"] > 0
