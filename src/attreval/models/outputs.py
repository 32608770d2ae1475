"""What a model's outputs are, and what of them is followed: the link from logits.

What goes by probabilities (LIME, Shapley values, erasure) follows the softmax over classes, the
sigmoid of an independent output, or a value as it is. Letters used for shapes: n rows, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:  # slow to import, and the list of methods is read by every command
    from torch import Tensor

Outputs = Literal["classes", "independent", "value"]
OUTPUTS: dict[str, str] = {
    "classes": "classes of which one is right, by a softmax",
    "independent": "probabilities that do not exclude each other, each by a sigmoid",
    "value": "values",
}
ANY = tuple(OUTPUTS)
PROBABILITIES = ANY[:2]
CLASSES = ANY[:1]


def outputs_of(model: Any) -> Outputs:
    """What a model's outputs are; classes where it does not say."""
    return getattr(model, "outputs", "classes")


def check_outputs(outputs: str | None, known: Sequence[str] = ANY) -> None:
    """Raise ValueError for a word that is none of those known."""
    if outputs is not None and outputs not in known:
        raise ValueError(f"outputs {outputs!r} are not known; there are: {', '.join(known)}")


def why_not(taken: Sequence[str], outputs: str) -> str:
    """What a method or metric needs of outputs that are others than it takes; empty for those.

    Args:
        taken: ANY, PROBABILITIES or CLASSES.
        outputs: What the model's are.
    """
    if outputs in taken:
        return ""
    needed = "classes of which one is predicted" if taken == CLASSES else "a probability"
    return f"{needed}, and the model's outputs are {OUTPUTS[outputs]}"


def softmax(logits: np.ndarray) -> np.ndarray:
    """(n, K) class probabilities of (n, K) logits."""
    return np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))


def follow(logits: np.ndarray, outputs: str, sharpness: float = 1.0) -> np.ndarray:
    """(n, K) what is followed of (n, K) logits.

    Args:
        logits: Of a model.
        outputs: What they are of.
        sharpness: Multiplies logits, as of a surer model; it says nothing of values.
    """
    if outputs == "value":
        return logits
    if outputs == "independent":
        return np.exp(-np.logaddexp(0, -sharpness * logits))
    return softmax(sharpness * logits)


def follow_graph(logits: Tensor, outputs: str) -> Tensor:
    """`follow` of a tensor, for gradients."""
    if outputs == "value":
        return logits
    return logits.sigmoid() if outputs == "independent" else logits.softmax(dim=-1)
