"""What is shown of an explained text, and what is said of it in words, wherever it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from attreval.methods import METHODS

if TYPE_CHECKING:
    import numpy as np

    from attreval.core.records import Instance, Tokens


class Place(Protocol):
    """A word or piece: its text, and where it stands."""

    @property
    def text(self) -> str: ...
    @property
    def segment(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Shown(Protocol):
    """One explained text, as `explanation.Explanation` is."""

    @property
    def instance(self) -> Instance: ...
    @property
    def tokens(self) -> Tokens: ...
    @property
    def predicted(self) -> str: ...
    @property
    def probabilities(self) -> dict[str, float]: ...
    @property
    def target(self) -> str: ...
    @property
    def against(self) -> str | None: ...
    @property
    def question(self) -> str: ...
    @property
    def methods(self) -> list[str]: ...
    @property
    def units(self) -> Sequence[Place]: ...
    @property
    def unread(self) -> Sequence[Place]: ...
    @property
    def gaps(self) -> dict[str, float]: ...
    @property
    def remarks(self) -> dict[str, list[str]]: ...
    @property
    def left_out(self) -> dict[str, str]: ...
    @property
    def given(self) -> frozenset[str]: ...

    def scores(self, method: str) -> np.ndarray:
        """(n,) scores of the units."""


def describe(one: Shown) -> str:
    """What was predicted, and what was explained where that is something else."""
    said = f"predicted {one.predicted} with probability {one.probabilities[one.predicted]:.3f}"
    return said if one.target == one.predicted and not one.against else f"{said}; {one.question}"


def title_of(one: Shown, method: str) -> str:
    """A method's title; scores made elsewhere go by the name that they were given."""
    return METHODS[method].title if method in METHODS and method not in one.given else method


def has_sign(one: Shown, method: str) -> bool:
    """Whether a score below 0 counts against the class."""
    return method in one.given or method not in METHODS or METHODS[method].signed


def how_many_unread(one: Shown) -> str:
    """How many words the model did not read, and why."""
    count, all_words = len(one.unread), len(one.instance.words)
    return (
        f"{count} of {all_words} words were not read: the model takes no more than these {len(one.tokens)} tokens, or "
        "its tokenizer knows none for them"
    )
