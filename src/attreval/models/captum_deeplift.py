"""DeepLIFT of a transformer by captum: the rescale rule where it can hook in, and gradients elsewhere.

captum replaces the gradient of a nonlinearity by the slope between text and reference, but only of nonlinearities that
are modules of torch itself: the tanh of BERT's pooler is one. GELU, the softmax inside attention and layer
normalisation are not, and keep their gradients; so completeness is not guaranteed (Zhao & Aletras 2023, section 4.3).
What is covered, by architecture: the tanh of the pooler of BERT and ALBERT and of XLNet's summary, the ReLUs of T5, and
nothing in DistilBERT, RoBERTa, XLM-R, ELECTRA, DeBERTa, MPNet, Longformer, ModernBERT, BART, GPT-2, Llama and Qwen. On
MiniLM classifiers the sums miss the difference of logits by 0.9 of it (SNLI) and 1.0 (Rotten Tomatoes), on the small
random networks of the tests by 0.25 (GPT-2) to 5.3 (XLM-R). models.transformer_deeplift covers every layer.
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from attreval.core.extras import need


class _CaptumModule(torch.nn.Module):
    """A classifier as a module from (B, L, D) word embeddings to (B, K) logits, as captum wants it."""

    def __init__(self, model: Any, precision: str, where: str):
        super().__init__()
        self.network, self.where = model.at(precision), where
        self.read = model.logits  # a bound method: no second set of weights
        self.precision = precision

    def forward(self, embeddings: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        """(B, K) logits. where: see questions.PathGradient."""
        more = {"entering": lambda x: embeddings} if self.where == "bare" else {}
        return self.read(None, mask, segments, self.precision, embeddings=embeddings, whole=True, **more)


def deeplift(
    model: Any, embeddings: Tensor, mask: Tensor, segments: Tensor, targets: Tensor, where: str = "words"
) -> Tensor:
    """(B, L, D) captum DeepLIFT of (B, L, D) word embeddings against zero vectors, for (B,) target classes.

    The precision is that of the embeddings.
    """
    attr = need("captum.attr", "captum", "DeepLIFT of a transformer")
    precision = str(embeddings.dtype).removeprefix("torch.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Setting forward, backward hooks")
        return attr.DeepLift(_CaptumModule(model, precision, where)).attribute(
            embeddings.detach().requires_grad_(),
            baselines=torch.zeros_like(embeddings),
            target=targets,
            additional_forward_args=(mask, segments),
        )


def list_coverage(network: torch.nn.Module) -> tuple[list[str], list[str]]:
    """Names of the nonlinear modules that captum's rescale rule covers, and of those that it does not."""
    from captum.attr._core.deep_lift import SUPPORTED_NON_LINEAR

    leaves = [(name, module) for name, module in network.named_modules() if not any(True for _ in module.children())]
    covered = [name for name, module in leaves if type(module) in SUPPORTED_NON_LINEAR]
    bent = [name for name, module in leaves if "activation" in type(module).__module__ and name not in covered]
    return covered, bent + [name for name, module in leaves if isinstance(module, torch.nn.LayerNorm)]
