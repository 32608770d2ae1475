"""A transformer classifier from a registry package, a folder or a hub, and what it can be asked.

Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attreval.core.alignment import fill_ids, tokenize
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import generator, seed_of
from attreval.models import checks, encoder_decoder, first_token, forward
from attreval.models.classifier import Score, class_scores
from attreval.models.erasing import name_erasing
from attreval.models.folders import (
    as_plain,
    find_model,
    match_labels,
    open_network,
    open_tokenizer,
    own_names,
    read_outputs,
    source_of,
    tokenizer_of,
)
from attreval.models.label_words import Prompt
from attreval.models.outputs import Outputs
from attreval.models.placing import freeze, in_precision, lock_of, pick_device
from attreval.models.questions import PropagationRule
from attreval.models.transformer_deeplift import Rescale, captum_deeplift
from attreval.models.transformer_hooks import AttentionWeights, zeroed_distances
from attreval.models.transformer_lrp import Propagation, propagate
from attreval.models.words.classifier import WORDS
from attreval.models.words.vocabulary import (
    GiveVectors,
    WordVectors,
    count_words,
    start_embeddings,
    vectors_named,
)
from attreval.models.words.word_tokenizer import word_tokenizer


@dataclass
class Transformer:
    """A sequence classifier with its tokenizer.

    Attributes:
        name: For messages and tables.
        network: A Hugging Face sequence-classification model, asked in evaluation mode whatever
            mode it is in.
        tokenizer: A fast Hugging Face tokenizer.
        labels: K names of classes, or of other outputs, in index order.
        max_length: Tokens that are read, at most.
        order: (K,) where each class stands in the network's output; None for the same order.
        prompt: What stands around a text where the network is a language model, which is asked for
            label words.
        score: What the score of a class is, see `Classifier`.
        erasing: The id that erased tokens become; None for what alignment.fill_ids says.
        distances: By id how far it is from leaving tokens out, where that was measured.
        outputs: What they are.
    """

    name: str
    network: nn.Module
    tokenizer: Any
    labels: tuple[str, ...]
    max_length: int
    order: list[int] | None = None
    prompt: Prompt | None = None
    score: Score = "logit"
    outputs: Outputs = "classes"
    family: str = "transformer"
    erasing: int | None = None
    distances: dict[int, float] = field(default_factory=dict, repr=False)
    copies: dict[str, nn.Module] = field(default_factory=dict, repr=False)
    refusals: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    short: bool | None = field(default=None, init=False, repr=False)
    zero_values = zeroed_distances

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.network.parameters()).device

    @property
    def pad_id(self) -> int:
        """The id that fills rows up; it is masked, so any id does."""
        return fill_ids(self.tokenizer)[0]

    @property
    def vocabulary_size(self) -> int:
        """How many ids have an embedding."""
        return len(self.network.get_input_embeddings().weight)

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as this model reads it."""
        with lock_of(self.tokenizer):  # how much it reads is set in it for a moment
            if self.prompt is None:
                found = tokenize(instance, self.tokenizer, self.max_length)
            else:
                found = self.prompt.read(instance, self.tokenizer, self.max_length)
        if self.erasing is None:
            return found
        return replace(found, mask_id=self.erasing, pad_id=self.erasing)

    def at(self, precision: str) -> nn.Module:
        """The network in float64, float32 or bfloat16; copies are made once."""
        return in_precision(self.network, self.copies, precision)

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """(B, L, D) word embeddings of (B, L) ids; the model adds positions and types."""
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
        whole: bool = False,
    ) -> Tensor:
        """(B, K) class scores of token ids or of word embeddings.

        A row without any token, all of them deleted, is read as one blank token (see
        alignment.fill_ids).

        Args:
            ids: (B, L), or None.
            mask: (B, L), 0 marks padding.
            segments: (B, L) token types.
            precision: `float64`, `float32` or `bfloat16`.
            embeddings: (B, L, D) word embeddings in place of ids.
            entering: Changes the (B, L, D) vectors that enter the encoder.
            bias: (B, 1, 1, L), added to attention scores.
            whole: Compute the last layer for every token, though the class scores are read off the
                first.

        Raises:
            ValueError: `bias` is given for an encoder-decoder; and as forward.classify.
        """
        network = self.at(precision)
        if embeddings is None and not (self.prompt and self.prompt.before + self.prompt.behind):
            ids, mask, segments = self._without_empty(ids, mask, segments)
        if self.prompt is not None:
            outputs = self.prompt.classify(network, mask, ids, embeddings, entering)
            return self.class_scores(outputs)
        types = segments if self.typed else None
        with ExitStack() as stack:
            if bias is not None:
                if network.config.is_encoder_decoder:
                    raise ValueError(
                        "a text is attended to twice by an encoder-decoder; its attention mask "
                        "is not changed here"
                    )
                stack.enter_context(AttentionWeights(self.layers, bias=bias))
            if not whole and self.first_alone:
                stack.enter_context(first_token.last_layer(network))
            outputs = forward.classify(network, mask, types, ids, embeddings, entering)
            return self.class_scores(outputs)

    def _without_empty(
        self, ids: Tensor, mask: Tensor, segments: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The rows; those without a token get a blank one, as decoders have no special ones."""
        empty = mask.sum(dim=1) == 0
        if not empty.any():
            return ids, mask, segments
        if not mask.shape[1]:
            ids = functional.pad(ids, (0, 1))
            mask = functional.pad(mask, (0, 1))
            segments = functional.pad(segments, (0, 1))
        _, blank = fill_ids(self.tokenizer)
        blank = blank if self.erasing is None else self.erasing
        first = empty[:, None] & (torch.arange(mask.shape[1], device=mask.device) == 0)
        return ids.masked_fill(first, blank), mask.masked_fill(first, 1), segments

    @property
    def typed(self) -> bool:
        """Whether the network is given token types."""
        return forward.takes_types(self.network, self.tokenizer)

    @property
    def reads_first(self) -> bool:
        """Whether the class scores are read off the first token."""
        # in some architectures mean, or late
        pooled = getattr(self.network.config, "classifier_pooling", "cls")
        return not forward.reads_last_token(self.network) and pooled in ("cls", "bos")

    @property
    def first_alone(self) -> bool:
        """Whether its last layer can be computed for the first token alone; tried out once."""
        if self.short is None:
            self.short = self.reads_first and first_token.agrees(self.network)
        return self.short

    @property
    def causal(self) -> bool:
        """Whether a token attends to those before it only, as in GPT-2 and Llama."""
        pooled = getattr(self.network.config, "classifier_pooling", "")
        scored = forward.reads_last_token(self.network) and hasattr(self.network, "score")
        return scored or pooled in ("lasttoken", "weightedmean")

    def refusal(self, need: str) -> str:
        """Why it cannot answer what needs this, a key of checks.PROBES; empty where it can."""
        if need not in self.refusals:
            self.refusals[need] = checks.try_out(self, need)
        return self.refusals[need]

    def class_scores(self, outputs: Tensor) -> Tensor:
        """(B, K) scores of the classes as `labels` names them, of what the network gives."""
        return class_scores(outputs, self.order, self.score)

    def output_of(self, target: int) -> int:
        """Where a class of `labels` stands in the network's output."""
        return target if self.order is None else self.order[target]

    @property
    def longest(self) -> int:
        """How many tokens the network has positions for."""
        return forward.longest_text(self.network) or self.max_length

    @property
    def width(self) -> int:
        """D, of the vectors that enter the encoder; embeddings may be narrower than its states."""
        config = self.network.config
        return getattr(config, "embedding_size", None) or config.hidden_size

    def relevance(
        self,
        embeddings: Tensor,
        mask: Tensor,
        segments: Tensor,
        targets: Tensor,
        rule: PropagationRule,
        where: str = "words",
    ) -> Tensor:
        """(B, L, D) relevance of word embeddings; DeepLIFT is captum's where it is not complete.

        Args:
            embeddings: (B, L, D).
            mask, segments: (B, L).
            targets: (B,) classes.
            rule: How relevance is handed back.
            where: See questions.PathGradient.
        """
        given = (self, embeddings, mask, segments, targets)
        if rule.attention == "rescaled":
            return propagate(*given, Rescale, halves=2)
        if rule.reference:
            return captum_deeplift(*given, where)
        return propagate(*given, lambda network: Propagation(network, rule))

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
        """Logits, and attention weights that gradients reach.

        Args:
            ids, mask, segments: (B, L).
            precision: `float64`, `float32` or `bfloat16`.
            wanted: Encoder layers.
            factors: Layer -> (B, 1, 1, 1) numbers that its weights are multiplied by.

        Returns:
            (B, K) logits and, of each wanted layer, (B, H, L, L) weights.
        """
        # asked before anything is watched
        whole = self.layers - 1 in wanted or not self.first_alone
        with AttentionWeights(self.layers, wanted, factors) as watch:
            logits = self.logits(ids, mask, segments, precision, whole=whole)
        return logits, watch.seen

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), configuration and tokenizer into a folder."""
        self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def reload(self, folder: Path) -> None:
        """Take the weights that lie in a folder, frozen."""
        self.network = load_transformer(folder, device=self.device.type).network
        self.copies.clear()
        self.refusals.clear()
        self.short = None


def silence_progress_bars() -> None:
    """No progress bars and loading reports in notebooks; errors stay."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def load_transformer(
    folder: Path | str,
    name: str = "",
    device: str = "auto",
    max_length: int = 128,
    labels: tuple[str, ...] = (),
    erase: str | None = None,
    outputs: Outputs | None = None,
) -> Transformer:
    """Load a trained classifier and its tokenizer; it is checked, see checks.py.

    Args:
        folder: A folder, or a hub name.
        name: For messages and tables; the folder's where empty.
        device: Where it computes.
        max_length: Tokens that are read, at most as many as the network has positions for.
        labels: The class names wanted, in the order wanted; the network's own where empty.
        erase: See `attreval.load`.
        outputs: See `folders.read_outputs`.

    Raises:
        ValueError: The network knows other names, or its outputs are no classes where names are
            wanted, or it cannot be explained rightly.
        FileNotFoundError: There is no model.
        OSError: Its files are damaged.
    """
    silence_progress_bars()
    if isinstance(folder, Path) and not folder.is_dir():
        raise FileNotFoundError(
            f"no model at {folder}: train it with notebook 02 or `attreval run`"
        )
    network = open_network(folder)
    own = own_names(network.config, str(folder))
    asked = "classes" if labels else outputs
    model = Transformer(
        name=name or str(folder),
        network=freeze(network).to(pick_device(device)),
        tokenizer=open_tokenizer(folder, network),
        labels=labels or own,
        max_length=min(max_length, forward.longest_text(network) or max_length),
        order=match_labels(own, labels, str(folder)) if labels else None,
        outputs=read_outputs(network.config, len(own), asked, str(folder)),
    )
    model.refusals.update(checks.check_readings(model))
    name_erasing(model, erase)
    return model


def input_vectors(name: str) -> WordVectors:
    """The pieces that a network reads and their vectors: of a folder, GGUF file or hub name."""
    from transformers import AutoModel

    place, how = source_of(find_model(name))
    table = AutoModel.from_pretrained(place, **how).get_input_embeddings().weight
    pieces = tokenizer_of(name).convert_ids_to_tokens(range(len(table)))
    return WordVectors(pieces, table.detach().float().numpy(), cased=True)


def new_transformer(
    spec: Any,
    labels: tuple[str, ...],
    names: Sequence[object],
    train_set: Sequence[Instance],
    name: str,
    device: str,
    vectors: GiveVectors | None,
    resolve: Callable[[str], str],
) -> Transformer:
    """A classifier to be trained: pretrained, with a fresh head if needed, or from scratch.

    Args:
        spec: config.ModelSpec.
        labels: Class names.
        names: What the seed of fresh weights derives from.
        train_set: Gives the words that a tokenizer of `words` knows.
        name: Of the model.
        device: Where it computes.
        vectors: See `new_word_classifier`.
        resolve: Turns a weights name into a folder, GGUF file or hub name.
    """
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

    silence_progress_bars()
    torch.manual_seed(seed_of("weights", *names))
    head = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: k for k, label in enumerate(labels)},
    }
    if spec.tokenizer == WORDS:
        tokenizer = word_tokenizer(count_words(train_set, spec.vocabulary))
    else:
        tokenizer = tokenizer_of(resolve(spec.tokenizer or spec.weights))
    if spec.weights:
        place, how = source_of(find_model(resolve(spec.weights)))
        network = AutoModelForSequenceClassification.from_pretrained(
            place, dtype=torch.float32, ignore_mismatched_sizes=True, **head, **how
        )
        network = as_plain(network)
    elif spec.architecture == "encoder_decoder":
        network = encoder_decoder.new_bart(spec, tokenizer, head)
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
    if spec.embeddings:
        words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        known = vectors_named(spec.embeddings, vectors, words, name)
        table = start_embeddings(words, spec.hidden, generator("embeddings", *names), known)[2:]
        table[tokenizer.pad_token_id] = 0
        with torch.no_grad():
            network.get_input_embeddings().weight.copy_(torch.from_numpy(table))
    if spec.position_start is not None:  # saved with the weights, see forward.first_position
        network.config.position_start = spec.position_start
    return Transformer(
        name, network.to(pick_device(device)), tokenizer, tuple(labels), spec.max_length
    )
