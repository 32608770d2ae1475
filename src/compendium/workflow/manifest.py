"""results/<profile>/manifest.json: what was run, with which code, data and seeds, and its cost.

It also holds samples: how many texts, by which models, a judge's figures rest on, as a sentence for
their captions. The machine is told in words that name no host and no user.
"""

import contextlib
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import get_args

from attreval import __version__
from attreval.core.tables import read_about, write_json
from compendium import config, corpora, project
from compendium.config import Judge, Profile

JUDGES = tuple(judge for judge in get_args(Judge) if judge != "shown")
# instructions that decide how fast models are
TOLD = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def make_manifest(profile: str) -> Path:
    """Write the manifest of a profile from the records of its steps."""
    settings = config.load_profile(profile)
    folder = project.results(settings.name)
    if not (steps := folder.records()):
        raise FileNotFoundError(
            f"profile {settings.name!r} has no results yet: `attreval run --profile {profile}` "
            "makes them"
        )
    tables = {task: corpora.table_path(task) for task in settings.read_tasks()}
    facts = {
        "profile": settings.name,
        "attreval": __version__,
        "machine": describe_machine(),  # that this manifest was written on; each step names its own
        "corpora": {task: read_about(table) for task, table in tables.items() if table.exists()},
    }
    path = folder.root / "manifest.json"
    write_json(path, facts | describe_steps(settings, steps))
    return path


def describe_steps(profile: Profile, steps: Sequence[dict]) -> dict:
    """The part of a manifest that follows from the records of its steps, and the profile."""
    return {
        "commit": commit(),
        "date": max(s["finished"] for s in steps)[:10],
        "seconds": round(sum(s["seconds"] for s in steps), 1),
        "processor_seconds": round(sum(s["processor_seconds"] for s in steps), 1),
        "samples": describe_samples(profile),
        "settings": profile.model_dump(),
        "at_hand": [task for task in corpora.TASKS if corpora.at_hand(task)],
        "steps": {s["step"]: s for s in steps},
    }


def describe_samples(profile: Profile) -> dict[str, str]:
    """For each judge a sentence: models and numbers of texts by task, seeds, and intervals."""
    return {judge: _describe_sample(profile, judge) for judge in JUDGES}


def _describe_sample(profile: Profile, judge: Judge) -> str:
    found: dict[tuple[str, int], dict[str, None]] = {}
    runs = profile.explained_runs(judge)
    for task, model, _ in runs:
        rows = profile.rows_explained(task, model)
        if judge == "diagnosis":
            rows = profile.diagnosis.rows
        found.setdefault((task, rows), {})[model] = None
    parts: dict[str, list[str]] = {}
    for (task, rows), models in found.items():
        texts = f"{rows} ({corpora.TASKS[task].short})"
        parts.setdefault(_enumerate_words(list(models)), []).append(texts)
    if not parts:
        return f"Profile {profile.name}: no texts."
    seeds = len({seed for *_, seed in runs})
    told = [f"{models} on n = {_enumerate_words(counts)} texts" for models, counts in parts.items()]
    share = f"{profile.bootstrap.confidence:.0%}".replace("%", " %")
    seeded = f"{seeds} seed{'s' if seeds > 1 else ''}"
    if judge == "agreement" and seeds > 1 and profile.agreement.runs == "lowest_apd":
        seeded = f"of {seeded} the run with the lowest average pairwise difference"
    samples = "; ".join(told)
    return f"Profile {profile.name}: {samples}; {seeded}. Intervals: {share} bootstrap over texts."


def _enumerate_words(words: list[str]) -> str:
    """Words with commas, and `and` before the last."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@cache
def commit() -> str:
    """The commit of the checkout, with `+` where files differ from it; "" outside a repository."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(project.home()), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        head = git("rev-parse", "--short=10", "HEAD")
        return f"{head}+" if git("status", "--porcelain") else head
    except (OSError, subprocess.CalledProcessError):
        return ""


def count_processors() -> int:
    """How many this process may use; all that there are where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def describe_machine() -> dict[str, str | int | float]:
    """System, processor and its instructions of TOLD, usable cores, memory in GB, accelerators."""
    # without what the kernel's builder added
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    with contextlib.suppress(OSError):  # outside Linux nothing tells
        system = f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {system}"
    flags = _told("flags").split()
    found: dict[str, str | int | float] = {
        "system": system,
        "processor": f"{_told('model name') or platform.processor() or 'unknown'} "
        f"({platform.machine()})",
        "instructions": " ".join(name for name in TOLD if name in flags),
        "cores": count_processors(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
    }
    cards = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    if told := "\n".join(card.read_text() for card in cards):
        found["accelerator"] = ", ".join(re.findall(r"^Model:\s*(.*?)\s*$", told, re.MULTILINE))
    return found


def _told(field: str) -> str:
    """What Linux says of the first processor; empty elsewhere."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
