"""The warm process itself: a fork for each request (workflow.warm), until it is killed."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import runpy
import selectors
import signal
import socket
import sys
import traceback
from pathlib import Path

from compendium.workflow.processes import end_with_parent

LIBRARIES = ("torch", "transformers", "papermill", "ipykernel.kernelapp", "scipy.stats", "sklearn.linear_model")


class Server:
    """Forks for each request, and tells each client the status of its process. A client that goes takes it along."""

    def __init__(self, path: str):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.ended, self.wake = socket.socketpair()  # readable when a process has ended
        self.selector = selectors.DefaultSelector()
        self.clients: dict[int, socket.socket] = {}  # by process

    def run(self) -> None:
        """Serve until killed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the run, which ends this
        for end in (self.ended, self.wake):
            end.setblocking(False)
        signal.set_wakeup_fd(self.wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(self.listener, selectors.EVENT_READ, self.answer)
        self.selector.register(self.ended, selectors.EVENT_READ, lambda end: end.recv(4096))
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)
            self.tell_statuses()

    def answer(self, listener: socket.socket) -> None:
        """Fork for the next client."""
        client, _ = listener.accept()
        request, files = receive(client)
        if request is None:
            client.close()
            return
        process = os.fork()
        if not process:
            for end in (listener, self.ended, self.wake, client, *self.clients.values()):
                end.close()
            become(request, files)
        for number in files:
            os.close(number)
        self.clients[process] = client
        self.selector.register(client, selectors.EVENT_READ, self.end_with)

    def end_with(self, gone: socket.socket) -> None:
        """Kill the process of a client that has gone."""
        self.selector.unregister(gone)
        for process in [process for process, client in self.clients.items() if client is gone]:
            os.kill(process, signal.SIGKILL)

    def tell_statuses(self) -> None:
        """Tell the clients of processes that have ended their status."""
        while self.clients:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            client = self.clients.pop(process)
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(client)
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):
                client.sendall(b"%d" % (code if code >= 0 else 128 - code))
            client.close()


def import_all(notebooks: Path) -> None:
    """Import libraries, and the modules of this package that notebooks name; what cannot be imported is left out."""
    from compendium.imports import closure, module_name
    from compendium.workflow.staleness import code_of

    files = closure([code_of(path) for path in sorted(notebooks.glob("*.ipynb"))])
    for name in (*LIBRARIES, *map(module_name, files)):
        with contextlib.suppress(ImportError):  # an optional extra: the step itself says so
            importlib.import_module(name)


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
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
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
    import atexit
    import threading

    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def main() -> None:
    """The warm process itself."""
    from compendium import project

    import_all(project.home() / "notebooks")
    # a fork of a process with threads may inherit their locks; jemalloc sees to its own
    others = [path for path in Path("/proc/self/task").glob("*/comm") if not path.read_text().startswith("jemalloc")]
    if len(others) == 1:
        Server(sys.argv[1]).run()


if __name__ == "__main__":
    main()
