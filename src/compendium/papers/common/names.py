"""What sentences call methods and runs: apart, since who knows METHODS is stale whenever a method changes."""

from __future__ import annotations

import pandas as pd

from attreval.methods import METHODS
from compendium.papers.common.style import model_title, task_title


def name_method(method: str) -> str:
    """What the text calls a method."""
    return METHODS[method].title if method in METHODS else method.replace("_", " ")


def name_run(row: pd.Series) -> str:
    """A task and its model."""
    return f"{task_title(row.task)} ({model_title(row.model)})"
