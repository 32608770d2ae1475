"""What a step ran on: the commit, operating system, processor, memory, and whether bfloat16 is fast; for its record."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from attreval.core import project

FAST = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # instructions that decide how fast models are


@cache
def commit() -> str:
    """The commit of the checkout, with `+` where files differ from it; empty outside a repository."""
    try:
        run = lambda *words: subprocess.run(  # noqa: E731
            ["git", *words], cwd=project.home(), capture_output=True, text=True, check=True
        ).stdout.strip()
        return run("rev-parse", "--short=10", "HEAD") + ("+" if run("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def describe_machine() -> dict[str, object]:
    """system, processor, instructions (of FAST), processors that this process may use, memory in GiB."""
    said = _read("/proc/cpuinfo")
    fields = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = set(fields.get("flags", "").split())
    name = next((fields[key] for key in ("model name", "Processor", "Hardware") if key in fields), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": name or platform.processor() or platform.machine(),
        "instructions": [flag for flag in FAST if flag in flags],
        "processors": usable,
        "memory_gib": round(memory / 2**30, 1),
    }


def _read(path: str) -> str:
    """A file's text; empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
