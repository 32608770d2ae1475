"""What a classifier is and how it is read, in rows of words for people: `attreval check`."""

from __future__ import annotations

from typing import Any

from torch import nn

from attreval.core.alignment import fill_ids
from attreval.models.checks import PROBES, compare_readings
from attreval.models.class_names import are_placeholders
from attreval.models.label_words import Prompt
from attreval.models.questions.head_importance import class_layers
from attreval.models.transformer import Transformer
from attreval.models.words.classifier import WordClassifier

_NEEDED_FOR = {
    "embeddings": "gradients by word embeddings",
    "entry": "vectors that enter the network (soft erasure)",
    "bias": "numbers added to attention scores (soft erasure by attention)",
    "attention": "attention weights",
    "first token": "attention of the first token",
    "summary": "attention from layer to layer (attention rollout)",
    "layers": "layers run again alone (value zeroing)",
    "deeplift": "DeepLIFT by captum",
    "complete deeplift": "DeepLIFT by the rescale rule in every layer",
    "lrp": "layer-wise relevance propagation",
}


def examine_model(model: Transformer | WordClassifier) -> list[tuple[str, str]]:
    """(what, how it is) of a loaded classifier: a `Transformer` or a word-level model."""
    rows = [("model", model.name), ("classes", _classes(model.labels))]
    if not isinstance(model, Transformer):
        return [
            *rows,
            ("architecture", f"{model.sizes.architecture}, word-level"),
            ("vocabulary", f"{len(model.vocabulary)} words"),
            ("metrics erase to", "padding, a zero vector"),
            ("reads at most", f"{model.max_length} words"),
        ]
    network, tokenizer = model.network, model.tokenizer
    pad, mask = fill_ids(tokenizer)
    own = tokenizer.mask_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    parameters = sum(weight.numel() for weight in network.parameters())
    rows += [
        ("architecture", f"{type(network).__name__}, {model.layers} layers, {parameters / 1e6:.1f} million weights"),
        *([("label words", _label_words(model.prompt))] if model.prompt else [("head", _head(network))]),
        ("tokenizer", f"{type(tokenizer).__name__}, {len(tokenizer)} tokens, which say the characters they cover"),
        ("padding", _fill(tokenizer, pad, tokenizer.pad_token_id, "padding")),
        ("methods erase to", _fill(tokenizer, mask, tokenizer.mask_token_id, "mask")),
        ("metrics erase to", _fill(tokenizer, pad, own, "padding or mask")),
        ("reads at most", f"{model.max_length} tokens"),
    ]
    for way, read in compare_readings(model).items():
        rows.append((f"logits by {way}", read.failure or f"differ by {read.difference:.1e} from transformers' own"))
    for need in PROBES:
        rows.append((_NEEDED_FOR[need], model.refusal(need) or "yes"))
    return rows


def _classes(labels: tuple[str, ...]) -> str:
    """Their names, and whether they are names."""
    unnamed = " (numbered, not named: see id2label in config.json)" if are_placeholders(labels) else ""
    return f"{len(labels)}: {', '.join(labels)}{unnamed}"


def _label_words(prompt: Prompt) -> str:
    """What a language model is asked."""
    read = "their logits" if prompt.single else "sums of log probabilities, since some are of several tokens"
    place = f"{'a chat in which the user says ' if prompt.chat else ''}{prompt.template!r}"
    return f"{', '.join(f'{name}: {word!r}' for name, word in prompt.words.items())}, {read}, behind {place}"


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
