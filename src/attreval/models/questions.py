"""What can be asked of a model: logits of rows of token ids, and gradients along a path of word embeddings.

Letters used for shapes: n rows, L tokens, D embedding width, K classes, m path nodes.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = tuple[np.ndarray, np.ndarray]  # (L,) ids, (L,) segments


@dataclass(frozen=True)
class Evaluate:
    """Ask for logits. ids: (n, L). segments: (L,) or (n, L). sampled: the caller allows the faster precision."""

    ids: np.ndarray
    segments: np.ndarray
    sampled: bool = False

    def rows(self) -> list[Row]:
        """The n rows, one by one."""
        segments = np.broadcast_to(self.segments, self.ids.shape)
        return list(zip(self.ids, segments, strict=True))


@dataclass(frozen=True)
class PathGradient:
    """Ask for the weighted sum of gradients along a straight path of word embeddings.

    The path leads from the embeddings of `baseline` ids (zero vectors where None) to those of `ids`, both (L,).
    nodes, weights: m points in [0, 1] and their quadrature weights. of: differentiate the `logit` or the `probability`.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    baseline: np.ndarray | None = None
    of: str = "logit"

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        base = None if self.baseline is None else self.baseline.tobytes()
        return (self.ids.tobytes(), self.segments.tobytes(), base, self.target, self.nodes, self.weights, self.of)


@dataclass(frozen=True)
class PathAnswer:
    """gradient: (L, D) weighted sum of gradients. difference: (L, D) embeddings minus baseline embeddings."""

    gradient: np.ndarray
    difference: np.ndarray


Question = Evaluate | PathGradient
Conversation = Generator[Question, Any, Any]
