"""What builders share: how files of corpora are read, and which instance goes into which split.

Hashes of names and texts decide over splits, the same everywhere.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from attreval.core.seeds import seed_of


def json_lines(path: Path) -> Iterator[dict]:
    """The JSON objects of a file with one on each line."""
    with path.open(encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def csv_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a comma-separated file by the column names of its header."""
    with path.open(encoding="utf-8", newline="") as handle:
        yield from csv.DictReader(handle)


def decode(content: bytes) -> str:
    """Text from UTF-8, or from Windows-1252 where it is not: a few old files write their pound signs so."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252")


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
