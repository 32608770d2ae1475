"""Where a network runs and in which precision: device, copies in other precisions, weights that no
longer learn.

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

_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


def freeze(network: torch.nn.Module) -> torch.nn.Module:
    """Evaluation mode, no gradients to weights."""
    return network.eval().requires_grad_(False)


def lock_of(shared: Any) -> Any:
    """The lock of a network or tokenizer, whichever classifiers are made of it; a thread may take
    it again.
    """
    return _LOCKS.setdefault(shared, RLock())


@contextmanager
def evaluating(network: torch.nn.Module) -> Iterator[None]:
    """While it lasts, this thread alone has a network, in evaluation mode; then every module is in
    its mode again.
    """
    with lock_of(network):
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
    """The precision to use: `auto` is bfloat16 where the hardware multiplies it faster than
    float32, else float32.

    A processor that torch is told to use in part (ATEN_CPU_CAPABILITY=avx2) counts as one that has
    no more.
    """
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    has = (
        torch.cpu.get_capabilities()
        if torch.backends.cpu.get_cpu_capability().startswith("AVX512")
        else {}
    )
    # Intel's AVX-512 does half as many products of bfloat16 in a cycle as of float32; only its AMX
    # does more
    faster = has.get("amx_bf16") or (
        has.get("avx512_bf16") and not has["cpu_name"].startswith("Intel")
    )
    return "bfloat16" if faster else "float32"


def in_precision(
    network: torch.nn.Module, copies: dict[str, torch.nn.Module], precision: str
) -> torch.nn.Module:
    """A network in a precision: itself where it has that, else a copy, made once and kept in
    `copies`.
    """
    dtype = _DTYPES[precision]
    if network.dtype == dtype:
        return network
    if precision not in copies:
        with torch.inference_mode(
            False
        ):  # weights born in inference mode could never give a gradient
            copies[precision] = copy.deepcopy(network).to(dtype)
    return copies[precision]
