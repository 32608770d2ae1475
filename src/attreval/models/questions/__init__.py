"""What can be asked of a model: logits, gradients or relevance at word embeddings, cell parts, attention.

Letters used for shapes: n rows, L tokens, D embedding width, K classes, m path nodes, S layers, H heads.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass
from typing import Any, Literal

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

    The path leads from the embeddings of `baseline` ids (zero vectors where None, or where an id is -1) to those of
    `ids`, both (L,). nodes, weights: m points in [0, 1] and their quadrature weights.
    of: differentiate the `logit` or the `probability`. rule: with one, (L, D) relevance comes in place of the gradient;
    transformers know only that of DeepLIFT.
    where: the path is walked by the `words` embeddings, to which the model adds positions and types; or all that enters
    the encoder (`entry`) is multiplied by the node, with the gradient still at the word embeddings; or the word
    embeddings enter the encoder `bare`, without positions, types and normalisation. The last two are what the released
    code of Zhao & Aletras (2023) does for integrated gradients and DeepLIFT.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    baseline: np.ndarray | None = None
    of: str = "logit"
    rule: Rule | None = None
    where: Literal["words", "entry", "bare"] = "words"

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        base = None if self.baseline is None else self.baseline.tobytes()
        rows = (self.ids.tobytes(), self.segments.tobytes(), base)
        return (*rows, self.target, self.nodes, self.weights, self.of, self.rule, self.where)


@dataclass(frozen=True)
class PathAnswer:
    """gradient: (L, D) weighted sum of gradients. difference: (L, D) embeddings minus baseline embeddings.

    values: (m,) the logit or probability at each node.
    """

    gradient: np.ndarray
    difference: np.ndarray
    values: np.ndarray

    def dot(self) -> np.ndarray:
        """(L,) dot products of gradient and difference."""
        return (self.gradient * self.difference).sum(axis=1)


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


@dataclass(frozen=True)
class AttentionPath:
    """Ask a transformer for its attention weights and for weighted sums of gradients with respect to them.

    ids, segments: (L,). layers: S encoder layers, -1 the last one; all where none is named.
    nodes, weights: m factors and their quadrature weights. At each node the weights of one layer, the same in every
    layer below it as in the plain text, are multiplied by the factor while the rest of the network runs as usual, and
    the gradient with respect to these multiplied weights is taken; done for each layer apart. The node 1 is the text
    itself, where one pass serves all layers. Without nodes only the weights are asked for.
    of: differentiate the `logit` or the `probability` of the target. rows: keep only what these tokens attend to.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    layers: tuple[int, ...] = ()
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    of: str = "logit"
    rows: tuple[int, ...] | None = None

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        rows = (self.ids.tobytes(), self.segments.tobytes())
        return ("attention", *rows, self.target, self.layers, self.nodes, self.weights, self.of, self.rows)


@dataclass(frozen=True)
class AttentionAnswer:
    """attention: (S, H, L, L) weights, from token to token, unscaled. gradient: (S, H, L, L) weighted sum over nodes.

    With `rows`, r of them, (S, H, r, L). values: (S, m) the logit or probability at each node; NaN gradients where
    there are no nodes.
    """

    attention: np.ndarray
    gradient: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class HeadScores:
    """Ask a transformer how much each head of its last encoder layer matters for a class: (H,). See models.heads.

    matrix: the `transposed` map of the classification head, or the one that the `code` of Ray Choudhury et al. uses.
    state: the first token's, `after` the last encoder layer, or `before` it, as in that code.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    matrix: str = "transposed"
    state: str = "after"

    def __post_init__(self):
        if self.matrix not in ("transposed", "code") or self.state not in ("after", "before"):
            raise ValueError(
                f"matrix is `transposed` or `code`, state `after` or `before`; got {self.matrix!r} and {self.state!r}"
            )

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        return ("heads", self.ids.tobytes(), self.segments.tobytes(), self.target, self.matrix, self.state)


@dataclass(frozen=True)
class Disturb:
    """Ask for the (n, K) logits of a text whose tokens are disturbed, each by a strength of its own.

    ids, segments: (L,). strengths: (n, L), a row a disturbed text. seeds: n, what is drawn derives from them.
    kind: `keep` keeps each entry of a vector that enters the encoder with the strength as its probability, and sets the
    others to 0; `noise` multiplies each entry by 1 + strength * N(0, 1); `attend` takes the strengths as the attention
    mask (transformers only; nothing is drawn). sampled: the caller allows the faster precision.
    """

    ids: np.ndarray
    segments: np.ndarray
    strengths: np.ndarray
    seeds: tuple[int, ...]
    kind: Literal["keep", "noise", "attend"] = "keep"
    sampled: bool = False

    def row_keys(self) -> list[Hashable]:
        """What makes two disturbed texts the same, for each of the n."""
        text = (self.ids.tobytes(), self.segments.tobytes())
        return [(self.kind, *text, row.tobytes(), seed) for row, seed in zip(self.strengths, self.seeds, strict=True)]


Question = Evaluate | PathGradient | Decompose | AttentionPath | HeadScores | Disturb
Conversation = Generator[Question, Any, Any]
