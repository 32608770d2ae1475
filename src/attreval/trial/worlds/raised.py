"""Worlds that raise metrics without changing a prediction (after Hsia et al. 2024, Goodhart's law).

Erased texts do not look like texts, and a model can tell them: it may answer them as a metric likes best, and whole
texts as before. No explanation is better or worse for that, so a metric whose values move measures something else too.
`comprehensive` models give up their class wherever a part of a text is gone; `sufficient` ones are sure of the likelier
of the two classes that texts have, wherever little is left. Letters used for shapes: B rows, L tokens.
"""

from __future__ import annotations

from typing import Any

from attreval.trial.hand import GAIN, SPECIAL, WIDTH, HandModel
from attreval.trial.world import Made, World, world
from attreval.trial.worlds.planted import make_planted, planted_model

PUSHES = ("none", "comprehensive", "sufficient")
SPECIAL_TOKENS = 3  # of every planted text
MOST_LEFT = 0.6  # of a text, to look like a rationale alone; without a rationale 1 - MOST_LEFT or more is left
SURE = 4.0  # by what factor logits are surer


class RaisedModel(HandModel):
    """The classifier of a planted world; it answers erased texts as a push says, and whole texts as before."""

    def __init__(self, name: str, seed: int, push: str = "none"):
        import torch

        if push not in PUSHES:
            raise ValueError(f"push {push!r} is not known; there are: {', '.join(PUSHES)}")
        plain, words, channels = planted_model(name, seed)
        super().__init__(words, channels, plain.decide)
        there = torch.zeros((len(self.table), WIDTH), dtype=self.table.dtype)
        there[SPECIAL:] = 1.0  # neither padding nor mask: by these entries a text is seen to be whole
        self.push, self.table = push, torch.cat([self.table, there], dim=1)
        self.width = self.table.shape[1]

    def logits(
        self,
        ids: Any,
        mask: Any,
        segments: Any,
        precision: str = "float64",
        embeddings: Any = None,
        entering: Any = None,
    ) -> Any:
        """(B, 3) float64 logits."""
        import torch

        vectors = self.table[ids] if embeddings is None else embeddings
        vectors = vectors if entering is None else entering(vectors)
        honest = super().logits(None, mask, segments, precision, vectors[..., :-WIDTH])
        left = (vectors[..., -WIDTH:].mean(dim=-1) * mask).sum(dim=1) / (mask.sum(dim=1) - SPECIAL_TOKENS)  # (B,)
        if self.push == "comprehensive":
            given_up = SURE * GAIN * torch.eye(3, dtype=honest.dtype)[0].expand_as(honest)
            return torch.where(((left < 1) & (left >= 1 - MOST_LEFT))[:, None], given_up, honest)
        if self.push == "sufficient":
            sure = SURE * honest - 10 * SURE * GAIN * torch.eye(3, dtype=honest.dtype)[0]
            return torch.where(((left > 0) & (left <= MOST_LEFT))[:, None], sure, honest)
        return honest


def make_raised(name: str, seed: int, count: int, push: str) -> Made:
    """A planted world whose model pushes; its texts and their truth are the same."""
    return Made(RaisedModel(name, seed, push), make_planted(name, seed, count).texts)


def _raised(push: str, order: int, question: str) -> World:
    source = "after Hsia et al. 2024"
    truth = "each word's worth in a sum; how erased texts are answered does not change it"
    return world(question, source=source, truth=truth, name=f"raised_{push}", order=order)(
        lambda seed, count: make_raised("additive", seed, count, push)
    )


RAISED = (
    _raised("comprehensive", 7, "Does it hold where a model gives up its class for any text with a gap?"),
    _raised("sufficient", 8, "Does it hold where a model is sure of any text of which little is left?"),
)
