"""Two trained networks of equal accuracy that rely on different words: the truth is what this one uses.

Every text has a word of each of two kinds, and either tells the class. One network learnt from texts in which the
second kind was drawn by chance, the other the other way round; the seed says which of the two is explained. The word
that the other one goes by is the decoy: right for the task, wrong for this model.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attreval.core.seeds import generator
from attreval.models.words.classifier import WordClassifier
from attreval.trial.exact import decides_alone, draw_until, kept_share
from attreval.trial.trained import Labelled, accuracy, train_words
from attreval.trial.world import Made, WorldText, invent_words, make_text, world

EACH, FILLERS, LENGTH, BATCH, TESTED = 4, 20, 10, 48, 200  # words of a kind for a class
LABELS = ("first", "second")


def draw_words(words: list[str], classes: tuple[int, int], rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """A text with a word of each kind, for a class each, and the places of the two."""
    text = [words[4 * EACH + at] for at in rng.integers(FILLERS, size=LENGTH)]
    places = rng.permutation(LENGTH)[:2]
    for kind, (place, label) in enumerate(zip(places, classes, strict=True)):
        text[place] = words[(2 * kind + label) * EACH + rng.integers(EACH)]
    return text, places


@lru_cache(maxsize=8)
def reliance_models(seed: int) -> tuple[list[WordClassifier], list[str], list[float]]:
    """Both networks, their words, and how often each is right on texts that both kinds tell the class of."""
    words = invent_words(4 * EACH + FILLERS, "trial", "reliance", seed)
    rng = generator("trial", "reliance", seed, "test")
    tested = [(draw_words(words, (at % 2, at % 2), rng)[0], at % 2) for at in range(TESTED)]
    models = []
    for used in (0, 1):

        def batch(rng: np.random.Generator, used: int = used) -> list[Labelled]:
            drawn = rng.integers(2, size=(BATCH, 2)).tolist()
            return [(draw_words(words, tuple(both), rng)[0], both[used]) for both in drawn]

        models.append(train_words("reliance", LABELS, words, batch, "trial", "reliance", seed, used))
    return models, words, [accuracy(model, tested) for model in models]


def which(seed: int) -> int:
    """Which of the two networks a seed explains."""
    return int(generator("trial", "reliance", seed, "which").integers(2))


def write_text(seed: int, at: int) -> tuple[WorldText, int]:
    """Text number `at`, drawn until the word of the kind that is used alone decides, and how often it was drawn."""
    models, words, _ = reliance_models(seed)
    used, target = which(seed), at % 2

    def draw(again: int) -> WorldText:
        rng = generator("trial", "reliance", seed, at, again)
        text, places = draw_words(words, (target, target), rng)
        truth, decoy = np.zeros(LENGTH), np.zeros(LENGTH)
        truth[places[used]], decoy[places[1 - used]] = 1.0, 1.0
        return make_text(models[used], f"reliance {seed} {at}", [text], target, truth, decoy=decoy)

    return draw_until(lambda one: decides_alone(models[used], one.tokens, one.truth.argmax(), target), draw)


@world(
    "Does it tell what this model uses from what another of the same accuracy does?",
    source="ours; after Jacovi & Goldberg 2020",
    truth="the word that this network uses: of all words, it alone moves the prediction where it is erased",
    order=13,
)
def reliance(seed: int, count: int) -> Made:
    """Two small convolutional networks, of which one is explained."""
    made = [write_text(seed, at) for at in range(count)]
    models, _, right = reliance_models(seed)
    used = which(seed)
    measured = {"accuracy": right[used], "accuracy of the other": right[1 - used]}
    return Made(models[used], [text for text, _ in made], True, measured | kept_share(drawn for _, drawn in made))
