"""How each state of an encoder changes in each layer when one token's value is taken away (Mohebbi et al. 2023).

Letters used for shapes: L tokens, S layers, R rows, D width.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from attreval.models.questions.question import Item, Ledger, Pass, Question, check_attention, check_needs


@dataclass(frozen=True)
class ValueZeroing(Question):
    """Ask an encoder for (S, L, L) distances: of state i behind a layer when the value of token j is zero in it.

    The distance is 1 less the cosine. Each layer is run again alone, on the states that it is given in the plain text;
    its attention weights stay. ids, segments: (L,). A pass is one token's value taken away, in each layer in turn.
    """

    ids: np.ndarray
    segments: np.ndarray

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        return ("values", self.ids.tobytes(), self.segments.tobytes())

    def items(self, ledger: Ledger) -> list[Item]:
        """One, with a pass a token. ValueError for a model without attention, or whose layers cannot be run alone."""
        check_attention(ledger.model, "whose values could be taken away")
        check_needs(ledger.model, "summary", "layers")
        return [_Columns(self)]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Sequence[Pass]) -> Iterable[Any]:
        """(S, L) distances for each pass; the passes of one text share the states that its layers are given."""
        import torch

        for _, part in groupby(batch, key=lambda one: id(one[0])):
            passes = list(part)
            inputs = ledger.padded([passes[0][0].row])
            zeroed = torch.tensor([number for _, number in passes], device=inputs[0].device)
            yield from ledger.model.zero_values(*inputs, zeroed, ledger.precision).cpu().numpy()


class _Columns(Item):
    """What the passes of one text give: a column of each layer's matrix."""

    __slots__ = ("columns",)

    def __init__(self, question: ValueZeroing):
        length = len(question.ids)
        super().__init__(question.key(), (question.ids, question.segments), [("values",)] * length, question)
        self.columns: list = [None] * length

    def add(self, number: int, output: Any) -> None:
        """Take in the (S, L) distances of one pass."""
        self.columns[number] = output

    def answer(self) -> np.ndarray:
        """The answer, when all passes are in."""
        return np.stack(self.columns, axis=2)
