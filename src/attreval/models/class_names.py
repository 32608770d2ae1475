"""The names of a classifier's classes: matched by name, and given to outputs only where they have none of their own."""

from __future__ import annotations

from collections.abc import Sequence


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
        return tuple(given)
    if sorted(label.lower() for label in own) != sorted(label.lower() for label in given):
        raise ValueError(
            f"the model {name} names its classes {', '.join(own)}; `labels` says {', '.join(given)}. Leave that out, "
            "or mend id2label in the model's config.json, each name at its own number"
        )
    return own
