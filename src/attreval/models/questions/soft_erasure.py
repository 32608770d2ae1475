"""Soft erasure (Zhao & Aletras 2023, section 3.2 and appendix C): vectors partly switched off.

Every token's vector is disturbed where it enters the encoder, by a strength of its own, or attended
to only in part. What is drawn depends on a row's seed and length alone, not on what shares its
batch.
Letters used for shapes: n softly erased texts, B rows, L tokens, D embedding width, K classes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attreval.models.classifier import Classifier
from attreval.models.questions.question import Item, Ledger, Passes, Question, check_needs, to_array

_MASKED = -10000.0  # what an attention mask of 0 adds to a score in the released code


@dataclass(frozen=True)
class SoftErasure(Question):
    """Ask for the (n, K) logits of a text whose tokens are disturbed, each by its own strength.

    Attributes:
        ids, segments: (L,).
        strengths: (n, L), a row a disturbed text.
        seeds: n, what is drawn derives from them.
        kind: `keep` keeps each entry of a vector that enters the encoder with the strength as its
            probability, and sets the others to 0; `noise` multiplies each entry by 1 + strength *
            N(0, 1); `attend` takes the strengths as the attention mask (transformers only; nothing
            is drawn).
    """

    ids: np.ndarray
    segments: np.ndarray
    strengths: np.ndarray
    seeds: tuple[int, ...]
    kind: Literal["keep", "noise", "attend"] = "keep"

    def items(self, ledger: Ledger) -> list[Item]:
        """Each disturbed text.

        Raises:
            ValueError: A transformer cannot be disturbed so.
        """
        check_needs(ledger.model, "bias" if self.kind == "attend" else "entry")
        group = (ledger.precision, self.kind)
        row = (self.ids, self.segments)
        asked = (*group, self.ids.tobytes(), self.segments.tobytes())
        return [
            Item((strengths, seed), (group,), (*asked, strengths.tobytes(), seed), row)
            for strengths, seed in zip(self.strengths, self.seeds, strict=True)
        ]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """(K,) logits of each disturbed text."""
        import torch

        precision, kind = group
        model = ledger.model
        ids, mask, segments = ledger.padded([item.row for item, _ in batch])
        change: dict = {}
        if kind == "attend":
            added = torch.zeros(ids.shape, dtype=torch.float64)
            for b, (item, _) in enumerate(batch):
                strengths, _ = item.detail
                added[b, : len(strengths)] = torch.from_numpy(_MASKED * (1 - strengths))
            change["bias"] = added[:, None, None].to(model.device)
        else:
            factors = torch.ones((*ids.shape, model.width), dtype=torch.float32)
            for b, (item, _) in enumerate(batch):
                strengths, seed = item.detail
                drawn = draw_factors(kind, strengths, seed, model.width)
                factors[b, : len(strengths)] = torch.from_numpy(drawn)
            factors = factors.to(model.device)
            change["entering"] = lambda x: x * factors.to(x.dtype)
        with torch.inference_mode():
            return to_array(model.logits(ids, mask, segments, precision, **change))

    def assemble(self, answers: Sequence[Any], model: Classifier) -> np.ndarray:
        """(n, K) float64."""
        return np.stack(answers) if len(answers) else np.zeros((0, len(model.labels)))


def draw_factors(kind: str, strengths: np.ndarray, seed: int, width: int) -> np.ndarray:
    """(L, D) float32 factors of one text's vectors.

    Args:
        kind: `keep`: 1 with the strength as probability, else 0, entry by entry; `noise`: 1 +
            strength * N(0, 1), entry by entry.
        strengths: (L,).
        seed: Of the draws.
        width: D.
    """
    rng = np.random.default_rng(seed)
    shape = (len(strengths), width)
    if kind == "keep":
        kept = rng.random(shape, dtype=np.float32) < strengths[:, None]
        return kept.astype(np.float32)
    noise = rng.standard_normal(shape, dtype=np.float32)
    return (1 + strengths[:, None] * noise).astype(np.float32)
