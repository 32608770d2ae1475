"""Making or loading a classifier of any architecture, and saying what it is and how it is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from attreval.core.alignment import fill_ids
from attreval.core.records import Instance
from attreval.models.checks import PROBES, check_readings, compare_readings
from attreval.models.erasing import name_erasing
from attreval.models.folders import are_placeholders, find_model, open_network, open_tokenizer
from attreval.models.forward import longest_text
from attreval.models.label_words import Prompt, read_prompt
from attreval.models.outputs import OUTPUTS, Outputs, outputs_of
from attreval.models.placing import freeze, pick_device
from attreval.models.questions.inside import class_layers
from attreval.models.transformer import (
    Transformer,
    load_transformer,
    new_transformer,
    silence_progress_bars,
)
from attreval.models.words.classifier import (
    DESCRIPTION,
    WordClassifier,
    load_word_classifier,
    new_word_classifier,
)


def load_classifier(
    folder: Path | str,
    name: str = "",
    device: str = "auto",
    max_length: int = 128,
    labels: tuple[str, ...] = (),
    erase: str | None = None,
    outputs: Outputs | None = None,
) -> Transformer | WordClassifier:
    """Load a trained classifier: word-level where the folder says so, else a transformer.

    Args:
        folder, name, device, max_length, labels, erase, outputs: See `load_transformer`.

    Raises:
        ValueError: A word-level classifier is asked for other outputs than classes, or told what it
            erases to, which is padding.
    """
    folder = find_model(folder)
    if isinstance(folder, Path) and (folder / DESCRIPTION).exists():
        if outputs not in (None, "classes"):
            raise ValueError(f"{folder} is a word-level classifier: its outputs are classes")
        if erase is not None:
            raise ValueError(f"erase={erase!r}: words of a word-level classifier become padding")
        return load_word_classifier(folder, name, device, max_length, labels)
    return load_transformer(folder, name, device, max_length, labels, erase, outputs)


def load_language_model(
    folder: Path | str,
    template: str,
    words: Mapping[str, str],
    chat: bool = False,
    device: str = "auto",
    max_length: int = 128,
    erase: str | None = None,
) -> Transformer:
    """Load a causal language model as a classifier, checked against its next-token logits.

    Args:
        folder: A folder, or a hub name.
        template, words, chat, erase: See `attreval.load`.
        device: Where it computes.
        max_length: Tokens that are read of a text, beside the template.

    Raises:
        ValueError: As `label_words.read_prompt`, and for a template that leaves no room for a text.
        OSError: As `load_transformer`.
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
            f"template and label words take {prompt.room} of the {positions} tokens that "
            f"{folder} reads; a text needs 3: shorten the template"
        )
    network = freeze(network).to(pick_device(device))
    longest = min(max_length, positions - prompt.room)
    model = Transformer(
        str(folder),
        network,
        tokenizer,
        tuple(words),
        longest,
        prompt=prompt,
        score="log_probability",
    )
    try:
        model.refusals.update(check_readings(model))
    except ValueError:  # does it go on from kept keys and values in another way?
        model.prompt = replace(prompt, kept=None)
        model.refusals.update(check_readings(model))
    name_erasing(model, erase)
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
    """A classifier to be trained.

    Args:
        spec: config.ModelSpec.
        labels: Class names.
        names: What the seeds of fresh weights derive from.
        train_set: Gives the vocabulary where words are read.
        name: Of the model.
        device: Where it computes.
        resolve: See `new_transformer`.
        vectors: See `new_word_classifier`.
    """
    transformer = spec.architecture in ("transformer", "encoder_decoder")
    new = new_transformer if transformer else new_word_classifier
    return new(spec, labels, names, train_set, name, device, vectors, resolve)


def examine_model(model: Transformer | WordClassifier) -> dict[str, str]:
    """What is known of a loaded classifier, by name."""
    rows = {"model": model.name, **_outputs(model)}
    rows["computes in"] = "float32, whatever precision its weights are stored in"
    if not isinstance(model, Transformer):
        rows["architecture"] = f"{model.sizes.architecture}, word-level"
        cut = "pieces of words" if model.tokenizer else "words"
        rows["vocabulary"] = f"{len(model.vocabulary)} {cut}"
        rows["metrics erase to"] = "padding, a zero vector"
        rows["reads at most"] = f"{model.max_length} words"
        return rows
    network = model.network
    tokenizer = model.tokenizer
    pad, mask = fill_ids(tokenizer)
    own = tokenizer.mask_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    kind = type(network).__name__
    millions = sum(weight.numel() for weight in network.parameters()) / 1e6
    rows["architecture"] = f"{kind}, {model.layers} layers, {millions:.1f} million weights"
    if model.prompt:
        rows["label words"] = _label_words(model.prompt)
    else:
        rows["head"] = _head(network)
    kind = type(tokenizer).__name__
    rows["tokenizer"] = f"{kind}, {len(tokenizer)} tokens, which say the characters they cover"
    rows["padding"] = _fill(tokenizer, pad, tokenizer.pad_token_id, "padding")
    if model.erasing is None:
        rows["methods erase to"] = _fill(tokenizer, mask, tokenizer.mask_token_id, "mask")
        rows["metrics erase to"] = _fill(tokenizer, pad, own, "padding or mask")
    else:
        rows["tokens are erased to"] = _erasing(model)
    rows["reads at most"] = f"{model.max_length} tokens"
    for way, read in compare_readings(model).items():
        differ = f"differ by {read.difference:.1e} from transformers' own"
        rows[f"logits by {way}"] = read.failure or differ
    for need, probe in PROBES.items():
        rows[probe.said] = model.refusal(need) or "yes"
    return rows


def _outputs(model: Any) -> dict[str, str]:
    """A model's classes, or its other outputs and how they are read."""
    outputs = outputs_of(model)
    names = f"{len(model.labels)}: {', '.join(model.labels)}"
    if are_placeholders(model.labels):
        names += " (numbered, not named: see id2label in config.json)"
    if outputs == "classes":
        return {"classes": names}
    problem = getattr(model.network.config, "problem_type", None)
    why = f"problem_type {problem} in config.json"
    if not problem:
        why = "config.json does not say it: --outputs independent or value"
    return {"outputs": f"{names}; read as {OUTPUTS[outputs]} ({why})"}


def _erasing(model: Transformer) -> str:
    """The token that erased ones become, and how far others are from leaving tokens out."""
    names = model.tokenizer.convert_ids_to_tokens
    said = repr(names(model.erasing))
    if model.distances:
        apart = sorted(model.distances.items(), key=lambda one: one[1])
        tried = ", ".join(f"{names(token)!r} {distance:.2f}" for token, distance in apart)
        said += f", nearest to leaving tokens out (mean difference of class scores: {tried})"
    return said


def _label_words(prompt: Prompt) -> str:
    """What a language model is asked."""
    read = "their log probabilities among them"
    if not prompt.single:
        read = "log probabilities among them, of sums where a label is of several tokens"
    place = f"{'a chat in which the user says ' if prompt.chat else ''}{prompt.template!r}"
    words = ", ".join(f"{name}: {word!r}" for name, word in prompt.words.items())
    return f"{words}, {read}, behind {place}"


def _head(network: nn.Module) -> str:
    """What is known of the classification head."""
    try:
        first, last = class_layers(network)
    except ValueError as error:
        return str(error)
    return f"two linear layers, {first.in_features} to {first.out_features} to {last.out_features}"


def _fill(tokenizer: Any, used: int, own: int | None, what: str) -> str:
    """The token that is used, and whether it is the tokenizer's own."""
    token = repr(tokenizer.convert_ids_to_tokens(used))
    return token if own is not None else f"{token}, since the tokenizer has no {what} token"
