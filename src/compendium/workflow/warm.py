"""A warm process imports what every step needs; each step, and each kernel, is a fork of it.

Starting Python and importing torch, pandas and papermill costs a step eight seconds, twice what a
small one computes. A fork shares nothing that is written: what a step does is what it would do in a
process of its own. In a run, the command `attreval` and the kernel `python3` are
workflow/warm_client.py, which asks for a fork, hands over its open files, and waits.
"""

import atexit
import contextlib
import importlib
import json
import os
import random
import runpy
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

from ipykernel.kernelspec import get_kernel_dict

from attreval.core.tables import write_json
from compendium.workflow.parallel import end_with_parent, thread_variables

CLIENT = Path(__file__).with_name("warm_client.py")
SWITCH = "ATTREVAL_WARM"  # `0` turns warm processes off
LIBRARIES = (
    "torch",
    "transformers",
    "papermill",
    "ipykernel.kernelapp",
    "scipy.stats",
    "sklearn.linear_model",
    # which an optimiser, a table and a transformer import, at one to three seconds each
    "torch._dynamo",
    "spacy",
    "transformers.models.bert.modeling_bert",
)


class WarmProcess:
    """The warm process of a run, and a folder with a command and a kernel that ask it."""

    def __init__(self, folder: Path, threads: int):
        self.folder = folder
        self.socket = folder / "socket"
        ask = [sys.executable, "-I", "-S", str(CLIENT), str(self.socket)]
        command = folder / "attreval"
        line = shlex.join([*ask, "attreval.cli"])
        command.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        kernel = get_kernel_dict()  # python -m ipykernel_launcher ...
        kernel["argv"] = [*ask, *kernel["argv"][kernel["argv"].index("-m") + 1 :]]
        write_json(folder / "kernels" / "python3" / "kernel.json", kernel)
        self.fixed = thread_variables(threads) | {"PYTHONHASHSEED": "0"}
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start it, unless it has been; until it listens, commands start without it."""
        if self.process is None:
            words = [sys.executable, "-m", "compendium.workflow.warm", str(self.socket)]
            given = os.environ | self.fixed
            self.process = subprocess.Popen(
                words, env=given, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent
            )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def warm_process(threads: int) -> Iterator[WarmProcess | None]:
    """The warm process of a run, not started yet; None outside Linux, or if ATTREVAL_WARM is 0.

    threads: of a step.
    """
    if sys.platform != "linux" or os.environ.get(SWITCH) == "0":
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
                attend(client)
            client.close()


def attend(client: socket.socket) -> None:
    """In a fork: run the module that a client asks for, tell its status, and never return.

    The files, folder and environment are the client's. Where the client ends before, so does this.
    """
    status = 1
    try:
        end_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        head, files, _, _ = socket.recv_fds(client, 8, 3)
        request = json.loads(client.makefile("rb").read(int.from_bytes(head, "big")))
        threading.Thread(target=_end_with, args=(client,), daemon=True).start()
        for place, number in enumerate(files):
            os.dup2(number, place)
            os.close(number)
        os.environ.clear()
        os.environ.update(request["environment"])
        # by which a kernel would look for its parent, which is the client's
        os.environ.pop("JPY_PARENT_PID", None)
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
        with contextlib.suppress(Exception):  # what an interpreter does when it ends
            vars(threading)["_shutdown"]()
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            client.sendall(b"%d" % status)
        os._exit(status)


def _end_with(client: socket.socket) -> None:
    """Wait until a client ends, which says no more, and end with it."""
    with contextlib.suppress(OSError):
        client.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


def warm_up() -> None:
    """The warm process itself: import libraries and what notebooks import, then serve."""
    from compendium import project
    from compendium.imports import closure, module_name
    from compendium.workflow.graph import code_of

    # jsonschema does without this grammar, which takes two seconds to compile
    sys.modules.update({"rfc3987_syntax": None})  # type: ignore[dict-item]
    notebooks = sorted((project.home() / "notebooks").glob("*.ipynb"))
    files = closure(map(code_of, notebooks))
    for name in (*LIBRARIES, *map(module_name, files)):
        with contextlib.suppress(ImportError):  # an optional extra: the step itself says so
            importlib.import_module(name)
    # a fork of a process with threads may inherit their locks; jemalloc sees to its own
    threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    if sum(not name.startswith("jemalloc") for name in threads) == 1:
        serve(sys.argv[1])


if __name__ == "__main__":
    warm_up()
