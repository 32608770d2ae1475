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
from reference import architectures, case, models
from safetensors.torch import load_file

from attreval.core.tables import seconds_of
from attreval.models import training, unfinished
from attreval.models.loading import new_classifier
from attreval.models.training import (
    _parameter_groups,
    batches,
    freeze_lowest,
    measure_performance,
    train,
)
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
        made = batches(np.array(lengths), rows, np.random.default_rng(seed), window)
        return [batch.tolist() for batch in made]

    made = draw(seed, window)
    assert sorted(itertools.chain(*made)) == list(range(len(lengths)))
    assert max(map(len, made)) <= rows
    if len(lengths) > max(20, 2 * rows):  # of few texts two seeds may well make the same
        assert made != draw(seed + 1, window)
    spreads = []
    for batch in draw(seed, len(lengths)):
        inside = [lengths[i] for i in batch]
        spreads.append((min(inside), max(inside)))
    assert all(high <= low for (_, high), (low, _) in itertools.pairwise(sorted(spreads)))
    assert len(made) <= -(-len(lengths) // rows) + len(lengths) // (rows * window)


def train_toy(folder, spec, texts=24, dev=8, names=("toy", 1), flip=False, model=None, **more):
    """(model, curve) of a training on toy texts; flip: dev teaches the opposite."""
    model = model or models.untrained_model()
    sets = (models.toy(texts), models.toy(dev, 1, flip=flip))
    return model, train(model, *sets, spec, folder, names, **more)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(model, folder, curve) of one training."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    heard = []
    more = {"about": {"task": "toy"}, "notify": lambda *said: heard.append(said[:2])}
    model, curve = train_toy(folder, SPEC, 128, 24, **more)
    assert heard == [(i, 64) for i in range(1, 65)]
    return model, folder, curve


def test_a_learnable_task_is_learnt_recorded_and_ready_to_be_asked(trained):
    model, folder, curve = trained
    assert measure_performance(models.untrained_model(), models.toy(40, 2)).accuracy < 0.8
    found = measure_performance(model, models.toy(40, 2))
    assert found.accuracy > 0.9 and found.macro_f1 > 0.9
    assert curve[-1]["train_loss"] < curve[0]["train_loss"]
    assert [round(c["epoch"], 3) for c in curve] == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    best = min(c["dev_loss"] for c in curve)
    wanted = {
        "curve": curve,
        "task": "toy",
        "best_dev_loss": best,
        "names": ["toy", "1"],
        "labels": ["bad", "good"],
        "train_rows": 128,
        "dev_rows": 24,
        "training": SPEC.model_dump(),
        "precision": "float32",
    }
    assert wanted.items() <= json.loads((folder / "training.json").read_text()).items()
    assert [p.name for p in folder.parent.iterdir()] == ["model"]
    assert not model.network.training and not model.copies
    assert not any(p.requires_grad for p in model.network.parameters())
    for one in (model, load_transformer(folder, device="cpu")):
        assert measure_performance(one, models.toy(24, 1)).loss == pytest.approx(best, abs=1e-6)


def test_the_same_seed_gives_the_same_weights_and_replaces_an_older_model(tmp_path):
    found = []
    for seed in (2, 1, 1):
        train_toy(tmp_path / "m", SPEC.changed(epochs=1), names=("toy", seed))
        found.append((tmp_path / "m" / "model.safetensors").read_bytes())
    assert found[0] != found[1] == found[2]


def test_early_stopping_keeps_the_best_and_stops(tmp_path):
    """The dev set teaches the opposite, so the first check is the best one."""
    spec = SPEC.changed(epochs=30, patience=2)
    model, curve = train_toy(tmp_path / "model", spec, 128, 24, flip=True)
    losses = [c["dev_loss"] for c in curve]
    best = int(np.argmin(losses))
    assert best == len(losses) - 3 and curve[-1]["epoch"] < 15
    found = measure_performance(model, models.toy(24, 1, flip=True))
    assert found.loss == pytest.approx(losses[best], abs=1e-6)


def test_checks_on_dev_see_the_weights_of_their_step(tmp_path):
    """A copy in the faster precision, made before training, must not answer for the trained
    weights.
    """
    spec = SPEC.changed(precision="bfloat16", epochs=1)
    dev = models.toy(24, 1)
    model = models.untrained_model()
    before = measure_performance(model, dev, "bfloat16").loss
    _, curve = train_toy(tmp_path / "model", spec, 128, 24, model=model)
    losses = [c["dev_loss"] for c in curve]
    assert measure_performance(model, dev, "bfloat16").loss == pytest.approx(min(losses), abs=1e-3)
    # nor that of an earlier check for a later one
    assert len({before, *losses}) == 3


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_training_that_diverges_is_an_error_and_leaves_no_model(tmp_path):
    with pytest.raises(ArithmeticError, match="training diverged"):
        train_toy(tmp_path / "model", SPEC.changed(learning_rate=1e30, epochs=1))
    assert not (tmp_path / "model").exists()


def test_training_needs_rows_and_known_labels(tmp_path):
    known = models.toy(4)
    unknown = [replace(models.toy(1)[0], label=2)]
    for wrong, said in (([], "needs instances"), (unknown, "label 2; the model has 2 classes")):
        for sets in ((wrong, known), (known, wrong)):
            with pytest.raises(ValueError, match=said):
                train(models.untrained_model(), *sets, SPEC, tmp_path / "model", ())
    assert not list(tmp_path.iterdir())


def test_the_running_average_is_what_is_kept(tmp_path):
    """With averaging the saved weights trail behind the last ones."""
    start = models.untrained_model().network.state_dict()
    moved = []
    for decay in (0.0, 0.9):
        train_toy(tmp_path / f"{decay}", SPEC.changed(epochs=1, averaging=decay))
        saved = load_file(tmp_path / f"{decay}" / "model.safetensors")
        moved.append(sum(float((saved[name] - start[name]).norm()) for name in saved))
    assert 0 < moved[1] < moved[0]


def steps_of(monkeypatch, spec, folder, model=None):
    """The rate of each group, and the norm of the gradient, at each step of a short training."""
    seen = []
    step = torch.optim.AdamW.step

    def watch(optimizer, *args, **more):
        groups = optimizer.param_groups
        slopes = [p.grad for g in groups for p in g["params"] if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(slopes)
        seen.append(([g["lr"] for g in groups], float(norm)))
        return step(optimizer, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", watch)
        train_toy(folder, spec, 48, model=model)
    return seen


def test_the_gradient_is_clipped_where_the_profile_says_so(tmp_path, monkeypatch):
    for clip in (1e-3, None):
        seen = steps_of(monkeypatch, SPEC.changed(epochs=1, clip=clip), tmp_path / f"{clip}")
        assert all(norm <= 1.001e-3 for _, norm in seen) == (clip is not None)


def small_words():
    spec = ModelSpec(architecture="cnn", hidden=4, embedding_size=4)
    return new_classifier(spec, "ab", (1,), models.toy(4), "w", "cpu")


def test_the_head_learns_at_its_own_rate(tmp_path, monkeypatch):
    model = models.untrained_model()
    groups = _parameter_groups(model.network, SPEC.changed(head_learning_rate=1.0))
    names = {id(p): name for name, p in model.network.named_parameters()}
    named = [(g, [names.pop(id(p)) for p in g["params"]]) for g in groups]
    assert not names  # each is in one group
    heads = [(g["weight_decay"], name) for g, own in named if g.get("lr") == 1.0 for name in own]
    assert heads == [(SPEC.weight_decay, "classifier.weight"), (0.0, "classifier.bias")]
    for group, own in named:
        for name in own:
            plain = "LayerNorm" in name or name.endswith("bias")
            assert (group["weight_decay"] == 0) == plain, name
    spec = SPEC.changed(epochs=1, learning_rate=1e-4, head_learning_rate=1e-3)
    for rates, _ in steps_of(monkeypatch, spec, tmp_path / "m", model):
        low, high = sorted(set(rates))
        assert high == pytest.approx(10 * low)  # both follow the schedule
    groups = _parameter_groups(small_words().network, SPEC.changed(head_learning_rate=1.0))
    # weight and bias of the output layer
    assert [len(g["params"]) for g in groups if g.get("lr") == 1.0] == [1, 1]


def test_the_rate_decays_along_a_line_or_a_cosine(tmp_path, monkeypatch):
    at = np.arange(12)
    left = np.minimum(1, (12 - at) / 9)
    for schedule, share in (("linear", left), ("cosine", (1 + np.cos(np.pi * (1 - left))) / 2)):
        spec = SPEC.changed(epochs=2, warmup=0.25, learning_rate=1e-4, schedule=schedule)
        seen = steps_of(monkeypatch, spec, tmp_path / schedule)
        found = [rates[0] / 1e-4 for rates, _ in seen]
        np.testing.assert_allclose(found, np.minimum((at + 1) / 3, share))


def test_frozen_layers_stay_as_they_were_pretrained(tmp_path):
    before = models.untrained_model().network.state_dict()
    nothing = "bert.encoder.layer.1.attention.self.key.bias"  # it moves all scores alike
    for count in (0, 1):
        model, _ = train_toy(tmp_path / "m", SPEC.changed(epochs=1, frozen_layers=count))
        parameters = dict(model.network.named_parameters())
        still = {name for name, p in parameters.items() if torch.equal(p, before[name])}
        lowest = ("bert.embeddings.", *(f"bert.encoder.layer.{layer}." for layer in range(count)))
        assert still - {nothing} == {name for name in parameters if name.startswith(lowest)}


def test_a_decoders_lowest_layers_freeze_with_its_embeddings(tmp_path):
    folder = architectures.save_tiny("llama", tmp_path / "llama")
    network = load_transformer(folder, device="cpu").network.requires_grad_(True)
    freeze_lowest(network, 1)
    still = {name for name, p in network.named_parameters() if not p.requires_grad}
    lowest = ("model.embed_tokens.", "model.layers.0.")
    assert still == {n for n, _ in network.named_parameters() if n.startswith(lowest)} != set()


def test_training_ends_where_it_is_accurate_enough(tmp_path, monkeypatch):
    accuracies = [0.5, 0.8, 0.7, 0.9, 1.0]

    def measure(*of):
        return training.Performance(0.5, accuracies[len(measured)], 0, None, None)

    measured = []
    check = unfinished.SoFar.check
    monkeypatch.setattr(training, "measure_performance", measure)
    monkeypatch.setattr(
        unfinished.SoFar, "check", lambda *given: measured.append(1) or check(*given)
    )
    spec = SPEC.changed(watch="accuracy", enough=0.85, epochs=3)
    _, curve = train_toy(tmp_path / "m", spec)
    assert [row["dev_accuracy"] for row in curve] == accuracies[:4]
    with pytest.raises(ValueError, match=r"`enough` is an accuracy.*watch: accuracy"):
        SPEC.changed(watch="loss", enough=0.85)


def test_frozen_layers_are_an_encoders(tmp_path):
    for model, count, said in ((small_words(), 1, "is none"), (None, 99, "has 2 layers")):
        with pytest.raises(ValueError, match=said):
            train_toy(tmp_path / "m", SPEC.changed(frozen_layers=count), model=model)


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
    model, _ = train_toy(folder, spec, 32, 16, flip=flip, **more)
    assert model.network.config.hidden_dropout_prob > 0
    record = json.loads((folder / "training.json").read_text())
    return (folder / "model.safetensors").read_bytes(), record


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
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    cuts = (1, 2, 5)  # before a check, at one (each second step), after another
    for change, settings in CHANGES.items():
        spec = SHORT.changed(**settings)
        flip = change == "stops early"
        parts = tmp_path / change
        kept = {"notify": cut_off_at(*cuts), "unfinished": tmp_path / f"{change}.pt"}
        with case(change):
            whole, record = run(tmp_path / "whole", spec, flip)
            for _ in cuts:
                with pytest.raises(CutOff):
                    run(parts, spec, flip, **kept)
                torch.rand(7)  # what came between must not matter
                assert not parts.exists()
            found, again = run(parts, spec, flip, **kept)
            assert found == whole and again["curve"] == record["curve"]
            assert again["best_dev_loss"] == record["best_dev_loss"]


def test_one_that_had_ended_but_for_the_saving_only_saves(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "KEEP_EVERY", 0.0)
    kept = tmp_path / "training.pt"
    at_once = cut_off_at(*range(1, 999))
    for spec, flip in ((SHORT, False), (SHORT.changed(epochs=30, patience=2), True)):
        whole, _ = run(tmp_path / "first", spec, flip, unfinished=kept)
        again, _ = run(tmp_path / "second", spec, flip, unfinished=kept, notify=at_once)
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
