"""The names of a classifier's classes: matched by name, and given to outputs only where they have none of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any


def own_names(config: Any, model: str) -> tuple[str, ...]:
    """The classes that a configuration names, in the order of their numbers. ValueError as `check_names`."""
    named = {int(k): name for k, name in (getattr(config, "id2label", None) or {}).items()}
    if sorted(named) != list(range(len(named))):
        raise ValueError(
            f"{model} numbers its {len(named)} classes {', '.join(map(str, sorted(named)))} (id2label in config.json); "
            f"they are numbered from 0 to {len(named) - 1}, as its outputs are"
        )
    return check_names([named[k] for k in sorted(named)], model)


def check_names(names: Sequence[object], model: str) -> tuple[str, ...]:
    """Names of classes as text. ValueError for what is no name, and for one that two classes have, in any case."""
    often = Counter(str(name).strip().casefold() for name in names)
    for name in names:
        named = isinstance(name, str | Integral) and not isinstance(name, bool) and str(name).strip()
        if not named or often[str(name).strip().casefold()] > 1:
            why = f"two classes are called {name!r}" if named else f"{name!r} is no name"
            raise ValueError(
                f"{model} has classes {', '.join(map(repr, names))}: {why}. A class is asked for by its name, so each "
                "needs one of its own: mend id2label in config.json, or the names given in its place"
            )
    return tuple(map(str, names))


def match_labels(own: tuple[str, ...], wanted: tuple[str, ...], name: str) -> list[int] | None:
    """Where each wanted class stands among a network's own, by name; None where they stand in the same order."""
    plain = [label.lower() for label in own]
    if plain == [label.lower() for label in wanted]:
        return None
    if sorted(plain) != sorted(label.lower() for label in wanted):
        how = (
            "name the model's classes, in its order and in the task's words, under `labels` of the model in the profile"
            if are_placeholders(own)
            else "give its classes the task's words under id2label in its config.json, each at its own number"
        )
        raise ValueError(f"the model {name} has classes {', '.join(own)}, the task has {', '.join(wanted)}; {how}")
    return [plain.index(label.lower()) for label in wanted]


def are_placeholders(own: Sequence[str]) -> bool:
    """Whether outputs are only numbered: LABEL_0, LABEL_1, as transformers does, or 0, 1."""
    return all(label.upper() in (f"LABEL_{k}", str(k)) for k, label in enumerate(own))


def name_classes(own: tuple[str, ...], given: Sequence[str], name: str) -> tuple[str, ...]:
    """The names of a network's outputs, in its order, where a user says `given`.

    Outputs that are only numbered take the given names in their order. Classes that have names keep them, and must be
    the given ones in any order. ValueError otherwise: to give a class another's name would turn every score around.
    """
    if are_placeholders(own):
        if len(given) != len(own):
            raise ValueError(f"the model {name} has {len(own)} classes, `labels` has {len(given)}: {', '.join(given)}")
        return check_names(given, name)
    if sorted(label.lower() for label in own) != sorted(label.lower() for label in given):
        raise ValueError(
            f"the model {name} names its classes {', '.join(own)}; `labels` says {', '.join(given)}. Leave that out, "
            "or mend id2label in the model's config.json, each name at its own number"
        )
    return own
