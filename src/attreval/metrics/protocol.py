"""The protocol of NC, NS, Soft-NC and Soft-NS: both sides where Zhao & Aletras (2023) and their
code differ.

The defaults are the paper's, and where the paper is silent ours. `RELEASED` switches on, one at a
time, what the released code does otherwise; `docs/decisions.md` says why the defaults are what they
are. Letters used for shapes: L tokens, n content tokens, r ratios.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from attreval.core.records import Tokens
from attreval.models.outputs import Outputs, follow

Norm = Literal["minmax", "sigmoid", "minmax_released", "released", "rank", "softmax", "calibrated"]


@dataclass(frozen=True)
class Protocol:
    """How faithfulness is measured.

    ratios: sizes of the rationale, as shares of the text. erased: what an erased token becomes, the
    `pad` or `mask` token (see alignment.fill_ids for models without), the `first` id of the
    vocabulary, whatever it is (the released code; BERT's is padding), or a zero `vector` where it
    would enter the encoder.
    baseline: the text that counts as erased whole, the `sequence` with its special tokens or the
        `content` alone.
    count_first: the first special token counts for a rationale's size. separator: where there is no
    query the separator takes a place in rankings, though it is never erased. query_erased:
    comprehensiveness erases the query as well.
    drift: the margin at the baseline grows by each number computed. clipped: hard measures are
    between 0 and 1; else they are the plain drops, neither clipped nor divided. sharpness:
    multiplies logits, as of a surer model. outputs: what logits are of, see models.outputs.
    soft: entries of vectors are kept at random (`keep`), multiplied by noise whose standard
    deviation (`noise`) or variance (`variance`) follows the score, or tokens are attended to in
    part (`attend`). norm: how scores become numbers in [0, 1], see metrics.soft_erasure. keep_rate:
    the mean that `calibrated` brings them to. inverted: sufficiency keeps what has low scores.
    protect: special tokens and the query are never disturbed. draws: disturbed texts for a measure.
        variance: of the noise at a score of 1.
    margin, ties: by how much a method must beat random scores, and whether a tie is a loss, half a
        win, or a win.
    """

    ratios: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.5)
    erased: Literal["pad", "first", "mask", "vector"] = "pad"
    baseline: Literal["sequence", "content"] = "sequence"
    count_first: bool = False
    separator: bool = False
    query_erased: bool = False
    drift: bool = False
    clipped: bool = True
    sharpness: float = 1.0
    outputs: Outputs = "classes"
    soft: Literal["keep", "noise", "variance", "attend"] = "keep"
    norm: Norm = "minmax"
    keep_rate: float = 0.5
    inverted: bool = False
    protect: bool = True
    draws: int = 1
    variance: float = 1.0
    margin: float = 1e-6
    ties: Literal["lose", "half", "win"] = "lose"

    def __post_init__(self) -> None:
        if not self.ratios or not all(0 < ratio <= 1 for ratio in self.ratios):
            raise ValueError(f"ratios are shares of a text, above 0 and up to 1; got {self.ratios}")
        if self.draws < 1:
            raise ValueError(f"a soft measure needs at least one draw; got {self.draws}")
        if self.sharpness <= 0:
            raise ValueError(f"sharpness multiplies logits and is above 0; got {self.sharpness}")
        if not 0 < self.keep_rate < 1:
            raise ValueError(
                f"keep_rate is a mean of probabilities, between 0 and 1; got {self.keep_rate}"
            )

    def follow(self, logits: np.ndarray, target: int | None = None) -> np.ndarray:
        """(m,) what erasure follows of (m, K) logits: the probability of a class, or an output.

        target: which; None takes the class predicted of the first row.
        """
        of_all = follow(logits, self.outputs, self.sharpness)
        return of_all[:, logits[0].argmax() if target is None else target]


@dataclass(frozen=True)
class Layout:
    """Which tokens of a text do what under a protocol.

    scored: (n,) positions that scores belong to, in order. erasable: (L,) tokens that may be erased
        or disturbed.
    base: (L,) tokens that the baseline erases. beside: (L,) tokens that comprehensiveness erases
        with the rationale.
    size: the number of tokens that ratios are shares of.
    """

    scored: np.ndarray
    erasable: np.ndarray
    base: np.ndarray
    beside: np.ndarray
    size: int


def find_layout(tokens: Tokens, protocol: Protocol, query: int | None = None) -> Layout:
    """The layout of a text. query: which of its segments is asked about the other, and is never
    erased.

    ValueError where no token is left to be erased.
    """
    places = np.flatnonzero(tokens.special)
    asked = ~tokens.special & (tokens.offsets[:, 0] == query)
    erasable = ~tokens.special & ~asked
    if not erasable.any():
        raise ValueError(
            f"no token can be erased: all {len(tokens)} are special tokens or belong to the query"
        )
    scored = erasable.copy()
    base = ~asked
    if asked.any():
        base[places[-2:]] = False
    elif protocol.separator and len(places) > 1:
        scored[places[-1]] = True
    if protocol.baseline == "content":
        base = erasable
    first = int(protocol.count_first and len(places) > 0)
    size = int(erasable.sum()) + first
    return Layout(np.flatnonzero(scored), erasable, base, asked & protocol.query_erased, size)
