"""What an instance, its tokens and an attribution are: the records that all other parts use.

Letters used for shapes: W words, L model tokens (special tokens included), F features, A
annotators.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

LEVELS = ("token", "pair", "span")


def as_places(found: ArrayLike) -> np.ndarray:
    """(N, 3) int rows of segment, start character, end character."""
    return np.asarray(found, dtype=np.int64).reshape(-1, 3)


@dataclass(frozen=True)
class Evidence:
    """Where the evidence for the label lies, from people or by construction; parts may be empty.

    Attributes:
        marks: (A, W) float, one row an annotator, one column a word: 1 marked, 0 not, or a rating.
        spans: (start word, end word, annotator) triples, end exclusive.
        interactions: (start a, end a, start b, end b, label) tuples over words, ends exclusive.
        classes: Of each word the class that its fragment was written for, -1 for none (hybrid
            documents).
        tags: Of each word the part of speech (agreement; there the one span is the subject).
        attractors: Nouns between subject and verb whose number is not the verb's (agreement).
    """

    marks: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    spans: tuple[tuple[int, int, int], ...] = ()
    interactions: tuple[tuple[int, int, int, int, str], ...] = ()
    classes: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    attractors: int | None = None


@dataclass(frozen=True)
class Instance:
    """One text, or one pair of texts, with its words.

    Attributes:
        id: Unique in a task.
        segments: The text, or both of a pair.
        label: The number of its class.
        words: (W, 3) int rows of segment, start character, end character (exclusive); a word never
            crosses a segment.
        split: Such as `test`.
        evidence: Where the evidence for the label lies.

    Raises:
        ValueError: A word is outside its text, or evidence does not fit the words.
    """

    id: str
    segments: tuple[str, ...]
    label: int
    words: np.ndarray
    split: str = ""
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        if len(self.segments) not in (1, 2):
            raise ValueError(
                f"instance {self.id!r} has {len(self.segments)} segments; one or two are possible"
            )
        words = as_places(self.words)
        segment, start, end = words.T
        lengths = np.array([len(text) for text in self.segments])
        there = (segment >= 0) & (segment < len(lengths)) & (start >= 0) & (start < end)
        there &= end <= lengths[np.clip(segment, 0, len(lengths) - 1)]
        if not there.all():
            at = int(there.argmin())
            raise ValueError(
                f"instance {self.id!r}: word {at} is {words[at].tolist()} (segment, start, end), "
                "outside its text"
            )
        evidence = self.evidence
        marked = evidence.marks.shape[1] if evidence.marks.size else 0
        counts = {"marks": marked, "classes": len(evidence.classes), "tags": len(evidence.tags)}
        for name, count in counts.items():
            if count not in (0, len(words)):
                raise ValueError(
                    f"instance {self.id!r}: {name} for {count} words, but it has {len(words)}"
                )
        object.__setattr__(self, "words", words)

    def word_texts(self) -> list[str]:
        """The W words as strings."""
        return [self.segments[s][a:b] for s, a, b in self.words]


@dataclass(frozen=True)
class Tokens:
    """An instance as the model reads it.

    Attributes:
        ids: (L,) vocabulary indices.
        segments: (L,) token type.
        special: (L,) True for [CLS], [SEP] and the like.
        word: (L,) index of the instance's word that holds the token, -1 for none.
        offsets: (L, 3) segment, start, end characters; (-1, 0, 0) for special tokens.
        texts: L token strings.
        mask_id, pad_id: See alignment.fill_ids.
        dropped: Words that no token covers, cut off or made of characters that the tokenizer
            ignores.
        unknown_id: None where the vocabulary has none.
        written: The text, or both of a pair; empty where it is not known.
    """

    ids: np.ndarray
    segments: np.ndarray
    special: np.ndarray
    word: np.ndarray
    offsets: np.ndarray
    texts: tuple[str, ...]
    mask_id: int
    pad_id: int
    dropped: int = 0
    unknown_id: int | None = None
    written: tuple[str, ...] = ()

    @property
    def content(self) -> np.ndarray:
        """(n,) positions of the tokens that are not special."""
        return np.flatnonzero(~self.special)

    def special_share(self, values: np.ndarray) -> float:
        """The share of special tokens in the sizes of (L,) values; NaN where all are 0."""
        sizes = np.abs(values)
        return float(sizes[self.special].sum() / sizes.sum()) if sizes.any() else np.nan

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Cost:
    """Model evaluations and the tokens they read: asked for, computed, and from the ledger."""

    requested: int = 0
    unique: int = 0
    requested_tokens: int = 0
    unique_tokens: int = 0
    gradients: int = 0

    @property
    def reused(self) -> int:
        """Evaluations answered without running the model."""
        return self.requested - self.unique

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )


@dataclass(frozen=True)
class Attribution:
    """Scores that one method gives to groups of tokens of one instance, for one class.

    Attributes:
        instance: Its id.
        method: The name of the method.
        target: The number of the class.
        level: `token`, `pair` or `span`.
        features: F tuples of token positions: those of one token, or word, at level `token`, of two
            at `pair`, of stretches of words at `span`; which part of the input a position stands
            in, the tokens' offsets say.
        scores: (F,) float64.
        gap: How far the scores are from the sum they owe (completeness), NaN if they owe none.
        cost: What it took.
        reliability: Of sampled scores, the squared correlation to expect with those of all samples;
            NaN if not estimated.
        special: The share that special tokens, which have no scores here, took of all that the
            method gave out; NaN if it gave them nothing to have.
        note: What is to be known before the scores are trusted, empty for nothing.

    Raises:
        ValueError: A score is not finite, or there is not one for each feature.
    """

    instance: str
    method: str
    target: int
    level: str
    features: tuple[tuple[int, ...], ...]
    scores: np.ndarray
    gap: float = np.nan
    cost: Cost = field(default_factory=Cost)
    reliability: float = np.nan
    special: float = np.nan
    note: str = ""

    def __post_init__(self) -> None:
        scores = np.asarray(self.scores, dtype=np.float64)
        if self.level not in LEVELS:
            raise ValueError(f"level {self.level!r} is not one of {', '.join(LEVELS)}")
        if scores.shape != (len(self.features),):
            raise ValueError(
                f"{self.method} on {self.instance!r}: {scores.shape} scores for "
                f"{len(self.features)} features"
            )
        finite = np.isfinite(scores)
        if not finite.all():
            at = int(finite.argmin())
            raise ValueError(
                f"{self.method} on {self.instance!r}: score {at} of {len(scores)} is {scores[at]}; "
                "scores must be finite numbers, so the method or the model overflowed on this input"
            )
        object.__setattr__(self, "scores", scores)

    def on_tokens(self, length: int) -> np.ndarray:
        """(L,) token scores: a feature's is shared equally by its tokens; other tokens get 0."""
        out = np.zeros(length)
        for feature, score in zip(self.features, self.scores, strict=True):
            out[list(feature)] += score / len(feature)
        return out

    def on_content(self, tokens: Tokens) -> np.ndarray:
        """(n,) the same of the content tokens of its text."""
        return self.on_tokens(len(tokens))[tokens.content]
