"""Whom does a transformer attend to, how much does each weight count, and what if the weights were other ones?

Every attention layer passes through one of two functions of torch, whatever the architecture. `Watch` stands between:
it hands out the weights of the encoder's layers, multiplies them, and lets gradients reach them.
Letters used for shapes: B rows, H heads, L tokens, S layers asked for, m path nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attreval.core.records import Cost
from attreval.models.questions import AttentionAnswer, AttentionPath

MASKED = -10000.0  # what an attention mask of 0 adds to a score, where masks are numbers between 0 and 1


class Watch(TorchFunctionMode):
    """While it is on, attention weights of self-attention layers, in the order in which they run, pass through here.

    layers: how many belong to the encoder; a decoder's come after them and are left alone.
    wanted: layers whose weights are kept in `seen` as (B, H, L, L) tensors that gradients reach.
    factors: layer -> (B, 1, 1, 1) numbers that its weights are multiplied by. bias: (B, 1, 1, L), added to the scores.
    """

    def __init__(
        self,
        layers: int,
        wanted: Sequence[int] = (),
        factors: dict[int, Tensor] | None = None,
        bias: Tensor | None = None,
    ):
        super().__init__()
        self.layers, self.wanted, self.factors, self.bias = layers, set(wanted), factors or {}, bias
        self.at, self.seen = 0, {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is functional.scaled_dot_product_attention and self.at < self.layers:
            return self.attend(*args, **kwargs)
        if function is functional.softmax and args[0].ndim == 4 and self.at < self.layers:
            scores = args[0] if self.bias is None else args[0] + self.bias.to(args[0].dtype)
            return self.take(function(scores, *args[1:], **kwargs))
        return function(*args, **kwargs)

    def attend(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        """Attention written out: the fused function does not say what its weights are."""
        if is_causal or enable_gqa or dropout_p:
            raise ValueError("attention weights are read from encoders in evaluation mode only")
        scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
        elif attn_mask is not None:
            scores = scores + attn_mask
        if self.bias is not None:
            scores = scores + self.bias.to(scores.dtype)
        return self.take(functional.softmax(scores, dim=-1)) @ value

    def take(self, weights: Tensor) -> Tensor:
        """The weights of the next layer, as the model is to use them."""
        layer, self.at = self.at, self.at + 1
        if layer in self.factors:
            weights = weights * self.factors[layer]
        if layer in self.wanted:
            if torch.is_grad_enabled() and not weights.requires_grad:
                weights.requires_grad_(True)  # a leaf: nothing below it keeps a graph
            self.seen[layer] = weights
        return weights


def pick_layers(asked: Sequence[int], layers: int) -> tuple[int, ...]:
    """The layers asked for, from 0; all where none is named. ValueError for one that the encoder does not have."""
    if bad := [layer for layer in asked if not -layers <= layer < layers]:
        raise ValueError(f"the encoder has layers 0 to {layers - 1} (or -{layers} to -1); got {bad[0]}")
    return tuple(layer % layers for layer in asked) or tuple(range(layers))


def attentions(scorer, questions: Sequence[AttentionPath], accounts: Sequence[str]) -> list[AttentionAnswer]:
    """Answers to attention questions, each distinct one computed once.

    A node of 1 is the text itself: one pass serves all layers. At every other node each layer takes a pass of its own.
    ValueError for a model without attention.
    """
    if questions and getattr(scorer.model, "family", None) != "transformer":
        raise ValueError(f"{getattr(scorer.model, 'name', 'this model')!r} has no attention weights to ask for")
    fresh: dict[Hashable, AttentionPath] = {}
    for question, account in zip(questions, accounts, strict=True):
        key, rows = question.key(), len(list_rows(question, scorer.model.layers))
        known = key in scorer.answers or key in fresh
        gradients = rows if question.nodes else 0
        tokens = rows * len(question.ids)
        scorer.book(account, Cost(rows, 0 if known else rows, tokens, 0 if known else tokens, gradients))
        fresh |= {} if known else {key: question}
    kept = {key: Sums(question, scorer.model.layers) for key, question in fresh.items()}
    rows = [(key, *row) for key, q in fresh.items() for row in list_rows(q, scorer.model.layers)]
    # rows that need the same layers share batches: what lies below the lowest of them keeps no graph
    for wanted in dict.fromkeys(row[1] for row in rows):
        for graph in (False, True):
            part = [row for row in rows if row[1] == wanted and bool(fresh[row[0]].nodes) == graph]
            part.sort(key=lambda row: -len(fresh[row[0]].ids))
            for batch in scorer.cut([len(fresh[row[0]].ids) for row in part]):
                attend_batch(scorer, [part[i] for i in batch], fresh, kept, graph)
    scorer.answers |= {key: sums.answer() for key, sums in kept.items()}
    return [scorer.answers[q.key()] for q in questions]


def list_rows(question: AttentionPath, layers: int) -> list[tuple[tuple[int, ...], int | None, float]]:
    """(layers wanted, number of the node, node) of each pass that a question takes."""
    wanted = pick_layers(question.layers, layers)
    whole = [(wanted, i, 1.0) for i, node in enumerate(question.nodes) if node == 1]
    apart = [((layer,), i, node) for i, node in enumerate(question.nodes) if node != 1 for layer in wanted]
    if not whole:  # the weights themselves are always part of the answer
        whole = [(wanted, None, 1.0)]
    return whole + apart


class Sums:
    """What the passes of one question add up to."""

    def __init__(self, question: AttentionPath, layers: int):
        self.question, self.layers = question, pick_layers(question.layers, layers)
        self.attention: list = [None] * len(self.layers)
        self.gradient: list = [0.0] * len(self.layers)
        self.values = np.full((len(self.layers), len(question.nodes)), np.nan)

    def add(self, layer: int, node: int | None, factor: float, weights: Tensor, gradient: Tensor | None, value: float):
        """Take in one layer of one pass: (H, L, L) weights and gradient."""
        at, rows = self.layers.index(layer), self.question.rows
        cut = (slice(None), slice(None) if rows is None else list(rows))
        if factor == 1:
            self.attention[at] = weights[cut].double().cpu().numpy()
        if node is not None:
            self.values[at, node] = value
            if gradient is not None:
                share = self.question.weights[node]
                self.gradient[at] = self.gradient[at] + share * gradient[cut].double().cpu().numpy()

    def answer(self) -> AttentionAnswer:
        """The answer, when all passes are in."""
        attention = np.stack(self.attention)
        gradient = np.stack(self.gradient) if self.question.nodes else np.full(attention.shape, np.nan)
        return AttentionAnswer(attention, gradient, self.values)


def attend_batch(scorer, part: list, questions: dict, kept: dict[Hashable, Sums], graph: bool) -> None:
    """Run one batch of passes that want the same layers, and add what comes out to the sums of their questions."""
    ids, mask, segments = scorer.padded([(questions[row[0]].ids, questions[row[0]].segments) for row in part])
    wanted = part[0][1]
    factors = {}
    if len(wanted) == 1:
        nodes = torch.tensor([row[3] for row in part], dtype=torch.float64, device=ids.device)
        factors = {wanted[0]: nodes[:, None, None, None].to(scorer.model.at(scorer.precision).dtype)}
    with torch.set_grad_enabled(graph):
        logits, seen = scorer.model.attend(ids, mask, segments, scorer.precision, wanted, factors)
        probable = torch.softmax(logits, dim=-1)
        picked = torch.stack(
            [
                (probable if questions[row[0]].of == "probability" else logits)[b, questions[row[0]].target]
                for b, row in enumerate(part)
            ]
        )
        gradients = torch.autograd.grad(picked.sum(), [seen[layer] for layer in wanted]) if graph else None
    for b, (key, _, node, factor) in enumerate(part):
        length = len(questions[key].ids)
        for i, layer in enumerate(wanted):
            gradient = gradients[i][b, :, :length, :length] if graph else None
            weights = seen[layer].detach()[b, :, :length, :length]
            kept[key].add(layer, node, factor, weights, gradient, float(picked[b].detach()))
    if scorer.notify:
        scorer.notify(len(part))
