"""Explanation methods, one file a method or a family; METHODS holds them all by name, in order.

What is known of a method stands on it. By what they ask of the model (`kind`), methods ask for
gradients with respect to what it reads; for its answers to perturbed texts (also those to which
LIME, LIMSSE and Kernel SHAP fit a surrogate); for its attention weights; for a propagation of the
class score back through its layers (LRP, DeepLIFT, cell decomposition); or for nothing (baselines).
"""

from typing import Any

from attreval.core.collected import held_in
from attreval.methods.method import Method

TYPES = ("token", "pair", "span", "combined")  # of explanations (Sun et al. 2024), the last is ours
METHODS: dict[str, Method]
# of Sun et al. (2024): technique -> type of explanation -> method
TECHNIQUES: dict[str, dict[str, str]]
__all__ = ["METHODS", "TECHNIQUES", "TYPES", "Method", "methods_for", "methods_in"]


def __getattr__(name: str) -> Any:
    """METHODS and TECHNIQUES, collected at first use, as some method files import METHODS."""
    if name == "METHODS":
        return _collect_methods()
    if name != "TECHNIQUES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: dict[str, dict[str, str]] = {}
    for theirs, ours in methods_in("sun2024").items():
        technique, kind = theirs.split()
        found.setdefault(technique, {})[kind] = ours
    return found


def _collect_methods() -> dict[str, Method]:
    """METHODS, but of `run`, which asks them and imports torch."""
    if "METHODS" not in globals():
        # a file may ask for it meanwhile
        globals().setdefault("METHODS", held_in("attreval.methods", Method, "run"))
    return globals()["METHODS"]


def methods_for(family: str, level: str = "token") -> list[str]:
    """The installed methods of a level that apply to a family of models.

    Args:
        family: One of method.FAMILIES.
        level: `token`, `pair` or `span`.
    """
    return [
        one.name
        for one in _collect_methods().values()
        if one.level == level and family in one.families and not one.missing()
    ]


def methods_in(paper: str) -> dict[str, str]:
    """A paper's names of methods, in its own order, and ours: {"LIME": "lime", ...}."""
    named = [
        (one.in_papers[paper], one.name)
        for one in _collect_methods().values()
        if paper in one.in_papers
    ]
    return {theirs: ours for (_, theirs), ours in sorted(named)}
