"""Making or loading a classifier, whatever its architecture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attreval.core.records import Instance
from attreval.models.folders import find_model
from attreval.models.transformer import Transformer, load_transformer, new_transformer
from attreval.models.words.classifier import DESCRIPTION, WordClassifier, load_word_classifier, new_word_classifier


def load_classifier(
    folder: Path | str, name: str = "", device: str = "auto", max_length: int = 128, labels: tuple[str, ...] = ()
) -> Transformer | WordClassifier:
    """Load a trained classifier: word-level where the folder says so, else a transformer. See `load_transformer`."""
    folder = find_model(folder)
    if isinstance(folder, Path) and (folder / DESCRIPTION).exists():
        return load_word_classifier(folder, name, device, max_length, labels)
    return load_transformer(folder, name, device, max_length, labels)


def new_classifier(
    spec: Any,
    labels: tuple[str, ...],
    names: Sequence[object],
    train_set: Sequence[Instance],
    name: str = "",
    device: str = "auto",
    resolve: Callable[[str], str] = str,
    vectors: Callable | None = None,
) -> Transformer | WordClassifier:
    """A classifier to be trained, as spec (config.ModelSpec) says.

    train_set: gives a word-level model its vocabulary. resolve: see `new_transformer`. vectors: see
    `new_word_classifier`.
    """
    if spec.architecture in ("transformer", "encoder_decoder"):
        return new_transformer(spec, labels, names, name, device, resolve)
    return new_word_classifier(spec, labels, names, train_set, name, device, vectors)
