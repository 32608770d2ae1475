"""Notebook 02: train the model of one task, and say how well it does on test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from sklearn.metrics import confusion_matrix

from attreval.core.records import Instance
from attreval.models.folders import name_classes
from attreval.models.loading import load_classifier, new_classifier
from attreval.models.placing import pick_precision
from attreval.models.training import measure_performance, save_whole, train
from attreval.models.transformer import Transformer, input_vectors
from attreval.models.words.classifier import WordClassifier
from attreval.models.words.vocabulary import WordVectors, read_glove, read_vectors
from compendium import corpora
from compendium.config import Profile, Run, TaskSpec, TrainingSpec
from compendium.config.sections import AlsoTrain
from compendium.papers.common.style import use_style
from compendium.papers.common.tables import mean_low_high, spell
from compendium.workflow.step import Step

Network = Transformer | WordClassifier


@dataclass(frozen=True)
class Trained:
    """curve: one row a check on dev.

    accuracy: one row, with its interval. confusion: gold by predicted counts.
    """

    curve: pd.DataFrame
    accuracy: pd.DataFrame
    confusion: pd.DataFrame


def train_and_test(step: Step) -> Trained:
    """Train as the profile says, save, and evaluate on test.

    The weights are taken as they are where train_rows is 0.
    """
    given = step.parameters
    profile = step.profile
    run = given.run()
    labels = corpora.TASKS[given.task].labels
    folder = step.results.model(*run)
    train_rows = 0  # a corpus may hold fewer than is asked for
    if profile.task_of(given.task, given.model).train_rows:
        weights = profile.models[given.model].weights or "from scratch"
        model, train_rows, curve = train_new(
            profile,
            run,
            ("model", *run),
            folder,
            about={"task": given.task, "weights": weights},
            notify=step.progress("training"),
            unfinished=step.parts([("training",)], of_models=False)[0],
        )
    else:
        model, curve = _copy_trained(step, labels, folder)
    step.files.append(folder / "model.safetensors")
    tested = measure_accuracy(model, profile, run, run, step.progress("testing"))
    row = {"task": given.task, "model": given.model, "seed": given.seed, "train_rows": train_rows}
    accuracy = pd.DataFrame([row | tested.row | {"precision": tested.precision}])
    return Trained(curve, accuracy, confusion_table(tested.gold, tested.predicted, labels))


def train_new(
    profile: Profile, run: Run, names: tuple, folder: Path, **how: Any
) -> tuple[Network, int, pd.DataFrame]:
    """Train the model of a run into a folder: it, how many instances, and its training curve.

    names: what its seed derives from; how: what else `train` takes.
    """
    task, model, _ = run
    spec = profile.task_of(task, model)
    instances = training_set(task, spec)
    dev = corpora.load_task(task, "dev", spec.dev_rows)
    training = profile.training_of(task, model)
    network, curve = train_on(profile, task, model, names, instances, dev, training, folder, **how)
    return network, len(instances), curve


def train_on(
    profile: Profile,
    task: str,
    model: str,
    names: tuple,
    instances: list[Instance],
    dev: list[Instance],
    training: TrainingSpec,
    folder: Path,
    **how: Any,
) -> tuple[Network, pd.DataFrame]:
    """Train a model on these instances, chosen by dev: it, and its training curve."""
    network = new_classifier(
        profile.models[model],
        corpora.TASKS[task].labels,
        names,
        instances,
        model,
        profile.device,
        resolve=corpora.resolve_weights,
        vectors=load_vectors,
    )
    curve = train(network, instances, dev, training, folder, names, **how)
    return network, pd.DataFrame(curve)


@dataclass(frozen=True)
class Tested:
    """A model on test.

    row: how many instances were tested, accuracy with its interval, macro F1, the share of the
    largest class.
    """

    row: dict[str, float]
    gold: np.ndarray
    predicted: np.ndarray
    precision: str


def measure_accuracy(
    model: Network, profile: Profile, run: Run, names: tuple, show: Callable | None = None
) -> Tested:
    """Test a run's model. names: what the draws of the interval derive from.

    show: is told how far it has come.
    """
    test = corpora.load_task(run[0], "test", profile.task_of(*run[:2]).test_rows)
    precision = pick_precision(profile.training_of(*run[:2]).precision, model.device)
    tested = measure_performance(model, test, precision, show and running_total(show, len(test)))
    accuracy, low, high = mean_low_high(tested.correct, profile.bootstrap, "accuracy", *names)
    gold = np.array([instance.label for instance in test])
    row = {
        "test_rows": len(test),
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "macro_f1": tested.macro_f1,
        "majority": np.bincount(gold).max() / len(gold),
    }
    return Tested(row, gold, tested.predicted, precision)


def load_vectors(name: str, vocabulary: Sequence[str]) -> WordVectors:
    """The vectors that `embeddings` names, for a vocabulary: of the registry, or a text file."""
    if name == "glove":
        return read_glove(*corpora.glove())
    if name in corpora.WEIGHTS:
        return input_vectors(corpora.resolve_weights(name))
    return read_vectors(corpora.vectors_file(name), vocabulary)


def _copy_trained(
    step: Step, labels: tuple[str, ...], folder: Path
) -> tuple[Network, pd.DataFrame]:
    """Copy a trained classifier into the results; no curve.

    Merely numbered classes are named as the profile says.
    """
    given = step.parameters
    profile = step.profile
    origin = profile.models[given.model]
    weights = origin.weights or ""
    source = corpora.resolve_weights(weights)
    model = load_classifier(source, given.model, profile.device, origin.max_length)
    if origin.labels:
        named = dict(enumerate(name_classes(model.labels, origin.labels, weights)))
        numbers = {name: number for number, name in named.items()}
        model.network.config.update({"id2label": named, "label2id": numbers})
    save_whole(model, folder)
    loaded = load_classifier(folder, given.model, profile.device, origin.max_length, labels)
    return loaded, pd.DataFrame(columns=spell("step epoch train_loss dev_loss dev_accuracy"))


def training_set(task: str, spec: TaskSpec) -> list[Instance]:
    """The train instances of a task, and those that it also trains on, shortened."""
    instances = list(corpora.load_task(task, "train", spec.train_rows))
    for other, more in spec.also_train.items():
        for instance in corpora.load_task(other, "train", more.rows):
            instances += shortened(instance, more)
    return instances


def shortened(instance: Instance, more: AlsoTrain) -> list[Instance]:
    """What a profile makes of an instance; nothing of one without marks, if asked for."""
    if more.last_words is not None:
        return [last_words(instance, more.last_words)]
    if not instance.evidence.marks.any():
        return []
    return [around_marks(instance, words) for words in more.around_marks]


def last_words(instance: Instance, words: int) -> Instance:
    """The last words of an instance of one segment."""
    kept = instance.words[-words:]
    start = kept[0][1]
    text = instance.segments[0][start:]
    return Instance(instance.id, (text,), instance.label, kept - [0, start, start], instance.split)


def around_marks(instance: Instance, words: int) -> Instance:
    """The words of an instance that anybody marked, and so many on either side of each.

    Other segments stay whole.

    What is left out between two words leaves a space. Where only other segments are marked, the
    first keeps its start.
    """
    here = instance.words[:, 0] == 0
    marked = np.flatnonzero((instance.evidence.marks > 0).any(axis=0) & here)
    centres = marked if len(marked) else np.zeros(1, int)
    distances = np.abs(np.arange(len(here))[:, None] - centres)
    near = distances.min(axis=1) <= words
    segment = instance.segments[0]
    text = ""
    places = []
    last = None
    for at in np.flatnonzero(near & here):
        start, end = instance.words[at, 1:]
        if last is not None:
            text += segment[last:start] if at and near[at - 1] else " "
        places.append((0, len(text), len(text) + end - start))
        text += segment[start:end]
        last = end
    kept = np.concatenate([np.array(places), instance.words[~here]])
    return Instance(
        instance.id, (text, *instance.segments[1:]), instance.label, kept, instance.split
    )


def confusion_table(
    gold: np.ndarray, predicted: np.ndarray, labels: tuple[str, ...]
) -> pd.DataFrame:
    """Counts of gold (rows) by predicted (columns) labels."""
    counts = confusion_matrix(gold, predicted, labels=range(len(labels)))
    table = pd.DataFrame(counts, labels, labels)
    return table.rename_axis(index="gold", columns="predicted")


def running_total(show: Callable, of: int) -> Callable[[int], None]:
    """A callback for how many are newly done, of one for how many are done in all."""
    done = 0

    def add(new: int) -> None:
        nonlocal done
        done += new
        show(done, of)

    return add


def draw_training(curve: pd.DataFrame) -> Axes:
    """Loss on train and dev, and accuracy on dev, by epoch. curve: one row a check."""
    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    left.plot(curve.epoch, curve.train_loss, marker="o", label="train")
    left.plot(curve.epoch, curve.dev_loss, marker="s", linestyle="--", label="dev")
    left.set(xlabel="epoch", ylabel="cross-entropy")
    left.legend()
    right.plot(curve.epoch, curve.dev_accuracy, marker="s", color="C1", linestyle="--")
    right.set(xlabel="epoch", ylabel="accuracy on dev")
    figure.tight_layout()
    return left
