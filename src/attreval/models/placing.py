"""Where a network runs and in which precision: device, copies, and weights that no longer learn.

A network that is asked a question is hooked into, and is put into evaluation mode: one thread at a
time does that.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


def freeze(network: nn.Module) -> nn.Module:
    """Evaluation mode, no gradients to weights."""
    return network.eval().requires_grad_(False)


def lock_of(shared: Any) -> Any:
    """The lock of a network or tokenizer that classifiers share; a thread may retake it."""
    return _LOCKS.setdefault(shared, RLock())


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Give this thread alone a network, in evaluation mode; then restore each module's mode.

    What is computed has gradients and the network's own precision, whatever a caller has put around
    it: `torch.inference_mode` or `torch.autocast`.
    """
    device = next(network.parameters()).device.type
    with lock_of(network), torch.inference_mode(False), torch.autocast(device, enabled=False):
        training = [module for module in network.modules() if module.training]
        network.eval()
        try:
            yield
        finally:
            for module in training:
                module.training = True


def pick_device(name: str = "auto") -> torch.device:
    """The device to use: `auto` is CUDA where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def pick_precision(name: str, device: torch.device) -> str:
    """The precision to use; `auto` is bfloat16 where the hardware multiplies it faster.

    A processor that torch is told to use in part (ATEN_CPU_CAPABILITY=avx2) counts as one that has
    no more.

    Args:
        name: `float64`, `float32`, `bfloat16` or `auto`.
        device: Where it is computed.
    """
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if not torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
        return "float32"
    has = torch.cpu.get_capabilities()
    # Intel's AVX-512 does half as many products of bfloat16 in a cycle as of float32; only its AMX
    # does more
    others = not has["cpu_name"].startswith("Intel")
    faster = has.get("amx_bf16") or (has.get("avx512_bf16") and others)
    return "bfloat16" if faster else "float32"


def in_precision(network: nn.Module, copies: dict[str, nn.Module], precision: str) -> nn.Module:
    """A network in a precision: itself where it has that, else a copy.

    Args:
        network: The network.
        copies: By precision; a copy is made once and kept here.
        precision: `float64`, `float32` or `bfloat16`.
    """
    dtype = _DTYPES[precision]
    if network.dtype == dtype:
        return network
    if precision not in copies:
        # weights born in inference mode could never give a gradient
        with torch.inference_mode(False):
            copies[precision] = copy.deepcopy(network).to(dtype)
    return copies[precision]
