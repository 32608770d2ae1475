"""Which instance goes into which split? Hashes of names and texts decide, the same everywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from attreval.core.seeds import seed_of

SPLITS = ("train", "dev", "test")


def share_of(*names: object) -> float:
    """A number in [0, 1) that follows from names alone."""
    return seed_of("split", *names) / 2**63


def same_text(*segments: str) -> str:
    """The text by which duplicates are recognised: white space runs become one space."""
    return "\x1f".join(" ".join(text.split()) for text in segments)


def by_share(key: str, shares: dict[str, float], salt: str) -> str:
    """The split of a key when the splits take these shares; equal keys share a split."""
    at, reached = share_of(salt, key), 0.0
    for name, share in shares.items():
        reached += share
        if at < reached:
            return name
    return name


def by_counts(rows: Sequence, counts: dict[str, int], key: Callable, label: Callable, salt: str) -> list[str]:
    """A split for every row: exact counts, the same for each label, rows with one key never apart.

    Groups of equal keys are taken by their hashes, small splits first; ValueError if they cannot fit.
    """
    groups: dict[object, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, row in enumerate(rows):
        groups[label(row)][key(row)].append(index)
    out = [""] * len(rows)
    for members in groups.values():
        ordered = sorted(members.items(), key=lambda item: (seed_of("split", salt, item[0]), item[0]))
        left = {name: count // len(groups) for name, count in sorted(counts.items(), key=lambda item: item[1])}
        for _, indices in ordered:
            name = next((name for name, room in left.items() if room >= len(indices)), None)
            if name is None:
                raise ValueError(f"{len(rows)} rows do not fill {counts} with duplicates kept together")
            left[name] -= len(indices)
            for index in indices:
                out[index] = name
    return out


def in_order(rows: Iterable, salt: str) -> list:
    """Rows (with `split` and `id`) by split, then in an order by id hashes: the first n are a sample."""
    rank = {name: index for index, name in enumerate(SPLITS)}
    return sorted(rows, key=lambda row: (rank.get(row.split, len(rank)), row.split, seed_of(salt, row.id), row.id))
