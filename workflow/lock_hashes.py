"""requirements.lock with the sha256 of every archive that Python 3.11 may install, as pip checks it: `make lock`.

Usage: lock_hashes.py requirements.lock requirements.sha256; asks the package registry through uv, and names no address.
torch is left out: its builds (CPU, CUDA) are other archives of one version.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HEAD = """\
# Made by 'make lock' from requirements.lock: what pip may install of each version, by sha256. torch is left out,
# since a build for a CPU and one for a GPU are other archives; it is installed last, with what it needs.
"""


def allowed(name: str) -> bool:
    """Whether Python 3.11 may install this wheel."""
    python, abi, _ = name.removesuffix(".whl").rsplit("-", 3)[1:]
    tags = python.split(".")
    return "py3" in tags or "cp311" in tags or (abi == "abi3" and any(_older(tag) for tag in tags))


def _older(tag: str) -> bool:
    """Whether a stable interface of this Python is one of 3.11's."""
    found = re.fullmatch(r"cp3(\d+)", tag)
    return bool(found) and int(found[1]) <= 11


def archives(package: dict) -> list[str]:
    """The sha256 of a package's archives, in order."""
    wheels = [one for one in package.get("wheels", []) if allowed(Path(one["url"]).name)]
    return sorted({one["hashes"]["sha256"] for one in (*wheels, *([package["sdist"]] if "sdist" in package else []))})


def main(lock: Path, out: Path) -> None:
    """Write the hashes of a lock file. RuntimeError: a package has no archive for Python 3.11."""
    pins = [line for line in lock.read_text(encoding="utf-8").splitlines() if re.match(r"(?!torch==)\w", line)]
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in.txt", Path(folder) / "pylock.toml"
        given.write_text("\n".join(pins), encoding="utf-8")
        options = ["--no-deps", "--universal", "--python-version", "3.11.7", "--generate-hashes", "--quiet"]
        command = ["uv", "pip", "compile", *options, "--format", "pylock.toml", str(given), "--output-file", str(found)]
        subprocess.run([sys.executable, "-m", *command], check=True)
        packages = {one["name"]: one for one in tomllib.loads(found.read_text(encoding="utf-8"))["packages"]}
    lines = []
    for pin in pins:
        name = re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower()
        if not (hashes := archives(packages[name])):
            raise RuntimeError(f"{pin} has no archive for Python 3.11")
        lines.append(" \\\n    ".join([pin, *(f"--hash=sha256:{digest}" for digest in hashes)]))
    out.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
