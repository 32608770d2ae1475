"""Erasing windows of words by computing only what a window changes.

For the convolutional classifier the maximum over the rest of the text is known; for a
quasi-recurrent layer the state before the window is known, and what the words after it do to a
state is one multiplication and one addition. Both are exact, and cost some ten positions a window
instead of the whole text. GRU and LSTM must read everything after the window again; what they save
is the text before it.
Letters used for shapes: L tokens, D inputs, w windows, k width of the convolution, m tokens in the
place of the window.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from attreval.models.words.layers import Convolutional, Quasi, Recurrent, convolve

Core = Recurrent | Quasi | Convolutional


def can_reuse(core: Core, device: torch.device) -> bool:
    """Whether `erased_states` knows this layer, and is worth it: single texts leave a GPU idle."""
    if device.type != "cpu" and not isinstance(core, Convolutional):
        return False
    return not isinstance(core, Quasi) or core.directions == 1 or core.order == "turn_first"


def erased_states(core: Core, x: Tensor, size: int, blank: bool) -> Tensor:
    """(w, H) what the classifier would see with each window erased, in order of their starts.

    Args:
        core: The layer.
        x: (L, D) embeddings.
        size: Words in a window.
        blank: Blank a window rather than delete it.
    """
    size = min(size, len(x))
    if isinstance(core, Convolutional):
        return _erased_maxima(core, x, size, blank)
    if isinstance(core, Recurrent):
        return _erased_recurrent(core, x, size, blank)
    ends = [_erased_ends(core, x, size, blank, 0)]
    if core.directions == 2:
        ends.append(_erased_ends(core, x.flip(0), size, blank, 1).flip(0))
    return torch.cat(ends, dim=1)


def _starts(x: Tensor, size: int) -> Tensor:
    """(w,) where the windows start."""
    return torch.arange(len(x) - size + 1, device=x.device)


def _surroundings(
    x: Tensor, kernel: Tensor, before: int, size: int, blank: bool
) -> tuple[Tensor, Tensor]:
    """(w, m + k - 1, W) outputs that a window reaches, and which of them the erased text has.

    kernel: (W, D, k). before: how many of its inputs lie ahead of its own position.
    """
    k = kernel.shape[2]
    starts = _starts(x, size)
    gap = size if blank else 0  # zero vectors in the place of a window
    padded = functional.pad(x, (0, 0, k - 1, k - 1))
    ahead = starts[:, None] + torch.arange(k - 1, device=x.device)
    left = padded[ahead]
    right = padded[ahead + size + k - 1]
    middle = x.new_zeros(len(starts), gap, x.shape[1])
    block = torch.cat([left, middle, right], dim=1).transpose(1, 2)
    if block.shape[2] < k:  # windows of one word, one of them deleted: it had no company
        none = x.new_zeros(len(starts), 0, len(kernel))
        return none, none[..., 0] > 0
    outputs = functional.conv1d(block, kernel).transpose(1, 2)
    first = starts - (k - 1 - before)
    places = first[:, None] + torch.arange(outputs.shape[1], device=x.device)
    there = (places >= 0) & (places < len(x) - size + gap)
    return outputs, there


def _erased_maxima(core: Convolutional, x: Tensor, size: int, blank: bool) -> Tensor:
    """(w, H) the largest activations: before the window's reach, inside it, behind it."""
    k = core.kernel.shape[2]
    before = (k - 1) // 2
    g = functional.relu(_convolve(x, core.kernel, before) + core.bias)
    # the rectifier lets nothing below 0 through, so an empty part counts 0
    silent = x.new_zeros(1, core.width)
    rising = g.cummax(dim=0).values
    falling = g.flip(0).cummax(dim=0).values
    ahead = torch.cat([silent, rising])
    behind = torch.cat([silent, falling]).flip(0)
    near, there = _surroundings(x, core.kernel, before, size, blank)
    inside = silent
    if near.shape[1]:
        reached = functional.relu(near + core.bias) * there[..., None]
        inside = reached.amax(dim=1)
    starts = _starts(x, size)
    until = (starts - (k - 1 - before)).clamp(min=0)
    since = (starts + size + before).clamp(max=len(x))
    rest = torch.maximum(ahead[until], behind[since])
    return torch.maximum(rest, inside)


def _convolve(x: Tensor, kernel: Tensor, before: int) -> Tensor:
    """(L, W) outputs of one (L, D) text, see layers.convolve."""
    return convolve(x[:, None], kernel, before)[:, 0]


def _erased_ends(core: Quasi, x: Tensor, size: int, blank: bool, direction: int) -> Tensor:
    """(w, H) last states of one direction; x in its reading order."""
    kernel = core.kernel[direction]
    bias = core.bias[direction]
    n = core.hidden
    k = kernel.shape[2]
    lstm = core.cell == "lstm"

    def split(a: Tensor) -> tuple[Tensor, Tensor, Any]:
        """How much of the state is kept, what is added to it, and the output gate if any."""
        g = torch.tanh(a[..., -n:])
        gates = core.gate(a[..., :-n])
        if not lstm:
            return gates, (1 - gates) * g, None
        i, f, o = gates.chunk(3, dim=-1)
        return f, i * g, o

    kept, added, shown = split(_convolve(x, kernel, k - 1) + bias)
    states = [x.new_zeros(n)]
    for f, a in zip(kept, added, strict=True):
        states.append(f * states[-1] + a)
    scale = [x.new_ones(n)]
    shift = [x.new_zeros(n)]
    # from token t on, a state ends as scale * state + shift
    for f, a in zip(kept.flip(0), added.flip(0), strict=True):
        shift.append(shift[-1] + scale[-1] * a)
        scale.append(f * scale[-1])
    starts = _starts(x, size)
    near, there = _surroundings(x, kernel, k - 1, size, blank)
    f, a, o = split(near + bias)
    state = torch.stack(states)[starts]
    gate = shown[(starts - 1).clamp(min=0)] if lstm else None
    for t in range(near.shape[1]):
        here = there[:, t, None]
        state = torch.where(here, f[:, t] * state + a[:, t], state)
        gate = torch.where(here, o[:, t], gate) if lstm else None
    left = (len(x) - starts - size - k + 1).clamp(min=0)  # tokens behind the window's reach
    state = torch.stack(scale)[left] * state + torch.stack(shift)[left]
    if not lstm:
        return state
    gate = torch.where((left > 0)[:, None], shown[-1], gate)
    return gate * torch.tanh(state)


def _erased_recurrent(core: Recurrent, x: Tensor, size: int, blank: bool) -> Tensor:
    """(w, d H) last states of a GRU or LSTM, by one walk that each window joins where it begins."""
    texts = torch.stack([x, x.flip(0)][: core.directions])
    inputs = torch.baddbmm(core.bias[:, None], texts, core.input_kernel)  # (d, L, G H)
    windows = len(x) - size + 1
    # row 0 is the whole text, row 1 + s the window at s
    h = x.new_zeros(core.directions, 1 + windows, core.hidden)
    c = torch.zeros_like(h)
    for t, read in enumerate(inputs.unbind(1)):
        if t < windows:
            h[:, t + 1] = h[:, 0]
            c[:, t + 1] = c[:, 0]
        # rows that read token t: the whole, and windows behind it
        passed = 1 + max(0, min(windows, t - size + 1))
        rows = 1 + min(windows, t + 1) if blank else passed
        a = read[:, None].expand(-1, passed, -1)
        if rows > passed:
            blanks = core.bias[:, None].expand(-1, rows - passed, -1)
            a = torch.cat([a, blanks], dim=1)
        states = h[:, :rows]
        cells = c[:, :rows]
        states[:], cells[:], *_ = core.step(a, states, cells)
    ends = list(h[:, 1:])
    if core.directions == 2:
        ends[1] = ends[1].flip(0)
    return torch.cat(ends, dim=1)
