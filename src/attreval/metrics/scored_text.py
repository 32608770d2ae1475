"""One text with the scores that methods give it, as metrics are asked about it, and what people
marked in it.

Evidence holds one row of word marks for each of A people, any number of them. Every piece of a
marked word is marked, punctuation never is: annotators could not tell it from the word beside it
(the released code of Kamp et al. 2023). That code looks at the tokenizer's own text of a piece:
what the vocabulary does not know, such as an emoji, is `[UNK]` there, holds letters, and counts as
a word. Letters used for shapes: A people, W words, n content tokens.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import regex
from numpy.typing import ArrayLike

from attreval.core.alignment import marked_tokens
from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import Rng, generator
from attreval.core.units import Units
from attreval.metrics.protocol import Protocol
from attreval.models.questions import Conversation

# a mark that stands alone, as pieces of Indic words do, is none
PUNCTUATION = regex.compile(r"(?!(?!\p{VS})[\p{Mn}\p{Mc}])[^\p{L}\p{N}_\s]+")
UNKNOWN = ("[UNK]", "<unk>")
RANDOM = "random"  # the method whose scores mean nothing
FOUR_DRAWS = Protocol(draws=4, ties="half")


def finite(scores: ArrayLike, whose: str = "scores") -> np.ndarray:
    """Scores as float64. ValueError, which says whose they are, where one is no finite number."""
    scores = np.asarray(scores, dtype=float)
    wrong = np.argwhere(~np.isfinite(scores))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        raise ValueError(
            f"{whose} must be finite numbers; position {place} is {scores[tuple(wrong[0])]}: "
            "give every token a number, or leave these scores out"
        )
    return scores


def to_scale(scores: np.ndarray) -> np.ndarray:
    """(n,) scores over the largest of their sizes: a tolerance is a share of that. Zeros stay
    zeros.
    """
    largest = np.abs(scores).max(initial=0)
    return scores / largest if largest > 0 else scores


def token_marks(instance: Instance, tokens: Tokens) -> np.ndarray:
    """(A, n) marks of the content tokens: that of the word that holds them, 0 for punctuation that
    is known.

    Raises ValueError where nobody marked this instance.
    """
    marks = instance.evidence.marks
    if not len(marks):
        raise ValueError(
            f"instance {instance.id!r} holds no marks of people; pick a task whose evidence is "
            "marks"
        )
    content = tokens.content
    texts = [instance.segments[s][a:b] for s, a, b in tokens.offsets[content]]
    is_word = np.array([PUNCTUATION.fullmatch(text) is None for text in texts])
    is_word |= np.isin(np.array(tokens.texts)[content], UNKNOWN)
    return np.array([marked_tokens(person, tokens)[content] for person in marks]) * is_word


def spaced_marks(instance: Instance) -> np.ndarray:
    """(A, w) marks of the words that white space parts, which is what annotators see: 1 where any
    part is marked.
    """
    words = instance.words
    gap = (words[1:, 0] != words[:-1, 0]) | (words[1:, 1] > words[:-1, 2])
    starts = np.concatenate([[0], np.flatnonzero(gap) + 1])
    return np.maximum.reduceat(instance.evidence.marks > 0, starts, axis=1)


def relevance(marks: np.ndarray) -> np.ndarray:
    """(n,) share of people who mark each token, in steps of 1/A (Kamp et al. 2023, section 3)."""
    return (np.asarray(marks) > 0).mean(axis=0)


def majority(share: np.ndarray) -> np.ndarray:
    """(n,) bool, what at least half of the people mark; what anybody marks where there is no such
    token.
    """
    return share >= 0.5 if (share >= 0.5).any() else share > 0


def overlap(marks: np.ndarray) -> tuple[float, float]:
    """What all people mark over what anybody marks, and over what the one marks who marks least;
    NaN over nothing.
    """
    marked = np.asarray(marks) > 0
    shared = marked.all(axis=0).sum()

    def over(size: int) -> float:
        return float(shared / size) if size else np.nan

    return over(marked.any(axis=0).sum()), over(marked.sum(axis=1).min())


@dataclass(frozen=True)
class Settings:
    """How metrics are measured.

    k: tokens that a voter selects where their number is fixed. peaks: of dynamic_k.PEAK_RULES.
    ties: at the border of a selection, by `expectation` or broken at `random`. people: have a
    `top_k` of their own like any voter, or vote by their `share`. protocol: of erasure, its draws,
    and what a tie with random scores counts. query: the segment that is asked about the other and
    never erased. compared: metrics in which diagnosticity compares with random scores.
    beam: orders that the search for a text's limits follows.
    """

    k: int = 4
    peaks: str = "released"
    ties: Literal["expectation", "random"] = "expectation"
    people: Literal["top_k", "share"] = "top_k"
    protocol: Protocol = FOUR_DRAWS
    query: int | None = None
    compared: tuple[str, ...] = ("nc", "soft_nc", "ns", "soft_ns")
    beam: int = 5


@dataclass(frozen=True)
class ScoredText:
    """One text as metrics are asked about it.

    scores: method -> (n,), `random` among them where a metric needs it. target: the class
    explained, None for a contrast of two. names: what random draws derive from, with the method's
    name; draws: method -> what its own derive from in their place. selected: voters that select
    tokens by themselves -> (n,) bool, in place of their peaks. Of explanations by pieces (Sun et
    al. 2024): attributions by method, the units of the text, the numbers of units that are taken
    (sizes), and the relations that are true. Where somebody made them: neighbours, method -> (k, n)
    scores of slightly disturbed texts; randomised, method -> (l, n) scores by models whose layers
    were drawn anew from the last one down; infill, (tokens, (m, L) bool kept) -> (m, L) ids, the
    others written anew (models.infilling); texts, all that are asked about together, this one too.
    found: what is known already: (metric, method) -> value, and what metrics share, by keys of
        their own.
    """

    instance: Instance
    tokens: Tokens
    scores: Mapping[str, np.ndarray]
    target: int | None = None
    names: tuple = ()
    settings: Settings = Settings()
    draws: Mapping[str, tuple] = field(default_factory=dict)
    selected: Mapping[str, np.ndarray] = field(default_factory=dict)
    attributions: Mapping[str, Attribution] = field(default_factory=dict)
    units: Units | None = None
    sizes: tuple[int, ...] = ()
    relations: tuple = ()
    neighbours: Mapping[str, np.ndarray] = field(default_factory=dict)
    randomised: Mapping[str, np.ndarray] = field(default_factory=dict)
    infill: Callable[[Tokens, np.ndarray], np.ndarray] | None = None
    texts: Sequence["ScoredText"] = field(default=(), repr=False)
    found: dict[Hashable, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for held in (self.scores, self.neighbours, self.randomised):
            for method, scores in held.items():
                finite(scores, f"scores of {method!r} on {self.instance.id!r}")

    @cached_property
    def share(self) -> np.ndarray:
        """(n,) share of people who marked each content token; zeros where nobody was asked."""
        if not len(self.instance.evidence.marks):
            return np.zeros(len(self.tokens.content))
        return relevance(token_marks(self.instance, self.tokens))

    @property
    def evidence(self) -> np.ndarray:
        """(n,) bool, the content tokens that anybody marked."""
        return self.share > 0

    def names_of(self, method: str) -> tuple:
        """What the random draws of a method derive from."""
        return self.draws.get(method, (*self.names, method))

    def ties_of(self, method: str) -> Rng:
        """What orders tokens of a method whose scores are tied."""
        return generator("ties", *self.names_of(method))

    def once(self, key: tuple, talk: Conversation) -> Conversation:
        """The conversation that returns what `talk` does, or what it returned before under the same
        key.
        """
        if key not in self.found:
            self.found[key] = yield from talk
        return self.found[key]

    def over_rivals(self, method: str, what: str, compare: Callable[[str, str], float]) -> float:
        """The mean of a comparison with every other method but random scores; NaN where none gives
        a number.

        what: names the comparison, which is made once for two methods, in the order of `scores`.
        """
        order = list(self.scores)
        values = []
        for other in order:
            if other in (method, RANDOM):
                continue
            pair = sorted((method, other), key=order.index)
            key = (what, *pair)
            if key not in self.found:
                self.found[key] = compare(*pair)
            values.append(self.found[key])
        known = [value for value in values if not np.isnan(value)]
        return float(np.mean(known)) if known else np.nan


def without_asking(talk: Conversation) -> Any:
    """What a conversation returns if it asks the model nothing; NaN if it would."""
    try:
        next(talk)
    except StopIteration as end:
        return end.value
    return np.nan
