"""One explained text: what the model predicted, and the score of each word by each method."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from unicodedata import category

import numpy as np

from attreval.api.method_names import known_names, plain
from attreval.api.show.html import fragment
from attreval.core.alignment import overlap_shares, to_words
from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.units import find_units
from attreval.methods import METHODS
from attreval.models.outputs import Outputs
from attreval.texts.given import as_text

UNITS = ("word", "token", "sentence", "paragraph")
MOST = 0.5  # of what a method gives out: where more goes to what is no word, that is said
RANDOM = "random"  # the method that all others are compared with


@dataclass(frozen=True)
class Unit:
    """A word, a piece of one, or a sentence or paragraph, as it stands in the text.

    segment: 1 in the second text of a pair, else 0. start, end: characters of that text, end
    exclusive.
    """

    text: str
    segment: int
    start: int
    end: int


@dataclass(frozen=True)
class Explanation:
    """One text, what the model predicts of it, and what methods say.

    instance: the text with its words. tokens: what the model read. predicted: the class.
    probabilities: by class. target: the class explained. against: the class that it is contrasted
    with, None for none. unit: what scores are shown of, one of UNITS. attributions: by method;
    `scores` gives them by unit. left_out: method -> why it has nothing to say, where all were asked
    for. given: methods whose scores were made elsewhere. outputs: what the model's are; of others
    than classes one is explained, which `predicted` and `target` name, with its probability or its
    value under `probabilities`. noise: of a function, the standard deviation of a probability when
    a text is asked about again. pieces: of a text that was explained piece by piece (start, end,
    probability by class) of each; `probabilities` are means over them.
    """

    instance: Instance
    tokens: Tokens
    predicted: str
    probabilities: dict[str, float]
    target: str
    against: str | None
    unit: str
    attributions: dict[str, Attribution]
    left_out: dict[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    outputs: Outputs = "classes"
    noise: float = 0.0
    pieces: tuple[tuple[int, int, dict[str, float]], ...] = ()

    @property
    def text(self) -> str | tuple[str, str]:
        """The text, or both of a pair."""
        return as_text(self.instance.segments)

    @property
    def methods(self) -> list[str]:
        """What explained it."""
        return list(self.attributions)

    @property
    def read(self) -> np.ndarray:
        """(n,) the words of the instance that the model read, at least in part."""
        return np.flatnonzero(overlap_shares(self.tokens.offsets, self.instance.words).any(axis=0))

    @property
    def units(self) -> list[Unit]:
        """The n words, or what else is the unit, that have scores, in order."""
        if self.unit == "word":
            return [self._unit(*self.instance.words[w]) for w in self.read]
        found = []
        for group in self._groups:
            (segment, start, _), (_, _, end) = self.tokens.offsets[[group[0], group[-1]]]
            found.append(self._unit(segment, start, end))
        return found

    @property
    def _groups(self) -> tuple[tuple[int, ...], ...]:
        """The tokens of each unit that is not a word."""
        return find_units(self.tokens, "subword" if self.unit == "token" else self.unit).groups

    @property
    def unread(self) -> list[Unit]:
        """The words that the model did not read, beyond its length or unknown to its tokenizer."""
        read = set(self.read.tolist())
        return [self._unit(*row) for w, row in enumerate(self.instance.words) if w not in read]

    def named(self, method: str) -> str:
        """The method that is meant by a name that `explain` takes. ValueError for another."""
        name = method if method in self.attributions else known_names().get(plain(method), "")
        if name not in self.attributions:
            raise ValueError(
                f"{method!r} has not explained this text; there are: {', '.join(self.attributions)}"
            )
        return name

    def scores(self, method: str) -> np.ndarray:
        """(n,) scores of the units by a method, sums over what is in them; those of pairs and spans
        are shared out.

        ValueError for a method that did not explain the text.
        """
        of_tokens = self.attributions[self.named(method)].on_tokens(len(self.tokens))
        if self.unit == "word":
            return to_words(of_tokens, self.tokens, self.instance)[self.read]
        return np.array([of_tokens[list(group)].sum() for group in self._groups])

    @property
    def words(self) -> list[tuple[str, dict[str, float]]]:
        """(word, or what else is the unit; method -> score), in order."""
        table = {m: self.scores(m).tolist() for m in self.methods}
        return [
            (unit.text, {m: scores[at] for m, scores in table.items()})
            for at, unit in enumerate(self.units)
        ]

    @property
    def gaps(self) -> dict[str, float]:
        """How far scores are from the sum that they owe, by method; without those that owe none."""
        return {m: float(a.gap) for m, a in self.attributions.items() if not np.isnan(a.gap)}

    @property
    def remarks(self) -> dict[str, list[str]]:
        """What to know of scores before they are trusted, by method; without those that need none.

        That they have not converged, that special tokens or one separator take most of what the
        method gives out, that noise may have put the two greatest in order, or why there are none.
        """
        found: dict[str, list[str]] = {}
        for method, one in self.attributions.items():
            notes = [one.note, self._noisy_top(method), self._endless(method), self._unknown()]
            notes = [said for said in notes if said]
            if one.special > MOST:
                names = dict.fromkeys(
                    self.tokens.texts[t] for t in np.flatnonzero(self.tokens.special)
                )
                notes.append(
                    f"{', '.join(names)} take {one.special:.0%} of what it gives out, and are "
                    "not shown"
                )
            sizes: dict[str, float] = {}
            for unit, score in zip(self.units, self.scores(method), strict=True):
                sizes[unit.text] = sizes.get(unit.text, 0.0) + abs(float(score))
            top = max(sizes, key=sizes.__getitem__, default="")
            total = sum(sizes.values())
            if len(sizes) > 1 and _separates(top) and sizes[top] > MOST * total:
                notes.append(f"{top!r} takes {sizes[top] / total:.0%} of what it gives to the text")
            if notes:
                found[method] = notes
        return found

    @property
    def question(self) -> str:
        """What was explained, in words."""
        return f"why {self.target}" + (f" rather than {self.against}" if self.against else "")

    def _unknown(self) -> str:
        """That the model has read no word of the text; empty where it has."""
        ids = self.tokens.ids[self.tokens.content]
        read = [one for one in ids.tolist() if one != self.tokens.unknown_id]
        return "" if read else "no word of this text is in the model's vocabulary"

    def _differs(self, method: str) -> str:
        """What scores are differences of, see `Method.of`; empty for others and of contrasts."""
        ours = method in METHODS and method not in self.given and not self.against
        return METHODS[method].of if ours else ""

    def _endless(self, method: str) -> str:
        """That a score is the logarithm of a probability of 0; empty where none is."""
        from attreval.models.text_function import FLOOR  # torch is slow to import

        if self._differs(method) != "logit":
            return ""
        left = np.log(max(self.probabilities[self.target], FLOOR)) - self.scores(method)
        if not np.isclose(left, np.log(FLOOR)).any():
            return ""
        return (
            f"without a word the model's probability is 0, which counts as {FLOOR:g}: how great "
            "such scores are says nothing"
        )

    def _noisy_top(self, method: str) -> str:
        """That the two greatest scores may be in this order by noise; empty where they are not.

        Scores are taken as differences of two answers, and means of such vary less: two of them
        differ by twice sqrt(2) times the noise in 5 % of cases. A logit's noise is that of the
        probability over the probability, here that of the text without the word of greatest score.
        """
        of = self._differs(method)
        scores = self.scores(method)
        if not (self.noise and of and len(scores) > 1):
            return ""
        second, first = np.argsort(scores)[-2:]
        limit = 2 * sqrt(2) * self.noise
        p = self.probabilities[self.target]
        if of == "logit" and self.outputs != "value":
            limit /= p * np.exp(-max(0.0, scores[first]))
        if of == "logit" and self.outputs == "independent":
            limit /= max(1 - p, limit)
        if scores[first] - scores[second] > limit:
            return ""
        texts = [unit.text for unit in self.units]
        return (
            f"{texts[first]!r} ({scores[first]:.2g}) is not told from {texts[second]!r} "
            f"({scores[second]:.2g}): the model's answers have noise of {self.noise:.2g}, so that "
            f"such scores differ by up to {limit:.2g} for no reason"
        )

    def _unit(self, segment: int, start: int, end: int) -> Unit:
        """A stretch of the text without the white space around it."""
        whole = self.instance.segments[segment][start:end]
        inner = whole.strip()
        if not inner:
            return Unit(whole, int(segment), int(start), int(end))
        left = int(start) + len(whole) - len(whole.lstrip())
        return Unit(inner, int(segment), left, left + len(inner))

    def _repr_html_(self) -> str:
        return fragment([self])


def _separates(text: str) -> bool:
    """Whether a text is all white space, punctuation or such signs; a picture is none."""
    return bool(text) and all(category(c)[0] in "ZCPS" and category(c) != "So" for c in text)
