"""Metrics on trial: worlds whose truth is known, explanations that are right or not, verdicts.

WORLDS holds the worlds of all files of `trial/worlds`, by name, in their order. `load_world` makes
one from a seed.
"""

import importlib
import pkgutil
from typing import Any

from attreval.trial.world import Made, World

# spelt out, as compendium.imports finds what is collected by this string
_FOLDER = "attreval.trial.worlds"
WORLDS: dict[str, World]
__all__ = ["WORLDS", "load_world"]


def __getattr__(name: str) -> Any:
    """WORLDS, collected from all files at first use."""
    if name != "WORLDS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: dict[str, World] = {}
    for module in pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__, f"{_FOLDER}."):
        for held in vars(importlib.import_module(module.name)).values():
            for one in held if isinstance(held, tuple) else (held,):
                if type(one) is World:
                    found[one.name] = one
    ordered = sorted(found.values(), key=lambda one: (one.order or len(found) + 1, one.name))
    globals()["WORLDS"] = {one.name: one for one in ordered}
    return globals()["WORLDS"]


def load_world(name: str, seed: int, texts: int = 30, corpora: str | None = None) -> Made:
    """A world: its model, the first texts of it, and what was measured of the model.

    Args:
        name: Of WORLDS.
        seed: Another seed gives other words, weights and texts; the same gives the same.
        texts: How many; a text does not change when more are made.
        corpora: A folder with the corpora that a few worlds are made from; else what
            ATTREVAL_CORPORA names.

    Raises:
        ValueError: For a world that is not known, or whose corpus is missing.
    """
    from attreval.trial import WORLDS

    if name not in WORLDS:
        raise ValueError(f"unknown world {name!r}; there are: {', '.join(WORLDS)}")
    return WORLDS[name](seed, texts, corpora)
