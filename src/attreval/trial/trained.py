"""What learns in seconds, from seeds by name: word-level networks, agents of simulatability.

Half of the made-up texts that networks read in training have a share of their words blanked, so
that erased texts are none that they have never seen (as F-Fidelity does; Zheng et al. 2025).
Letters used for shapes: B rows, L words.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attreval.core.seeds import Rng, generator, seed_of
from attreval.metrics.erasure import rank_tokens
from attreval.models.scorer import pad_rows
from attreval.models.words.classifier import Network, Sizes, WordClassifier
from attreval.models.words.vocabulary import PAD, UNKNOWN
from attreval.trial.world import WorldText, make_instance

if TYPE_CHECKING:
    from attreval.models.transformer import Transformer

Labelled = tuple[list[str], int]  # words, class
SHOWN = 2  # tokens of an explanation that an agent is shown
# of a neighbour: the standard deviation that is added to vectors, in that of all their entries
NOISE = 0.05
BLANKS = ("[MASK]", "[PAD]", "")
LONGEST = 64  # tokens that a BERT reads


def train_words(
    name: str,
    labels: tuple[str, ...],
    words: Sequence[str],
    batch: Callable[[Rng], Sequence[Labelled]],
    *seed: object,
    steps: int = 150,
) -> WordClassifier:
    """Train a convolutional network.

    Args:
        name: of the world.
        labels: its classes.
        words: its vocabulary.
        batch: draws the texts of a step, with their classes.
        seed: what weights and texts derive from, beside the name.
        steps: how many.
    """
    sizes = Sizes("cnn", len(words) + 2, len(labels), 32, 32, kernel=3, dropout=0.0)
    with _from_seed(name, *seed) as rng:
        network = Network(sizes)
        model = WordClassifier(name, network, tuple(words), sizes, labels, max_length=512)

        def loss() -> torch.Tensor:
            ids, mask, classes = pad_words(model, batch(rng), rng)
            logits = network(network.embedding(ids), mask)
            return torch.nn.functional.cross_entropy(logits, classes)

        _fit(network, loss, 0.01, steps)
    return model


def new_bert(words: Sequence[str], labels: Sequence[str], width: int) -> tuple[Any, Any]:
    """A BERT of two layers with fresh weights, and a tokenizer whose tokens are words."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    config = BertConfig(
        vocab_size=len(known),
        max_position_embeddings=LONGEST,
        id2label=dict(enumerate(labels)),
        label2id={label: at for at, label in enumerate(labels)},
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * width,
    )
    tokenizer = BertTokenizerFast(vocab={word: at for at, word in enumerate(known)})
    return BertForSequenceClassification(config), tokenizer


def train_bert(
    name: str,
    labels: tuple[str, ...],
    words: Sequence[str],
    batch: Callable[[Rng], Sequence[Labelled]],
    *seed: object,
    steps: int = 200,
) -> "Transformer":
    """Train a BERT of two layers that `transformers` opens, whose tokens are words.

    What a blanked word becomes is drawn for each text: the mask token, padding that is attended to,
    or nothing; libraries erase in one of these ways. The arguments are those of `train_words`.
    """
    from attreval.models.transformer import Transformer

    with _from_seed(name, *seed) as rng:
        # narrower than the vocabulary: EvalxNLP takes places in a vector for ids
        network, tokenizer = new_bert(words, labels, 32)

        def loss() -> torch.Tensor:
            drawn = batch(rng)
            texts = [_blank(words, row, rng) for row, (words, _) in enumerate(drawn)]
            read = tokenizer(texts, padding=True, return_tensors="pt")
            return network(**read, labels=torch.tensor([label for _, label in drawn])).loss

        _fit(network, loss, 0.003, steps)
    return Transformer(name, network, tokenizer, labels, LONGEST)


def _blank(words: list[str], row: int, rng: Rng) -> str:
    """A text; of two in four a share of the words, drawn for each, is blanked in one way."""
    if row % 4 < 2:
        return " ".join(words)
    gone = rng.random(len(words)) < rng.uniform(0, 0.9)
    blank = BLANKS[rng.integers(len(BLANKS))]
    return " ".join(np.where(gone, blank, words))


@contextmanager
def _from_seed(*names: object) -> Iterator[Rng]:
    """What is trained inside follows from the names: its weights, and a generator for its texts."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several would wait for each other, and change the order of sums
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of("weights", "trial", *names))
            yield generator("train", "trial", *names)
    finally:
        torch.set_num_threads(threads)


def _fit(
    network: torch.nn.Module, loss: Callable[[], torch.Tensor], rate: float, steps: int
) -> None:
    """Train a network and freeze it. loss: draws a batch."""
    optimiser = torch.optim.Adam(network.train().parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
    network.eval().requires_grad_(False)


def pad_words(model: WordClassifier, texts: Sequence[Labelled], rng: Rng) -> tuple:
    """(B, L) ids and mask, (B,) classes of texts.

    rng: blanks a share of the words of two texts in four, drawn for each text.
    """
    rows = []
    for row, (words, _) in enumerate(texts):
        held = np.array([model.index.get(word, UNKNOWN) for word in words])
        if row % 4 > 1:
            held[rng.random(len(held)) < rng.uniform(0, 0.9)] = PAD
        rows.append((held, np.zeros_like(held)))
    ids, mask, _ = pad_rows(rows, PAD)
    return ids, mask, torch.tensor([label for _, label in texts])


def accuracy(model: Any, texts: Sequence[Labelled]) -> float:
    """The share of texts whose class it predicts."""
    from attreval.models.training import measure_performance

    instances = [make_instance([words], label) for words, label in texts]
    return measure_performance(model, instances).accuracy


def neighbour(model: WordClassifier, *names: object) -> WordClassifier:
    """The same network with slightly disturbed word vectors: it reads slightly disturbed texts."""
    network = copy.deepcopy(model.network)
    table = network.embedding.weight
    noise = generator("neighbour", *names).standard_normal(tuple(table.shape))
    noise[PAD] = 0
    with torch.no_grad():
        table += NOISE * table.std() * torch.from_numpy(noise).to(table.dtype)
    return replace(model, network=network, copies={})


def randomise(model: WordClassifier, *names: object) -> list[WordClassifier]:
    """The network with fresh weights in its last layer, its last two, ... (Adebayo et al. 2018)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("randomised", *names))
        fresh = Network(model.sizes)
    network = model.network
    out = []
    for layer in ("output", "core", "embedding"):
        network = copy.deepcopy(network)
        setattr(network, layer, copy.deepcopy(getattr(fresh, layer)))
        out.append(replace(model, network=network.eval().requires_grad_(False), copies={}))
    return out


def guess_class(
    texts: Sequence[WorldText], scores: Sequence[np.ndarray], names: tuple, model: Any
) -> np.ndarray:
    """The probability that an agent gives to what the model predicts, on texts new to it.

    The agent is a logistic regression on the words of the first tokens of an explanation and on
    whether these are the first and the last token of the text; it is trained on one half of the
    texts and tested on the other, both ways.

    Args:
        texts: n of them, of a world.
        scores: of each text's tokens.
        names: what breaks ties derives from these.
        model: a models.classifier.Classifier.

    Returns:
        (n,) probabilities.
    """
    from sklearn.linear_model import LogisticRegression

    shown = np.stack(
        [
            show_agent(text, one, (*names, text.id), model.vocabulary_size)
            for text, one in zip(texts, scores, strict=True)
        ]
    )
    classes = np.array([text.target for text in texts])
    half = np.arange(len(texts)) // 2 % 2
    out = np.zeros(len(texts))
    for tested in (0, 1):
        train = half != tested
        test = half == tested
        if not test.any():
            continue
        if len(np.unique(classes[train])) < 2:  # nothing to tell apart: it guesses what it has seen
            out[test] = np.isin(classes[test], classes[train])
            continue
        used = shown[train].any(axis=0)  # others have no weight
        agent = LogisticRegression(C=10.0, solver="newton-cholesky")
        agent.fit(shown[train][:, used], classes[train])
        given = agent.predict_proba(shown[test][:, used])
        # a class that the agent has not seen has no chance
        asked = classes[test][:, None] == agent.classes_
        out[test] = np.where(asked, given, 0.0).max(axis=1)
    return out


def show_agent(text: WorldText, scores: np.ndarray, names: tuple, words: int) -> np.ndarray:
    """(words + 2,) the words of the SHOWN highest tokens, and whether they are at the ends."""
    top = rank_tokens(scores, generator("ties", *names))[:SHOWN]
    seen = np.zeros(words + 2)
    seen[text.tokens.ids[text.tokens.content[top]]] = 1
    seen[words:] = [(top == 0).any(), (top == len(scores) - 1).any()]
    return seen
