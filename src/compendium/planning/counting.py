"""A ledger that counts what conversations ask and answers with random numbers: the true questions, no model.

Methods and metrics talk to it as to any ledger, so what it books is what a run books: requests, duplicates and tokens
follow from the text, the budget and the draws. Where a method asks for more until its answer is good enough, it is to
be given a fixed number (see `fixed`), since random answers never are.
Letters used for shapes: L tokens, K classes, D embedding width, H heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from zlib import crc32

import numpy as np
import torch

from attreval.core.records import Instance, Tokens
from attreval.methods.method import Budget
from attreval.models.questions import (
    AttentionAnswer,
    AttentionPath,
    CellParts,
    Evaluate,
    HeadImportance,
    PathAnswer,
    PathGradient,
    SoftErasure,
    ValueZeroing,
)
from attreval.models.scorer import Scorer, cut_batches

NEEDED = 24  # nodes at which a path meets its sum, on average over MiniLM's texts, whatever it begins with
Passes = Counter  # (what, length of its rows as a power of 2) -> tokens; of "erased", (what, length, size) -> times


def fixed(budget: Budget) -> Budget:
    """The budget with a fixed number of nodes on every path, NEEDED where it may grow, and of texts that LIME reads."""

    def settle(first: int, most: int) -> int:
        return min(most, max(first, NEEDED)) if 2 * first <= most else first

    nodes = settle(budget.path_steps, budget.path_steps_most)
    units = budget.units.changed(attention_steps_most=budget.units.attention_steps)
    return budget.changed(path_steps=nodes, path_steps_most=nodes, lime_reliability=1.0, units=units)


def bucket(length: int) -> int:
    """The power of 2 that is nearest to a length, by ratio; rows of about one length have one rate."""
    return 2 ** round(float(np.log2(max(1, length))))


@dataclass
class UnbuiltModel:
    """What methods must know of a classifier to ask it questions; there is no network behind it.

    read: an instance as the model reads it. reuse_from: as of WordClassifier. passes: what its shortcuts have answered.
    """

    name: str
    family: str
    labels: tuple[str, ...]
    max_length: int
    read: Callable[[Instance], Tokens]
    layers: int = 0
    heads: int = 0
    reuse_from: float = float("inf")
    width: int = 1
    pad_id: int = 0
    mask_id: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    passes: Passes = field(default_factory=Counter)

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as this model reads it."""
        return self.read(instance)

    def erased(self, ids: torch.Tensor, size: int, blank: bool, precision: str) -> torch.Tensor:
        """(w, K) random logits of a text with each window erased."""
        self.passes["erased", bucket(len(ids)), min(size, len(ids))] += 1
        return torch.rand(max(1, len(ids) - size + 1), len(self.labels))


class CountingLedger(Scorer):
    """A ledger that runs nothing. passes: tokens, padding included, by what they pass ("gradient") and length.

    evaluations, gradients, tokens: passes in all, those that take a gradient, and what they read without padding; as
    computed, not as asked for.
    """

    def __init__(self, model: UnbuiltModel, sampled_precision: str = "float32"):
        super().__init__(model, sampled_precision=sampled_precision)
        self.passes: Passes = model.passes
        self.evaluations = self.gradients = self.tokens = 0
        self.notify = self._add
        self.rng = np.random.default_rng(0)

    def _add(self, evaluations: int) -> None:
        """Count evaluations, those that shortcuts answer too."""
        self.evaluations += evaluations

    def _run(self, kind, items) -> None:
        """Count the passes of each item and make an answer up."""
        groups: dict[str, list[int]] = {}
        for item in items:
            groups.setdefault(_what(kind, item), []).extend([len(item.row[0])] * len(item.groups))
            self.answers[item.key] = self._make_up(kind, item)
        for what, lengths in groups.items():
            lengths.sort(reverse=True)
            for batch in cut_batches(lengths, self.token_budget, **self.batch_costs):
                longest = lengths[batch.start]
                self.passes[what, bucket(longest)] += len(batch) * longest
            self.tokens += sum(lengths)
            self.gradients += len(lengths) * (what == "gradient")
            self._report(len(lengths))

    def _make_up(self, kind, item):
        """An answer of the right shape."""
        draw, length, classes = self.rng.standard_normal, len(item.row[0]), len(self.model.labels)
        if kind in (Evaluate, SoftErasure):
            return draw(classes)
        if kind is PathGradient:
            return PathAnswer(draw((length, 1)), draw((length, 1)), draw(len(item.detail.nodes)))
        if kind is AttentionPath:
            rows = length if item.detail.rows is None else len(item.detail.rows)
            shape = (len(item.layers), self.model.heads, rows, length)
            return AttentionAnswer(
                self.rng.random(shape), self.rng.random(shape) - 0.5, draw((shape[0], len(item.detail.nodes)))
            )
        if kind is HeadImportance:
            return draw(self.model.heads)
        if kind is CellParts:
            return draw((length, classes))
        if kind is ValueZeroing:
            return np.abs(draw((self.model.layers, length, length)))
        raise TypeError(f"no answer to a {kind.__name__} can be made up; say here what it looks like")


def _what(kind, item) -> str:
    """What a pass is, as far as its price goes."""
    if kind is PathGradient or (kind is AttentionPath and item.detail.takes_gradients):
        return "gradient"
    precision = item.groups[0][0] if kind in (Evaluate, SoftErasure) else "float32"
    return f"forward {precision}"


def split_words(max_length: int, special: bool, longest: int = 9) -> Callable[[Instance], Tokens]:
    """How a model whose tokenizer is not at hand reads an instance, nearly: words, those beyond `longest` cut in two.

    special: with special tokens around each text. A text is cut from its end. Words of the same letters are one id.
    """

    def read(instance: Instance) -> Tokens:
        rows: list[tuple[int, ...]] = []
        for side in range(len(instance.segments)):
            rows += [(-1, side)] if special and not side else []
            for w, (at, start, end) in enumerate(instance.words.tolist()):
                if at == side:
                    cuts = [start, end] if not special or end - start <= longest else [start, start + longest, end]
                    rows += [(w, side, a, b) for a, b in pairwise(cuts)]
            rows += [(-1, side)] if special else []
        if len(rows) > max_length:
            rows = rows[: max_length - special] + rows[len(rows) - special :]
        names = ["" if len(row) == 2 else instance.segments[row[1]][row[2] : row[3]] for row in rows]
        return Tokens(
            ids=np.array([2 + crc32(name.encode()) if name else 1 for name in names], dtype=np.int64),
            segments=np.array([row[1] for row in rows]),
            special=np.array([len(row) == 2 for row in rows]),
            word=np.array([row[0] for row in rows]),
            offsets=np.array([(-1, 0, 0) if len(row) == 2 else row[1:] for row in rows]),
            texts=tuple("[SEP]" if len(row) == 2 else name for row, name in zip(rows, names, strict=True)),
            mask_id=0,
            pad_id=0,
        )

    return read


def scaled(passes: Passes, by: float) -> Passes:
    """The passes of so many times as many texts."""
    return Counter({key: by * count for key, count in passes.items()})


def quantiles(lengths: Sequence[int], count: int) -> list[int]:
    """Which of some texts stand for all: those in the middle of `count` equal parts by length."""
    order, count = np.argsort(lengths, kind="stable"), min(count, len(lengths))
    return [int(order[int((part + 0.5) * len(order) / count)]) for part in range(count)]
