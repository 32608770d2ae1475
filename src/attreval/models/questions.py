"""What can be asked of a model: logits of rows of ids, gradients or relevance at word embeddings, cell decompositions.

Letters used for shapes: n rows, L tokens, D embedding width, K classes, m path nodes.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = tuple[np.ndarray, np.ndarray]  # (L,) ids, (L,) segments


@dataclass(frozen=True)
class Windows:
    """A hint that the last rows of a question are a text with each window of `size` neighbours erased, in order.

    ids: (L,) the text. blank: a window is blanked, else deleted. A model that can, computes only what a window changes.
    """

    ids: np.ndarray
    size: int
    blank: bool


@dataclass(frozen=True)
class Evaluate:
    """Ask for logits. ids: (n, L). segments: (L,) or (n, L). sampled: the caller allows the faster precision."""

    ids: np.ndarray
    segments: np.ndarray
    sampled: bool = False
    windows: Windows | None = None

    def rows(self) -> list[Row]:
        """The n rows, one by one."""
        segments = np.broadcast_to(self.segments, self.ids.shape)
        return list(zip(self.ids, segments, strict=True))


@dataclass(frozen=True)
class Rule:
    """How relevance takes the place of gradients in the backward pass (Poerner et al. 2018, section 3.3).

    epsilon: the stabiliser of every denominator. reference: explain the difference to a text of zero embeddings
    (DeepLIFT) rather than the score itself (LRP). redistribute: the share of a bias goes to the inputs beside it, in
    equal parts, instead of being lost; then the scores sum to the class score.
    """

    epsilon: float = 0.001
    reference: bool = False
    redistribute: bool = False

    def __post_init__(self):
        if self.reference and self.redistribute:
            raise ValueError("biases cancel in differences to a reference; redistribute them with reference=False")


LRP, DEEPLIFT = Rule(), Rule(reference=True)


@dataclass(frozen=True)
class PathGradient:
    """Ask for the weighted sum of gradients along a straight path of word embeddings.

    The path leads from the embeddings of `baseline` ids (zero vectors where None) to those of `ids`, both (L,).
    nodes, weights: m points in [0, 1] and their quadrature weights. of: differentiate the `logit` or the `probability`.
    rule: with one, (L, D) relevance comes in place of the gradient; only word-level models know how.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    baseline: np.ndarray | None = None
    of: str = "logit"
    rule: Rule | None = None

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        base = None if self.baseline is None else self.baseline.tobytes()
        rows = (self.ids.tobytes(), self.segments.tobytes(), base)
        return (*rows, self.target, self.nodes, self.weights, self.of, self.rule)


@dataclass(frozen=True)
class PathAnswer:
    """gradient: (L, D) weighted sum of gradients. difference: (L, D) embeddings minus baseline embeddings."""

    gradient: np.ndarray
    difference: np.ndarray


@dataclass(frozen=True)
class Decompose:
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


Question = Evaluate | PathGradient | Decompose
Conversation = Generator[Question, Any, Any]
