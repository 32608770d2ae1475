"""What does this machine have, and what follows from it?"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from compendium import config, corpora, project
from compendium.workflow.machine import count_processors

COLUMNS = "{:<10} {:<44} {}"  # what, what was found, what follows


def examine() -> list[str]:
    """One line a finding: what there is, and what follows."""
    import pypandoc
    import torch

    from attreval.models.placing import pick_device, pick_precision

    device = pick_device()
    free = shutil.disk_usage(project.home()).free / 1e9
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    quarto = shutil.which("quarto")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    folder = os.environ.get("ATTREVAL_CORPORA")
    given = f"ATTREVAL_CORPORA = {folder}" if folder else "ATTREVAL_CORPORA is not set"
    read = "read from there" if folder and Path(folder).is_dir() else "external corpora come from their own addresses"
    tables = [task for task in corpora.TASKS if corpora.table_path(task).exists()]
    ran = [p for p in config.profiles() if (project.results(p).root / "manifest.json").exists()]
    found = [
        ("python", f"{sys.version.split()[0]}, torch {torch.__version__}", f"attreval {version('attreval')}"),
        (
            "device",
            f"{device.type}, {count_processors()} processors",
            f"training and sampled methods run in {pick_precision('auto', device)}",
        ),
        ("memory", f"{memory:.0f} GB", "enough" if memory >= 8 else "the quick profile wants 8 GB"),
        ("disk", f"{free:.0f} GB free", "enough" if free >= 5 else "quick wants about 5 GB: make room first"),
        ("quarto", quarto or "not here", "renders the site" if quarto else "`attreval render` goes through pandoc"),
        ("pandoc", pypandoc.get_pandoc_version(), "the route without quarto"),
        ("browser", browser or "not here", f"site tests in a browser {'run' if browser else 'are skipped'}"),
        ("corpora", given, read),
        ("tables", ", ".join(tables) or "none made yet", "`attreval fetch --task NAME` makes one"),
        ("results", ", ".join(ran) or "none yet", "`attreval run --profile quick` makes them"),
    ]
    return [COLUMNS.format(*row) for row in found]
