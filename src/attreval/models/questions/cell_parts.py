"""Parts of the class scores that each token left in a gated model's cells (Murdoch & Szlam 2017).

Letters used for shapes: L tokens, K classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attreval.models.questions.question import Item, Ledger, Pass, Question


@dataclass(frozen=True)
class CellParts(Question):
    """Ask a gated model how much of each class score each token left in its cell: (L, K).

    output_gate: the quasi-recurrent LSTM shows its cell through the last output gate, as the paper says; its released
    code leaves that gate out.
    """

    ids: np.ndarray
    segments: np.ndarray
    output_gate: bool = True

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        return ("decompose", self.ids.tobytes(), self.segments.tobytes(), self.output_gate)

    def items(self, ledger: Ledger) -> list[Item]:
        """One, with one pass."""
        return [Item(self.key(), (self.ids, self.segments), ((self.output_gate,),))]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Sequence[Pass]) -> Iterable[Any]:
        """(L, K) parts, for each text."""
        import torch

        ids, mask, _ = ledger.padded([item.row for item, _ in batch])
        with torch.inference_mode():
            out = ledger.model.decompose(ids, mask, ledger.precision, group[0]).double().cpu().numpy()
        return [parts[: len(item.row[0])] for (item, _), parts in zip(batch, out, strict=True)]
