"""Made-up values of erasure, in which methods and random scores are exchangeable, and a profile
that measures them.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from compendium.config import Profile
from compendium.config.reading import apply_variants
from compendium.papers.zhao2023.erasure import ROW, VALUES
from reference.profiles import TASK, TINY

TASKS = ("rotten_tomatoes", "snli")
METHODS = (
    "attention",
    "scaled_attention",
    "gradient_x_input_absolute",
    "integrated_gradients_zero",
    "deeplift",
)


def profile_of(tasks=TASKS, variants=None, **faithfulness) -> Profile:
    """A profile of these tasks with one tiny model."""
    made = {
        "name": "test",
        "models": {"tiny": TINY},
        "tasks": {task: TASK for task in tasks},
        "explain": {"methods": ["random", "attention"]},
        "bootstrap": {"draws": 60},
        "faithfulness": {"scale_rows": 2, "control_rows": 1, "driver_rows": 1} | faithfulness,
        "variants": variants or {},
    }
    return Profile.model_validate(apply_variants(made))


def stage_of(*given, **more) -> SimpleNamespace:
    """As much of a step as the tables look at."""
    return SimpleNamespace(profile=profile_of(*given, **more))


def made_up(settings=("main",), texts=20, tasks=TASKS, methods=METHODS, seed=0) -> pd.DataFrame:
    """Values as papers.zhao2023.erasure gives them: one row a setting, task, text, method and role,
    and random's.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (setting, task, "tiny", 1, str(text), method, role, *rng.random(len(VALUES)))
        for setting in settings
        for task in tasks
        for text in range(texts)
        for method in ("random", *methods)
        for role in (
            ("own", "permuted") if setting == "permuted" and method != "random" else ("own",)
        )
    ]
    return pd.DataFrame(rows, columns=["setting", *ROW, "role", *VALUES])
