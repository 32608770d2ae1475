"""Why one class rather than another: a classifier whose answer is the difference of two logits.

Gradients, propagated relevance and occlusion are linear in the logits, so their scores are those of the one class less
those of the other. What goes by probabilities (LIME, SHAP) explains that of the one class given that it is one of the
two, which is the sigmoid of the difference. Letters used for shapes: B rows, L tokens, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attreval.models.classifier import Classifier

if TYPE_CHECKING:
    from torch import Tensor

    from attreval.models.questions import Rule


class Contrast:
    """A classifier of two classes, by its own index in `labels`: logits (z[target] - z[against], 0).

    Whatever else a question asks of a model is passed on to the one that it was made from.
    """

    def __init__(self, model: Classifier, target: int, against: int):
        if target == against:
            raise ValueError(
                f"a contrast needs two classes; {model.labels[target]!r} is both the one explained and the other"
            )
        self.model: Any = model
        self.classes = (target, against)
        self.labels = (f"{model.labels[target]} rather than {model.labels[against]}", "the other")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def _differ(self, values: Tensor) -> Tensor:
        """(..., K) -> (..., 2)."""
        import torch

        first, second = self.classes
        lead = values[..., first] - values[..., second]
        return torch.stack([lead, torch.zeros_like(lead)], dim=-1)

    def logits(self, *args: Any, **more: Any) -> Tensor:
        """(B, 2), see `Classifier.logits`."""
        return self._differ(self.model.logits(*args, **more))

    def erased(self, *args: Any, **more: Any) -> Tensor:
        """(w, 2) of windows, see `WordClassifier.erased`."""
        return self._differ(self.model.erased(*args, **more))

    def decompose(self, *args: Any, **more: Any) -> Tensor:
        """(B, L, 2) parts, see `WordClassifier.decompose`."""
        return self._differ(self.model.decompose(*args, **more))

    def attend(self, *args: Any, **more: Any) -> tuple[Tensor, dict[int, Tensor]]:
        """(B, 2) logits and attention weights, see `Transformer.attend`."""
        logits, seen = self.model.attend(*args, **more)
        return self._differ(logits), seen

    def relevance(
        self, embeddings: Tensor, mask: Tensor, segments: Tensor, targets: Tensor, rule: Rule, where: str = "words"
    ) -> Tensor:
        """(B, L, D) relevance for the one class less that for the other, see `Transformer.relevance`."""
        import torch

        one, other = (
            self.model.relevance(embeddings, mask, segments, torch.full_like(targets, k), rule, where)
            for k in self.classes
        )
        return one - other

    def output_of(self, target: int) -> int:
        """ValueError: the head that matters most is chosen for one class of the network."""
        raise ValueError(
            "the most important attention head is chosen for one class and cannot tell two apart; leave out the "
            "methods attention_head..., or explain without a second class"
        )
