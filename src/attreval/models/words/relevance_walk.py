"""Relevance through a GRU or LSTM in one walk back, without a graph of single steps.

What a step does to relevance (by the rules of models.words.lrp) depends on the states alone. So the
states are walked first, all factors of all steps are then computed at once, and the walk back is
left with a matrix product and a few products a step. Through autograd's graph a step costs half a
millisecond, whatever its size: that is what one text alone has to pay.
Letters used for shapes: d directions, L tokens, B rows, D inputs, H units a direction.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from attreval.models.words.lrp import RelevanceRules, Term


class Factors(NamedTuple):
    """What a step does to relevance, (d, L, B, H) each.

    Attributes:
        shown: What the cell takes of a state's relevance, None for a GRU, whose state is its cell.
        kept, entering: What the cell before and g take of the cell's.
        recurrent: What the states before take behind the linear map.
        pre: What enters the activation function.
    """

    shown: Tensor | None
    kept: Tensor
    entering: Tensor
    recurrent: Tensor
    pre: Tensor


class RelevanceWalk(torch.autograd.Function):
    """`apply(x, core, mask, rules)`: (d, B, H) last states of (d, L, B, D) embeddings.

    Backwards, relevance flows by the rules. core: layers.Recurrent. mask: (L, B, 1) bool, False on
    padding, which stands behind a text.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, core: Any, mask: Tensor, rules: RelevanceRules) -> Tensor:
        inputs = core.read_inputs(x)
        states = [x.new_zeros(len(x), x.shape[2], core.hidden)]
        cells = list(states)
        for h, c, *_ in core.walk(inputs, states[0], mask):
            states.append(h)
            cells.append(c)
        ctx.core = core
        ctx.rules = rules
        walked = [torch.stack(some, 1) for some in (inputs, states[:-1], cells[:-1])]
        ctx.save_for_backward(x, mask, *walked)
        return states[-1]

    @staticmethod
    def backward(ctx: Any, arriving: Tensor) -> tuple[Tensor, None, None, None]:
        x, mask, a, h, c = ctx.saved_tensors
        core = ctx.core
        rules = ctx.rules
        n = core.hidden
        lstm = core.cell == "lstm"
        factors = (lstm_factors if lstm else gru_factors)(core, rules, a, h, c)
        entering = factors.entering * rules.activation_factor(factors.pre)
        back = core.recurrent_kernel[..., -n:].transpose(1, 2)
        full = mask.all(dim=1).flatten().tolist()
        of_h = arriving
        of_c = torch.zeros_like(arriving)
        at_pre = []
        for t in reversed(range(x.shape[1])):
            after = (of_h, of_c)
            kept = factors.kept[:, t]
            of_state = of_h
            if factors.shown is not None:
                of_state = torch.addcmul(of_c, of_h, factors.shown[:, t])
            here = of_state * entering[:, t]
            passed = torch.bmm(here, back) * factors.recurrent[:, t]
            of_h = passed if lstm else torch.addcmul(passed, of_h, kept)
            of_c = of_state * kept if lstm else of_c
            if not full[t]:
                here = here.masked_fill(~mask[t], 0)
                of_h = torch.where(mask[t], of_h, after[0])
                of_c = torch.where(mask[t], of_c, after[1])
            at_pre.append(here)
        at_pre = torch.stack(at_pre[::-1], 1)
        kernel = core.input_kernel[..., -n:].transpose(1, 2)
        found = torch.bmm(at_pre.flatten(1, 2), kernel)
        return found.view_as(x) * rules.explained(x), None, None, None


def lstm_factors(core: Any, rules: RelevanceRules, a: Tensor, h: Tensor, c: Tensor) -> Factors:
    """The factors of all steps of an LSTM.

    Args:
        core: layers.Recurrent.
        rules: The rules.
        a: What inputs add.
        h, c: States and cells before each step.
    """
    n = core.hidden
    a = a + _multiply(h, core.recurrent_kernel)
    i, f, o = core.gate(a[..., :-n]).chunk(3, dim=-1)
    pre = a[..., -n:]
    g = torch.tanh(pre)
    kept, entering = _sum_factors(rules, (f, c), (i, g))
    shown = rules.output_factor(o, torch.addcmul(i * g, f, c))
    return Factors(shown, kept, entering, rules.explained(h), pre)


def gru_factors(core: Any, rules: RelevanceRules, a: Tensor, h: Tensor, c: Tensor) -> Factors:
    """The same of a GRU, whose state is its cell."""
    n = core.hidden
    kernel = core.recurrent_kernel
    opened = core.gate(a[..., :-n] + _multiply(h, kernel[..., :-n]))
    z, r = opened.chunk(2, -1)
    pre = a[..., -n:] + _multiply(r * h, kernel[..., -n:])
    kept, entering = _sum_factors(rules, (z, h), (1 - z, torch.tanh(pre)))
    return Factors(None, kept, entering, r * rules.explained(h), pre)


def _multiply(states: Tensor, kernel: Tensor) -> Tensor:
    """(d, L, B, W) from (d, L, B, H) states and a (d, H, W) kernel."""
    return (states.flatten(1, 2) @ kernel).unflatten(1, states.shape[1:3])


def _sum_factors(rules: RelevanceRules, old: Term, new: Term) -> tuple[Tensor, Tensor]:
    """What the state before and what is new take of their mix; at first there is none before."""
    kept, entering = rules.sum_factors(old, new)
    weight, activation = new
    (first,) = rules.sum_factors((weight[:, :1], activation[:, :1]))
    return kept, torch.cat([first, entering[:, 1:]], dim=1)
