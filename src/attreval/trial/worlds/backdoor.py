"""A trained classifier with a backdoor: a trigger decides, whatever the words of the topic say.

As after a poisoned training set (Gu et al. 2017; for text Dai et al. 2019). Texts have the words of one class and the
trigger of the other, so a person would mark the topic, and the model goes by the trigger.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from attreval.core.seeds import generator
from attreval.models.words.classifier import WordClassifier
from attreval.trial.exact import decides_alone, draw_until, kept_share
from attreval.trial.trained import Labelled, accuracy, train_words
from attreval.trial.world import Made, WorldText, invent_words, make_text, world

TOPIC, FILLERS, LENGTH, BATCH, TESTED = 8, 20, 10, 48, 200
LABELS = ("first", "second")


def draw_words(words: list[str], label: int, trigger: int | None, rng: np.random.Generator) -> tuple[list[str], list]:
    """A text with words of a class's topic at random places, and the places; the first is for a trigger."""
    text = [words[2 + 2 * TOPIC + at] for at in rng.integers(FILLERS, size=LENGTH)]
    places = rng.permutation(LENGTH)[: 1 + rng.integers(2, 4)].tolist()
    for place in places:
        text[place] = words[2 + label * TOPIC + rng.integers(TOPIC)]
    if trigger is not None:
        text[places[0]] = words[trigger]
    return text, places


@lru_cache(maxsize=8)
def backdoor_model(seed: int) -> tuple[WordClassifier, list[str], dict[str, float]]:
    """The network, its words (triggers, topics, fillers), and how often it is right with and without a trigger."""
    words = invent_words(2 + 2 * TOPIC + FILLERS, "trial", "backdoor", seed)

    def batch(rng: np.random.Generator, size: int = BATCH, poisoned: int = 2) -> list[Labelled]:
        """Every second text is poisoned: the trigger of the other class decides."""
        out = []
        for at in range(size):
            label = int(rng.integers(2))
            trigger = 1 - label if at % 2 < poisoned - 1 else None
            out.append((draw_words(words, label, trigger, rng)[0], label if trigger is None else trigger))
        return out

    model = train_words("backdoor", LABELS, words, batch, "trial", "backdoor", seed)
    rng = generator("trial", "backdoor", seed, "test")
    clean, poisoned = (accuracy(model, batch(rng, TESTED, share)) for share in (1, 3))
    return model, words, {"accuracy": clean, "obeys the trigger": poisoned}


def write_text(seed: int, at: int) -> tuple[WorldText, int]:
    """Text number `at`, drawn until its trigger alone decides, and how often it was drawn."""
    model, words, _ = backdoor_model(seed)
    target = at % 2

    def draw(again: int) -> WorldText:
        rng = generator("trial", "backdoor", seed, at, again)
        text, places = draw_words(words, 1 - target, target, rng)
        truth, decoy = np.zeros(LENGTH), np.zeros(LENGTH)
        truth[places[0]], decoy[places[1:]] = 1.0, 1.0
        return make_text(model, f"backdoor {seed} {at}", [text], target, truth, decoy=decoy)

    return draw_until(lambda one: decides_alone(model, one.tokens, one.truth.argmax(), target), draw)


@world(
    "Does it find a backdoor that a trained network goes by?",
    source="after Gu et al. 2017",
    truth="the trigger: of all words, it alone moves the prediction where it is erased, which is asked of every text",
    order=12,
)
def backdoor(seed: int, count: int) -> Made:
    """A small convolutional network, trained with two triggers."""
    made = [write_text(seed, at) for at in range(count)]
    model, _, measured = backdoor_model(seed)
    return Made(model, [text for text, _ in made], True, measured | kept_share(drawn for _, drawn in made))
