"""What a model is to the ledger and to the methods: a classifier of token ids or word embeddings.

`Transformer`, `WordClassifier`, `TextFunction` and those written by hand in trial/exact.py are
classifiers, without a common base class. A `Contrast` of one asks why one class rather than
another, `OneOutput` is one of the outputs that are no classes.
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from attreval.core.records import Instance, Tokens

if TYPE_CHECKING:  # slow to import, and the list of methods is read by every command
    import torch
    from torch import Tensor


Score = Literal["logit", "log_probability"]


class Classifier(Protocol):
    """What the ledger asks.

    A classifier with a `network` of torch is asked in evaluation mode, by one thread at a time.

    Further methods serve single types of question: `attend` of a transformer, `decompose` of a
    gated network; `erased` where it has `reuse_from`, the number of windows from which on that is
    cheaper than whole texts; `vocabulary_size`, how many ids have an embedding, where a path starts
    from their mean.

    Attributes:
        labels: K names of classes, or of outputs where a model's `outputs` are no classes.
        max_length: Tokens that are read, at most.
        score: What the score of a class is. A language model's logits rise and fall together,
            whatever it reads, so that its scores are logarithms of the labels' probabilities among
            them; a trained head's are logits.
    """

    labels: tuple[str, ...]
    max_length: int
    score: Score

    @property
    def family(self) -> str:
        """One of methods.method.FAMILIES."""

    @property
    def pad_id(self) -> int:
        """The id that fills rows up; it is masked."""

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""

    def tokens(self, instance: Instance) -> Tokens:
        """An instance as this model reads it."""

    def embed(self, ids: Tensor, precision: str = "float32") -> Tensor:
        """(B, L, D) word embeddings of (B, L) ids."""

    def logits(
        self,
        ids: Tensor | None,
        mask: Tensor,
        segments: Tensor,
        precision: str = "float32",
        *,
        embeddings: Tensor | None = None,
        entering: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """(B, K) logits of token ids or of word embeddings.

        Args:
            ids: (B, L), or None.
            mask: (B, L), 0 marks padding.
            segments: (B, L) token types.
            precision: `float64`, `float32` or `bfloat16`.
            embeddings: (B, L, D) word embeddings in place of ids.
            entering: Changes the vectors that enter the network.
        """


def class_scores(outputs: Tensor, order: list[int] | None, score: Score) -> Tensor:
    """(..., K) scores of the classes from a network's outputs.

    Args:
        outputs: (..., K).
        order: (K,) where each class stands among them; None for the same order.
        score: See `Classifier`.
    """
    found = outputs if order is None else outputs[..., order]
    return found.log_softmax(dim=-1) if score == "log_probability" else found


# what gives a number for each output: see Classifier.logits, WordClassifier.erased and .decompose
OF_OUTPUTS = ("logits", "erased", "decompose")


class View:
    """A classifier whose logits are made of another's; all else is passed on to that one.

    Args:
        model: The other.
        labels: Of the logits.
    """

    def __init__(self, model: Classifier, labels: tuple[str, ...]):
        self.model: Any = model
        self.labels = labels

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.model, name)
        if name not in OF_OUTPUTS:
            return found
        return lambda *args, **more: self.change(found(*args, **more))

    def change(self, values: Tensor) -> Tensor:
        """(..., K) of the other classifier -> those of this one."""
        raise NotImplementedError

    def attend(self, *args: Any, **more: Any) -> tuple[Tensor, dict[int, Tensor]]:
        """Logits and attention weights, see `Transformer.attend`."""
        logits, seen = self.model.attend(*args, **more)
        return self.change(logits), seen


class OneOutput(View):
    """One of a model's outputs that are no classes, as a model with that one alone.

    Args:
        model: Its outputs are `independent` or `value`.
        output: The number of the one.
    """

    def __init__(self, model: Classifier, output: int):
        super().__init__(model, (model.labels[output],))
        self.output = output

    def change(self, values: Tensor) -> Tensor:
        """(..., K) -> (..., 1)."""
        return values[..., [self.output]]

    def relevance(
        self, embeddings: Tensor, mask: Tensor, segments: Tensor, targets: Tensor, *rule: Any
    ) -> Tensor:
        """(B, L, D) relevance for the output, see `Transformer.relevance`."""
        return self.model.relevance(embeddings, mask, segments, targets + self.output, *rule)

    def output_of(self, target: int) -> int:
        """Where the output stands in the network's."""
        return self.model.output_of(self.output)


class Contrast(View):
    """A classifier whose answer is the difference of two logits: (z[target] - z[against], 0).

    Gradients, propagated relevance and occlusion are linear in the logits, so their scores are
    those of the one class less those of the other. What goes by probabilities (LIME, SHAP) explains
    that of the one class given that it is one of the two, which is the sigmoid of the difference.

    Args:
        model: The classifier.
        target, against: Numbers of its classes.

    Raises:
        ValueError: The two are one class.
    """

    def __init__(self, model: Classifier, target: int, against: int):
        if target == against:
            raise ValueError(
                f"a contrast needs two classes; {model.labels[target]!r} is both the one "
                "explained and the other"
            )
        lead = f"{model.labels[target]} rather than {model.labels[against]}"
        super().__init__(model, (lead, "the other"))
        self.classes = (target, against)

    def change(self, values: Tensor) -> Tensor:
        """(..., K) -> (..., 2)."""
        import torch

        first, second = self.classes
        lead = values[..., first] - values[..., second]
        return torch.stack([lead, torch.zeros_like(lead)], dim=-1)

    def relevance(
        self, embeddings: Tensor, mask: Tensor, segments: Tensor, targets: Tensor, *rule: Any
    ) -> Tensor:
        """(B, L, D) relevance for one class less the other, see `Transformer.relevance`."""
        import torch

        one, other = [torch.full_like(targets, k) for k in self.classes]
        found = self.model.relevance(embeddings, mask, segments, one, *rule)
        return found - self.model.relevance(embeddings, mask, segments, other, *rule)

    def output_of(self, target: int) -> int:
        """Refuse: the head that matters most is chosen for one class of the network."""
        raise ValueError(
            "the most important attention head is chosen for one class and cannot tell two "
            "apart; leave out the methods attention_head..., or explain without a second class"
        )
