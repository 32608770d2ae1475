"""The machine that steps run on, in words that name no host and no user, and what every process of a run asks of it."""

import ctypes
import os
import platform
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

from compendium import project

TOLD = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # instructions that decide how fast models are


def end_with_parent() -> None:
    """Ask the kernel (Linux) to end this process when its parent dies, so that a killed run leaves nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


def thread_variables(threads: int) -> dict[str, str]:
    """The environment in which libraries start with so many threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    tokenizers = os.environ.get("TOKENIZERS_PARALLELISM", "false")
    return dict.fromkeys(names, str(threads)) | {"TOKENIZERS_PARALLELISM": tokenizers}


@cache
def commit() -> str:
    """The commit of the checkout, with `+` where files differ from it; empty outside a repository."""

    def git(*words: str) -> str:
        options = {"cwd": project.home(), "capture_output": True, "text": True, "check": True}
        return subprocess.run(["git", *words], **options).stdout.strip()

    try:
        return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def count_processors() -> int:
    """How many this process may use; all that there are where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def describe_machine() -> dict[str, str | int | float]:
    """System, processor, its instructions of TOLD, cores that this process may use, memory in GB, any accelerators."""
    system = f"{platform.system()} {platform.release().partition('-')[0]}"  # without what the kernel's builder added
    if hasattr(platform, "freedesktop_os_release") and Path("/etc/os-release").exists():
        system = f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {system}"
    flags = _told("flags").split()
    found: dict[str, str | int | float] = {
        "system": system,
        "processor": f"{_told('model name') or platform.processor() or 'unknown'} ({platform.machine()})",
        "instructions": " ".join(name for name in TOLD if name in flags),
        "cores": count_processors(),
    }
    if "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory_gb"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    if cards := sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = [line for card in cards for line in card.read_text().splitlines() if line.startswith("Model:")]
        found["accelerator"] = ", ".join(line.partition(":")[2].strip() for line in lines)
    return found


def _told(field: str) -> str:
    """What Linux says of the first processor; empty elsewhere."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
