"""Hybrid documents (Poerner et al. 2018, section 4.1): pieces of two topics, by a network that read one at a time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attreval.core.seeds import generator
from attreval.models.words.classifier import WordClassifier
from attreval.trial.exact import draw_until, erase_each
from attreval.trial.trained import Labelled, accuracy, train_words
from attreval.trial.world import Made, WorldText, invent_words, make_text, world

LABELS = ("first", "second", "third")
TOPIC, FILLERS, PIECE, BATCH, TESTED = 10, 20, 6, 48, 200


def draw_piece(words: list[str], label: int, length: int, rng: np.random.Generator) -> list[str]:
    """Words of a topic and of none, half of each on average, one of the topic at least."""
    own = rng.random(length) < 0.5
    own[rng.integers(length)] = True
    topic, rest = label * TOPIC + rng.integers(TOPIC, size=length), rng.integers(FILLERS, size=length)
    return [words[at] for at in np.where(own, topic, len(LABELS) * TOPIC + rest)]


@lru_cache(maxsize=8)
def hybrid_model(seed: int) -> tuple[WordClassifier, list[str], float]:
    """The network, its words, and how often it is right on documents of one topic."""
    words = invent_words(len(LABELS) * TOPIC + FILLERS, "trial", "hybrid", seed)

    def batch(rng: np.random.Generator, size: int = BATCH) -> list[Labelled]:
        drawn = rng.integers(len(LABELS), size=size).tolist()
        return [(draw_piece(words, label, 2 * PIECE, rng), label) for label in drawn]

    model = train_words("hybrid", LABELS, words, batch, "trial", "hybrid", seed)
    return model, words, accuracy(model, batch(generator("trial", "hybrid", seed, "test"), TESTED))


def write_text(seed: int, at: int) -> WorldText:
    """Text number `at`: two pieces of different topics, drawn until the network predicts the one that is its turn."""
    model, words, _ = hybrid_model(seed)
    target = at % len(LABELS)

    def draw(again: int) -> WorldText:
        rng = generator("trial", "hybrid", seed, at, again)
        other = (target + 1 + int(rng.integers(2))) % 3
        order = rng.permutation([target, other]).tolist()
        text = [word for label in order for word in draw_piece(words, label, PIECE, rng)]
        truth = np.repeat(np.array(order) == target, PIECE).astype(float)
        return make_text(model, f"hybrid {seed} {at}", [text], target, truth, decoy=1 - truth)

    return draw_until(lambda one: erase_each(model, one.tokens)[0].argmax() == target, draw)[0]


@world(
    "Does it find the piece of a document that was written for the class?",
    source="Poerner et al. 2018, section 4.1",
    truth="all words of the piece of the class that is predicted",
    order=10,
)
def hybrid(seed: int, count: int) -> Made:
    """A small convolutional network."""
    model, _, right = hybrid_model(seed)
    return Made(model, [write_text(seed, at) for at in range(count)], True, {"accuracy": right})
