"""What does this machine have, and what follows from it?"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from compendium import config, corpora, project
from compendium.workflow.machine import count_processors


def examine() -> list[str]:
    """One line a finding: what there is, and what follows."""
    return [*_look_at_machine(), *_look_at_tools(), *_look_at_data()]


def line(name: str, found: str, follows: str) -> str:
    """A finding, laid out."""
    return f"{name:<10} {found:<44} {follows}"


def _look_at_machine() -> list[str]:
    """Processors, accelerator, memory, disk."""
    import torch

    from attreval.models.placing import pick_device, pick_precision

    device = pick_device()
    precision = pick_precision("auto", device)
    free = shutil.disk_usage(project.home()).free / 1e9
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = count_processors()
    return [
        line("python", f"{sys.version.split()[0]}, torch {torch.__version__}", f"attreval {version('attreval')}"),
        line("device", f"{device.type}, {cores} processors", f"training and sampled methods run in {precision}"),
        line("memory", f"{memory:.0f} GB", "enough" if memory >= 8 else "the quick profile wants 8 GB"),
        line("disk", f"{free:.0f} GB free", "enough" if free >= 5 else "quick wants about 5 GB: make room first"),
    ]


def _look_at_tools() -> list[str]:
    """Quarto, pandoc, browser."""
    import pypandoc

    quarto = shutil.which("quarto")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return [
        line("quarto", quarto or "not here", "renders the site" if quarto else "`attreval render` goes through pandoc"),
        line("pandoc", pypandoc.get_pandoc_version(), "the route without quarto"),
        line("browser", browser or "not here", "site tests run" if browser else "site tests in a browser are skipped"),
    ]


def _look_at_data() -> list[str]:
    """Corpora outside the registry, task tables, results."""
    folder = os.environ.get("ATTREVAL_CORPORA")
    there = bool(folder) and Path(folder).is_dir()
    tables = [task for task in corpora.TASKS if corpora.table_path(task).exists()]
    ran = [p for p in config.profiles() if (project.results(p).root / "manifest.json").exists()]
    return [
        line(
            "corpora",
            f"ATTREVAL_CORPORA = {folder}" if folder else "ATTREVAL_CORPORA is not set",
            "read from there" if there else "external corpora come from their own addresses; quick does without",
        ),
        line("tables", ", ".join(tables) or "none made yet", "`attreval fetch --task NAME` makes one"),
        line("results", ", ".join(ran) or "none yet", "`attreval run --profile quick` makes them"),
    ]
