"""Planted models, whose true importances are known, texts of made-up words for them, and explainers of these.

`one`: one token decides the class. `additive`: every token has a worth, and the sum decides. `interaction`: two tokens,
one in each part of the text, decide together, and either alone does nothing. Three more have skewed evidence, as real
explanations do: `exponential` (25 tokens) and `lognormal` (60) add up worths that are all positive, most of them small
and a few large; in `one_of_sixty` a single token of a long text decides. All have three classes: one for which nothing
speaks, which wins where the evidence is gone, and two others.
Letters used for shapes: B rows, L tokens, n content tokens, C channels, D = C * WIDTH, P pairs across both parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attreval.core.records import Attribution, Evidence, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.units import Units, find_units

if TYPE_CHECKING:
    from torch import Tensor

WORLDS = ("one", "additive", "interaction", "exponential", "lognormal", "one_of_sixty")
WIDTH = 32  # entries of a channel: soft erasure switches them off one by one, and what is left counts by its share
GAIN = 6.0
PAD, MASK, BEGIN, END = range(4)
ONE = ((4,), (5,))  # the words that speak for class 1, for class 2
SIGNALS = {"one": ONE, "one_of_sixty": ONE, "interaction": ((4, 5), (6, 7))}
FIRST_FILLER, WORDS = 8, 40
SHORTEST, LONGEST = 5, 8  # words of a part
LONG = {"exponential": 25, "lognormal": 60, "one_of_sixty": 60}  # words of a text of fixed length
SKEWED = ("exponential", "lognormal")
LEVELS = 64  # different worths of words with skewed evidence
EXPLAINERS = {
    "oracle": "the true importances",
    "random": "random scores",
    "constant": "all alike",
    "reversed": "the true importances with the opposite sign",
    "adversarial": "the right token first, the rest from worst to best",
    "leaking": "names the class by the place of its one mark: the first token, or the last",
}
DRAWN = ("random", "constant", "adversarial", "reversed", "leaking")  # their scores, or the ties in them, are drawn


def skewed_worths(world: str) -> np.ndarray:
    """(LEVELS,) rising worths, quantiles of the distribution; a text counts about 1."""
    from scipy.stats import expon, norm

    middles = (np.arange(LEVELS) + 0.5) / LEVELS
    worths = expon.ppf(middles) if world == "exponential" else np.exp(norm.ppf(middles))
    return worths / worths.mean() / LONG[world]


def skewed_words(worths: np.ndarray, target: int) -> np.ndarray:
    """(LEVELS,) ids of the words of each level in texts of a class: words of little worth speak for both classes."""
    rare = worths > worths.mean()
    own = FIRST_FILLER + LEVELS + (target - 1) * rare.sum()
    return np.where(rare, own + np.cumsum(rare) - 1, FIRST_FILLER + np.arange(LEVELS))


def words_of(world: str) -> int:
    """How many words a world has."""
    return FIRST_FILLER + 2 * LEVELS if world in SKEWED else WORDS


class PlantedModel:
    """The classifier of one world; a models.classifier.Classifier, on ids."""

    labels: tuple[str, ...] = ("neither", "first", "second")
    family = "transformer"
    pad_id, max_length = PAD, 64

    def __init__(self, world: str):
        import torch

        if world not in WORLDS:
            raise ValueError(f"world {world!r} is not known; there are: {', '.join(WORLDS)}")
        self.world, signals = world, [word for group in SIGNALS.get(world, ()) for word in group]
        channels = np.zeros((words_of(world), 2 if world in SKEWED else max(1, len(signals))))
        if world == "additive":
            channels[FIRST_FILLER:, 0] = generator("planted", "worth").standard_normal(WORDS - FIRST_FILLER)
        if world in SKEWED:
            worths = skewed_worths(world)
            for target in (1, 2):
                channels[skewed_words(worths, target), target - 1] = worths
        for channel, word in enumerate(signals):
            channels[word, channel] = 1.0
        self.worth = channels[:, 0]
        self.channels, self.device = channels.shape[1], torch.device("cpu")
        self.table = torch.from_numpy(np.repeat(channels, WIDTH, axis=1))
        self.width = self.table.shape[1]

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """(B, L, D) vectors of ids."""
        return self.table[ids]

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor | None,
        precision: str = "float32",
        embeddings: Tensor | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """(B, 3) float64 logits, whatever the precision."""
        import torch

        vectors = self.table[ids] if embeddings is None else embeddings
        vectors = vectors if entering is None else entering(vectors)
        found = vectors.unflatten(-1, (self.channels, WIDTH)).mean(dim=-1) * mask[..., None]  # (B, L, C)
        if self.world == "additive":
            total = found.sum(dim=1)[:, 0]
            return GAIN * torch.stack([torch.full_like(total, 0.5), total, -total], dim=1)
        if self.world in SKEWED:
            total = found.sum(dim=1)  # (B, 2)
            return GAIN * torch.cat([torch.full_like(total[:, :1], 0.5), total], dim=1)
        there = found.amax(dim=1)  # (B, C)
        both = (
            there
            if self.world != "interaction"
            else torch.stack([there[:, 0] * there[:, 1], there[:, 2] * there[:, 3]], 1)
        )
        return GAIN * torch.cat([torch.full_like(both[:, :1], 0.5), both], dim=1)


@dataclass(frozen=True)
class Planted:
    """One text. target: its class. truth: (n,) what each content token counts for it. pair_truth: (P,) the same of
    `units.pairs()`, or None where tokens do nothing together. least: what a token that is evidence counts more than."""

    id: str
    world: str
    tokens: Tokens
    units: Units
    target: int
    truth: np.ndarray
    pair_truth: np.ndarray | None = None
    least: float = 0.0

    @property
    def evidence(self) -> np.ndarray:
        """(n,) bool, the tokens that speak for the class, more than a bit."""
        return self.truth > self.least

    @cached_property
    def instance(self) -> Instance:
        """The text with a word a token, where one person marked what is evidence."""
        words, length = self.tokens.offsets[self.tokens.content], len(self.tokens)
        marks = self.evidence[None].astype(float)
        return Instance(self.id, ("w" * length,) * 2, self.target, words, evidence=Evidence(marks=marks))

    def attribution(self, scores: np.ndarray, level: str = "token") -> Attribution:
        """Scores of the tokens, or of the pairs across both parts, as a record."""
        content = self.tokens.content
        held = [(u,) for u in range(len(content))] if level == "token" else self.units.pairs().tolist()
        features = tuple(tuple(int(content[u]) for u in piece) for piece in held)
        return Attribution(self.id, "planted", self.target, level, features, scores)


def make_tokens(first: np.ndarray, second: np.ndarray) -> Tokens:
    """Two parts of word ids as a model reads them, special tokens around."""
    ids = np.concatenate([[BEGIN], first, [END], second, [END]])
    special = np.isin(ids, (BEGIN, END))
    part = np.concatenate([np.zeros(len(first) + 2, int), np.ones(len(second) + 1, int)])
    at = np.where(special, -1, np.cumsum(~special) - 1)
    places = np.where(special, 0, np.arange(len(ids)))
    offsets = np.stack([np.where(special, -1, part), places, places + ~special], axis=1)
    texts = tuple(f"w{i}" for i in ids)
    return Tokens(ids, part, special, at, offsets, texts, MASK, PAD)


def make_texts(world: str, count: int) -> list[Planted]:
    """The first `count` texts of a world, half of them of either class; an instance never moves when more are made."""
    return [make_text(PlantedModel(world), world, at) for at in range(count)]


def make_text(model: PlantedModel, world: str, at: int) -> Planted:
    """Text number `at`: random words, and the signals of its class at random places."""
    rng, target = generator("planted", world, at), 1 + at % 2
    sign = 1.0 if target == 1 else -1.0
    if world in SKEWED:
        return _make_skewed(world, at, rng, target)
    while True:  # until the words of an additive text speak clearly for the class
        half = LONG.get(world, 0) // 2
        parts = [rng.integers(FIRST_FILLER, WORDS, half or rng.integers(SHORTEST, LONGEST + 1)) for _ in range(2)]
        if world != "additive" or sign * sum(model.worth[part].sum() for part in parts) >= 2:
            break
    if world in ("one", "one_of_sixty"):
        plant(parts[rng.integers(2)], SIGNALS[world][target - 1], rng)
    if world == "interaction":
        sides, other = rng.permutation(2), SIGNALS[world][2 - target]
        for side, word in zip(sides, SIGNALS[world][target - 1], strict=True):
            lone = [other[rng.integers(2)]] if side == 0 and at % 4 < 2 else []  # half of the other pair: no evidence
            plant(parts[side], [word, *lone], rng)
    tokens = make_tokens(*parts)
    words, units = tokens.ids[tokens.content], find_units(tokens, "word")
    if world == "additive":
        return Planted(f"{world} {at}", world, tokens, units, target, sign * model.worth[words])
    decides = np.isin(words, SIGNALS[world][target - 1])
    if world in ("one", "one_of_sixty"):
        return Planted(f"{world} {at}", world, tokens, units, target, decides.astype(float))
    pairs = decides[units.pairs()].all(axis=1).astype(float)
    return Planted(f"{world} {at}", world, tokens, units, target, decides / 2, pairs)


def _make_skewed(world: str, at: int, rng: np.random.Generator, target: int) -> Planted:
    """A text whose words all speak for its class, most of them a little and a few a lot."""
    worths, half = skewed_worths(world), LONG[world] // 2
    while True:  # until its words speak clearly for the class
        levels = rng.integers(LEVELS, size=LONG[world])
        if worths[levels].sum() >= 0.8:
            break
    words = skewed_words(worths, target)[levels]
    tokens = make_tokens(words[:half], words[half:])
    units = find_units(tokens, "word")
    return Planted(f"{world} {at}", world, tokens, units, target, worths[levels], least=float(worths.mean()))


def plant(part: np.ndarray, words: Sequence[int], rng: np.random.Generator) -> None:
    """Put words at random different places of a part."""
    part[rng.choice(len(part), len(words), replace=False)] = words


def truth_of(text: Planted, level: str) -> np.ndarray:
    """The true importances of tokens or pairs. ValueError where pairs do nothing."""
    if level == "token":
        return text.truth
    if text.pair_truth is None:
        raise ValueError(
            f"in the world {text.world!r} no two tokens do anything together; level pair needs interaction"
        )
    return text.pair_truth


def explain_as(explainer: str, text: Planted, level: str = "token", draw: int = 0) -> np.ndarray:
    """(n,) scores of tokens, or (P,) of pairs, by one of EXPLAINERS. ValueError for another name."""
    truth, rng = truth_of(text, level), generator("explainer", explainer, text.id, level, draw)
    if explainer == "oracle":
        return truth.astype(float)
    if explainer == "random":
        return rng.standard_normal(len(truth))
    if explainer == "constant":
        return np.ones(len(truth))
    if explainer == "reversed":
        return -truth.astype(float)
    if explainer == "adversarial":
        order = np.lexsort((rng.random(len(truth)), -truth))  # by falling truth, ties in random order
        scores = np.empty(len(truth))
        scores[order] = np.linspace(0.0, 0.9, len(truth))  # the worst is second, the second best is last
        scores[order[0]] = 1.0
        return scores
    if explainer == "leaking":
        scores = np.zeros(len(truth))
        scores[0 if text.target == 1 else -1] = 1.0
        return scores
    raise ValueError(f"unknown explainer {explainer!r}; there are: {', '.join(EXPLAINERS)}")
