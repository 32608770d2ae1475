"""What a model is to the ledger and to the methods: a classifier of token ids, or of word embeddings.

`Transformer`, `WordClassifier`, `TextFunction` and those written by hand in trial/exact.py are classifiers, without a
common base class.
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from attreval.core.records import Instance, Tokens

if TYPE_CHECKING:  # slow to import, and the list of methods is read by every command
    import torch
    from torch import Tensor


class Classifier(Protocol):
    """A classifier in evaluation mode. labels: K class names.

    Further methods serve single types of question: `attend` of a transformer, `decompose` of a gated network; `erased`
    where it has `reuse_from`, the number of windows from which on that is cheaper than whole texts; `vocabulary_size`,
    how many ids have an embedding, where a path starts from their mean.
    """

    labels: tuple[str, ...]
    max_length: int

    @property
    def family(self) -> str:
        """One of methods.method.FAMILIES."""

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
        *,
        embeddings: Tensor | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """(B, K) logits of (B, L) ids, or of (B, L, D) word embeddings; mask 0 marks padding.

        entering: changes the vectors that enter the network.
        """
