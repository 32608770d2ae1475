"""What happens inside a network: cells, states without one token's value, heads that matter.

The importance of attention heads (Ray Choudhury et al. 2023) is read off the classification head.
What leads from the first token's state to a class score (both linear maps of the classification
head, the tanh between them ignored) is taken with the signs of the state and summed over each
head's part of it, in the last encoder layer. The state has passed the layer's output projection, so
its parts are not strictly the heads': a limit of the measure.
Letters used for shapes: B rows, L tokens, S layers, H heads, D hidden width, K classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attreval.models.questions.question import (
    Item,
    Ledger,
    Passes,
    Question,
    check_attention,
    check_needs,
    to_array,
)

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class CellParts(Question):
    """Ask a gated model how much of each class score each token left in its cell: (L, K).

    (Murdoch & Szlam 2017.)

    Attributes:
        ids, segments: (L,).
        output_gate: The quasi-recurrent LSTM shows its cell through the last output gate, as the
            paper says; its released code leaves that gate out.
    """

    ids: np.ndarray
    segments: np.ndarray
    output_gate: bool = True

    def items(self, ledger: Ledger) -> list[Item]:
        """One, with one pass."""
        return [Item(self, ((self.output_gate,),))]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """(L, K) parts, for each text."""
        import torch

        ids, mask, _ = ledger.padded([item.row for item, _ in batch])
        with torch.inference_mode():
            parts = ledger.model.decompose(ids, mask, ledger.precision, *group)
        lengths = mask.sum(dim=1).tolist()
        return [own[:length] for own, length in zip(to_array(parts), lengths, strict=True)]


@dataclass(frozen=True)
class ValueZeroing(Question):
    """Ask an encoder how far states move when the value of a token is zero: (S, L, L).

    The distance is 1 less the cosine (Mohebbi et al. 2023). Each layer is run again alone, on the
    states that it is given in the plain text; its attention weights stay. A pass is one token's
    value taken away, in each layer in turn.

    Attributes:
        ids, segments: (L,).
    """

    ids: np.ndarray
    segments: np.ndarray

    def items(self, ledger: Ledger) -> list[Item]:
        """One, with a pass a token.

        Raises:
            ValueError: The model has no attention, or its layers cannot be run alone.
        """
        check_attention(ledger.model, "whose values could be taken away")
        check_needs(ledger.model, "summary", "layers")
        groups = [("values",)] * len(self.ids)
        return [_Columns(self, groups)]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """(S, L) distances for each pass; passes of one text share the states of its layers."""
        import torch

        for _, part in groupby(batch, key=lambda one: id(one[0])):
            passes = list(part)
            text, _ = passes[0]
            inputs = ledger.padded([text.row])
            zeroed = torch.tensor([number for _, number in passes], device=inputs[0].device)
            distances = ledger.model.zero_values(*inputs, zeroed, ledger.precision)
            yield from to_array(distances)


class _Columns(Item):
    """What the passes of one text give: a column of each layer's matrix."""

    __slots__ = ()

    def answer(self) -> np.ndarray:
        return np.stack(self.outputs, axis=2)


@dataclass(frozen=True)
class HeadImportance(Question):
    """Ask a transformer how much each head of its last encoder layer matters for a class: (H,).

    Attributes:
        ids, segments: (L,).
        target: The class.
        matrix: The `transposed` map of the classification head, or the one that the `code` of Ray
            Choudhury et al. uses.
        state: The first token's, `after` the last encoder layer, or `before` it, as in that code.
        choice: `per_class`, for the target; `class_mean`, the mean over all classes; `one_for_all`,
            the same with the magnitudes of the map in place of the signs of the state, so that
            neither class nor text has a say (ours).
    """

    ids: np.ndarray
    segments: np.ndarray
    target: int
    matrix: Literal["transposed", "code"] = "transposed"
    state: Literal["after", "before"] = "after"
    choice: Literal["per_class", "class_mean", "one_for_all"] = "per_class"

    def key(self) -> Hashable:
        """What makes two of these the same question."""
        of = self.target if self.choice == "per_class" else self.choice
        return ("heads", self.ids.tobytes(), self.segments.tobytes(), of, self.matrix, self.state)

    def items(self, ledger: Ledger) -> list[Item]:
        """One, with one pass.

        Raises:
            ValueError: The model has no attention, or its head is of another form.
        """
        check_attention(ledger.model, "heads to choose from")
        check_needs(ledger.model, "attention", "first token")
        if hasattr(ledger.model, "network"):
            class_layers(ledger.model.network)
        return [Item(self, ((self.state,),))]

    @staticmethod
    def run(ledger: Ledger, group: tuple, batch: Passes) -> Iterable[Any]:
        """(H,) importance of each head, for each question."""
        import torch

        model = ledger.model
        asked = [item.detail for item, _ in batch]
        network = model.at(ledger.precision)
        inputs = ledger.padded([item.row for item, _ in batch])
        with torch.inference_mode():
            ids, mask, segments = inputs
            given = {"input_ids": ids, "attention_mask": mask, "output_hidden_states": True}
            body = network.base_model
            if network.config.is_encoder_decoder:
                body = network.get_encoder()
            elif getattr(network.config, "type_vocab_size", 0) > 1:
                given["token_type_ids"] = segments
            # of the first token, after or before the last encoder layer
            layer = -1 if group[0] == "after" else -2
            states = body(**given).hidden_states[layer][:, 0]
            signs = torch.where(states > 0, 1.0, -1.0).to(states.dtype)
            first, last = class_layers(network)
            # (D, K) from the first token's state to class scores: as the network applies them, and
            # as the code of Ray Choudhury et al. multiplies, with the first layer's weights
            # untransposed and the class bias in every row
            maps = {
                "transposed": first.weight.T @ last.weight.T,
                "code": first.weight @ (last.weight.T + last.bias),
            }
        for question, sign in zip(asked, signs, strict=True):
            found = maps[question.matrix]
            if question.choice == "per_class":
                found = found[:, model.output_of(question.target)] * sign
            elif question.choice == "class_mean":
                found = found.mean(dim=1) * sign
            else:
                found = found.abs().mean(dim=1)
            by_head = found.view(network.config.num_attention_heads, -1).sum(dim=1)
            yield to_array(by_head)


def class_layers(network: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    """The two linear layers of a classification head: on hidden states, and giving class scores.

    Raises:
        ValueError: The network's head has another shape.
    """
    from torch import nn

    if hasattr(network, "classification_head"):  # BART
        return network.classification_head.dense, network.classification_head.out_proj
    last: Any = getattr(network, "classifier", None)
    if hasattr(last, "out_proj"):  # RoBERTa, MPNet
        return last.dense, last.out_proj
    if isinstance(last, nn.Linear):
        pooler = getattr(network.base_model, "pooler", None)  # BERT; DistilBERT keeps it outside
        first = getattr(network, "pre_classifier", None) or getattr(pooler, "dense", None)
        if first is not None:
            return first, last
    raise ValueError(
        f"the classification head of {type(network).__name__} is not one of two linear layers, "
        "as in BERT, DistilBERT, RoBERTa, MPNet and BART; the most important attention head "
        "cannot be told"
    )
