"""Small word-level networks, trained in a second or two on made-up texts, in memory, from seeds by name.

Half of the texts that they read in training have a share of their words blanked, so that erased texts are none that
they have never seen (as F-Fidelity does; Zheng et al. 2025). Letters used for shapes: B rows, L words.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from attreval.core.seeds import generator, seed_of
from attreval.models.words.classifier import Network, Sizes, WordClassifier
from attreval.models.words.vocabulary import PAD, UNKNOWN

Labelled = tuple[list[str], int]  # words, class
NOISE = 0.05  # of a neighbour: the standard deviation that is added to vectors, in that of all their entries


def train_words(
    name: str,
    labels: tuple[str, ...],
    words: Sequence[str],
    batch: Callable[[np.random.Generator], Sequence[Labelled]],
    *names: object,
    architecture: str = "cnn",
    steps: int = 150,
    size: int = 32,
    kernel: int = 3,
) -> WordClassifier:
    """A network of so many steps. words: its vocabulary. batch: draws texts with their classes for a step."""
    import torch

    sizes = Sizes(architecture, len(words) + 2, len(labels), size, size, kernel=kernel, dropout=0.0)
    rng, threads = generator("train", *names), torch.get_num_threads()
    torch.set_num_threads(1)  # of so small a network they only wait for each other, and sums keep their order
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of("weights", *names))
            network = Network(sizes)
            model = WordClassifier(name, network, tuple(words), sizes, labels, max_length=512)
            optimiser = torch.optim.Adam(network.train().parameters(), lr=0.01)
            for _ in range(steps):
                ids, mask, classes = pad_words(model, batch(rng), rng)
                loss = torch.nn.functional.cross_entropy(network(network.embedding(ids), mask), classes)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    finally:
        torch.set_num_threads(threads)
    network.eval().requires_grad_(False)
    return model


def pad_words(model: WordClassifier, texts: Sequence[Labelled], rng: np.random.Generator | None = None) -> tuple:
    """(B, L) ids and mask, (B,) classes. rng: blanks a share, drawn for each, of the words of every second text."""
    import torch

    shape = (len(texts), max(len(words) for words, _ in texts))
    ids, mask = np.full(shape, PAD), np.zeros(shape, np.int64)
    for row, (words, _) in enumerate(texts):
        held = np.array([model.index.get(word, UNKNOWN) for word in words])
        if rng is not None and row % 4 > 1:
            held[rng.random(len(held)) < rng.uniform(0, 0.9)] = PAD
        ids[row, : len(held)], mask[row, : len(held)] = held, 1
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.tensor([label for _, label in texts])


def accuracy(model: WordClassifier, texts: Sequence[Labelled]) -> float:
    """The share of texts whose class it predicts."""
    import torch

    ids, mask, classes = pad_words(model, texts)
    with torch.inference_mode():
        return float((model.logits(ids, mask, mask).argmax(dim=1) == classes).double().mean())


def neighbour(model: WordClassifier, *names: object) -> WordClassifier:
    """The same network with slightly disturbed word vectors: it reads slightly disturbed texts."""
    import torch

    network = copy.deepcopy(model.network)
    table = network.embedding.weight
    noise = generator("neighbour", *names).standard_normal(tuple(table.shape))
    noise[PAD] = 0
    with torch.no_grad():
        table += NOISE * table.std() * torch.from_numpy(noise).to(table.dtype)
    return replace(model, network=network, copies={})


def randomise(model: WordClassifier, *names: object) -> list[WordClassifier]:
    """The network with fresh weights in its last layer, in its last two, and so on (Adebayo et al. 2018)."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("randomised", *names))
        fresh, network, out = Network(model.sizes), model.network, []
    for layer in ("output", "core", "embedding"):
        network = copy.deepcopy(network)
        setattr(network, layer, copy.deepcopy(getattr(fresh, layer)))
        out.append(replace(model, network=network.eval().requires_grad_(False), copies={}))
    return out
