"""Warm processes: one process imports what every step needs, and each step is a fork of it.

Starting Python and importing torch, pandas and papermill costs a step eight seconds, twice what a small one computes.
A fork shares nothing that is written: what a step does is what it would do in a process of its own. The command
`attreval` of a run is workflow/warm_client.py, which asks for a fork, hands over its open files, and waits.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import random
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

from compendium.workflow.processes import end_with_parent, thread_variables

CLIENT = Path(__file__).with_name("warm_client.py")
SOCKET = "ATTREVAL_WARM"  # where the warm process listens; `0` turns it off
LIBRARIES = ("torch", "transformers", "papermill", "ipykernel.kernelapp", "scipy.stats", "sklearn.linear_model")


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
            words = [sys.executable, "-m", "compendium.workflow.warm", str(self.path)]
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


# In the warm process


def serve(path: str) -> None:
    """Listen, and fork for each client, until killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the run, which ends this
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for these forks
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        while True:
            client, _ = listener.accept()
            if not os.fork():
                listener.close()
                os._exit(attend(client))
            client.close()


def attend(client: socket.socket) -> int:
    """In a fork: run in another what a client asks for, and say its status; where the client goes, end it."""
    end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files = receive(client)
    if request is None:
        return 1
    process = os.fork()
    if not process:
        client.close()
        become(request, files)
    for number in files:
        os.close(number)
    ended = os.pidfd_open(process)
    if ended not in select.select([client, ended], [], [])[0]:  # the client has gone
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(b"%d" % (code if code >= 0 else 128 - code))
    return 0


def receive(client: socket.socket) -> tuple[dict | None, list[int]]:
    """A request and its open files; None where the client has ended before it said all."""
    head, files, _, _ = socket.recv_fds(client, 8, 3)
    with client.makefile("rb") as stream:
        body = stream.read(int.from_bytes(head, "big")) if len(head) == 8 else b""
    if len(files) == 3 and body.endswith(b"}"):
        return json.loads(body), files
    for number in files:
        os.close(number)
    return None, []


def become(request: dict, files: list[int]) -> None:
    """In a fork: run the module as `python -m` would, with the client's files, folder and environment; never return."""
    status = 1
    try:
        end_with_parent()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for place, number in enumerate(files):
            os.dup2(number, place)
            os.close(number)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.environ.pop("JPY_PARENT_PID", None)  # a kernel would look for its parent, which is this process's
        os.chdir(request["folder"])
        random.seed()
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()
        sys.argv = [request["module"], *request["arguments"]]
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            finish()
        os._exit(status)


def finish() -> None:
    """What an interpreter does when it ends: threads joined, exit functions called, output written."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def import_all(notebooks: Path) -> None:
    """Import libraries, and the modules of this package that notebooks name; what cannot be imported is left out."""
    from compendium.imports import closure, module_name
    from compendium.workflow.staleness import code_of

    files = closure([code_of(path) for path in sorted(notebooks.glob("*.ipynb"))])
    for name in (*LIBRARIES, *map(module_name, files)):
        with contextlib.suppress(ImportError):  # an optional extra: the step itself says so
            importlib.import_module(name)


def main() -> None:
    """The warm process itself."""
    from compendium import project

    import_all(project.home() / "notebooks")
    # a fork of a process with threads may inherit their locks; jemalloc sees to its own
    others = [path for path in Path("/proc/self/task").glob("*/comm") if not path.read_text().startswith("jemalloc")]
    if len(others) == 1:
        serve(sys.argv[1])


if __name__ == "__main__":
    main()
