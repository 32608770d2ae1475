"""Making or loading a classifier, whatever its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attreval.core.records import Instance
from attreval.models.checks import check_readings
from attreval.models.folders import find_model, open_network, open_tokenizer
from attreval.models.forward import longest_text
from attreval.models.label_words import read_prompt
from attreval.models.placing import freeze, pick_device
from attreval.models.transformer import Transformer, load_transformer, new_transformer, silence_progress_bars
from attreval.models.words.classifier import DESCRIPTION, WordClassifier, load_word_classifier, new_word_classifier


def load_classifier(
    folder: Path | str, name: str = "", device: str = "auto", max_length: int = 128, labels: tuple[str, ...] = ()
) -> Transformer | WordClassifier:
    """Load a trained classifier: word-level where the folder says so, else a transformer. See `load_transformer`."""
    folder = find_model(folder)
    if isinstance(folder, Path) and (folder / DESCRIPTION).exists():
        return load_word_classifier(folder, name, device, max_length, labels)
    return load_transformer(folder, name, device, max_length, labels)


def load_language_model(
    folder: Path | str,
    template: str,
    words: Mapping[str, str],
    chat: bool = False,
    name: str = "",
    device: str = "auto",
    max_length: int = 128,
) -> Transformer:
    """Load a causal language model as a classifier; it is checked against its own next-token logits.

    template, words, chat: see `attreval.load`. max_length: tokens that are read of a text, beside the template.
    Raises ValueError as `label_words.read_prompt` does and for a template that leaves no room for a text, and what
    `load_transformer` raises.
    """
    silence_progress_bars()
    folder = find_model(folder)
    network = open_network(folder, speaks=True)
    tokenizer = open_tokenizer(folder, network)
    cap = getattr(network.config, "final_logit_softcapping", None)
    prompt = read_prompt(tokenizer, template, words, chat, str(folder), cap)
    prompt.attach(network, str(folder))
    positions = min(longest_text(network) or max_length + prompt.room, tokenizer.model_max_length)
    if positions - prompt.room < 3:
        raise ValueError(
            f"template and label words take {prompt.room} of the {positions} tokens that {folder} reads; a text needs "
            "3: shorten the template"
        )
    network = freeze(network).to(pick_device(device))
    longest = min(max_length, positions - prompt.room)
    model = Transformer(name or str(folder), network, tokenizer, tuple(words), longest, prompt=prompt)
    model.refusals.update(check_readings(model))
    return model


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
