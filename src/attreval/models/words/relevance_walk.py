"""Relevance through a GRU or LSTM in one walk back: the rules of models.words.lrp, without a graph of single steps.

What a step does to relevance depends on the states alone. So the states are walked first, all factors of all steps are
then computed at once, and the walk back is left with a matrix product and a few products a step. Through autograd's
graph a step costs half a millisecond, whatever its size: that is what one text alone has to pay.
Letters used for shapes: d directions, L tokens, B rows, D inputs, H units a direction.
"""

from typing import Any

import torch
from torch import Tensor

from attreval.models.words.lrp import RelevanceRules


class RelevanceWalk(torch.autograd.Function):
    """`apply(x, core, mask, rules)`: (d, B, H) last states of (d, L, B, D) embeddings; backwards, relevance by rules.

    core: layers.Recurrent. mask: (L, B, 1) bool, False on padding, which stands behind a text.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, core: Any, mask: Tensor, rules: RelevanceRules) -> Tensor:
        directions, length, rows, _ = x.shape
        a = torch.baddbmm(core.bias[:, None], x.flatten(1, 2), core.input_kernel).unflatten(1, (length, rows))
        h = c = x.new_zeros(directions, rows, core.hidden)
        full = mask.all(dim=1).flatten().tolist()
        states = []
        for t, a_t in enumerate(a.unbind(1)):
            states.append((h, c))
            new_h, new_c = core.step(a_t, h, c)[:2]
            if not full[t]:
                new_h, new_c = torch.where(mask[t], new_h, h), torch.where(mask[t], new_c, c)
            h, c = new_h, new_c
        ctx.core, ctx.rules, ctx.full = core, rules, full
        before = (torch.stack(some, 1) for some in zip(*states, strict=True))
        ctx.save_for_backward(x, mask, a, *before)
        return h

    @staticmethod
    def backward(ctx: Any, arriving: Tensor) -> tuple[Tensor, None, None, None]:
        x, mask, a, h, c = ctx.saved_tensors
        core, rules = ctx.core, ctx.rules
        n = core.hidden
        factors = gru_factors if core.cell == "gru" else lstm_factors
        shown, kept, entering, recurrent, pre = factors(core, rules, a, h, c)
        # a linear map hands relevance to as many inputs as there are: no state has come before the first step
        counts = torch.full((x.shape[1], 1, 1), x.shape[-1] + n, dtype=x.dtype, device=x.device)
        counts[0] = x.shape[-1]
        through, share = rules.activation_factor(pre, core.bias[:, None, None, -n:], counts)
        entering = entering * through
        back = core.recurrent_kernel[..., -n:].transpose(1, 2)
        of_h, of_c, at_pre = arriving, torch.zeros_like(arriving), []
        lstm = core.cell == "lstm"
        for t in range(x.shape[1] - 1, -1, -1):
            of_state = of_h if shown is None else torch.addcmul(of_c, of_h, shown[:, t])
            here = of_state * entering[:, t]
            passed = torch.bmm(here, back) * recurrent[:, t]
            if share is not None:
                passed = passed + (here * share[:, t]).sum(dim=-1, keepdim=True)
            to_h, to_c = (passed, of_state * kept[:, t]) if lstm else (torch.addcmul(passed, of_h, kept[:, t]), of_c)
            if not ctx.full[t]:
                here = here.masked_fill(~mask[t], 0)
                to_h, to_c = torch.where(mask[t], to_h, of_h), torch.where(mask[t], to_c, of_c)
            of_h, of_c = to_h, to_c
            at_pre.append(here)
        at_pre = torch.stack(at_pre[::-1], 1)
        found = torch.bmm(at_pre.flatten(1, 2), core.input_kernel[..., -n:].transpose(1, 2))
        found = found.view_as(x) * rules.explained(x)
        if share is not None:
            found = found + (at_pre * share).sum(dim=-1, keepdim=True)
        return found, None, None, None


def lstm_factors(
    core: Any, rules: RelevanceRules, a: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(d, L, B, H) each: what the cell takes of a state's relevance, the cell before and g of the cell's, what the
    states before take behind the linear map; and what enters the activation function."""
    n = core.hidden
    a = a + (h.flatten(1, 2) @ core.recurrent_kernel).view_as(a)
    i, f, o = core.gate(a[..., : 3 * n]).chunk(3, dim=-1)
    pre = a[..., 3 * n :]
    g = torch.tanh(pre)
    kept, entering = rules.sum_factors((f, c), (i, g))
    (first,) = rules.sum_factors((i[:, :1], g[:, :1]))
    entering = torch.cat([first, entering[:, 1:]], dim=1)
    return rules.output_factor(o, torch.addcmul(i * g, f, c)), kept, entering, rules.explained(h), pre


def gru_factors(
    core: Any, rules: RelevanceRules, a: Tensor, h: Tensor, c: Tensor
) -> tuple[None, Tensor, Tensor, Tensor, Tensor]:
    """The same of a GRU, whose state is its cell."""
    n = core.hidden
    kernel = core.recurrent_kernel
    z, r = core.gate(a[..., : 2 * n] + (h.flatten(1, 2) @ kernel[..., : 2 * n]).view(*h.shape[:-1], 2 * n)).chunk(2, -1)
    pre = a[..., 2 * n :] + ((r * h).flatten(1, 2) @ kernel[..., 2 * n :]).view_as(h)
    g = torch.tanh(pre)
    kept, entering = rules.sum_factors((z, h), (1 - z, g))
    (first,) = rules.sum_factors((1 - z[:, :1], g[:, :1]))
    return None, kept, torch.cat([first, entering[:, 1:]], dim=1), r * rules.explained(h), pre
