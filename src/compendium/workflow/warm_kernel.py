"""Kernels of notebooks as forks of the warm process (workflow.warm)."""

from __future__ import annotations

import os
import sys

from jupyter_client.manager import AsyncKernelManager

from compendium.workflow.warm import CLIENT, SOCKET


class WarmKernelManager(AsyncKernelManager):
    """Starts kernels `python -m ipykernel_launcher ...` warm, and others as their own command says."""

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """The command of the kernel."""
        words = super().format_kernel_cmd(extra_arguments)
        modules = [at for at, word in enumerate(words[:-1]) if word == "-m" and words[at + 1] == "ipykernel_launcher"]
        if not modules:
            return words
        return [sys.executable, "-I", "-S", str(CLIENT), os.environ[SOCKET], *words[modules[0] + 1 :]]
