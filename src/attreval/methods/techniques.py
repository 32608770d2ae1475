"""The techniques of Sun et al. (2024): which explanations of units, of pairs and of pairs of spans belong together."""

from __future__ import annotations

from attreval.methods import methods_in

TYPES = ("token", "pair", "span", "combined")  # the last is ours


def _by_technique() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, method in methods_in("sun2024").items():
        technique, kind = name.split()
        found.setdefault(technique, {})[kind] = method
    return found


TECHNIQUES = _by_technique()  # technique -> type of explanation -> method
