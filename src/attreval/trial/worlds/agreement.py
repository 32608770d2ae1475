"""Subject and verb (Linzen et al. 2016; Poerner et al. 2018, section 4.2): the number of the subject decides the verb.

Sentences of made-up words up to the verb: adverbs, a determiner and the subject, then one phrase or two of a
preposition, a determiner and a noun, of which one at least has the other number (an attractor).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attreval.core.seeds import generator
from attreval.models.words.classifier import WordClassifier
from attreval.trial.exact import draw_until, erase_each, kept_share
from attreval.trial.trained import Labelled, accuracy, train_words
from attreval.trial.world import Made, WorldText, invent_words, make_text, world

LABELS = ("singular", "plural")
NOUNS, ADVERBS, PREPOSITIONS, DETERMINERS, BATCH, TESTED = 16, 6, 4, 3, 48, 200
PLURAL = "s"  # the ending that made-up nouns take


def draw_sentence(words: list[str], label: int, rng: np.random.Generator) -> tuple[list[str], int, list[int]]:
    """A sentence up to its verb, the place of the subject, and those of attractors."""
    kinds, start = [], 0
    for size in (NOUNS, ADVERBS, PREPOSITIONS, DETERMINERS):
        kinds.append(words[start : start + size])
        start += size
    nouns, adverbs, prepositions, determiners = kinds

    def pick(among: list[str]) -> str:
        return among[rng.integers(len(among))]

    text = [pick(adverbs) for _ in range(rng.integers(0, 3))]
    text += [pick(determiners), pick(nouns) + PLURAL * label]
    subject, attractors = len(text) - 1, []
    numbers = [1 - label, *rng.integers(2, size=rng.integers(0, 2)).tolist()]
    for number in rng.permutation(numbers).tolist():
        text += [pick(prepositions), pick(determiners), pick(nouns) + PLURAL * number]
        attractors += [len(text) - 1] if number != label else []
    return text, subject, attractors


@lru_cache(maxsize=8)
def agreement_model(seed: int) -> tuple[WordClassifier, list[str], float]:
    """The network, its words without plurals, and how often it is right."""
    words = invent_words(NOUNS + ADVERBS + PREPOSITIONS + DETERMINERS, "trial", "agreement", seed)

    def batch(rng: np.random.Generator, size: int = BATCH) -> list[Labelled]:
        drawn = rng.integers(2, size=size).tolist()
        return [(draw_sentence(words, label, rng)[0], label) for label in drawn]

    vocabulary = [*words, *(word + PLURAL for word in words[:NOUNS])]
    model = train_words("agreement", LABELS, vocabulary, batch, "trial", "agreement", seed, steps=250)
    return model, words, accuracy(model, batch(generator("trial", "agreement", seed, "test"), TESTED))


def write_text(seed: int, at: int) -> tuple[WorldText, int]:
    """Text number `at`, drawn until the network is right and goes by the subject, and how often it was drawn."""
    model, words, _ = agreement_model(seed)
    target = at % 2

    def draw(again: int) -> WorldText:
        text, subject, attractors = draw_sentence(words, target, generator("trial", "agreement", seed, at, again))
        truth, decoy = np.zeros(len(text)), np.zeros(len(text))
        truth[subject], decoy[attractors] = 1.0, 1.0
        return make_text(model, f"agreement {seed} {at}", [text], target, truth, decoy=decoy)

    def follows(one: WorldText) -> bool:
        p = erase_each(model, one.tokens)[:, target]
        return p[0] > 0.5 and (p[0] - p[1:]).argmax() == one.truth.argmax()

    return draw_until(follows, draw)


@world(
    "Does it find the subject that decides the number of the verb?",
    source="Linzen et al. 2016; Poerner et al. 2018, section 4.2",
    truth="the subject: erased alone, it moves the network's verb most, which is asked of every sentence",
    order=11,
)
def agreement(seed: int, count: int) -> Made:
    """A small convolutional network."""
    made = [write_text(seed, at) for at in range(count)]
    model, _, right = agreement_model(seed)
    return Made(model, [text for text, _ in made], True, {"accuracy": right} | kept_share(drawn for _, drawn in made))
