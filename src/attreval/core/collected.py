"""What the files of a folder hold: a method, a metric or a world is known by lying there."""

import pkgutil
from importlib import import_module
from typing import Any


def held_in(folder: str, kind: type[Any], *left_out: str) -> dict:
    """All of a type that modules hold under their own names, or in tuples where a factory makes
    them, by name: by their `order`, those without one at the end.

    Args:
        folder: The modules' package, spelt out in the call: compendium.imports finds it there.
        kind: The type.
        left_out: Names of modules.
    """
    found: dict = {}
    for file in pkgutil.iter_modules(import_module(folder).__path__):
        if file.ispkg or file.name in left_out:
            continue
        for held in vars(import_module(f"{folder}.{file.name}")).values():
            several = held if isinstance(held, tuple) else (held,)
            found |= {one.name: one for one in several if type(one) is kind}
    ordered = sorted(found.values(), key=lambda one: (one.order or len(found) + 1, one.name))
    return {one.name: one for one in ordered}
