"""Logits or probabilities of rows of token ids, exact or in the faster precision of samples.

Letters used for shapes: n rows, L tokens, K classes.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attreval.models.classifier import Classifier
from attreval.models.outputs import follow, outputs_of
from attreval.models.questions.question import Item, Ledger, Passes, Question, Row, to_array


@dataclass(frozen=True)
class Windows:
    """A hint: the last rows of a question are a text with each window erased, in order.

    A model that can, computes only what a window changes.

    Attributes:
        ids: (L,) the text.
        size: Of a window.
        blank: A window is blanked, else deleted.
    """

    ids: np.ndarray
    size: int
    blank: bool


@dataclass(frozen=True)
class Evaluate(Question):
    """Ask for (n, K) logits, or for what is followed of them.

    Attributes:
        ids: (n, L), or n rows of any lengths.
        segments: (L,) or (n, L), or n rows.
        sampled: The caller allows the faster precision.
        windows: What is known of the rows.
        of: `logit` or `probability`, which of a value is the value itself.
        precision: Another than the ledger's.
    """

    ids: np.ndarray | Sequence[np.ndarray]
    segments: np.ndarray | Sequence[np.ndarray]
    sampled: bool = False
    windows: Windows | None = None
    of: Literal["logit", "probability"] = "logit"
    precision: str | None = None

    def rows(self) -> list[Row]:
        """The n rows, one by one."""
        segments = self.segments
        if isinstance(self.ids, np.ndarray):
            segments = np.broadcast_to(np.asarray(segments), self.ids.shape)
        return list(zip(self.ids, segments, strict=True))

    def items(self, ledger: Ledger) -> list[Item]:
        """Each row, in its precision."""
        own = ledger.sampled_precision if self.sampled else ledger.precision
        precision = self.precision or own
        groups = ((precision,),)
        found = []
        for ids, segments in self.rows():
            key = (precision, ids.tobytes(), segments.tobytes())
            found.append(Item(None, groups, key, (ids, segments)))
        return found

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """(K,) logits of each row."""
        import torch

        ids, mask, segments = ledger.padded([item.row for item, _ in batch])
        with torch.inference_mode():
            return to_array(ledger.model.logits(ids, mask, segments, *group))

    def assemble(self, answers: Sequence[Any], model: Classifier) -> np.ndarray:
        """(n, K) float64."""
        logits = np.stack(answers) if len(answers) else np.zeros((0, len(model.labels)))
        return follow(logits, outputs_of(model)) if self.of == "probability" else logits

    def shortcut(
        self, ledger: Ledger, items: Sequence[Item], new: dict[Hashable, Item]
    ) -> dict[Hashable, Any]:
        """The rows of windows, where the model has a cheaper way for so many of them."""
        import torch

        if self.windows is None:
            return {}
        hint = self.windows
        model = ledger.model
        count = max(1, len(hint.ids) - hint.size + 1)
        keys = [item.key for item in items[-count:]]
        if sum(key in new for key in keys) < getattr(model, "reuse_from", np.inf):
            return {}
        ((precision,),) = items[0].groups
        ids = torch.from_numpy(hint.ids).to(model.device)
        with torch.inference_mode():
            logits = model.erased(ids, hint.size, hint.blank, precision)
        return dict(zip(keys, to_array(logits), strict=True))
