"""Gradients, or relevance by LRP or DeepLIFT, at word embeddings, summed along a straight path.

Letters used for shapes: B rows, L tokens, D embedding width, m path nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attreval.core.records import Tokens
from attreval.models.outputs import follow_graph, outputs_of
from attreval.models.questions.question import Item, Ledger, Passes, Question, check_needs, to_array

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class PropagationRule:
    """How relevance takes the place of gradients (Poerner et al. 2018, sections 3.2 and 3.3).

    The first two are of word-level networks; transformers take epsilon to 0 and let biases keep
    their share.

    Attributes:
        epsilon: The stabiliser of every denominator.
        reference: Explain the difference to a text of zero embeddings (DeepLIFT) rather than the
            score itself (LRP).
        attention: What becomes of a transformer's attention weights. They share relevance with the
            values (`shared`, as in AttnLRP), are a `constant` (as in CP-LRP), or pass `softened`
            gradients (GIM), see models.transformer_lrp; with a reference captum leaves them their
            gradients (`shared`), or they are `rescaled`, see models.transformer_deeplift.
    """

    epsilon: float = 0.001
    reference: bool = False
    attention: Literal["shared", "constant", "softened", "rescaled"] = "shared"

    def __post_init__(self) -> None:
        if self.reference != (self.attention == "rescaled") and self.attention != "shared":
            raise ValueError(
                f"attention={self.attention!r} goes with reference={not self.reference}, not "
                f"{self.reference}: it is rescaled between a text and its reference, and constant "
                "or softened without one"
            )

    @property
    def need(self) -> str:
        """What a transformer must be able to do for it, a key of models.checks.PROBES."""
        if not self.reference:
            return "lrp"
        return "complete deeplift" if self.attention == "rescaled" else "deeplift"


ZERO = -1  # in place of an id of a baseline: no vector
MEAN = -2  # in place of an id of a baseline: the mean of all word embeddings
LRP = PropagationRule()
CP_LRP = PropagationRule(attention="constant")
GIM = PropagationRule(attention="softened")
DEEPLIFT = PropagationRule(reference=True)
DEEPLIFT_COMPLETE = PropagationRule(reference=True, attention="rescaled")


@dataclass(frozen=True)
class PathAnswer:
    """The answer to a PathGradient.

    Attributes:
        gradient: (L, D) weighted sum of gradients.
        difference: (L, D) embeddings minus baseline embeddings.
        values: (m,) the logit or probability at each node.
    """

    gradient: np.ndarray
    difference: np.ndarray
    values: np.ndarray

    def dot(self) -> np.ndarray:
        """(L,) dot products of gradient and difference."""
        return (self.gradient * self.difference).sum(axis=1)


@dataclass(frozen=True)
class PathGradient(Question):
    """Ask for the weighted sum of gradients along a straight path of word embeddings.

    The path leads from the embeddings of `baseline` to those of `ids`.

    Attributes:
        ids, segments: (L,).
        target: The class.
        nodes, weights: m points in [0, 1] and their quadrature weights.
        baseline: (L,) ids; zero vectors where None, or where an id is ZERO; the mean of the
            vocabulary's where it is MEAN.
        of: Differentiate the `logit` or the `probability`.
        rule: With one, (L, D) relevance comes in place of the gradient.
        where: The path is walked by the `words` embeddings, to which the model adds positions and
            types; or all that enters the encoder (`entry`) is multiplied by the node, with the
            gradient still at the word embeddings; or the word embeddings enter the encoder `bare`,
            without positions, types and normalisation. The last two are what the released code of
            Zhao & Aletras (2023) does for integrated gradients and DeepLIFT.
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    baseline: np.ndarray | None = None
    of: str = "logit"
    rule: PropagationRule | None = None
    where: Literal["words", "entry", "bare"] = "words"

    takes_gradients = True

    def items(self, ledger: Ledger) -> list[Item]:
        """One, with a pass a node.

        Raises:
            ValueError: This gradient cannot be taken of the model.
        """
        if self.where != "words" and self.rule and self.rule.need != "deeplift":
            raise ValueError(
                f"this rule hands relevance back to words alone; where={self.where!r} goes with "
                "DEEPLIFT"
            )
        check_needs(ledger.model, "embeddings")
        if self.where != "words":
            check_needs(ledger.model, "entry")
        if self.rule:
            check_needs(ledger.model, self.rule.need)
        return [_Path(self)]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """(L, D) gradient, or relevance by the rule, and value of each (path, node).

        A point that several ask about, the logit and the probability say, is read once and
        differentiated for each.
        """
        import torch

        rule, where = group
        model = ledger.model
        asking: dict[Hashable, list[int]] = {}
        for b, (path, n) in enumerate(batch):
            asking.setdefault(path.point(n), []).append(b)
        rounds = list(zip(*asking.values(), strict=True))  # one asker of every point each
        rows = [batch[b] for b in rounds[0]]
        points, nodes = _walk(ledger, [batch[b] for one in rounds for b in one], len(rows), where)
        _, mask, segments = ledger.padded([path.row for path, _ in rows])
        propagated = rule is not None and model.family == "transformer"
        more = {"rule": rule} if rule else {}
        if where == "bare":
            more["entering"] = lambda x: points
        elif where == "entry":
            more["entering"] = lambda x: nodes * x
        found = [None] * len(batch)
        with torch.enable_grad():
            if not propagated:
                out = model.logits(
                    None, mask, segments, ledger.precision, embeddings=points, **more
                )
            for askers in rounds:
                asked = [batch[b][0].detail for b in askers]
                targets = torch.tensor([one.target for one in asked], device=points.device)
                if propagated:
                    gradient = model.relevance(points, mask, segments, targets, rule, where)
                    value = torch.full((len(asked),), torch.nan)
                else:
                    wanted = targets.new_tensor([one.of == "probability" for one in asked])
                    chosen = wanted.bool()[:, None]
                    followed = follow_graph(out, outputs_of(model))
                    scores = torch.where(chosen, followed, out)
                    value = scores.gather(1, targets[:, None])[:, 0]
                    more_rounds = askers is not rounds[-1]
                    (gradient,) = torch.autograd.grad(value.sum(), points, retain_graph=more_rounds)
                gradients = to_array(gradient)
                values = to_array(value)
                for b, question, slope, at in zip(askers, asked, gradients, values, strict=True):
                    found[b] = (slope[: len(question.ids)], at)
        return found


def choose_start(model: Any, tokens: Tokens) -> Literal["pad", "mask", "mean"]:
    """Where a path of integrated gradients can begin: at padding, unless its vector is zero.

    A zero vector cannot be normalised, so all that happens on a path from it happens beside it
    (trained Llama and Qwen3 shapes miss up to 230 % of the sum owed with 400 nodes). From the token
    that methods erase to, 50 suffice; where that vector is zero as well, there is the mean of all.

    Args:
        model: The classifier.
        tokens: Of a text; they know the ids of padding and of erased tokens.
    """
    import torch

    if model.family != "transformer" or not hasattr(model, "network"):
        return "pad"
    vectors = model.embed(torch.tensor([tokens.pad_id, tokens.mask_id], device=model.device)[None])[
        0
    ]
    pad, mask = vectors.any(dim=-1).tolist()
    return "pad" if pad else "mask" if mask else "mean"


def _walk(ledger: Ledger, batch: Passes, count: int, where: str) -> tuple[Tensor, Tensor]:
    """The vectors that the first `count` passes begin from, and their nodes.

    Every path of the batch is told its ends.

    Returns:
        (count, L, D) vectors, padded, with a graph; (count, 1, 1) nodes.
    """
    import torch

    with torch.no_grad():
        ends = [path.ends(ledger) for path, _ in batch][:count]
    like, _ = ends[0]
    longest = max(len(end) for end, _ in ends)
    points = like.new_zeros(count, longest, like.shape[1])
    places = [path.detail.nodes[number] for path, number in batch[:count]]
    nodes = like.new_tensor(places)[:, None, None]
    for b, (end, start) in enumerate(ends):
        points[b, : len(end)] = end if where == "entry" else start + nodes[b, 0] * (end - start)
    return points.requires_grad_(True), nodes


class _Path(Item):
    """What the nodes of one path add up to."""

    __slots__ = ("_ends", "gradient", "values")

    def __init__(self, question: PathGradient):
        groups = [(question.rule, question.where)] * len(question.nodes)
        super().__init__(question, groups)
        self._ends: Any = None  # once asked for, (end, start)
        self.gradient: Any = 0.0
        self.values = np.zeros(len(groups))

    def point(self, number: int) -> Hashable:
        """A node of a path from here to there, whatever is asked of it."""
        asked = self.detail
        base = None if asked.baseline is None else asked.baseline.tobytes()
        return asked.ids.tobytes(), asked.segments.tobytes(), base, asked.nodes[number]

    def ends(self, ledger: Ledger) -> tuple[Tensor, Tensor]:
        """(L, D) word embeddings at the end of the path and at its start."""
        import torch

        def embed(ids: np.ndarray) -> Tensor:
            row = torch.from_numpy(ids).to(ledger.model.device)
            return ledger.model.embed(row[None], ledger.precision)[0]

        if self._ends is None:
            end = embed(self.detail.ids)
            start = torch.zeros_like(end)
            base = self.detail.baseline
            if base is not None:
                kept = torch.from_numpy(base >= 0).to(end.device)
                start = embed(np.maximum(base, 0)) * kept[:, None]
                if MEAN in base:
                    every = embed(np.arange(ledger.model.vocabulary_size))
                    start[torch.from_numpy(base == MEAN)] = every.mean(dim=0)
            self._ends = (end, start)
        return self._ends

    def add(self, number: int, output: Any) -> None:
        """Take in the gradient and the value at one node."""
        gradient, self.values[number] = output
        self.gradient = self.gradient + self.detail.weights[number] * gradient

    def answer(self) -> PathAnswer:
        """The answer, when all nodes are in."""
        end, start = self._ends
        return PathAnswer(self.gradient, to_array(end - start), self.values)
