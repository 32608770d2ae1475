"""Attention weights of a transformer, and gradients with respect to them along a path.

Letters used for shapes: H heads, L tokens, S layers asked for, m path nodes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attreval.models.outputs import follow_graph, outputs_of
from attreval.models.questions.question import (
    Item,
    Ledger,
    Passes,
    Question,
    check_attention,
    check_needs,
    to_array,
)


@dataclass(frozen=True)
class AttentionAnswer:
    """The answer to an AttentionPath.

    Attributes:
        attention: (S, H, L, L) weights, from token to token, unscaled; (S, H, r, L) with r `rows`.
        gradient: Of the same shape, the weighted sum over nodes; NaN where there are none.
        values: (S, m) the logit or probability at each node.
    """

    attention: np.ndarray
    gradient: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class AttentionPath(Question):
    """Ask for attention weights, and for weighted sums of gradients with respect to them.

    At each node the weights of one layer, the same in every layer below it as in the plain text,
    are multiplied by the node while the rest of the network runs as usual, and the gradient with
    respect to these multiplied weights is taken; done for each layer apart. The node 1 is the text
    itself, where one pass serves all layers. Without nodes only the weights are asked for.

    Attributes:
        ids, segments: (L,).
        target: The class.
        layers: S encoder layers, -1 the last one; all where none is named.
        nodes, weights: m factors and their quadrature weights.
        of: Differentiate the `logit` or the `probability` of the target.
        rows: Keep only what these tokens attend to.
        summary: Refuse a model whose classes are not read off the encoder's state of the first
            token.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    layers: tuple[int, ...] = ()
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    of: str = "logit"
    rows: tuple[int, ...] | None = None
    summary: bool = False

    @property
    def takes_gradients(self) -> bool:
        """Whether it asks for more than the weights."""
        return bool(self.nodes)

    def items(self, ledger: Ledger) -> list[Item]:
        """One.

        Raises:
            ValueError: The model has no attention, or it cannot be read.
        """
        check_attention(ledger.model, "weights to ask for")
        check_needs(ledger.model, "attention")
        if self.rows == (0,):
            check_needs(ledger.model, "first token")
        if self.summary:
            check_needs(ledger.model, "summary")
        return [_LayerSums(self, ledger.model.layers)]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """For each pass: by wanted layer, (H, L, L) weights and gradient; and the value."""
        import torch

        wanted, graph = group
        asked = [sums.detail for sums, _ in batch]
        ids, mask, segments = ledger.padded([sums.row for sums, _ in batch])
        factors = {}
        if len(wanted) == 1:
            nodes = [sums.passes[number].factor for sums, number in batch]
            dtype = ledger.model.at(ledger.precision).dtype
            scales = torch.tensor(nodes, dtype=dtype, device=ids.device)
            factors = {wanted[0]: scales[:, None, None, None]}
        with torch.set_grad_enabled(graph):
            logits, seen = ledger.model.attend(
                ids, mask, segments, ledger.precision, wanted, factors
            )
            followed = follow_graph(logits, outputs_of(ledger.model))
            scores = {"logit": logits, "probability": followed}
            picked = torch.stack([scores[one.of][b, one.target] for b, one in enumerate(asked)])
            weights = [seen[layer] for layer in wanted]
            gradients: Any = torch.autograd.grad(picked.sum(), weights) if graph else weights
        for b, question in enumerate(asked):
            read = slice(len(question.ids))
            text = (b, slice(None), read, read)
            cut = [(own[text], slope[text]) for own, slope in zip(weights, gradients, strict=True)]
            yield dict(zip(wanted, cut, strict=True)), float(to_array(picked[b]))


class _PathPass(NamedTuple):
    """A pass through the model.

    Attributes:
        layers: Those whose weights are wanted.
        node: Its number, None for no node.
        factor: Of the weights.
    """

    layers: tuple[int, ...]
    node: int | None
    factor: float


class _LayerSums(Item):
    """What the passes of one question add up to."""

    __slots__ = ("attention", "gradient", "layers", "passes", "values")

    def __init__(self, question: AttentionPath, layers: int):
        if bad := [layer for layer in question.layers if not -layers <= layer < layers]:
            raise ValueError(
                f"the encoder has layers 0 to {layers - 1} (or -{layers} to -1); got {bad[0]}"
            )
        self.layers = tuple(layer % layers for layer in question.layers) or tuple(range(layers))
        # a node of 1 is the text itself: one pass serves all layers, and the weights are always
        # part of the answer
        whole = [number for number, factor in enumerate(question.nodes) if factor == 1]
        self.passes = [_PathPass(self.layers, number, 1.0) for number in whole or (None,)]
        # at every other node each layer takes a pass of its own
        for number, factor in enumerate(question.nodes):
            if factor != 1:
                self.passes += [_PathPass((layer,), number, factor) for layer in self.layers]
        # passes that need the same layers share batches: what lies below the lowest of them keeps
        # no graph
        groups = [(one.layers, bool(question.nodes)) for one in self.passes]
        super().__init__(question, groups)
        self.attention: list = [None] * len(self.layers)
        self.gradient: list = [0.0] * len(self.layers)
        self.values = np.full((len(self.layers), len(question.nodes)), np.nan)

    def add(self, number: int, output: Any) -> None:
        """Take in the layers of one pass."""
        one = self.passes[number]
        by_layer, value = output
        rows = self.detail.rows
        cut = (slice(None), slice(None) if rows is None else list(rows))
        for layer, (weights, gradient) in by_layer.items():
            at = self.layers.index(layer)
            if one.factor == 1:
                self.attention[at] = to_array(weights[cut])
            if one.node is not None:
                share = self.detail.weights[one.node]
                self.values[at, one.node] = value
                self.gradient[at] = self.gradient[at] + share * to_array(gradient[cut])

    def answer(self) -> AttentionAnswer:
        """The answer, when all passes are in."""
        attention = np.stack(self.attention)
        gradient = np.full(attention.shape, np.nan)
        if self.detail.nodes:
            gradient = np.stack(self.gradient)
        return AttentionAnswer(attention, gradient, self.values)
