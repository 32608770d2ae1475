"""What is exact: networks written by hand, Shapley values of all coalitions, single erasures.

In a classifier written by hand a word has a number in each of a few channels, WIDTH equal entries
each; a rule over the channels decides between a class for which nothing speaks, which wins where
the evidence is gone, and two others. Letters used for shapes: B rows, L tokens, V words, C
channels, D = C * WIDTH.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attreval.core.records import Instance, Tokens
from attreval.core.units import all_coalitions
from attreval.models.questions import softmax
from attreval.models.scorer import Scorer
from attreval.trial.world import WorldText

# entries of a channel: soft erasure switches them off one by one, and what is left counts by its
# share
WIDTH = 32
GAIN = 6.0
PAD, MASK, BEGIN, END = range(4)
SPECIAL = 4
MOVES = 0.25  # a change of probability that is one
STAYS = 0.1  # one that is none


@lru_cache(maxsize=32)
def coalitions(n: int) -> np.ndarray:
    """(2^n, n) bool, all subsets of n players, the empty one first; the last player varies most."""
    return all_coalitions(n)[:, ::-1]


def shapley(values: np.ndarray) -> np.ndarray:
    """(n,) Shapley values of the (2^n,) values of `coalitions(n)` (Shapley 1953)."""
    n = len(values).bit_length() - 1
    held = coalitions(n)
    out = np.zeros(n)
    weight = np.array([factorial(k) * factorial(n - k - 1) / factorial(n) for k in range(n)])
    for player in range(n):
        without = np.flatnonzero(~held[:, player])
        gains = values[without + (1 << (n - 1 - player))] - values[without]
        out[player] = weight[held[without].sum(axis=1)] @ gains
    return out


def coalition_logits(
    scorer: Scorer, tokens: Tokens, players: np.ndarray, target: int
) -> np.ndarray:
    """(2^n,) logits of a class where only some of n players, places of tokens, are left.

    Args:
        scorer: of the model.
        tokens: the text; its other tokens stay.
        players: (n,) places.
        target: the class.
    """
    held = coalitions(len(players))
    rows = np.tile(tokens.ids, (len(held), 1))
    rows[:, players] = np.where(held, rows[:, players], tokens.mask_id)
    return scorer.logits([(row, tokens.segments) for row in rows])[:, target]


def erase_each(model: Any, tokens: Tokens) -> np.ndarray:
    """(1 + n, K) probabilities of the text, and of the text without each content token."""
    rows = np.tile(tokens.ids, (1 + len(tokens.content), 1))
    rows[range(1, len(rows)), tokens.content] = tokens.mask_id
    scorer = Scorer(model, precision="float64")
    return softmax(scorer.logits([(row, tokens.segments) for row in rows]))


def decides_alone(model: Any, text: WorldText) -> bool:
    """Whether a model predicts the class, and erasing the one true token alone moves that."""
    p = erase_each(model, text.tokens)
    place = text.truth.argmax()
    drops = p[0, text.target] - p[1:, text.target]
    others = np.delete(np.abs(drops), place).max(initial=0.0)
    return bool(p[0].argmax() == text.target and drops[place] >= MOVES and others <= STAYS)


class HandModel:
    """A models.classifier.Classifier in float64, whatever the precision.

    words: V. channels: (V, C) what each word has. decide: (B, L, C) what the tokens have -> (B, 2)
    what speaks for the first and for the second class. Ids follow the alphabet, so they tell
    nothing of what a word is for.
    """

    labels: tuple[str, ...] = ("neither", "first", "second")
    family = "transformer"
    pad_id = PAD
    max_length = 128
    device = torch.device("cpu")

    def __init__(
        self, words: Sequence[str], channels: np.ndarray, decide: Callable[[Tensor], Tensor]
    ):
        self.ids = {word: SPECIAL + at for at, word in enumerate(sorted(words))}
        self.vocabulary_size = SPECIAL + len(words)
        self.channels = channels.shape[1]
        self.decide = decide
        rows = np.zeros((self.vocabulary_size, self.channels))
        rows[[self.ids[word] for word in words]] = channels
        self.table = torch.from_numpy(np.repeat(rows, WIDTH, axis=1))
        self.width = self.table.shape[1]

    def tokens(self, instance: Instance) -> Tokens:
        """The words of one part or two with special tokens; ValueError for an unknown word."""
        texts = instance.word_texts()
        if lacking := [text for text in texts if text not in self.ids]:
            raise ValueError(f"instance {instance.id!r}: {lacking[0]!r} is no word of this world")
        parts = instance.words[:, 0]
        first = int((parts == 0).sum())
        ends = [first, len(texts)] if first < len(texts) else [first]  # an END stands behind each
        word = np.insert(np.arange(len(texts)), [0, *ends], -1)
        side = np.insert(parts, [0, *ends], [0, *range(len(ends))])
        ids = np.insert([self.ids[text] for text in texts], [0, *ends], [BEGIN] + [END] * len(ends))
        special = word < 0
        offsets = np.where(special[:, None], [[-1, 0, 0]], instance.words[word])
        shown = tuple("" if at < 0 else texts[at] for at in word.tolist())
        return Tokens(ids, side, special, word, offsets, shown, MASK, PAD)

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
        vectors = self.table[ids] if embeddings is None else embeddings
        return self.answer(vectors if entering is None else entering(vectors), mask)

    def answer(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """(B, 3) float64 logits of (B, L, D) vectors."""
        held = vectors.unflatten(-1, (self.channels, WIDTH)).mean(dim=-1)
        spoken = self.decide(held * mask[..., None])
        return GAIN * torch.cat([torch.full_like(spoken[:, :1], 0.5), spoken], dim=1)
