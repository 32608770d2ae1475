"""What every process of a run does; imports nothing heavy."""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def end_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when its parent dies, so that a killed run leaves nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


def thread_variables(threads: int) -> dict[str, str]:
    """The environment in which libraries start with so many threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    tokenizers = os.environ.get("TOKENIZERS_PARALLELISM", "false")
    return dict.fromkeys(names, str(threads)) | {"TOKENIZERS_PARALLELISM": tokenizers}
