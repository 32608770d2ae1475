"""Word-level classifiers: GRU, LSTM, QGRU, QLSTM and CNN behind the interface of models.classifier.

Letters used for shapes: B rows, L tokens, D embedding width, K classes, d directions, H units.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from attreval.core.alignment import place_tokens
from attreval.core.records import Instance, Tokens
from attreval.core.seeds import generator, seed_of
from attreval.core.tables import write_json
from attreval.models.classifier import Score, class_scores
from attreval.models.folders import check_names, match_labels, tokenizer_of
from attreval.models.placing import freeze, in_precision, pick_device
from attreval.models.questions import PropagationRule
from attreval.models.words.layers import Convolutional, Quasi, Recurrent, turn
from attreval.models.words.lrp import GRADIENTS, RelevanceRules, Rules
from attreval.models.words.vocabulary import (
    PAD,
    UNKNOWN,
    GiveVectors,
    count_words,
    cut_text,
    start_embeddings,
    vectors_named,
)
from attreval.models.words.window_erasure import can_reuse, erased_states

DESCRIPTION = "words.json"  # the file by which a folder of such a model is known
WORDS = "words"  # a `tokenizer` of this name cuts texts into their words


@dataclass(frozen=True)
class Sizes:
    """What a network is made of.

    Attributes:
        architecture: gru, lstm, qgru, qlstm or cnn.
        words, classes: How many.
        embedding_size: Of the words.
        hidden: Units a direction, or filters.
        bidirectional, kernel, dropout, gate, order: See models.words.layers.
    """

    architecture: str
    words: int
    classes: int
    embedding_size: int = 300
    hidden: int = 75
    bidirectional: bool = True
    kernel: int = 5
    dropout: float = 0.5
    gate: str = "logistic"
    order: str = "turn_first"


def _make_core(sizes: Sizes) -> nn.Module:
    """The part between the embeddings and the classifier."""
    name = sizes.architecture
    if name == "cnn":
        return Convolutional(sizes.embedding_size, sizes.hidden, sizes.kernel)
    cell = name.removeprefix("q")
    if cell not in ("gru", "lstm"):
        raise ValueError(f"unknown architecture {name!r}; there are: gru, lstm, qgru, qlstm, cnn")
    given = (cell, sizes.embedding_size, sizes.hidden, 1 + sizes.bidirectional, sizes.gate)
    if name == cell:
        return Recurrent(*given, sizes.dropout)
    return Quasi(*given, sizes.kernel, sizes.order)


class Network(nn.Module):
    """Embedding, dropout, core, dropout, linear classifier (Poerner et al. 2018, section 4.1)."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.embedding = nn.Embedding(sizes.words, sizes.embedding_size, padding_idx=PAD)
        self.core = _make_core(sizes)
        self.output = nn.Linear(self.core.width, sizes.classes)
        self.dropout = nn.Dropout(sizes.dropout)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the weights."""
        return self.output.weight.dtype

    def forward(self, x: Tensor, mask: Tensor, rules: Rules = GRADIENTS) -> Tensor:
        """(B, K) logits of (B, L, D) word embeddings; mask (B, L) is 0 on padding."""
        words = self.dropout(x).transpose(0, 1)
        x, mask = rules.inputs(words, mask.bool().T[..., None])
        h = self.dropout(self.core(x, mask, rules))
        scores = self.output(rules.linear_input(h))
        return rules.outputs(rules.activation(lambda a: a, scores))

    def decompose(self, x: Tensor, mask: Tensor, output_gate: bool = True) -> Tensor:
        """(B, L, K) what each token left in the last state (Poerner et al. 2018, section 3.4).

        Each direction: nl(t) = w_k . o_T tanh(prod_{j > t} f_j c_t), or w_k . (prod_{j > t} z_j
        h_t) for a GRU, and a token's part is nl(t) - nl(t - 1). The parts of a row sum to its
        logits less the bias.

        Args:
            x: (B, L, D) word embeddings.
            mask: (B, L), 0 on padding.
            output_gate: See questions.CellParts.
        """
        mask = mask.bool().T[..., None]
        trace = self.core.trace(x.transpose(0, 1), mask)
        later = trace.kept.flip(1).cumprod(1).flip(1)
        whole = torch.ones_like(later[:, :1])
        later = torch.cat([later[:, 1:], whole], dim=1)
        state = later * trace.state  # (d, L, B, H)
        if trace.shown is not None:
            state = torch.tanh(state)
            if output_gate or not isinstance(self.core, Quasi):
                state = state * trace.shown[:, None]
        heads = self.output.weight.unflatten(1, (len(state), -1)).permute(1, 2, 0)  # (d, H, K)
        loads = state @ heads[:, None]
        total, *back = loads.diff(dim=1, prepend=torch.zeros_like(loads[:, :1]))
        if back:
            total = total + turn(back[0], mask)
        return total.transpose(0, 1)


@dataclass
class WordClassifier:
    """A word-level classifier with its vocabulary.

    Attributes:
        name: For messages and tables.
        network: The network.
        vocabulary: Words in index order, from index 2 on; 0 is padding, and an occluded word (a
            zero vector), 1 is any other word.
        sizes: What the network is made of.
        labels, order, max_length, score: As for a Transformer.
        tokenizer: Whose pieces are its words, without special ones; None for the words of a text.
        reuse_from: The number of windows from which on `erased` answers for the rows; measured on a
            processor, where it is then faster.
    """

    name: str
    network: Network
    vocabulary: tuple[str, ...]
    sizes: Sizes
    labels: tuple[str, ...]
    max_length: int
    order: list[int] | None = None
    copies: dict[str, Network] = field(default_factory=dict, repr=False)
    pad_id: int = PAD
    mask_id: int = PAD
    reuse_from: float = 32
    score: Score = "logit"
    tokenizer: Any = None

    def __post_init__(self) -> None:
        if not can_reuse(self.network.core, self.device):
            self.reuse_from = np.inf
        self.index = {word: i + 2 for i, word in enumerate(self.vocabulary)}

    @property
    def family(self) -> str:
        """recurrent, quasi or convolutional."""
        return self.network.core.family

    @property
    def width(self) -> int:
        """D, of the word embeddings."""
        return self.sizes.embedding_size

    @property
    def vocabulary_size(self) -> int:
        """How many ids have an embedding."""
        return self.sizes.words

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.network.output.weight.device

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as this model reads it: its words, of both texts one after the other.

        Raises:
            ValueError: It has no words.
        """
        places, texts = cut_text(instance, self.tokenizer)
        # at most so many: the longer text is cut
        parts = [np.flatnonzero(places[:, 0] == side) for side in (0, 1)]
        longer, shorter = sorted(parts, key=len, reverse=True)
        longer = longer[: max(self.max_length - len(shorter), (self.max_length + 1) // 2)]
        kept = np.sort(np.concatenate([longer, shorter[: self.max_length - len(longer)]]))
        words = [texts[at] for at in kept]
        if not words:
            raise ValueError(f"instance {instance.id!r} has no words: {instance.segments!r}")
        ids = np.array([self.index.get(word, UNKNOWN) for word in words], dtype=np.int64)
        places = places[kept]
        if self.tokenizer is not None:
            fills = (self.pad_id, self.mask_id)
            sides = places[:, 0].tolist()
            return place_tokens(instance, ids.tolist(), sides, places, words, fills, UNKNOWN)
        return Tokens(
            ids=ids,
            segments=places[:, 0].copy(),
            special=np.zeros(len(ids), dtype=bool),
            word=kept,
            offsets=places.copy(),
            texts=tuple(words),
            mask_id=self.mask_id,
            pad_id=self.pad_id,
            dropped=len(instance.words) - len(ids),
            unknown_id=UNKNOWN,
            written=instance.segments,
        )

    def at(self, precision: str) -> Network:
        """The network in float64, float32 or bfloat16; copies are made once."""
        return in_precision(self.network, self.copies, precision)

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """Word embeddings, (B, L, D), of (B, L) ids."""
        return self.at(precision).embedding(ids)

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        embeddings: Tensor | None = None,
        rule: PropagationRule | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """(B, K) logits of token ids or of word embeddings.

        Args:
            ids: (B, L), or None.
            mask: (B, L), 0 marks padding.
            segments: Has no effect.
            precision: `float64`, `float32` or `bfloat16`.
            embeddings: (B, L, D) word embeddings in place of ids.
            rule: What flows back to the embeddings is relevance by this rule, in place of
                gradients.
            entering: Changes the embeddings.
            bias: Of attention scores, refused.

        Raises:
            ValueError: `bias` is given; there are no attention scores.
        """
        if bias is not None:
            raise ValueError(
                f"{self.name!r} attends to nothing, so no attention mask can be changed"
            )
        network = self.at(precision)
        x = network.embedding(ids) if embeddings is None else embeddings
        x = x if entering is None else entering(x)
        outputs = network(x, mask, GRADIENTS if rule is None else RelevanceRules(rule))
        return class_scores(outputs, self.order, self.score)

    def decompose(
        self, ids: Tensor, mask: Tensor, precision: str = "float32", output_gate: bool = True
    ) -> Tensor:
        """(B, L, K) the parts of the logits that each token left in the cells.

        Args:
            ids, mask: (B, L).
            precision: `float64`, `float32` or `bfloat16`.
            output_gate: See questions.CellParts.

        Raises:
            ValueError: Class scores are no logits, so that they have no such parts.
        """
        if self.score != "logit":
            raise ValueError("what tokens leave in the cells are parts of a logit: score='logit'")
        network = self.at(precision)
        parts = network.decompose(network.embedding(ids), mask, output_gate)
        return class_scores(parts, self.order, self.score)

    def erased(self, ids: Tensor, size: int, blank: bool, precision: str = "float32") -> Tensor:
        """(w, K) logits with each window of words blanked or deleted; see window_erasure.

        Args:
            ids: (L,).
            size: Words in a window.
            blank: Blank a window rather than delete it.
            precision: `float64`, `float32` or `bfloat16`.
        """
        network = self.at(precision)
        states = erased_states(network.core, network.embedding(ids), size, blank)
        return class_scores(network.output(states), self.order, self.score)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), vocabulary, and a tokenizer if any into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.tokenizer is not None:
            self.tokenizer.save_pretrained(folder)
        state = self.network.state_dict()
        weights = {name: one.detach().float().cpu().contiguous() for name, one in state.items()}
        save_file(weights, folder / "model.safetensors")
        described = {
            "sizes": asdict(self.sizes),
            "labels": list(self.labels),
            "max_length": self.max_length,
            "vocabulary": list(self.vocabulary),
        }
        write_json(folder / DESCRIPTION, described)

    def reload(self, folder: Path) -> None:
        """Take the weights that lie in a folder, frozen."""
        self.network.load_state_dict(load_file(folder / "model.safetensors"))
        freeze(self.network)
        self.copies.clear()


def load_word_classifier(
    folder: Path, name: str, device: str, max_length: int, labels: tuple[str, ...]
) -> WordClassifier:
    """Load what `WordClassifier.save` wrote.

    Args:
        folder: Where it lies.
        name: For messages and tables; the folder's where empty.
        device: Where it computes.
        max_length: Words that are read, at most as many as in training.
        labels: The class names wanted, in that order; its own where empty.

    Raises:
        ValueError: The network knows other names.
    """
    described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    sizes = Sizes(**described["sizes"])
    own = check_names(described["labels"], str(folder))
    model = WordClassifier(
        name=name or str(folder),
        network=Network(sizes).to(pick_device(device)),
        vocabulary=tuple(described["vocabulary"]),
        sizes=sizes,
        labels=labels or own,
        max_length=min(max_length, described["max_length"]),
        order=match_labels(own, labels, str(folder)) if labels else None,
        tokenizer=tokenizer_of(folder) if (folder / "tokenizer.json").exists() else None,
    )
    model.reload(folder)
    return model


def new_word_classifier(
    spec: Any,
    labels: tuple[str, ...],
    names: Sequence[object],
    train_set: Sequence[Instance],
    name: str,
    device: str,
    vectors: GiveVectors | None = None,
    resolve: Callable[[str], str] = str,
) -> WordClassifier:
    """A classifier to be trained; its vocabulary is that of the training set.

    Args:
        spec: config.ModelSpec.
        labels: Class names.
        names: What the seeds of the fresh weights derive from.
        train_set: Gives the vocabulary.
        name: Of the model.
        device: Where it computes.
        vectors: Gives those that spec.embeddings names, for a vocabulary.
        resolve: Turns the name of a tokenizer into a folder or hub name.

    Raises:
        ValueError: The model starts from vectors, and none are given.
    """
    pieces = spec.tokenizer not in (None, WORDS)
    tokenizer = tokenizer_of(resolve(spec.tokenizer)) if pieces else None
    vocabulary = count_words(train_set, spec.vocabulary, tokenizer)
    given = {
        one.name: getattr(spec, one.name)
        for one in fields(Sizes)
        if one.name not in ("words", "classes")
    }
    sizes = Sizes(words=len(vocabulary) + 2, classes=len(labels), **given)
    torch.manual_seed(seed_of("weights", *names))
    network = Network(sizes)
    known = vectors_named(spec.embeddings, vectors, vocabulary, name)
    rng = generator("embeddings", *names)
    table = start_embeddings(vocabulary, sizes.embedding_size, rng, known)
    with torch.no_grad():
        network.embedding.weight.copy_(torch.from_numpy(table))
    return WordClassifier(
        name,
        network.to(pick_device(device)),
        vocabulary,
        sizes,
        tuple(labels),
        spec.max_length,
        tokenizer=tokenizer,
    )
