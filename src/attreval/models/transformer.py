"""A transformer classifier from a registry package, a local folder or a hub, and what it can be asked.

Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from attreval.core.alignment import tokenize
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import seed_of
from attreval.models import encoder_decoder
from attreval.models.captum_deeplift import deeplift
from attreval.models.questions import Rule
from attreval.models.transformer_hooks import AttentionWeights, changed_entry

_DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass
class Transformer:
    """A sequence classifier with its tokenizer.

    network: a Hugging Face sequence-classification model in evaluation mode, its weights frozen.
    labels: K class names in index order. order: (K,) where each of them stands in the network's output.
    """

    name: str
    network: torch.nn.Module
    tokenizer: object
    labels: tuple[str, ...]
    max_length: int
    order: list[int] | None = None
    family: str = "transformer"
    copies: dict[str, torch.nn.Module] = field(default_factory=dict, repr=False)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.network.parameters()).device

    @property
    def pad_id(self) -> int:
        """The id that fills rows up; it is masked, so any id does."""
        return self.tokenizer.pad_token_id or 0

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as this model reads it."""
        return tokenize(instance, self.tokenizer, self.max_length)

    def at(self, precision: str) -> torch.nn.Module:
        """The network in float64, float32 or bfloat16; copies are made once."""
        return in_precision(self.network, self.copies, precision)

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """Word embeddings, (B, L, D), of (B, L) ids; positions and types are added inside the model."""
        return self.at(precision).get_input_embeddings()(ids)

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        embeddings: Tensor | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """(B, K) logits of (B, L) ids, or of (B, L, D) word embeddings; mask 0 marks padding.

        entering: changes the (B, L, D) vectors that enter the encoder. bias: (B, 1, 1, L), added to attention scores.
        """
        network = self.at(precision)
        if network.config.is_encoder_decoder:
            if entering is not None or bias is not None:
                raise ValueError(
                    "soft erasure disturbs what enters an encoder; an encoder-decoder is not disturbed here"
                )
            vectors = network.get_input_embeddings()(ids) if embeddings is None else embeddings
            return self.ordered(encoder_decoder.classify(network, mask, vectors))
        inputs = {"input_ids": ids} if embeddings is None else {"inputs_embeds": embeddings}
        if getattr(network.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = segments
        if (first := _first_position(network)) is not None:
            inputs["position_ids"] = torch.arange(first, first + mask.shape[1], device=mask.device).expand(mask.shape)
        biased = nullcontext() if bias is None else AttentionWeights(self.layers, bias=bias)
        with changed_entry(network, entering), biased:
            return self.ordered(network(attention_mask=mask, **inputs).logits)

    def ordered(self, logits: Tensor) -> Tensor:
        """(B, K) logits with the classes as `labels` names them."""
        return logits if self.order is None else logits[:, self.order]

    def output_of(self, target: int) -> int:
        """Where a class of `labels` stands in the network's output."""
        return target if self.order is None else self.order[target]

    @property
    def longest(self) -> int:
        """How many tokens the network has positions for."""
        reserved = 2 if self.network.config.model_type in ("roberta", "xlm-roberta", "mpnet") else 0
        return getattr(self.network.config, "max_position_embeddings", self.max_length) - reserved

    @property
    def width(self) -> int:
        """D, of the vectors that enter the encoder: embeddings may be narrower than what the encoder makes of them."""
        return getattr(self.network.config, "embedding_size", None) or self.network.config.hidden_size

    def relevance(self, embeddings, mask, segments, targets, rule: Rule, where: str = "words") -> Tensor:
        """(B, L, D) relevance of word embeddings for (B,) target classes; only the rule of DeepLIFT, by captum."""
        if not rule.reference:
            raise ValueError("transformers know no LRP; DeepLIFT is the only rule for them")
        return deeplift(self, embeddings, mask, segments, targets, where)

    @property
    def layers(self) -> int:
        """How many layers the encoder has."""
        return self.network.config.num_hidden_layers

    def attend(
        self,
        ids: Tensor,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        wanted: Sequence[int] = (),
        factors: dict[int, Tensor] | None = None,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """(B, K) logits and, of each wanted encoder layer, the (B, H, L, L) attention weights that gradients reach.

        factors: layer -> (B, 1, 1, 1) numbers that its weights are multiplied by.
        """
        watch = AttentionWeights(self.layers, wanted, factors)
        with watch:
            logits = self.logits(ids, mask, segments, precision)
        return logits, watch.seen

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer into a folder."""
        self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def reload(self, folder: Path) -> None:
        """Take the weights that lie in a folder, frozen."""
        self.network = load_transformer(folder, device=self.device.type).network
        self.copies.clear()


def in_precision(network, copies: dict[str, torch.nn.Module], precision: str):
    """A network in a precision: itself where it has that, else a copy, made once and kept in `copies`."""
    dtype = _DTYPES[precision]
    if network.dtype == dtype:
        return network
    if precision not in copies:
        with torch.inference_mode(False):  # weights born in inference mode could never give a gradient
            copies[precision] = copy.deepcopy(network).to(dtype)
    return copies[precision]


def _first_position(network) -> int | None:
    """The position of the first token, where a model would count positions from ids and skip what equals its padding.

    RoBERTa and MPNet do; an erased token that becomes the padding id must not move the others. None for all others.
    `position_start` in the network's configuration replaces what the architecture expects.
    """
    embeddings = getattr(network.base_model, "embeddings", None)
    if not hasattr(embeddings, "create_position_ids_from_inputs_embeds"):
        return None
    given = getattr(network.config, "position_start", None)
    return embeddings.padding_idx + 1 if given is None else given


def silence_progress_bars() -> None:
    """No progress bars and loading reports in notebooks; errors stay."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def freeze(network: torch.nn.Module) -> torch.nn.Module:
    """Evaluation mode, no gradients to weights."""
    return network.eval().requires_grad_(False)


def pick_device(name: str = "auto") -> torch.device:
    """The device to use: `auto` is CUDA where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def pick_precision(name: str, device: torch.device) -> str:
    """The precision to use: `auto` is bfloat16 where the hardware multiplies it natively, else float32."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return "bfloat16" if torch.cpu._is_avx512_bf16_supported() else "float32"


def load_transformer(
    folder: Path | str, name: str = "", device: str = "auto", max_length: int = 128, labels: tuple[str, ...] = ()
) -> Transformer:
    """Load a trained classifier and its tokenizer from a folder, or from a hub by name.

    labels: the class names wanted, in the order wanted; the network's own where empty. Raises ValueError where the
    network knows other names, FileNotFoundError where there is no model.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    silence_progress_bars()
    if isinstance(folder, Path) and not (folder / "config.json").exists():
        raise FileNotFoundError(f"no model at {folder}: train it with notebook 02 or `attreval run`")
    network = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    own = tuple(network.config.id2label[k] for k in range(network.config.num_labels))
    longest = getattr(network.config, "max_position_embeddings", max_length)
    return Transformer(
        name=name or str(folder),
        network=freeze(network).to(pick_device(device)),
        tokenizer=AutoTokenizer.from_pretrained(folder),
        labels=labels or own,
        max_length=min(max_length, longest),
        order=match_labels(own, labels, str(folder)) if labels else None,
    )


def match_labels(own: tuple[str, ...], wanted: tuple[str, ...], name: str) -> list[int] | None:
    """Where each wanted class stands among a network's own, by name; None where they stand in the same order."""
    plain = [label.lower() for label in own]
    if plain == [label.lower() for label in wanted]:
        return None
    if sorted(plain) != sorted(label.lower() for label in wanted):
        raise ValueError(
            f"the model {name} has classes {', '.join(own)}, the task has {', '.join(wanted)}; name the model's "
            "classes, in its order and in the task's words, under `labels` of the model in the profile"
        )
    return [plain.index(label.lower()) for label in wanted]


def new_transformer(
    spec, labels: tuple[str, ...], names: Sequence[object], name: str = "", device: str = "auto", resolve=str
) -> Transformer:
    """A classifier to be trained: pretrained weights, with a fresh head where theirs does not fit, or from scratch.

    spec: config.ModelSpec. names: what the seed of the fresh weights derives from. resolve: turns a weights name into
    a folder or hub name.
    """
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    silence_progress_bars()
    torch.manual_seed(seed_of("weights", *names))
    head = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: k for k, label in enumerate(labels)},
    }
    origin = resolve(spec.weights or spec.tokenizer)
    tokenizer = AutoTokenizer.from_pretrained(resolve(spec.tokenizer) if spec.tokenizer else origin)
    if spec.weights:
        network = AutoModelForSequenceClassification.from_pretrained(
            origin, dtype=torch.float32, ignore_mismatched_sizes=True, **head
        )
    elif spec.architecture == "encoder_decoder":
        network = encoder_decoder.build(spec, tokenizer, head)
        if spec.start:
            start = AutoModel.from_pretrained(resolve(spec.start), dtype=torch.float32)
            encoder_decoder.warm_start(network, start, spec.start)
    else:
        config = AutoConfig.for_model(
            "bert",
            vocab_size=len(tokenizer),
            hidden_size=spec.hidden,
            num_hidden_layers=spec.layers,
            num_attention_heads=spec.heads,
            intermediate_size=4 * spec.hidden,
            **head,
        )
        network = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    if spec.position_start is not None:
        network.config.position_start = spec.position_start  # saved with the weights, read by _first_position
    return Transformer(name, network.to(pick_device(device)), tokenizer, tuple(labels), spec.max_length)
