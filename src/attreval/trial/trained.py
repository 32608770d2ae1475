"""What learns in seconds, from seeds by name: word-level networks, agents of simulatability.

Half of the made-up texts that networks read in training have a share of their words blanked, so
that erased texts are none that they have never seen (as F-Fidelity does; Zheng et al. 2025).
Letters used for shapes: B rows, L words.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from attreval.core.seeds import Rng, generator, seed_of
from attreval.metrics.erasure import rank_tokens
from attreval.models.words.classifier import Network, Sizes, WordClassifier
from attreval.models.words.vocabulary import PAD, UNKNOWN
from attreval.trial.world import WorldText

Labelled = tuple[list[str], int]  # words, class
SHOWN = 2  # tokens of an explanation that an agent is shown
# of a neighbour: the standard deviation that is added to vectors, in that of all their entries
NOISE = 0.05


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
    names = ("trial", name, *seed)
    rng = generator("train", *names)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several would wait for each other, and change the order of sums
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of("weights", *names))
            network = Network(sizes)
            model = WordClassifier(name, network, tuple(words), sizes, labels, max_length=512)
            optimiser = torch.optim.Adam(network.train().parameters(), lr=0.01)
            for _ in range(steps):
                ids, mask, classes = pad_words(model, batch(rng), rng)
                logits = network(network.embedding(ids), mask)
                loss = torch.nn.functional.cross_entropy(logits, classes)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    finally:
        torch.set_num_threads(threads)
    network.eval().requires_grad_(False)
    return model


def pad_words(model: WordClassifier, texts: Sequence[Labelled], rng: Rng | None = None) -> tuple:
    """(B, L) ids and mask, (B,) classes of texts.

    rng: blanks a share of the words of two texts in four, drawn for each text; None blanks none.
    """
    shape = (len(texts), max(len(words) for words, _ in texts))
    ids = np.full(shape, PAD)
    mask = np.zeros(shape, np.int64)
    for row, (words, _) in enumerate(texts):
        held = np.array([model.index.get(word, UNKNOWN) for word in words])
        if rng is not None and row % 4 > 1:
            held[rng.random(len(held)) < rng.uniform(0, 0.9)] = PAD
        ids[row, : len(held)] = held
        mask[row, : len(held)] = 1
    classes = torch.tensor([label for _, label in texts])
    return torch.from_numpy(ids), torch.from_numpy(mask), classes


def accuracy(model: WordClassifier, texts: Sequence[Labelled]) -> float:
    """The share of texts whose class it predicts."""
    ids, mask, classes = pad_words(model, texts)
    with torch.inference_mode():
        right = model.logits(ids, mask, mask).argmax(dim=1) == classes
    return float(right.double().mean())


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
