"""Ask the warm process to run a module as `python -m MODULE ARGUMENTS` would, or run it here.

    python -I -S warm_client.py SOCKET MODULE ARGUMENTS...

Standard library alone, so that it starts in hundredths of a second. It ends when what it asked for
ends, with the same status; when it is killed, so is that.
"""

import ctypes
import json
import os
import signal
import socket
import sys


def ask_warm() -> int:
    """Hand over arguments, environment, folder and open files; wait for the status."""
    path, module, *arguments = sys.argv[1:]
    # end with whoever started this: a notebook's runner, a job
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    request = {
        "module": module,
        "arguments": arguments,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
    message = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
            socket.send_fds(server, [len(message).to_bytes(8, "big")], [0, 1, 2])
            server.sendall(message)
        except OSError:  # it has ended
            os.execv(sys.executable, [sys.executable, "-m", module, *arguments])
        answer = server.recv(16)
    return int(answer) if answer else 1


if __name__ == "__main__":
    try:
        sys.exit(ask_warm())
    except KeyboardInterrupt:
        sys.exit(130)
