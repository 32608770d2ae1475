"""What a step ran on: the commit, hardware and operating system, in words that name no host and no user."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from compendium import project

TOLD = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # instructions that decide how fast models are


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


def count_processors() -> int:
    """How many this process may use; all that there are where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def describe_machine() -> dict[str, str | int | float]:
    """System, processor, its instructions of TOLD, cores that this process may use, memory in GB, any accelerators."""
    found: dict[str, str | int | float] = {
        "system": _system(),
        "processor": _processor(),
        "instructions": _instructions(),
        "cores": count_processors(),
    }
    if "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory_gb"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    if cards := sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = [line for card in cards for line in card.read_text().splitlines() if line.startswith("Model:")]
        found["accelerator"] = ", ".join(line.partition(":")[2].strip() for line in lines)
    return found


def _system() -> str:
    """The operating system by its name and kernel; what a kernel's builder added to its number is left out."""
    kernel = f"{platform.system()} {platform.release().partition('-')[0]}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except OSError:
        return kernel


def _processor() -> str:
    """The processor by its maker's name where the system tells it, else its kind."""
    return f"{_told('model name') or platform.processor() or 'unknown'} ({platform.machine()})"


def _instructions() -> str:
    """Those of TOLD that the processor has, joined by spaces."""
    flags = _told("flags").split()
    return " ".join(name for name in TOLD if name in flags)


def _told(field: str) -> str:
    """What Linux says of the first processor; empty elsewhere."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
