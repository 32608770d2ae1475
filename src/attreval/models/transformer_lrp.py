"""Layer-wise relevance propagation through a transformer, as one modified backward pass.

Relevance is the modified gradient times the input (Achtibat et al. 2024, appendix): the forward
pass is the network's own, and what changes is how gradients pass what is not linear. `Propagation`
sees every function of torch that a network calls, whatever its architecture, and gives these a
backward pass of their own:

- normalisation: its statistics are constants, so that it is linear;
- an activation function: its relevance goes to its input (the identity rule), so that its gradient
  is f(x) / x;
- a product of two tensors that both depend on the text (attention weights and values, queries and
  keys, the gate of a feed-forward layer and what it lets through): each gets half;
- the softmax of attention: its gradient (the Taylor rule of AttnLRP), or a constant (CP-LRP, Ali et
  al. 2022).

Linear layers share in proportion to what each input adds (the 0-rule). Biases, positions and token
types keep their share, as in word-level networks, and so does the softmax of AttnLRP, which is not
linear at 0: scores sum to the logit less these. GIM (Edin et al. 2025b) is no LRP, but is made of
the same parts: constant statistics, halved products, plain gradients of activations, and the
softmax's gradient as at twice the temperature. Letters used for shapes: B rows, H heads, L tokens,
D embedding width, K classes.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attreval.models.questions import PropagationRule
from attreval.models.transformer_hooks import add_mask
from attreval.models.words.lrp import Reroute

# function -> the argument that its first factor is: after an equation, or what they are added to
PRODUCTS = {
    **dict.fromkeys(("mul", "multiply", "matmul", "rmul", "rmatmul", "bmm"), 0),
    **dict.fromkeys(("einsum", "baddbmm", "addbmm", "addmm", "addcmul"), 1),
}
QUOTIENTS = {"div", "truediv", "divide", "true_divide"}
ACTIVATIONS = {
    "gelu",
    "silu",
    "mish",
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "hardswish",
    "tanh",
}
STATISTICS = {"sqrt", "rsqrt", "reciprocal"}
# weights, as in word-level networks: at 0 they are not 0, which divides by 0
GATES = {"sigmoid", "hardsigmoid"}
_SMALL = 1e-6  # below it f(x) / x is that of this x
_TEMPERATURE = 2.0  # of GIM's softmax


class Propagation(TorchFunctionMode):
    """While it is on, what a network computes has the backward pass of a rule.

    Args:
        network: The network.
        rule: See questions.PropagationRule.attention.

    Raises:
        ValueError: No rule is known: for attention with dropout, and for a product written into its
            first factor.
    """

    def __init__(self, network: nn.Module, rule: PropagationRule):
        super().__init__()
        self.attention = rule.attention
        self.modules: list[nn.Module] = []
        if rule.attention != "softened":
            self.modules = [m for m in network.modules() if _is_activation(m)]
        self.handles: list = []

    def __enter__(self) -> Self:
        self.handles = [m.register_forward_hook(self.hook) for m in self.modules]
        return super().__enter__()

    def hook(self, module: nn.Module, given: tuple, out: Tensor) -> Tensor:
        """After an activation module: whatever functions it is made of, it is one function."""
        return hand_on(out, given[0], module.forward) if depends(given[0]) else out

    def __exit__(self, *raised: Any) -> None:
        for handle in self.handles:
            handle.remove()
        super().__exit__(*raised)

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "").strip("_")
        if function is functional.scaled_dot_product_attention:
            return self.attend(*args, **kwargs)
        if name in ("layer_norm", "rms_norm"):
            return self.normalise(name == "layer_norm", *args, **kwargs)
        if name == "softmax":
            return self.softmax(function, *args, **kwargs)
        if name in PRODUCTS:
            return self.product(function, PRODUCTS[name], args, kwargs)
        if name in ACTIVATIONS and self.attention != "softened":
            value = function(*args, **kwargs)
            return hand_on(value, args[0], lambda x: function(x, *args[1:], **kwargs))
        inverse = name == "pow" and isinstance(args[1], float | int) and args[1] < 0
        if inverse or name in STATISTICS | GATES:
            return function(*args, **kwargs).detach()
        if name in QUOTIENTS and depends(args[1]):
            return function(args[0], args[1].detach(), *args[2:], **kwargs)
        return function(*args, **kwargs)

    def softmax(self, function: Callable, scores: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Attention weights: a constant, their own gradient, or that of a higher temperature."""
        weights = function(scores, *args, **kwargs)
        if self.attention == "constant":
            return weights.detach()
        if self.attention == "shared":
            return weights
        cooled = scores / _TEMPERATURE
        softer = function(replace_value(cooled, scores), *args, **kwargs)
        return replace_value(weights, softer)

    def normalise(
        self,
        centred: bool,
        x: Tensor,
        shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float | None = None,
    ) -> Tensor:
        """Layer normalisation, or that by the root mean square where it is not centred."""
        over = tuple(range(-len(shape), 0))
        if eps is None:
            eps = 1e-5 if centred else torch.finfo(x.dtype).eps
        if centred:
            x = x - x.mean(dim=over, keepdim=True)
        x = self.rescale(x, over, eps)
        x = x if weight is None else x * weight
        return x if bias is None else x + bias

    def rescale(self, x: Tensor, over: tuple[int, ...], eps: float) -> Tensor:
        """Divided by the root mean square, which is a constant."""
        squares = x.detach().square().mean(dim=over, keepdim=True)
        return x * torch.rsqrt(squares + eps)

    def product(self, function: Callable, first: int, args: Sequence, kwargs: dict) -> Tensor:
        """A product, from argument `first` on; factors that depend on the text share alike."""
        given, factors = list_factors(function, first, args)
        if len(factors) > 1:
            for at in factors:
                share = given[at].new_tensor(1 / len(factors))
                given[at] = Reroute.apply(given[at].detach(), given[at], share)
        return function(*given, **kwargs)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attention written out: the fused function has one gradient for all of it."""
        if dropout_p:
            raise ValueError(
                f"relevance is propagated in evaluation mode, without dropout; it is {dropout_p}"
            )
        if enable_gqa:
            groups = query.shape[-3] // key.shape[-3]
            key = key.repeat_interleave(groups, dim=-3)
            value = value.repeat_interleave(groups, dim=-3)
        scores = self.product(torch.matmul, 0, (query, key.transpose(-2, -1)), {})
        scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
        if is_causal:
            attn_mask = torch.ones_like(scores, dtype=torch.bool).tril()
        scores = add_mask(scores, attn_mask)
        weights = self.softmax(functional.softmax, scores, dim=-1)
        return self.product(torch.matmul, 0, (weights, value), {})


def replace_value(value: Tensor, source: Tensor) -> Tensor:
    """The value, with the gradient of the source."""
    return Reroute.apply(value.detach(), source, value.new_ones(()))


def hand_on(value: Tensor, x: Tensor, function: Callable) -> Tensor:
    """The value of an elementwise function that is 0 at 0, whose relevance goes to its input x."""
    with torch.no_grad():
        away = torch.where(x.abs() < _SMALL, torch.full_like(x, _SMALL), x)
        slope = function(away) / away
    return Reroute.apply(value.detach(), x, slope)


def propagate(
    model: Any,
    embeddings: Tensor,
    mask: Tensor,
    segments: Tensor,
    targets: Tensor,
    mode: Callable,
    halves: int = 1,
) -> Tensor:
    """(B, L, D) relevance of word embeddings, in their precision: modified gradient times input.

    Args:
        model: A Transformer.
        embeddings: (B, L, D).
        mask, segments: (B, L).
        targets: (B,) classes.
        mode: Makes the mode that is on, of the network.
        halves: 2 with zero embeddings beside the text.
    """
    points = embeddings.detach().requires_grad_(True)
    precision = precision_of(points)
    mask = mask.repeat(halves, 1)
    segments = segments.repeat(halves, 1)
    with torch.enable_grad():
        read = torch.cat([points, torch.zeros_like(points)]) if halves > 1 else points
        with mode(model.at(precision)):
            logits = model.logits(None, mask, segments, precision, embeddings=read, whole=True)
        asked = logits[: len(points)].gather(1, targets[:, None])
        (gradient,) = torch.autograd.grad(asked.sum(), points)
    return gradient * points.detach()


def precision_of(x: Tensor) -> str:
    """The precision of a tensor, as `Classifier.logits` is told it."""
    return str(x.dtype).removeprefix("torch.")


def unaccounted(model: Any, embeddings: Tensor, mask: Tensor, segments: Tensor) -> float:
    """How much of what tells two classes apart reaches neither text nor bias, as a share.

    The difference of two scores is the same whether these are logits or log-probabilities; a single
    output is taken as it is.

    Relevance of CP-LRP, in which every rule but that of the softmax has a part; 0 but for rounding
    where each holds.
    """
    precision = precision_of(embeddings)
    network = model.at(precision)
    added = [p for name, p in network.named_parameters() if name.endswith("bias")]
    added += [m.weight for m in network.modules() if isinstance(m, nn.Embedding)]
    sources = [embeddings.detach().clone(), *{id(p): p for p in added}.values()]
    before = [p.requires_grad for p in sources]
    try:
        for source in sources:
            source.requires_grad_(True)
        with torch.enable_grad(), Propagation(network, PropagationRule(attention="constant")):
            logits = model.logits(
                None, mask, segments, precision, embeddings=sources[0], whole=True
            )
            owed = (logits[:, 0] - logits[:, 1:2].sum(dim=1)).sum()
        gradients = torch.autograd.grad(owed, sources, allow_unused=True)
    finally:
        for source, needed in zip(sources, before, strict=True):
            source.requires_grad_(needed)
    found = 0.0
    size = 0.0
    for source, gradient in zip(sources, gradients, strict=True):
        if gradient is not None:
            part = (source.detach() * gradient).double()
            found += float(part.sum())
            size += float(part.abs().sum())
    return abs(found - float(owed.detach())) / max(1.0, size)


def depends(x: Any) -> bool:
    """Whether it is a tensor that depends on the text: weights are frozen."""
    return isinstance(x, Tensor) and x.requires_grad


def list_factors(function: Callable, first: int, args: Sequence) -> tuple[list, list[int]]:
    """The arguments of a product, and which of them, from `first` on, depend on the text.

    Raises:
        ValueError: A product of two such is written into its first factor.
    """
    if isinstance(args[-1], (list, tuple)):  # einsum takes its operands as a list, too
        args = (*args[:-1], *args[-1])
    factors = [i for i, x in enumerate(args) if i >= first and depends(x)]
    name = function.__name__
    if len(factors) > 1 and name.endswith("_") and not name.endswith("__"):
        raise ValueError(
            f"{name} writes a product into its first factor; no relevance is known of it"
        )
    return list(args), factors


def _is_activation(module: nn.Module) -> bool:
    """Whether a module is an elementwise function without weights that is 0 at 0."""
    if type(module).__module__ not in ("transformers.activations", "torch.nn.modules.activation"):
        return False
    if list(module.parameters()):
        return False
    return bool((module(torch.zeros(3)).abs() < _SMALL).all())
