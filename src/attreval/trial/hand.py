"""Classifiers whose weights are written by hand, so that what each word counts is known exactly.

A word has a number in each of a few channels, WIDTH equal entries each; a rule over the channels decides between a
class for which nothing speaks, which wins where the evidence is gone, and two others.
Letters used for shapes: B rows, L tokens, V words, C channels, D = C * WIDTH.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from attreval.core.records import Instance, Tokens

if TYPE_CHECKING:
    from torch import Tensor

WIDTH = 32  # entries of a channel: soft erasure switches them off one by one, and what is left counts by its share
GAIN = 6.0
PAD, MASK, BEGIN, END = range(4)
SPECIAL = 4


class HandModel:
    """A models.classifier.Classifier in float64, whatever the precision.

    words: V. channels: (V, C) what each word has. decide: (B, L, C) what the tokens have -> (B, 2) what speaks for the
    first and for the second class. Ids follow the alphabet, so they tell nothing of what a word is for.
    """

    labels: tuple[str, ...] = ("neither", "first", "second")
    family = "transformer"
    pad_id, max_length = PAD, 128

    def __init__(self, words: Sequence[str], channels: np.ndarray, decide: Callable[[Tensor], Tensor]):
        import torch

        self.ids = {word: SPECIAL + at for at, word in enumerate(sorted(words))}
        rows = np.zeros((SPECIAL + len(words), channels.shape[1]))
        rows[[self.ids[word] for word in words]] = channels
        self.channels, self.decide, self.device = channels.shape[1], decide, torch.device("cpu")
        self.table = torch.from_numpy(np.repeat(rows, WIDTH, axis=1))
        self.width, self.vocabulary_size = self.table.shape[1], len(rows)

    def tokens(self, instance: Instance) -> Tokens:
        """The words of one part or two, special tokens around. ValueError for a word that the world has not."""
        ids, word, side = [BEGIN], [-1], [0]
        texts, sides = instance.word_texts(), instance.words[:, 0]
        for at, (text, part) in enumerate(zip(texts, sides.tolist(), strict=True)):
            if text not in self.ids:
                raise ValueError(f"instance {instance.id!r}: {text!r} is no word of this world")
            if part > side[-1]:
                ids, word, side = [*ids, END], [*word, -1], [*side, side[-1]]
            ids, word, side = [*ids, self.ids[text]], [*word, at], [*side, part]
        held = np.array([*word, -1])
        offsets = np.where(held[:, None] < 0, [[-1, 0, 0]], instance.words[held])
        shown = tuple("" if at < 0 else texts[at] for at in held.tolist())
        return Tokens(np.array([*ids, END]), np.array([*side, side[-1]]), held < 0, held, offsets, shown, MASK, PAD)

    def embed(self, ids: Tensor, precision: str = "float64") -> Tensor:
        """(B, L, D) vectors of ids."""
        return self.table[ids]

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor | None,
        precision: str = "float64",
        embeddings: Tensor | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """(B, 3) float64 logits."""
        import torch

        vectors = self.table[ids] if embeddings is None else embeddings
        vectors = vectors if entering is None else entering(vectors)
        spoken = self.decide(vectors.unflatten(-1, (self.channels, WIDTH)).mean(dim=-1) * mask[..., None])
        return GAIN * torch.cat([torch.full_like(spoken[:, :1], 0.5), spoken], dim=1)
