"""What a model is to the ledger and to the methods: a classifier of token ids, or of word embeddings.

`Transformer`, `WordClassifier` and the planted models of metrics.planted are classifiers, without a common base class.
Letters used for shapes: B rows, L tokens, D embedding width, K classes, H heads, w windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from attreval.core.records import Instance, Tokens

if TYPE_CHECKING:  # slow to import, and the list of methods is read by every command
    import torch
    from torch import Tensor


class Classifier(Protocol):
    """A classifier in evaluation mode. family: one of explain.method.FAMILIES. labels: K class names."""

    labels: tuple[str, ...]
    family: str
    max_length: int

    @property
    def pad_id(self) -> int:
        """The id that fills rows up; it is masked."""

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as this model reads it."""

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """(B, L, D) word embeddings of (B, L) ids."""

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        embeddings: Tensor | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """(B, K) logits of (B, L) ids, or of (B, L, D) word embeddings; mask 0 marks padding.

        entering: changes the vectors that enter the network.
        """


class AttentionClassifier(Classifier, Protocol):
    """A transformer: it has attention weights, by layer and head."""

    layers: int

    def attend(
        self,
        ids: Tensor,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        wanted: Sequence[int] = (),
        factors: dict[int, Tensor] | None = None,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """(B, K) logits and, of each wanted layer, (B, H, L, L) attention weights that gradients reach."""


class WindowClassifier(Classifier, Protocol):
    """A classifier that reads a text with each of its windows erased at less than the price of whole texts.

    reuse_from: number of windows from which on that is so.
    """

    reuse_from: float

    def erased(self, ids: Tensor, size: int, blank: bool, precision: str = "float32") -> Tensor:
        """(w, K) logits of (L,) ids with each window of `size` words blanked or deleted."""
