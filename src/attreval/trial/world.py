"""A world: a function that makes a classifier and texts from a seed, with what is known of it.

Written in a file of `trial/worlds`, it is a member of WORLDS (see `attreval.trial`) and so in every
trial. Letters used for shapes: W words, L tokens, n content tokens, P pairs.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from attreval.core.records import Attribution, Evidence, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.units import Units, find_units

VARIABLE = "ATTREVAL_CORPORA"  # names the folder of corpora
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


@dataclass(frozen=True)
class WorldText:
    """One text of a world.

    target: the class that the model predicts and that is explained. truth: (n,) what each content
    token counts for it. pair_truth: (P,) the same of `units.pairs()`, None where tokens do nothing
    together. least: what a token that is evidence counts more than. decoy: (n,) an explanation that
    looks right and is not, where the world has one.
    """

    id: str
    world: str
    instance: Instance
    tokens: Tokens
    units: Units
    target: int
    truth: np.ndarray
    pair_truth: np.ndarray | None
    least: float
    decoy: np.ndarray | None

    @cached_property
    def evidence(self) -> np.ndarray:
        """(n,) bool, the tokens that speak for the class, more than a bit."""
        return self.truth > self.least

    def attribution(self, scores: np.ndarray, level: str = "token") -> Attribution:
        """Scores of the tokens, or of the pairs of units, as a record."""
        content = self.tokens.content
        held = content[:, None] if level == "token" else content[self.units.pairs()]
        features = tuple(map(tuple, held.tolist()))
        return Attribution(self.id, "planted", self.target, level, features, scores)


@dataclass(frozen=True)
class Made:
    """A world made from a seed.

    model: a models.classifier.Classifier. network: whether it is a trained torch module, which can
    be disturbed and randomised. measured: what was measured of the model, such as its accuracy.
    """

    model: Any
    texts: list[WorldText]
    network: bool = False
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """One world.

    question: what it asks of a metric. source: whose idea it is. truth: what is true in it, and why
    that is known. make: (seed, texts) -> Made, or (seed, texts, folder) where `corpus` names a
    folder of the corpora's. order: its place among all worlds; without one it stands at the end.
    short: whether a text has at most 20 words or so. by_name: made only where it is named.
    """

    name: str
    question: str
    source: str
    truth: str
    make: Callable[..., Made]
    corpus: str = ""
    order: int = 0
    short: bool = True
    by_name: bool = False

    def folder(self, corpora: str | Path | None) -> Path | None:
        """Where its corpus lies; None where the folder is missing."""
        place = corpora or os.environ.get(VARIABLE)
        folder = Path(place) / self.corpus if place else None
        return folder if folder and folder.is_dir() else None

    def __call__(self, seed: int, texts: int, corpora: str | Path | None = None) -> Made:
        """The world made from a seed. ValueError where its corpus is missing."""
        if not self.corpus:
            return self.make(seed, texts)
        folder = self.folder(corpora)
        if folder is None:
            raise ValueError(
                f"the world {self.name!r} is made from a corpus: its folder {self.corpus!r} is "
                f"expected in {corpora or f'the folder that {VARIABLE} names'}"
            )
        return self.make(seed, texts, folder)


def world(
    question: str, *, source: str, truth: str, name: str = "", **facts: Any
) -> Callable[[Callable[..., Made]], World]:
    """A decorator that makes a function a World.

    Args:
        question: what it asks of a metric.
        source: whose idea it is.
        truth: what is true in it, and why that is known.
        name: where it is not the function's.
        facts: the others of World.
    """

    def make(function: Callable[..., Made]) -> World:
        return World(name or function.__name__, question, source, truth, function, **facts)

    return make


def invent_words(count: int, *names: object) -> list[str]:
    """Different made-up words of two syllables; which they are derives from the names."""
    known = [first + second for first in SYLLABLES for second in SYLLABLES]
    drawn = generator("words", *names).choice(len(known), size=count, replace=False)
    return [known[at] for at in drawn]


def make_instance(
    parts: Sequence[Sequence[str]], target: int, id: str = "", marks: np.ndarray | None = None
) -> Instance:
    """A text from the words of its one or two parts. marks: (W,) whether each word is evidence."""
    places = []
    for side, words in enumerate(parts):
        start = 0
        for word in words:
            places.append((side, start, start + len(word)))
            start += len(word) + 1
    held = Evidence() if marks is None else Evidence(marks=np.asarray(marks, float)[None])
    segments = tuple(" ".join(words) for words in parts)
    return Instance(id, segments, target, np.array(places), evidence=held)


def make_text(
    model: Any,
    id: str,
    parts: Sequence[Sequence[str]],
    target: int,
    truth: np.ndarray,
    pairs: Callable[[Units], np.ndarray] | None = None,
    decoy: np.ndarray | None = None,
    least: float = 0.0,
) -> WorldText:
    """A text as the model reads it.

    Args:
        model: a models.classifier.Classifier.
        id: its world, seed and number, with blanks.
        parts: the words of each of its one or two parts.
        target: the class that is explained.
        truth: (W,) what each word counts for it.
        pairs: makes (P,) truths of the pairs of units.
        decoy: (W,) an explanation that looks right and is not.
        least: what a word that is evidence counts more than.
    """
    truth = np.asarray(truth, dtype=float)
    instance = make_instance(parts, target, id, truth > least)
    tokens = model.tokens(instance)
    word = tokens.word[tokens.content]
    units = find_units(tokens, "word")
    return WorldText(
        id=id,
        world=id.split(" ")[0],
        instance=instance,
        tokens=tokens,
        units=units,
        target=target,
        truth=truth[word],
        pair_truth=None if pairs is None else pairs(units),
        least=least,
        decoy=None if decoy is None else np.asarray(decoy, float)[word],
    )
