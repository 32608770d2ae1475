"""Small word-level classifiers with random weights, the same whatever the torch version."""

import numpy as np
import torch

from attreval.models.placing import freeze
from attreval.models.words.classifier import Network, Sizes, WordClassifier

VOCABULARY = ("the", "film", "was", "good", "bad", "not", "a", "plot", "very", "slow", ".", ",")
ARCHITECTURES = ("gru", "lstm", "qgru", "qlstm", "cnn")
KINDS = [
    *(
        (name, both, "turn_first")
        for name in ("gru", "lstm", "qgru", "qlstm")
        for both in (False, True)
    ),
    ("qgru", True, "convolve_first"),
    ("qlstm", True, "convolve_first"),
    ("cnn", False, "turn_first"),
]


def tiny_words(
    architecture="gru",
    bidirectional=True,
    order="turn_first",
    seed=0,
    gate="logistic",
    kernel=3,
    biased=True,
) -> WordClassifier:
    """3 classes, embeddings of 6, 5 units a direction; `biased`: with random biases, else with
    none.
    """
    sizes = Sizes(
        architecture, len(VOCABULARY) + 2, 3, 6, 5, bidirectional, kernel, 0.5, gate, order
    )
    network = Network(sizes)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, weights in network.named_parameters():
            draw = rng.standard_normal(weights.shape) * (0.3 if "bias" in name else 0.6)
            weights.copy_(torch.from_numpy(draw if biased or "bias" not in name else 0 * draw))
        network.embedding.weight[0] = 0
    return WordClassifier(
        f"tiny {architecture}", freeze(network), VOCABULARY, sizes, ("no", "maybe", "yes"), 64
    )


def rows(seed, lengths=(1, 2, 7, 4, 12)):
    """Rows of ids of several lengths, unknown words included."""
    rng = np.random.default_rng(seed)
    return [rng.integers(1, len(VOCABULARY) + 2, n) for n in lengths]
