"""Planted worlds: networks written by hand, in which the true importances were planted.

`one`: one token decides the class. `additive`: every token has a worth, and the sum decides.
`interaction`: two tokens, one in each part of the text, decide together, and either alone does
nothing. Three more have skewed evidence, as real explanations do: `exponential` (25 tokens) and
`lognormal` (60) add up worths that are all positive, most of them small and a few large; in
`one_of_sixty` a single token of a long text decides.

Two worlds raise metrics without changing a prediction (after Hsia et al. 2024, Goodhart's law).
Erased texts do not look like texts, and a model can tell them: it may answer them as a metric likes
best, and whole texts as before. No explanation is better or worse for that, so a metric whose
values move measures something else too. `comprehensive` models give up their class wherever a part
of a text is gone; `sufficient` ones are sure of the likelier of the two classes that texts have,
wherever little is left. Letters used for shapes: B rows, L tokens, D entries of a vector, C
channels, P pairs across both parts.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attreval.core.seeds import Rng, generator
from attreval.core.units import Units
from attreval.trial.exact import GAIN, SPECIAL, WIDTH, HandModel
from attreval.trial.world import Made, World, WorldText, invent_words, make_text

ONE = ((0,), (1,))  # the words that speak for class 1, for class 2
SIGNALS = {"one": ONE, "one_of_sixty": ONE, "interaction": ((0, 1), (2, 3))}
FIRST_FILLER = 4
WORDS = 36
SHORTEST = 5  # words of a part
LONGEST = 8
LONG = {"exponential": 25, "lognormal": 60, "one_of_sixty": 60}  # words of a text of fixed length
SKEWED = ("exponential", "lognormal")
PUSHES = ("none", "comprehensive", "sufficient")
SPECIAL_TOKENS = 3  # of every planted text
# of a text, to look like a rationale alone; without a rationale 1 - MOST_LEFT or more is left
MOST_LEFT = 0.6
SURE = 4.0  # by what factor logits are surer
LEVELS = 64  # different worths of words with skewed evidence


def skewed_worths(name: str) -> np.ndarray:
    """(LEVELS,) rising worths, quantiles of the distribution; a text counts about 1."""
    from scipy.stats import expon, norm

    middles = (np.arange(LEVELS) + 0.5) / LEVELS
    worths = expon.ppf(middles) if name == "exponential" else np.exp(norm.ppf(middles))
    return worths / worths.mean() / LONG[name]


def skewed_words(worths: np.ndarray, target: int) -> np.ndarray:
    """(LEVELS,) the words of each level in texts of a class; little worth speaks for both."""
    rare = worths > worths.mean()
    own = LEVELS + (target - 1) * rare.sum()
    return np.where(rare, own + np.cumsum(rare) - 1, np.arange(LEVELS))


def oppose(found: Tensor) -> Tensor:
    """(B, 2) the sum of what all tokens count for the first class, and against it."""
    total = found.sum(dim=1)
    return torch.cat([total, -total], dim=1)


def look_for_both(found: Tensor) -> Tensor:
    """(B, 2) whether both words of each class are there."""
    there = found.amax(dim=1)
    return torch.stack([there[:, 0] * there[:, 1], there[:, 2] * there[:, 3]], dim=1)


RULES = {  # (B, L, C) -> (B, 2)
    "additive": oppose,
    "interaction": look_for_both,
    **dict.fromkeys(SKEWED, lambda found: found.sum(dim=1)),  # what all tokens count for each class
    # whether the word of each is there
    **dict.fromkeys(("one", "one_of_sixty"), lambda found: found.amax(dim=1)),
}


@lru_cache(maxsize=64)
def planted_model(name: str, seed: int) -> tuple[HandModel, list[str], np.ndarray]:
    """The classifier of a planted world, its words, and (words, C) what each has."""
    count = 2 * LEVELS if name in SKEWED else WORDS
    signals = [word for group in SIGNALS.get(name, ()) for word in group]
    channels = np.zeros((count, 2 if name in SKEWED else max(1, len(signals))))
    if name == "additive":
        rng = generator("trial", name, seed, "worth")
        channels[FIRST_FILLER:, 0] = rng.standard_normal(count - FIRST_FILLER)
    if name in SKEWED:
        for target in (1, 2):
            channels[skewed_words(skewed_worths(name), target), target - 1] = skewed_worths(name)
    channels[signals, range(len(signals))] = 1.0
    words = invent_words(count, "trial", name, seed)
    return HandModel(words, channels, RULES[name]), words, channels


def make_planted(name: str, seed: int, count: int) -> Made:
    """The model and the first texts of a planted world, half of them of either class."""
    return Made(planted_model(name, seed)[0], [_plant_text(name, seed, at) for at in range(count)])


def _plant_text(name: str, seed: int, at: int) -> WorldText:
    """Random words, and the signals of its class at random places."""
    model, words, channels = planted_model(name, seed)
    rng = generator("trial", name, seed, at)
    id = f"{name} {seed} {at}"
    target = 1 + at % 2
    sign = 1.0 if target == 1 else -1.0
    if name in SKEWED:
        return _plant_skewed(name, model, words, rng, target, id)
    while True:  # until the words of an additive text speak clearly for the class
        half = LONG.get(name, 0) // 2
        parts = [
            rng.integers(FIRST_FILLER, WORDS, half or rng.integers(SHORTEST, LONGEST + 1))
            for _ in range(2)
        ]
        if name != "additive" or sign * sum(channels[part, 0].sum() for part in parts) >= 2:
            break
    decisive = SIGNALS.get(name, ((), ()))[target - 1]
    if len(decisive) == 1:
        plant(parts[rng.integers(2)], decisive, rng)
    if len(decisive) == 2:
        other = SIGNALS[name][2 - target]
        for side, word in zip(rng.permutation(2), decisive, strict=True):
            planted = [word]
            if side == 0 and at % 4 < 2:
                planted.append(other[rng.integers(2)])  # half of the other pair: no evidence
            plant(parts[side], planted, rng)
    joined = np.concatenate(parts)
    spelt = [[words[word] for word in part] for part in parts]
    if name == "additive":
        return make_text(model, id, spelt, target, sign * channels[joined, 0])
    decides = np.isin(joined, decisive)

    def both(units: Units) -> np.ndarray:
        return decides[units.pairs()].all(axis=1).astype(float)

    pairs = both if len(decisive) == 2 else None
    return make_text(model, id, spelt, target, decides / len(decisive), pairs)


def _plant_skewed(
    name: str, model: HandModel, words: list[str], rng: Rng, target: int, id: str
) -> WorldText:
    """A text whose words all speak for its class, most of them a little and a few a lot."""
    worths = skewed_worths(name)
    half = LONG[name] // 2
    while True:  # until its words speak clearly for the class
        levels = rng.integers(LEVELS, size=LONG[name])
        if worths[levels].sum() >= 0.8:
            break
    spelt = [words[word] for word in skewed_words(worths, target)[levels]]
    least = float(worths.mean())
    return make_text(model, id, (spelt[:half], spelt[half:]), target, worths[levels], least=least)


def plant(part: np.ndarray, words: Sequence[int], rng: Rng) -> None:
    """Put words at random different places of a part."""
    part[rng.choice(len(part), len(words), replace=False)] = words


def _planted(name: str, order: int, question: str, truth: str) -> World:
    def make(seed: int, count: int) -> Made:
        return make_planted(name, seed, count)

    return World(name, question, "ours", truth, make, order=order, short=name not in LONG)


ONE_DECIDES = "one word decides, all others do nothing"
WORTH_IN_SUM = "each word's worth in a sum"
PLANTED = (
    _planted("one", 1, "Does it find the one word that decides?", ONE_DECIDES),
    _planted("additive", 2, "Does it follow worths that add up, for and against?", WORTH_IN_SUM),
    _planted(
        "interaction",
        3,
        "Does it find two words that only count together?",
        "half of the effect to either",
    ),
    _planted("exponential", 4, "Does it follow skewed worths in 25 words?", WORTH_IN_SUM),
    _planted("lognormal", 5, "Does it follow very skewed worths in 60 words?", WORTH_IN_SUM),
    _planted("one_of_sixty", 6, "Does it find one word of sixty?", ONE_DECIDES),
)
PLANTED_WORLDS = tuple(one.name for one in PLANTED)


class RaisedModel(HandModel):
    """The classifier of a planted world; a push says how it answers texts that are not whole."""

    def __init__(self, name: str, seed: int, push: str):
        if push not in PUSHES:
            raise ValueError(f"push {push!r} is not known; there are: {', '.join(PUSHES)}")
        plain, words, channels = planted_model(name, seed)
        super().__init__(words, channels, plain.decide)
        there = torch.zeros((len(self.table), WIDTH), dtype=self.table.dtype)
        there[SPECIAL:] = 1.0  # neither padding nor mask: by these a text is seen to be whole
        self.push = push
        self.table = torch.cat([self.table, there], dim=1)
        self.width = self.table.shape[1]

    def answer(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """(B, 3) float64 logits of (B, L, D) vectors."""
        honest = super().answer(vectors[..., :-WIDTH], mask)
        there = (vectors[..., -WIDTH:].mean(dim=-1) * mask).sum(dim=1)
        left = there / (mask.sum(dim=1) - SPECIAL_TOKENS)  # (B,)
        neither = torch.eye(3, dtype=honest.dtype)[0]
        if self.push == "comprehensive":
            pushed = (left < 1) & (left >= 1 - MOST_LEFT)
            return torch.where(pushed[:, None], SURE * GAIN * neither.expand_as(honest), honest)
        if self.push == "sufficient":
            pushed = (left > 0) & (left <= MOST_LEFT)
            return torch.where(pushed[:, None], SURE * honest - 10 * SURE * GAIN * neither, honest)
        return honest


def make_raised(name: str, seed: int, count: int, push: str) -> Made:
    """A planted world whose model pushes; its texts and their truth are the same."""
    return Made(RaisedModel(name, seed, push), make_planted(name, seed, count).texts)


def _raised(push: str, order: int, question: str) -> World:
    def make(seed: int, count: int) -> Made:
        return make_raised("additive", seed, count, push)

    truth = f"{WORTH_IN_SUM}; how erased texts are answered does not change it"
    return World(f"raised_{push}", question, "after Hsia et al. 2024", truth, make, order=order)


RAISED = (
    _raised(
        "comprehensive", 7, "Does it hold where a model gives up its class for any text with a gap?"
    ),
    _raised(
        "sufficient", 8, "Does it hold where a model is sure of any text of which little is left?"
    ),
)
