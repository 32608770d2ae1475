"""Warm processes: one process imports what every step needs, and each step is a fork of it.

Starting Python and importing torch, pandas and papermill costs a step eight seconds, twice what a small one computes.
A fork shares nothing that is written: what a step does is what it would do in a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compendium.workflow.processes import end_with_parent
from compendium.workflow.step import thread_variables

CLIENT = Path(__file__).with_name("warm_client.py")
SOCKET = "ATTREVAL_WARM"  # where the warm process listens; `0` turns it off


class WarmProcess:
    """The warm process of a run of the workflow, and a folder with a command `attreval` that asks it."""

    def __init__(self, folder: Path, threads: int):
        self.path = folder / "socket"
        words = shlex.join([sys.executable, "-I", "-S", str(CLIENT), str(self.path), "attreval.cli"])
        command = folder / "attreval"
        command.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        self.fixed = thread_variables(threads) | {"PYTHONHASHSEED": "0"}
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start it, unless it has been; until it listens, commands start as they would without it."""
        if self.process is None:
            words = [sys.executable, "-m", "compendium.workflow.warm_server", str(self.path)]
            given = os.environ | self.fixed
            self.process = subprocess.Popen(words, env=given, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)

    def end(self) -> None:
        """End it, and what it still runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def warm_process(threads: int) -> Iterator[WarmProcess | None]:
    """The warm process of a run, not started yet; None where the system is not Linux, or ATTREVAL_WARM is 0.

    threads: of a step.
    """
    if sys.platform != "linux" or os.environ.get(SOCKET) == "0":
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="attreval-") as folder:
        warm = WarmProcess(Path(folder), threads)
        try:
            yield warm
        finally:
            warm.end()
