"""The benchmark: our side, the peers and the floors, interleaved as processes of their own; `make
bench` calls it.

A process measures once (a repeat); the order of the sides turns with every repeat. A whole run
writes results/<kind of machine>.json, the table in README and the paper's csv; a run with --only or
--what, or with a side that failed, writes to results/part/ and prints.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import table
from measuring import numbers

HERE = Path(__file__).resolve().parent
TASKS = {  # what each peer is compared in, as regular expressions
    "ferret": "gradient_l1|gradient_x_input|"
    "integrated_gradients|integrated_gradients_plain|lime|partition_shap|six|"
    "faithfulness|growth_.*",
    "captum": r"kernel_shap_\d+|occlusion",
    "interpreto": r"lime_\d+|kernel_shap_\d+|"
    r"occlusion|saliency|integrated_gradients|insertion_deletion",
}
PACKAGES = {
    "ferret": "ferret-xai",
    "captum": "captum",
    "interpreto": "interpreto",
    "ours": "attreval",
}
VERSIONS = (
    "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in "
    "sys.argv[1:]}))"
)
ABOUT = (
    "import json, torch; from attreval.models.placing import pick_precision; "
    "print(json.dumps([torch.backends.cpu.get_cpu_capability(), pick_precision('auto', "
    "torch.device('cpu')), "
    "torch.cuda.get_device_name() if torch.cuda.is_available() else '']))"
)


def interpreter(who: str) -> Path:
    """The Python of a side: a peer's own environment, ours for the rest. RuntimeError where that
    has not been made.
    """
    if who not in TASKS:
        return Path(sys.executable)
    found = HERE / ".envs" / who / "bin" / "python"
    if not found.exists():
        raise RuntimeError(f"{who} has no environment; make it with: make bench ONLY={who}")
    return found


def script(who: str) -> Path:
    """The script of a side."""
    return HERE / {"ours": "ours.py", "floor": "floors.py"}.get(who, f"peers/{who}.py")


def environment(who: str, threads: int) -> dict[str, str]:
    """The environment of a side's process: so many threads, nothing from the network, our package
    on our side only.
    """
    given = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" or who not in TASKS
    }
    count = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads)
    )
    return (
        given
        | count
        | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    )


def take(who: str, arguments: Sequence[str], threads: int) -> list[dict]:
    """Run a side's script once and read its lines. RuntimeError with the end of what it said where
    it failed.
    """
    command = [str(interpreter(who)), str(script(who)), *arguments]
    done = subprocess.run(
        command, env=environment(who, threads), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{script(who).name} ended with {done.returncode}: {done.stderr.strip()[-1500:]}"
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"who"')]


def order(sides: Sequence[str], repeat: int) -> list[str]:
    """The sides of a repeat, each time beginning with the next one."""
    start = (repeat - 1) % len(sides)
    return [*sides[start:], *sides[:start]]


def machine(device: str) -> tuple[str, str]:
    """The kind of machine as a name of files, and its processor's or GPU's model.

    A kind is the model, the instructions, and bfloat16 where that is multiplied faster than
    float32.
    """
    done = subprocess.run([sys.executable, "-c", ABOUT], capture_output=True, text=True, check=True)
    capability, precision, gpu = json.loads(done.stdout.splitlines()[-1])
    if device != "cpu":
        return _file_name(gpu), gpu
    models = re.findall(r"^model name\s*: (.+)$", _text_of(Path("/proc/cpuinfo")), re.MULTILINE)
    name = _plain(models[0] if models else platform.processor() or platform.machine())
    capability = capability.replace("DEFAULT", platform.machine())
    return _file_name(f"{name} {capability} {precision.removeprefix('float32')}"), name


def _plain(model: str) -> str:
    """A processor's model without marks of trade and words that every model has."""
    return " ".join(re.sub(r"\((R|TM)\)|\bProcessor\b|\bCPU\b|@.*", " ", model).split())


def _file_name(said: str) -> str:
    """What was said, in lower case with dashes."""
    return re.sub(r"\W+", "-", said.lower()).strip("-")


def _text_of(path: Path) -> str:
    """A file's text, empty where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def versions(who: str) -> dict[str, str]:
    """Of a side: its package, torch and transformers."""
    names = [PACKAGES[who], "torch", "transformers"]
    done = subprocess.run(
        [str(interpreter(who)), "-c", VERSIONS, *names],
        capture_output=True,
        text=True,
        check=True,
        env=environment(who, 1),
    )
    return json.loads(done.stdout.splitlines()[-1])


def side_arguments(asked: argparse.Namespace, repeat: int, what: str) -> list[str]:
    """The arguments of every side's script; growth is measured once, in the first repeat."""
    growth = ",".join(map(str, asked.growth)) if repeat == 1 else ""
    given = {
        name: getattr(asked, name)
        for name in ("model", "texts", "count", "threads", "device", "budget")
    }
    return [
        f"--{name}={value}"
        for name, value in (given | {"repeat": repeat, "what": what, "growth": growth}).items()
    ]


def measure(asked: argparse.Namespace, peers: Sequence[str]) -> tuple[list[dict], list[str]]:
    """All lines of all repeats, and what failed: the other sides go on."""
    sides = ["floor", "ours", *peers]
    lines = []
    failed = []
    for repeat in range(1, asked.repeats + 1):
        for who in order(sides, repeat):
            what = asked.what or (
                "|".join(TASKS[peer] for peer in peers) if who == "ours" else TASKS.get(who, ".*")
            )
            try:
                found = take(who, side_arguments(asked, repeat, what), asked.threads)
            except RuntimeError as error:
                failed.append(f"{who}, repeat {repeat}: {error}")
                print(f"failed: {failed[-1]}", file=sys.stderr)
                continue
            lines += found
            seconds = sum(line["seconds"] for line in found)
            print(
                f"repeat {repeat} of {asked.repeats}, {who}: {seconds:.0f} s measured", flush=True
            )
    return lines, failed


def read_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for; the defaults are those of `make bench`."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument(
        "--model", type=Path, help="folder of a sequence classifier; default: one of SNLI"
    )
    asked.add_argument(
        "--texts",
        type=Path,
        help="csv with a column text, and other for pairs; default: SNLI's test set",
    )
    asked.add_argument("--count", type=int, default=5, help="texts")
    asked.add_argument("--repeats", type=int, default=5)
    asked.add_argument(
        "--only",
        nargs="*",
        default=[],
        choices=[*TASKS],
        metavar="PEER",
        help=f"of {', '.join(TASKS)}",
    )
    asked.add_argument("--what", default="", help="regular expression: only these tasks")
    asked.add_argument(
        "--growth", type=numbers, default=(1, 10, 100), help="numbers of texts; empty for none"
    )
    asked.add_argument("--threads", type=int, default=1)
    asked.add_argument("--device", default="cpu", help="cpu or cuda")
    asked.add_argument("--budget", type=int, default=300)
    return asked.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, write, print the table; give how many processes have failed."""
    from inputs import find_model, write_texts

    from attreval.core.tables import write_json

    asked = read_arguments(given)
    asked.model = (asked.model or find_model()).resolve()
    asked.texts = (asked.texts or write_texts(max([asked.count, *asked.growth]))).resolve()
    peers = asked.only or [*TASKS]
    about = {"versions": {who: versions(who) for who in ("ours", *peers)}}
    about["kind"], about["processor"] = machine(asked.device)
    about |= {
        "model": asked.model.name,
        "texts": asked.count,
        "repeats": asked.repeats,
        "threads": asked.threads,
    }
    lines, failed = measure(asked, peers)
    measured = {"about": about, "lines": lines}
    part = [*asked.only, *(["tasks"] if asked.what else []), *(["failed"] if failed else [])]
    path = HERE / "results" / ("part" if part else "") / f"{'-'.join([about['kind'], *part])}.json"
    write_json(path, measured)
    if not part:
        table.publish()
    print(table.markdown(measured))
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
