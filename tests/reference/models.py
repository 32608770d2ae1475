"""Small models whose answers can be told: random weights in the shape of BERT, and a
planted truth.
"""

from __future__ import annotations

import re
import string
from dataclasses import replace

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

from attreval.core.alignment import tokenize
from attreval.core.records import Instance
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.models.placing import freeze
from attreval.models.scorer import Scorer
from attreval.models.transformer import Transformer

WORDS = (
    "the a film plot was is not very good bad slow brave un ##believ ##able able believ ##ly ##s "
    ". , ! - \N{GRINNING FACE}"
)
SIGNAL = "key"  # the word that decides the class of the planted model


def tiny_tokenizer() -> BertTokenizerFast:
    """WordPiece over a few words, letters and pieces; ASCII text always has a token."""
    letters = [*string.ascii_lowercase, *string.digits, "م", "ر", "ح"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    names = [*special, *WORDS.split(), SIGNAL, *letters, *(f"##{c}" for c in letters)]
    return BertTokenizerFast(vocab={name: i for i, name in enumerate(dict.fromkeys(names))})


def draw_weights(network, seed: int) -> None:
    """Give a network weights from NumPy, whatever the torch version: wide embeddings, and norms
    near 1.
    """
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, weights in network.named_parameters():
            draw = rng.standard_normal(weights.shape)
            if weights.ndim == 2:
                draw *= (
                    1.0 if "embed" in name or "shared" in name else 1.5 / np.sqrt(weights.shape[1])
                )
            else:
                draw = 0.1 * draw + (
                    1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
                )
            weights.copy_(torch.from_numpy(draw))


def tiny_model(
    seed: int = 0,
    labels: tuple[str, ...] = ("no", "maybe", "yes"),
    max_length: int = 64,
    normed: bool = True,
) -> Transformer:
    """A float32 BERT of 2 layers, width 32 and 2 heads; weights come from NumPy, whatever the torch
    version.

    normed: with the layer normalisation right behind the embeddings, as in BERT; it makes the
    gradient of any word embedding sum to 0 over its dimensions, so sums over dimensions can only be
    compared without it.
    """
    tokenizer = tiny_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=max_length,
        id2label=dict(enumerate(labels)),
        label2id={name: k for k, name in enumerate(labels)},
    )
    network = BertForSequenceClassification(config)
    draw_weights(network, seed)
    if not normed:
        network.bert.embeddings.LayerNorm = torch.nn.Identity()
    return Transformer("tiny", freeze(network), tokenizer, labels, max_length)


def untrained_model(labels: tuple[str, ...] = ("bad", "good")) -> Transformer:
    """The tiny model with the small weights that training starts from, the same each time."""
    model = tiny_model(labels=labels)
    rng = np.random.default_rng(7)
    with torch.no_grad():
        for name, weights in model.network.named_parameters():
            if weights.ndim == 2:
                weights.copy_(torch.from_numpy(0.05 * rng.standard_normal(weights.shape)))
            else:
                weights.fill_(1.0 if "LayerNorm.weight" in name else 0.0)
    return model


class Planted:
    """Class 1 where one token is in the text, class 0 elsewhere; no other token moves a logit.

    Speaks to the ledger as models.transformer.Transformer does; computes in float64 at every
    precision.
    """

    labels = ("absent", "present")
    family = "transformer"
    max_length = 64
    device = torch.device("cpu")

    def __init__(self, gain: float = 4.0):
        self.tokenizer = tiny_tokenizer()
        self.gain = gain
        self.pad_id = self.tokenizer.pad_token_id
        self.table = torch.from_numpy(
            np.random.default_rng(1).standard_normal((len(self.tokenizer), 4))
        )
        self.table[:, 0] = 0
        self.table[self.tokenizer.convert_tokens_to_ids(SIGNAL), 0] = 1

    def at(self, precision):
        return self

    def tokens(self, instance):
        return tokenize(instance, self.tokenizer, self.max_length)

    def embed(self, ids, precision="float32"):
        return self.table[ids]

    def logits(self, ids, mask, segments, precision="float32", embeddings=None, entering=None):
        vectors = self.table[ids] if embeddings is None else embeddings
        vectors = vectors if entering is None else entering(vectors)
        signal = vectors[..., 0].masked_fill(mask == 0, 0).amax(dim=1)
        return torch.stack([torch.zeros_like(signal), self.gain * (signal - 0.5)], dim=1)


class Graded:
    """Class 1 as far as the vectors of one token are whole; every other token adds a little, each
    its own amount.
    """

    labels = ("absent", "present")
    family = "transformer"
    device = torch.device("cpu")
    pad_id = 0
    width = 64

    def __init__(self, length: int, gain: float = 8.0):
        self.gain = gain
        worth = np.append([0.0, 1.0], np.random.default_rng(2).random(length) * 1e-4)
        self.worth = worth  # of id 0 nothing, of id 1 nearly all, of the others next to nothing
        self.table = torch.from_numpy(np.repeat(worth[:, None], self.width, axis=1))

    def at(self, precision):
        return self

    def logits(self, ids, mask, segments, precision="float32", embeddings=None, entering=None):
        vectors = self.table[ids] * mask[..., None]
        vectors = vectors if entering is None else entering(vectors)
        whole = vectors.mean(dim=2).sum(dim=1)
        return torch.stack([torch.zeros_like(whole), self.gain * (whole - 0.5)], dim=1)


class Recorder:
    """Passes questions on to another model; keeps (ids, mask, precision) of batches; ids None: a
    gradient.
    """

    def __init__(self, model):
        self.model = model
        self.batches = []

    def __getattr__(self, name):
        return getattr(self.model, name)

    def logits(self, ids, mask, segments, precision="float32", embeddings=None, **more):
        self.batches.append(
            (None if ids is None else ids.numpy().copy(), mask.numpy().copy(), precision)
        )
        return self.model.logits(ids, mask, segments, precision, embeddings, **more)

    def rows(self) -> list[np.ndarray]:
        """The rows of ids that were asked, without padding."""
        kept = [(ids, mask) for ids, mask, _ in self.batches if ids is not None]
        return [row[keep == 1] for ids, mask in kept for row, keep in zip(ids, mask, strict=True)]


def scores_of(model, name, tokens, target=1, budget=None, scorer=None):
    """The Scores of one method on one text, in float64; booked on its name."""
    rng = np.random.default_rng(0)
    talk = METHODS[name].converse(tokens, target, budget or Budget(), rng)
    (found,) = (scorer or Scorer(model, precision="float64")).converse([(name, talk)])
    return found


def instance(*segments: str, name: str = "x", label: int = 0, **more) -> Instance:
    """An instance whose words are what white space parts."""
    words = [
        (s, *found.span()) for s, text in enumerate(segments) for found in re.finditer(r"\S+", text)
    ]
    return Instance(name, segments, label, np.array(words, dtype=np.int64).reshape(-1, 3), **more)


def sample_instances() -> list[Instance]:
    """Six made-up instances."""
    made = [
        instance("good"),
        instance("the film was not very good , the plot was slow !", label=2),
        instance("an unbelievable plot", label=1),
        instance("the brave film", "not unbelievably bad", label=1),
        instance("slow slow slow slow slow"),
        instance(
            "a very very brave plot was believable - was it not ? the film is good good good .",
            label=2,
        ),
    ]
    return [replace(one, id=f"s{i}") for i, one in enumerate(made)]


def toy(n, start=0, flip=False):
    """Texts with `good` (class 1) or `bad` (class 0) among words that tell nothing."""
    rng = np.random.default_rng(start)
    made = []
    for i in range(n):
        words = rng.choice(["the", "film", "plot", "was", "a"], size=rng.integers(2, 6)).tolist()
        words.insert(int(rng.integers(len(words) + 1)), ["bad", "good"][i % 2])
        made.append(instance(" ".join(words), name=f"{start}-{i}", label=(i + flip) % 2))
    return made
