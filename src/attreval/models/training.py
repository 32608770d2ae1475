"""Training of a classifier: seeded, early-stopped on dev, best checkpoint kept.

Texts to learn from can be masked uniformly at random (Madsen et al. 2024), so that what erasure
makes of a text is no news: of half of each batch a share is drawn uniformly between 0 and 1 for
each text, and each content token becomes the mask token with that probability, so that any number
of masked ones is equally likely. Special tokens stay.
"""

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from attreval import __version__
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import Rng, generator, seed_of
from attreval.core.tables import part_of, write_json
from attreval.models.placing import freeze, pick_precision
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer
from attreval.models.unfinished import Changing, SoFar
from attreval.models.words.classifier import WordClassifier

Model = Transformer | WordClassifier


def mask_share(tokens: Tokens, rng: Rng) -> Tokens:
    """A text with a uniformly drawn share of its content tokens replaced by the mask token."""
    share = rng.random()
    gone = ~tokens.special & (rng.random(len(tokens)) < share)
    return replace(tokens, ids=np.where(gone, tokens.mask_id, tokens.ids))


def mask_half(batch: Sequence[Tokens], rng: Rng) -> list[Tokens]:
    """A batch in its order with half of its texts, drawn at random, masked.

    Of an odd number it is one more or one less.
    """
    half = (len(batch) + rng.integers(2)) // 2
    chosen = rng.permutation(len(batch))[:half]
    return [mask_share(tokens, rng) if at in chosen else tokens for at, tokens in enumerate(batch)]


@dataclass(frozen=True)
class Prepared:
    """An instance that is already tokens, such as a text shown with an explanation."""

    id: str
    label: int
    tokens: Tokens


@dataclass(frozen=True)
class Performance:
    """How well a model does on a split.

    Attributes:
        loss: Mean cross entropy.
        accuracy, macro_f1: Of the predicted classes.
        predicted: (n,) classes.
        correct: (n,) bool.
    """

    loss: float
    accuracy: float
    macro_f1: float
    predicted: np.ndarray
    correct: np.ndarray


def as_tokens(model: Model, one: Instance | Prepared) -> Tokens:
    """The tokens of an instance."""
    return one.tokens if isinstance(one, Prepared) else model.tokens(one)


def masked_copies(
    model: Model, instances: Sequence[Instance | Prepared], *names: object
) -> list[Prepared]:
    """Each instance with a uniformly drawn share of its tokens masked.

    Args:
        model: Reads the instances.
        instances: The texts.
        names: What the draws derive from, together with a text's id.
    """
    found = []
    for one in instances:
        tokens = mask_share(as_tokens(model, one), generator("masked", *names, one.id))
        found.append(Prepared(one.id, one.label, tokens))
    return found


def check_labels(instances: Sequence[Instance | Prepared], labels: Sequence[str]) -> None:
    """Refuse a label outside the task's set.

    Raises:
        ValueError: Names the instance, its label and the classes there are.
    """
    for instance in instances:
        if not 0 <= instance.label < len(labels):
            there = ", ".join(f"{k} {name}" for k, name in enumerate(labels))
            raise ValueError(
                f"instance {instance.id!r} has label {instance.label}; the model has "
                f"{len(labels)} classes: {there}"
            )


def measure_performance(
    model: Model,
    instances: Sequence[Instance | Prepared],
    precision: str = "float32",
    notify: Callable[[int], None] | None = None,
) -> Performance:
    """Loss, accuracy and macro F1 of a model on labelled instances.

    Args:
        model: The classifier.
        instances: With labels.
        precision: Of the logits.
        notify: Called with the number of evaluations just made.

    Raises:
        ValueError: As `check_labels`.
    """
    check_labels(instances, model.labels)
    gold = np.array([one.label for one in instances])
    tokens = [as_tokens(model, one) for one in instances]
    rows = [(one.ids, one.segments) for one in tokens]
    logits = Scorer(model, notify=notify).logits(rows, precision)
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    predicted = logits.argmax(axis=1)
    correct = predicted == gold
    return Performance(
        loss=float(-log_p[np.arange(len(gold)), gold].mean()),
        accuracy=float(correct.mean()),
        macro_f1=float(f1_score(gold, predicted, average="macro")),
        predicted=predicted,
        correct=correct,
    )


def batches(lengths: np.ndarray, batch_rows: int, rng: Rng, window: int = 50) -> list[np.ndarray]:
    """Shuffled batches of rows of like length.

    Args:
        lengths: Of the rows.
        batch_rows: Rows in a batch.
        rng: Shuffles.
        window: Rows are sorted by length inside windows of so many batches.
    """
    order = rng.permutation(len(lengths))
    out = []
    for begin in range(0, len(order), window * batch_rows):
        part = order[begin : begin + window * batch_rows]
        part = part[np.argsort(lengths[part], kind="stable")]
        out += [part[i : i + batch_rows] for i in range(0, len(part), batch_rows)]
    return [out[i] for i in rng.permutation(len(out))]


def freeze_lowest(network: nn.Module, count: int | None) -> None:
    """Freeze the embeddings and the lowest layers of an encoder or decoder, dropout included.

    Args:
        network: The encoder, or a decoder such as Llama.
        count: How many layers; None freezes nothing.

    Raises:
        ValueError: The network has no such layers, or fewer.
    """
    if count is None:
        return
    base = getattr(network, "base_model", network)
    layers = next((m for m in base.modules() if isinstance(m, nn.ModuleList)), ())
    embeddings = getattr(base, "embeddings", None) or getattr(base, "embed_tokens", None)
    if embeddings is None or len(layers) != getattr(network.config, "num_hidden_layers", 0):
        raise ValueError(
            "frozen_layers is for encoders and decoders (BERT, Llama and their like); "
            f"{type(network).__name__} is none"
        )
    if count > len(layers):
        raise ValueError(
            f"frozen_layers is {count}; {type(network).__name__} has {len(layers)} layers"
        )
    for part in (embeddings, *layers[:count]):
        freeze(part)


def _parameter_groups(network: nn.Module, spec: Any) -> list[dict]:
    """What AdamW is given: no decay of biases and norms, the head at its own rate if any.

    The head is what lies outside a pretrained encoder (`base_model_prefix`), or the output layer of
    a word-level model.
    """
    prefix = getattr(network, "base_model_prefix", "")
    groups: dict[tuple[bool, bool], list] = {(False, False): [], (True, False): []}
    for name, parameter in network.named_parameters():
        head = not name.startswith(f"{prefix}.") if prefix else name.startswith("output.")
        head = head and spec.head_learning_rate is not None
        plain = name.endswith("bias") or "LayerNorm" in name
        groups.setdefault((plain, head), []).append(parameter)
    found = []
    for (plain, head), parameters in groups.items():
        group = {"params": parameters, "weight_decay": 0.0 if plain else spec.weight_decay}
        if head:
            group["lr"] = spec.head_learning_rate
        found.append(group)
    return found


def _plan_steps(network: nn.Module, spec: Any, total: int) -> tuple[Optimizer, LRScheduler | None]:
    """AdamW, and a warm-up and decay over `total` steps; no schedule where the rate is halved."""
    groups = _parameter_groups(network, spec)
    # fused, measured: a seventh of the time of the default on a processor
    optimizer = torch.optim.AdamW(groups, lr=spec.learning_rate, fused=True)
    if spec.schedule == "halving":
        return optimizer, None
    warm = max(1, round(spec.warmup * total))

    def share(step: int) -> float:
        left = min(1.0, max(0.0, (total - step) / max(1, total - warm)))
        if spec.schedule != "linear":
            left = (1 - math.cos(math.pi * left)) / 2
        return min((step + 1) / warm, left)

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def train(
    model: Model,
    train_set: Sequence[Instance | Prepared],
    dev_set: Sequence[Instance | Prepared],
    spec: Any,
    folder: Path,
    names: Sequence[object],
    about: dict | None = None,
    notify: Callable[[int, int, str], None] | None = None,
    unfinished: Path | None = None,
) -> list[dict]:
    """Train, keep the checkpoint that is best on dev, and return the training curve.

    What is checked and kept is the running average of the weights (decay spec.averaging, 0 for the
    weights themselves). Where spec.masked, half of each batch is masked (`mask_half`), and dev is
    read twice, as it is and masked.

    Args:
        model: The classifier; its weights are those of the best checkpoint in the end.
        train_set, dev_set: Labelled instances.
        spec: config.TrainingSpec.
        folder: Gets model.safetensors, the tokenizer, and training.json; it appears only when it is
            complete.
        names: What the seed derives from.
        about: Goes into training.json.
        notify: Called with (done, of, words).
        unfinished: A file; a training that was cut off goes on from it, to the same weights bit for
            bit.

    Raises:
        ValueError: There is no instance in a set, or a label is outside the task's.
        ArithmeticError: The training diverged.
    """
    check_labels([*train_set, *dev_set], model.labels)
    if not train_set or not dev_set:
        raise ValueError(
            f"training needs instances in train and dev; got {len(train_set)} and {len(dev_set)}"
        )
    torch.manual_seed(seed_of("train", *names))
    precision = pick_precision(spec.precision, model.device)
    network = model.network.train().requires_grad_(True)
    freeze_lowest(network, spec.frozen_layers)
    reader = replace(
        model, max_length=min(model.max_length, spec.tokens or model.max_length), copies={}
    )
    per_epoch = math.ceil(len(train_set) / spec.batch_rows)
    total = per_epoch * spec.epochs
    optimizer, schedule = _plan_steps(network, spec, total)
    averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(spec.averaging))
    kept = replace(reader, network=averaged.module, copies={})  # what is checked and saved
    check_every = math.ceil(per_epoch / spec.evaluations_per_epoch)
    masks = generator("masks", *names) if spec.masked else None
    checked = [*dev_set, *masked_copies(reader, dev_set, "dev", *names)] if spec.masked else dev_set
    changing = Changing(network, averaged, optimizer, schedule, masks)
    so_far = changing.take_up(unfinished)
    encoded = [as_tokens(reader, one) for one in train_set]
    stream = _stream(encoded, train_set, spec, masks, so_far.step, names)
    for step, (texts, labels) in enumerate(stream, start=so_far.step + 1):
        if so_far.stale >= spec.patience or _is_enough(so_far, spec):
            break
        so_far.losses.append(changing.take_step(model, texts, labels, spec.clip, precision))
        so_far.step = step
        if notify:
            notify(step, total, f"batches, loss {np.mean(so_far.losses[-50:]):.3f}")
        if step % check_every == 0 or step == total:
            _check(kept, checked, precision, spec, so_far, step / per_epoch, optimizer)
        changing.keep(unfinished, so_far)
    so_far.count()
    freeze(network)
    kept.network.load_state_dict(_best_weights(so_far, spec))
    record = _record(model, spec, names, so_far, precision) | {
        "train_rows": len(train_set),
        "dev_rows": len(dev_set),
        **(about or {}),
        "seconds": round(so_far.seconds, 1),
    }
    save_whole(replace(kept, max_length=model.max_length), folder, record)
    model.reload(folder)
    return so_far.curve


def _stream(
    encoded: Sequence[Tokens],
    instances: Sequence[Instance | Prepared],
    spec: Any,
    masks: Rng | None,
    done: int,
    names: Sequence[object],
) -> Iterator[tuple[list[Tokens], list[int]]]:
    """Texts and labels of every batch of a training, from the one behind the first `done` on."""
    rng = generator("batches", *names)
    lengths = np.array([len(tokens) for tokens in encoded])
    every = (rows for _ in range(spec.epochs) for rows in batches(lengths, spec.batch_rows, rng))
    for rows in islice(every, done, None):
        texts = [encoded[row] for row in rows]
        labels = [instances[row].label for row in rows]
        yield texts if masks is None else mask_half(texts, masks), labels


def _check(
    kept: Model,
    checked: Sequence[Instance | Prepared],
    precision: str,
    spec: Any,
    so_far: SoFar,
    epoch: float,
    optimizer: Optimizer,
) -> None:
    """Check what is kept on dev; `halving` halves the rate after checks without gain."""
    kept.network.eval()
    kept.copies.clear()  # they hold the weights of another step
    found = measure_performance(kept, checked, precision)
    better = so_far.check(found, spec.watch, epoch, kept.network)
    if not better and spec.schedule == "halving" and so_far.stale % spec.halve_after == 0:
        for group in optimizer.param_groups:
            group["lr"] /= 2


def _is_enough(so_far: SoFar, spec: Any) -> bool:
    """Whether the last check was as accurate as is asked for."""
    if spec.enough is None or not so_far.curve:
        return False
    return so_far.curve[-1]["dev_accuracy"] >= spec.enough


def _best_weights(so_far: SoFar, spec: Any) -> dict[str, torch.Tensor]:
    """The weights of the best check. ArithmeticError where none was worth keeping."""
    if so_far.weights is None:
        raise ArithmeticError(
            f"training diverged: the loss on dev was {so_far.curve[-1]['dev_loss']} at step "
            f"{so_far.step}, no checkpoint is worth keeping; lower training.learning_rate "
            f"({spec.learning_rate:g}) in the profile"
        )
    return so_far.weights


def _record(
    model: Model, spec: Any, names: Sequence[object], so_far: SoFar, precision: str
) -> dict:
    """What is written down of a training beside its weights."""
    return {
        "attreval": __version__,
        "torch": torch.__version__,
        "labels": list(model.labels),
        "names": [str(n) for n in names],
        "training": spec.model_dump(),
        "precision": precision,
        "device": model.device.type,
        "threads": torch.get_num_threads(),
        "best_dev_loss": so_far.best_loss,
        "curve": so_far.curve,
    }


def save_whole(model: Model, folder: Path, record: dict | None = None) -> None:
    """Write a model into a folder that appears only when it is complete.

    Args:
        model: The classifier.
        folder: Where to.
        record: Of its training.
    """
    part = part_of(folder)
    shutil.rmtree(part, ignore_errors=True)
    model.save(part)
    if record is not None:
        write_json(part / "training.json", record)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
