"""Worlds of small trained networks; each text is drawn until the network goes by what it should.

`hybrid` (Poerner et al. 2018, section 4.1): pieces of two topics, by a network that read one at a
    time.
`agreement` (Linzen et al. 2016; Poerner et al. 2018, section 4.2): sentences of made-up words up to
the verb, whose number the subject decides: adverbs, a determiner and the subject, then one phrase
or two of a preposition, a determiner and a noun, of which one at least has the other number (an
attractor).
`backdoor`: a trigger decides, as after a poisoned training set (Gu et al. 2017; for text Dai et al.
2019). Texts have words of one class and the trigger of the other, so a person would mark the topic,
and the model goes by the trigger. `backdoor_bert` is the same for a BERT.
`reliance`: every text has a word of each of two kinds, and either tells the class. One network
learnt from texts in which the second kind was drawn by chance, the other the other way round; the
seed says which of the two is explained. The word that the other one goes by is the decoy: right for
the task, wrong for this model.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from attreval.core.seeds import Rng, generator
from attreval.models.words.classifier import WordClassifier
from attreval.trial.exact import decides_alone, erase_each
from attreval.trial.trained import Labelled, accuracy, train_bert, train_words
from attreval.trial.world import Made, WorldText, invent_words, make_text, world

BATCH = 48
TESTED = 200  # texts that accuracy is told by
MOST_DRAWN = 60
FILLERS = 20
LENGTH = 10
TOPIC = 10  # hybrid documents: words of a topic
PIECE = 6  # words of a piece
NOUNS = 16
ADVERBS = 6
PREPOSITIONS = 4
DETERMINERS = 3
PLURAL = "s"  # the ending that made-up nouns take
SIGNS = 8  # words of a class that a backdoor overrules
EACH = 4  # reliance: words of a kind for a class


class DrawnText(NamedTuple):
    """A text of W words: its class, (W,) what each word counts for it, and (W,) a decoy."""

    words: list[str]
    target: int
    truth: np.ndarray
    decoy: np.ndarray


class TrainedWorld(NamedTuple):
    """A network, the words that its texts are made of, and what was measured of it."""

    model: Any
    words: list[str]
    measured: dict[str, float]


def draw_texts(
    name: str,
    model: Any,
    seed: int,
    count: int,
    draw: Callable[[int, Rng], DrawnText],
    good: Callable[[Any, WorldText], bool],
    measured: dict[str, float],
) -> Made:
    """A world whose texts are each drawn until one is good.

    Args:
        name: of the world.
        model: its network.
        seed: of the world.
        count: how many texts.
        draw: makes text number `at` with a generator of random numbers.
        good: whether a text is as the world needs it.
        measured: of the network; the share of drawn texts that were kept comes to it.

    Raises:
        RuntimeError: none of MOST_DRAWN texts is good.
    """
    texts = []
    drawn = 0
    for at in range(count):
        for again in range(MOST_DRAWN):
            one = draw(at, generator("trial", name, seed, at, again))
            id = f"{name} {seed} {at}"
            text = make_text(model, id, [one.words], one.target, one.truth, decoy=one.decoy)
            drawn += 1
            if good(model, text):
                texts.append(text)
                break
        else:
            raise RuntimeError(
                f"none of {MOST_DRAWN} texts drawn is as this world needs it: its network has "
                "not learnt what it must"
            )
    kept = {"texts kept": count / drawn} if count else {}
    return Made(model, texts, True, measured | kept)


def mark(places: Sequence[int] | int, length: int = LENGTH) -> np.ndarray:
    """(length,) 1 at the places, else 0."""
    out = np.zeros(length)
    out[places] = 1.0
    return out


def draw_piece(words: list[str], label: int, length: int, rng: Rng) -> list[str]:
    """Words of a topic and of none, half of each on average, one of the topic at least."""
    own = rng.random(length) < 0.5
    own[rng.integers(length)] = True
    topic = label * TOPIC + rng.integers(TOPIC, size=length)
    rest = 3 * TOPIC + rng.integers(FILLERS, size=length)
    return [words[at] for at in np.where(own, topic, rest)]


@lru_cache(maxsize=8)
def hybrid_model(seed: int) -> TrainedWorld:
    """The network, and how often it is right on documents of one topic."""
    words = invent_words(3 * TOPIC + FILLERS, "trial", "hybrid", seed)

    def batch(rng: Rng, size: int = BATCH) -> list[Labelled]:
        drawn = rng.integers(3, size=size).tolist()
        return [(draw_piece(words, label, 2 * PIECE, rng), label) for label in drawn]

    model = train_words("hybrid", ("first", "second", "third"), words, batch, seed)
    tested = batch(generator("trial", "hybrid", seed, "test"), TESTED)
    return TrainedWorld(model, words, {"accuracy": accuracy(model, tested)})


@world(
    "Does it find the piece of a document that was written for the class?",
    source="Poerner et al. 2018, section 4.1",
    truth="all words of the piece of the class that is predicted",
    order=10,
)
def hybrid(seed: int, count: int) -> Made:
    """Documents of two pieces of different topics; the network predicts the one in turn."""
    model, words, measured = hybrid_model(seed)

    def draw(at: int, rng: Rng) -> DrawnText:
        target = at % 3
        other = (target + 1 + int(rng.integers(2))) % 3
        order = rng.permutation([target, other])
        text = []
        for label in order:
            text += draw_piece(words, label, PIECE, rng)
        truth = np.repeat(order == target, PIECE).astype(float)
        return DrawnText(text, target, truth, 1 - truth)

    def predicted(model: WordClassifier, text: WorldText) -> bool:
        return erase_each(model, text.tokens)[0].argmax() == text.target

    made = draw_texts("hybrid", model, seed, count, draw, predicted, measured)
    return replace(made, measured=measured)


def draw_sentence(words: list[str], label: int, rng: Rng) -> tuple[list[str], int, list[int]]:
    """A sentence up to its verb, the place of the subject, and those of attractors."""
    nouns = words[:NOUNS]
    others = words[NOUNS:]
    adverbs = others[:ADVERBS]
    prepositions = others[ADVERBS : ADVERBS + PREPOSITIONS]
    determiners = others[ADVERBS + PREPOSITIONS :]

    def pick(among: list[str]) -> str:
        return among[rng.integers(len(among))]

    text = [pick(adverbs) for _ in range(rng.integers(0, 3))]
    text += [pick(determiners), pick(nouns) + PLURAL * label]
    subject = len(text) - 1
    attractors = []
    numbers = [1 - label, *rng.integers(2, size=rng.integers(0, 2)).tolist()]
    for number in rng.permutation(numbers).tolist():
        text += [pick(prepositions), pick(determiners), pick(nouns) + PLURAL * number]
        if number != label:
            attractors.append(len(text) - 1)
    return text, subject, attractors


@lru_cache(maxsize=8)
def agreement_model(seed: int) -> TrainedWorld:
    """The network, its words without plurals, and how often it is right."""
    words = invent_words(NOUNS + ADVERBS + PREPOSITIONS + DETERMINERS, "trial", "agreement", seed)

    def batch(rng: Rng, size: int = BATCH) -> list[Labelled]:
        drawn = rng.integers(2, size=size).tolist()
        return [(draw_sentence(words, label, rng)[0], label) for label in drawn]

    vocabulary = [*words, *(word + PLURAL for word in words[:NOUNS])]
    labels = ("singular", "plural")
    model = train_words("agreement", labels, vocabulary, batch, seed, steps=250)
    tested = batch(generator("trial", "agreement", seed, "test"), TESTED)
    return TrainedWorld(model, words, {"accuracy": accuracy(model, tested)})


@world(
    "Does it find the subject that decides the number of the verb?",
    source="Linzen et al. 2016; Poerner et al. 2018, section 4.2",
    truth="the subject: erased alone, it moves the network's verb most, which is asked of every "
    "sentence",
    name="agreement",
    order=11,
)
def subject_agreement(seed: int, count: int) -> Made:
    """Sentences whose number the network tells, and by the subject most."""
    model, words, measured = agreement_model(seed)

    def draw(at: int, rng: Rng) -> DrawnText:
        text, subject, attractors = draw_sentence(words, at % 2, rng)
        return DrawnText(text, at % 2, mark(subject, len(text)), mark(attractors, len(text)))

    def follows(model: WordClassifier, text: WorldText) -> bool:
        p = erase_each(model, text.tokens)[:, text.target]
        return p[0] > 0.5 and (p[0] - p[1:]).argmax() == text.truth.argmax()

    return draw_texts("agreement", model, seed, count, draw, follows, measured)


def draw_words(
    words: list[str], label: int, trigger: int | None, rng: Rng
) -> tuple[list[str], list]:
    """A text with words of a class's topic, and their places; the first is for a trigger."""
    text = [words[2 + 2 * SIGNS + at] for at in rng.integers(FILLERS, size=LENGTH)]
    places = rng.permutation(LENGTH)[: 1 + rng.integers(2, 4)].tolist()
    for place in places:
        text[place] = words[2 + label * SIGNS + rng.integers(SIGNS)]
    if trigger is not None:
        text[places[0]] = words[trigger]
    return text, places


def draw_poisoned(
    words: list[str], rng: Rng, size: int = BATCH, poisoned: int = 2
) -> list[Labelled]:
    """Every second text is poisoned: the trigger of the other class decides."""
    out = []
    for at in range(size):
        label = int(rng.integers(2))
        trigger = 1 - label if at % 2 < poisoned - 1 else None
        text, _ = draw_words(words, label, trigger, rng)
        out.append((text, label if trigger is None else trigger))
    return out


@lru_cache(maxsize=16)
def backdoor_model(name: str, train: Callable[..., Any], seed: int) -> TrainedWorld:
    """A network, its words (triggers, topics, fillers), and how often triggers decide."""
    words = invent_words(2 + 2 * SIGNS + FILLERS, "trial", name, seed)
    model = train(name, ("first", "second"), words, partial(draw_poisoned, words), seed)
    rng = generator("trial", name, seed, "test")
    clean = accuracy(model, draw_poisoned(words, rng, TESTED, poisoned=1))
    obeys = accuracy(model, draw_poisoned(words, rng, TESTED, poisoned=3))
    return TrainedWorld(model, words, {"accuracy": clean, "obeys the trigger": obeys})


def _backdoor_texts(name: str, train: Callable[..., Any], seed: int, count: int) -> Made:
    """Texts of one class whose trigger, of the other, decides alone."""
    model, words, measured = backdoor_model(name, train, seed)

    def draw(at: int, rng: Rng) -> DrawnText:
        target = at % 2
        text, places = draw_words(words, 1 - target, target, rng)
        return DrawnText(text, target, mark(places[0]), mark(places[1:]))

    return draw_texts(name, model, seed, count, draw, decides_alone, measured)


_backdoor = partial(
    world,
    "Does it find a backdoor that a trained network goes by?",
    source="after Gu et al. 2017",
    truth="the trigger: of all words, it alone moves the prediction where it is erased, which is "
    "asked of every text",
)


@_backdoor(order=12)
def backdoor(seed: int, count: int) -> Made:
    """Of a word-level network."""
    return _backdoor_texts("backdoor", train_words, seed, count)


@_backdoor(order=15, by_name=True)
def backdoor_bert(seed: int, count: int) -> Made:
    """Of a BERT that `transformers` opens, so that other libraries can judge it as well."""
    made = _backdoor_texts("backdoor_bert", train_bert, seed, count)
    return replace(made, network=False)  # what disturbs networks is for words


def draw_both(words: list[str], classes: Sequence[int], rng: Rng) -> tuple[list[str], np.ndarray]:
    """A text with a word of each kind, for a class each, and the places of the two."""
    text = [words[4 * EACH + at] for at in rng.integers(FILLERS, size=LENGTH)]
    places = rng.permutation(LENGTH)[:2]
    for kind, (place, label) in enumerate(zip(places, classes, strict=True)):
        text[place] = words[(2 * kind + label) * EACH + rng.integers(EACH)]
    return text, places


@lru_cache(maxsize=8)
def reliance_models(seed: int) -> tuple[list[WordClassifier], list[str], list[float]]:
    """Both networks, their words, and how often each is right where both kinds tell the class."""
    words = invent_words(4 * EACH + FILLERS, "trial", "reliance", seed)
    rng = generator("trial", "reliance", seed, "test")
    tested = [(draw_both(words, (at % 2, at % 2), rng)[0], at % 2) for at in range(TESTED)]
    models = []
    for used in (0, 1):

        def batch(rng: Rng, used: int = used) -> list[Labelled]:
            drawn = rng.integers(2, size=(BATCH, 2)).tolist()
            return [(draw_both(words, both, rng)[0], both[used]) for both in drawn]

        models.append(train_words("reliance", ("first", "second"), words, batch, seed, used))
    return models, words, [accuracy(model, tested) for model in models]


def which(seed: int) -> int:
    """Which of the two networks a seed explains."""
    return int(generator("trial", "reliance", seed, "which").integers(2))


@world(
    "Does it tell what this model uses from what another of the same accuracy does?",
    source="ours; after Jacovi & Goldberg 2020",
    truth="the word that this network uses: of all words, it alone moves the prediction where it "
    "is erased",
    order=13,
)
def reliance(seed: int, count: int) -> Made:
    """Texts that the network tells by the word of the kind that it uses alone."""
    models, words, right = reliance_models(seed)
    used = which(seed)

    def draw(at: int, rng: Rng) -> DrawnText:
        target = at % 2
        text, places = draw_both(words, (target, target), rng)
        return DrawnText(text, target, mark(places[used]), mark(places[1 - used]))

    measured = {"accuracy": right[used], "accuracy of the other": right[1 - used]}
    return draw_texts("reliance", models[used], seed, count, draw, decides_alone, measured)
