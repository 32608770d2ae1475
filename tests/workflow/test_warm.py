"""Warm processes do what cold ones do, and end with whoever asked."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from compendium.workflow import warm
from compendium.workflow.run_snakemake import leaves_machine

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="forks of a warm process are for Linux"
)
WAIT = 30.0  # seconds, at most
ASKING = [sys.executable, "-I", "-S", str(warm.CLIENT)]
SERVER = "import sys; from compendium.workflow.warm import serve; serve(sys.argv[1])"
TELL = """
import json, os, random, sys
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ.get("GIVEN"), __name__, sys.stdin.read(), random.random()]))
print("said aside", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""  # noqa: E501


@pytest.fixture
def started(tmp_path):
    """A warm process that has imported nothing, and finds a folder of modules."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "telling.py").write_text(TELL)
    sleep = (
        "import os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    (modules / "sleeping.py").write_text(sleep)
    found = os.pathsep.join([str(modules), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = [sys.executable, "-c", SERVER, str(tmp_path / "socket")]
    with subprocess.Popen(words, env=os.environ | {"PYTHONPATH": found}) as process:
        yield process
        process.kill()


@pytest.fixture
def server(tmp_path, started):
    """The socket on which it listens."""
    until((tmp_path / "socket").exists)
    return tmp_path / "socket"


def until(true) -> None:
    """Wait for something to become true, and fail where it does not."""
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@contextmanager
def asleep(server, folder):
    """A client whose module sleeps, and the number of the process that runs it."""
    note = folder / "pid"
    note.unlink(missing_ok=True)
    with subprocess.Popen([*ASKING, str(server), "sleeping", str(note)]) as client:
        until(lambda: note.exists() and note.read_text())
        yield client, int(note.read_text())


def ask(path, *words, **more) -> subprocess.CompletedProcess:
    """What the client gives for these words."""
    return subprocess.run(
        [*ASKING, str(path), *words], capture_output=True, text=True, timeout=WAIT, **more
    )


def test_a_module_runs_as_it_would_by_itself(server, tmp_path):
    for status in [0, 3]:
        done = ask(
            server,
            "telling",
            str(status),
            "b c",
            cwd=tmp_path,
            input="read",
            env=os.environ | {"GIVEN": "x"},
        )
        assert (done.returncode, done.stderr) == (status, "said aside\n")
        assert json.loads(done.stdout)[:5] == [
            [str(status), "b c"],
            str(tmp_path),
            "x",
            "__main__",
            "read",
        ]


def test_two_forks_draw_other_numbers(server):
    drawn = {json.loads(ask(server, "telling", "0", input="").stdout)[5] for _ in range(2)}
    assert len(drawn) == 2


def test_what_raises_and_an_unknown_module_have_a_status_and_say_why(server):
    done = ask(server, "telling", "no number", input="")
    assert done.returncode == 1 and "invalid literal" in done.stderr
    done = ask(server, "no_such_module_anywhere")
    assert done.returncode == 1 and "no_such_module_anywhere" in done.stderr
    assert ask(server, "telling", "0", input="").returncode == 0, "it answers the next one"


def test_many_at_once(server):
    with ThreadPoolExecutor(8) as pool:
        said = pool.map(lambda at: ask(server, "telling", str(at), input="").returncode, range(8))
        assert list(said) == list(range(8))


def test_a_process_ends_with_its_client(server, tmp_path):
    for number in [signal.SIGTERM, signal.SIGKILL]:
        with asleep(server, tmp_path) as (client, process):
            os.kill(process, 0)
            client.send_signal(number)
        until(lambda: not alive(process))


def test_all_end_with_the_warm_process(tmp_path, server, started):
    with asleep(server, tmp_path) as (client, process):
        started.kill()
        assert client.wait(WAIT) == 1
    until(lambda: not alive(process))


def alive(process: int) -> bool:
    """Whether a process is there, and not only its entry."""
    try:
        with open(f"/proc/{process}/stat") as handle:
            return handle.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_without_a_warm_process_the_client_runs_the_module_itself(tmp_path):
    done = ask(tmp_path / "nobody", "json.tool", input="[1]")
    assert (done.returncode, done.stdout.split()) == (0, ["[", "1", "]"])


def test_the_command_of_a_run(tmp_path):
    process = warm.WarmProcess(tmp_path, 1)
    kernel = json.loads((tmp_path / "kernels" / "python3" / "kernel.json").read_text())
    asked = [
        str(warm.CLIENT),
        str(tmp_path / "socket"),
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
    ]
    assert kernel["argv"][-5:] == asked
    done = subprocess.run(
        [tmp_path / "attreval", "list", "--help"], capture_output=True, text=True, timeout=WAIT
    )
    assert done.returncode == 0 and "Usage" in done.stdout, "nobody listens: it starts cold"
    process.end()


def test_it_can_be_turned_off_and_runs_on_a_cluster_start_cold(monkeypatch):
    monkeypatch.setenv(warm.SWITCH, "0")
    with warm.warm_process(1) as nothing:
        assert nothing is None
    assert leaves_machine(["--executor", "slurm"]) and not leaves_machine(["--keep-going"])
