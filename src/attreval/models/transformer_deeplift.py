"""DeepLIFT of a transformer (Shrikumar et al. 2017), by captum and in every layer.

In every layer (`Rescale`), so that scores are complete: the text and its reference, zero
embeddings, run side by side as the two halves of the batch. What changes between them is handed
back by slopes: of an elementwise function (f(x) - f(r)) / (x - r); of a product of two tensors that
both depend on the text each factor's difference times the mean of the other, which is its Shapley
value. Normalisation and softmax are made of these. The scores of a text then sum to the difference
of logits, but for rounding.

captum replaces the gradient of a nonlinearity by the slope between text and reference, but only of
nonlinearities that are modules of torch itself: the tanh of BERT's pooler is one. GELU, the softmax
inside attention and layer normalisation are not, and keep their gradients; so completeness is not
guaranteed (Zhao & Aletras 2023, section 4.3). What is covered, by architecture: the tanh of the
pooler of BERT and ALBERT and of XLNet's summary, the ReLUs of T5, and nothing in DistilBERT,
RoBERTa, XLM-R, ELECTRA, DeBERTa, MPNet, Longformer, ModernBERT, BART, GPT-2, Llama and Qwen. On
MiniLM classifiers the sums miss the difference of logits by 0.9 of it (SNLI) and 1.0 (Rotten
Tomatoes), on the small random networks of the tests by 0.25 (GPT-2) to 5.3 (XLM-R).
Letters used for shapes: B rows, L tokens, D embedding width, K classes.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attreval.core.extras import need
from attreval.models.questions import PropagationRule
from attreval.models.transformer_lrp import (
    ACTIVATIONS,
    GATES,
    PRODUCTS,
    QUOTIENTS,
    STATISTICS,
    Propagation,
    depends,
    list_factors,
    precision_of,
    replace_value,
)
from attreval.models.words.lrp import Reroute

_ELEMENTWISE = ACTIVATIONS | GATES | STATISTICS | {"exp", "log", "erf", "square", "softplus", "pow"}
PASSED_ON = {*PRODUCTS, "softmax", "layer_norm", "rms_norm", "scaled_dot_product_attention"}
# nearer to each other, of their size: the slope between them
_CLOSE = {torch.float64: 1e-5, torch.float32: 1e-3}


class Rescale(Propagation):
    """While it is on, differences between the halves of the batch are handed back by slopes."""

    def __init__(self, network: nn.Module):
        super().__init__(network, PropagationRule())
        self.off = False

    def hook(self, module: nn.Module, given: tuple, out: Tensor) -> Tensor:
        """After an activation module: its slope, computed outside the mode."""
        self.off = True
        try:
            return by_slope(out, given[0], module.forward) if depends(given[0]) else out
        finally:
            self.off = False

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "").strip("_")
        if self.off:
            return function(*args, **kwargs)
        if name in _ELEMENTWISE and depends(args[0]):
            value = function(*args, **kwargs)
            return by_slope(value, args[0], lambda x: function(x, *args[1:], **kwargs))
        if name in QUOTIENTS and depends(args[1]):
            upside_down = by_slope(1 / args[1], args[1], torch.reciprocal)
            return self.product(torch.mul, 0, (args[0], upside_down), {})
        if name == "log_softmax" and depends(args[0]):
            return self.log_softmax(*args, **kwargs)
        if name in PASSED_ON:
            return super().__torch_function__(function, types, args, kwargs)
        return function(*args, **kwargs)

    def softmax(self, function: Callable, scores: Tensor, dim: int = -1, **kwargs: Any) -> Tensor:
        """Each weight is exp(score - log of the sum of all)."""
        weights = function(scores, dim=dim, **kwargs)
        if not depends(weights):
            return weights
        slope, logs = _part_sum(scores.to(weights.dtype), weights.detach(), dim)
        return replace_value(weights, slope * logs)

    def log_softmax(self, scores: Tensor, dim: int = -1, **kwargs: Any) -> Tensor:
        """Each score less the logarithm of the sum of all."""
        value = torch.log_softmax(scores, dim, **kwargs)
        _, logs = _part_sum(scores, value.detach().exp(), dim)
        return replace_value(value, logs)

    def rescale(self, x: Tensor, over: tuple[int, ...], eps: float) -> Tensor:
        """Divided by the root mean square, whose squares and root have slopes."""
        squares = by_slope(x * x, x, torch.square)
        variance = squares.mean(dim=over, keepdim=True) + eps
        scale = by_slope(torch.rsqrt(variance), variance, torch.rsqrt)
        return self.product(torch.mul, 0, (x, scale), {})

    def product(self, function: Callable, first: int, args: Sequence, kwargs: dict) -> Tensor:
        """A product of two; each factor's difference is multiplied by the mean of the other."""
        args, factors = list_factors(function, first, args)
        if len(factors) < 2:
            return function(*args, **kwargs)
        if len(factors) > 2:
            raise ValueError(
                f"DeepLIFT knows products of two; {function.__name__} is given {len(factors)} "
                "factors"
            )
        alone = []
        for other in factors:
            text, reference = args[other].detach().chunk(2)
            mean = (text + reference) / 2
            given = list(args)
            given[other] = torch.cat([mean, mean])
            alone.append(function(*given, **kwargs))
        return replace_value(function(*args, **kwargs), sum(alone))


def _part_sum(scores: Tensor, weights: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Slopes of the exponential, and scores less the logarithm of the sum of their exponentials.

    Weights sum to 1: with slopes c, sum c (ds - dlog) = 0, so that the logarithm's own difference
    is sum c ds / sum c. Only differences between the halves are right.
    """
    scores = scores.clamp(min=-1e30)  # 0 times -inf is no number
    slope = _slope(torch.log_softmax(scores.detach(), dim), weights, torch.exp)
    total = slope.sum(dim=dim, keepdim=True)
    return slope, scores - (slope * scores).sum(dim=dim, keepdim=True) / total


def by_slope(value: Tensor, x: Tensor, function: Callable) -> Tensor:
    """The value of an elementwise function; its gradient is the slope between the halves.

    Args:
        value: Of the function at x.
        x: Texts, and their references.
        function: Elementwise.
    """
    slope = _slope(x.detach(), value.detach(), function)
    return Reroute.apply(value.detach(), x, slope)


def _slope(x: Tensor, value: Tensor, function: Callable) -> Tensor:
    """(f(text) - f(reference)) / (text - reference) in both halves; f' where these are equal."""
    text, reference = x.chunk(2)
    high, low = value.chunk(2)
    apart = text - reference
    size = torch.maximum(text.abs(), reference.abs())
    near = apart.abs() <= _CLOSE.get(x.dtype, 1e-3) * size
    with torch.enable_grad():
        middle = ((text + reference) / 2).requires_grad_(True)
        (at_middle,) = torch.autograd.grad(function(middle).sum(), middle)
    slope = torch.where(near, at_middle, (high - low) / apart.masked_fill(near, 1))
    return torch.cat([slope, slope])


class _CaptumModule(nn.Module):
    """A classifier as captum wants it: a module from (B, L, D) word embeddings to (B, K) logits."""

    def __init__(self, model: Any, precision: str, where: str):
        super().__init__()
        self.network = model.at(precision)
        self.where = where
        self.read = model.logits  # a bound method: no second set of weights
        self.precision = precision

    def forward(self, embeddings: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        """(B, K) logits. where: see questions.PathGradient."""
        more = {"entering": lambda x: embeddings} if self.where == "bare" else {}
        return self.read(
            None, mask, segments, self.precision, embeddings=embeddings, whole=True, **more
        )


def captum_deeplift(
    model: Any,
    embeddings: Tensor,
    mask: Tensor,
    segments: Tensor,
    targets: Tensor,
    where: str,
) -> Tensor:
    """(B, L, D) captum DeepLIFT of word embeddings against zero vectors, in their precision.

    Args:
        model: A Transformer.
        embeddings: (B, L, D).
        mask, segments: (B, L).
        targets: (B,) classes.
        where: See questions.PathGradient.
    """
    attr = need("captum.attr", "captum", "DeepLIFT of a transformer")
    explainer = attr.DeepLift(_CaptumModule(model, precision_of(embeddings), where))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Setting forward, backward hooks")
        return explainer.attribute(
            embeddings.detach().requires_grad_(),
            baselines=torch.zeros_like(embeddings),
            target=targets,
            additional_forward_args=(mask, segments),
        )


def list_coverage(network: nn.Module) -> tuple[list[str], list[str]]:
    """Names of the nonlinear modules that captum's rescale rule covers, and of the others."""
    from captum.attr._core.deep_lift import SUPPORTED_NON_LINEAR

    leaves = {
        name: module for name, module in network.named_modules() if not list(module.children())
    }
    covered = [name for name, module in leaves.items() if type(module) in SUPPORTED_NON_LINEAR]
    bent = [name for name, module in leaves.items() if "activation" in type(module).__module__]
    normal = [name for name, module in leaves.items() if isinstance(module, nn.LayerNorm)]
    return covered, [name for name in bent if name not in covered] + normal
