"""The protocol of a question to the model, which the ledger answers (models.scorer).

A question consists of items. The answer to an item is remembered under its key and takes one or
several passes of a row of tokens through the model. Passes of one group may share a batch with
those of other questions of the type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from attreval.models.classifier import Classifier

if TYPE_CHECKING:
    from torch import Tensor

Row = tuple[np.ndarray, np.ndarray]  # (L,) ids, (L,) segments


class Ledger(Protocol):
    """What a question knows of the ledger: its model, and its precisions."""

    model: Any  # a Classifier, and whatever else a type of question asks of it
    precision: str
    sampled_precision: str

    def padded(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor, Tensor]:
        """(n, L) ids, mask and segments of rows, where the model is."""


class Item:
    """What is remembered as one answer.

    Args:
        detail: What its passes need besides, such as the question.
        groups: The group of each pass that it takes; the first part orders them.
        key: Under which it is remembered; else that of the question.
        row: Ids and segments; else those of the question.
    """

    __slots__ = ("detail", "groups", "key", "outputs", "row")

    def __init__(
        self, detail: Any, groups: Sequence[tuple], key: Hashable = None, row: Row | None = None
    ):
        self.key = key or detail.key()
        self.row = row or (detail.ids, detail.segments)
        self.groups = groups
        self.detail = detail
        self.outputs: list = [None] * len(groups)

    def point(self, number: int) -> Hashable:
        """What pass `number` runs forward; passes of a group at one point run side by side."""
        return id(self), number

    def add(self, number: int, output: Any) -> None:
        """Take in what pass `number` gave; it is the answer where there is one pass only."""
        self.outputs[number] = output

    def answer(self) -> Any:
        """The answer, when all passes are in."""
        return self.outputs[0]


Pass = tuple[Any, int]  # an item of the question's own kind, and the number of one of its passes
Passes = Sequence[Pass]


class Question(ABC):
    """What can be asked of a model."""

    @property
    def takes_gradients(self) -> bool:
        """Whether the ledger counts a gradient for each pass."""
        return False

    def key(self) -> Hashable:
        """What makes two of these the same question: all that they ask."""
        asked = [getattr(self, one.name) for one in fields(cast(Any, self))]
        parts = [one.tobytes() if isinstance(one, np.ndarray) else one for one in asked]
        return (type(self), *parts)

    @abstractmethod
    def items(self, ledger: Ledger) -> list[Item]:
        """What it consists of. ValueError where the model cannot answer it."""

    @staticmethod
    @abstractmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """What passes of one group give; each point is asked for by equally many of them."""

    def assemble(self, answers: Sequence[Any], model: Classifier) -> Any:
        """The answer to the question from those to its items."""
        (answer,) = answers
        return answer

    def shortcut(
        self, ledger: Ledger, items: Sequence[Item], new: dict[Hashable, Item]
    ) -> dict[Hashable, Any]:
        """Answers, by key, that the model gives without passes.

        Args:
            ledger: The ledger.
            items: What the question consists of.
            new: The items that nobody has asked for.
        """
        return {}


class Computation(ABC):
    """What conversations have computed together, without asking the model anything."""

    @staticmethod
    @abstractmethod
    def together(asked: Sequence[Any]) -> list[Any]:
        """The results of works of one type that several conversations ask for at the same time."""


Conversation = Generator[Question | Computation, Any, Any]


def to_array(x: Tensor) -> np.ndarray:
    """A tensor as a float64 array."""
    return x.detach().double().cpu().numpy()


def check_attention(model: Classifier, what: str) -> None:
    """Refuse a model without attention."""
    if model.family != "transformer":
        raise ValueError(f"{getattr(model, 'name', 'this model')!r} has no attention {what}")


def check_needs(model: Any, *needs: str) -> None:
    """Refuse a transformer that cannot give what a question needs (models.checks)."""
    for need in needs if hasattr(model, "refusal") else ():
        if reason := model.refusal(need):
            raise ValueError(f"{model.name!r} cannot be asked for this: {reason}")
