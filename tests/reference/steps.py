"""A stand-in of a step, and notebooks that run cell by cell in this process."""

from __future__ import annotations

import json

from matplotlib import pyplot as plt

from compendium import config
from reference import CHECKOUT


class Recorder:
    """What a study or a claim needs of a step: the smoke profile."""

    def __init__(self):
        self.profile = config.load("smoke")


def run_cells(notebook: str, **given) -> None:
    """Run the code cells of a notebook, the first of which holds its parameters."""
    cells = json.loads((CHECKOUT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    space: dict = {}
    for at, cell in enumerate(cell for cell in cells if cell["cell_type"] == "code"):
        exec(compile("".join(cell["source"]), f"{notebook}, cell {at}", "exec"), space)
        if at == 0:
            space |= given
    plt.close("all")
