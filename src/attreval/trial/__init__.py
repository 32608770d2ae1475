"""Metrics on trial: worlds whose truth is known, explanations that are right or not, verdicts.

WORLDS holds the worlds of all files of `trial/worlds`, by name, in their order. `load_world` makes
one from a seed.
"""

from typing import Any

from attreval.core.collected import held_in
from attreval.trial.world import Made, World

WORLDS: dict[str, World]
__all__ = ["WORLDS", "load_world"]


def __getattr__(name: str) -> Any:
    """WORLDS, collected from all files at first use."""
    if name != "WORLDS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["WORLDS"] = held_in("attreval.trial.worlds", World)
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
