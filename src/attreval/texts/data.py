"""Rows of a user's own table: texts, labels, splits, ids and what people marked.

They come from columns of any name. What is left out is counted; what cannot be meant is a
ValueError that says what was found and what would do.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from attreval.texts.files import SPLIT, Table, check_columns, read_table
from attreval.texts.given import as_list
from attreval.texts.marks import FORMS, is_missing, make_evidence, read_rationale
from attreval.texts.rows import Counts, Row
from attreval.texts.words import writable

MOST_LABELS = 1000
SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "development", "val", "valid", "validation", "eval"), "dev"),
    **dict.fromkeys(("test", "testing"), "test"),
}
MISFIT = "a rationale does not fit its text"


@dataclass(frozen=True)
class Columns:
    """The names of the columns; None for what there is none of.

    Without a split, every row is of test, unless the files themselves are parted by split.

    Attributes:
        text: The text.
        label: Its class; empty where texts need none, and all are of the first.
        pair: A second text, read with the first.
        rationale: What people marked, see texts.marks.
        split: Such as `train`.
        id: Of the row.
    """

    text: str = "text"
    label: str = "label"
    pair: str | None = None
    rationale: str | None = None
    split: str | None = None
    id: str | None = None

    def wanted(self) -> list[str]:
        """Every column that is named, once."""
        return list(dict.fromkeys(filter(None, asdict(self).values())))


def read_own_data(
    data: Path | Mapping[str, Sequence],
    columns: Columns,
    labels: Sequence[str] = (),
    counts: Counts | None = None,
) -> list[Row]:
    """The rows of a file, a folder or a table in memory, in its order.

    Args:
        data: A path in any of files.FORMATS, or a value a row of each column: a dict, or a pandas
            table.
        columns: What they are called.
        labels: Class names in index order; those of the data where empty.
        counts: Takes in how many rows are dropped for an empty cell, and what is noted: ids that
            occur again, which get `~2`, `~3`, …, and rationales that do not fit.

    Raises:
        ValueError: Columns, labels or splits are not there, or no row is left.
        OSError: There is no such file.
    """
    counts = counts or Counts()
    if isinstance(data, Path):
        name = data.name
        table = read_table(data, columns.wanted())
    else:
        name = "the table"
        table = _from_memory(data, columns, name)
    names = tuple(labels) or find_labels(table, columns.label, name)
    rows = list(_keep_rows(table, columns, names, counts, name))
    if not rows:
        left = ", ".join(f"{number} {why}" for why, number in counts.dropped.items())
        raise ValueError(f"{name} holds no row that can be used{f' ({left})' if left else ''}")
    if len({row.label for row in rows}) == 1:
        counts.noted[f"one class only: {names[rows[0].label]}"] += len(rows)
    missed = counts.noted.get(MISFIT, 0)
    if missed > len(rows) / 2:
        raise ValueError(
            f"{name}: {missed} of {len(rows)} values of {columns.rationale!r} do not fit their "
            f"texts; they can be {FORMS}"
        )
    if not any(row.split == "test" for row in rows):
        held = ", ".join(sorted({row.split for row in rows}))
        raise ValueError(
            f"{name} has no row of the split test, which is explained; it has {held}: name no "
            "column of splits, and of a folder parted by splits give the one to explain, so that "
            "all rows are of test"
        )
    return rows


def _from_memory(data: Mapping[str, Sequence], columns: Columns, name: str) -> Table:
    """The columns that are named, of a table in memory."""
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise ValueError(
            "data are a file, a folder, a pandas table or a dict of columns; got a "
            f"{type(data).__name__}: pandas.DataFrame(rows) makes a table of rows"
        )
    check_columns(columns.wanted(), list(map(str, data)), name)
    found = {
        one: as_list(data[one], f"the column {one!r} is a list of values")
        for one in columns.wanted()
    }
    if len(set(map(len, found.values()))) > 1:
        lengths = ", ".join(f"{one!r} {len(values)}" for one, values in found.items())
        raise ValueError(f"{name} has columns of different lengths: {lengths}")
    return Table(found)


def find_values(table: Table, column: str) -> Counter[str]:
    """How many rows have each label, as text, by name where the table carries names.

    Args:
        table: The table.
        column: Of the labels.
    """
    carried = table.classes.get(column)
    labels = [_carried(_plain(value), carried) for value in table.columns[column]]
    return Counter(label for label in labels if label is not None)


def find_labels(table: Table, column: str, name: str) -> tuple[str, ...]:
    """The class names of a table: those it carries, else its distinct values.

    Numbers stand by size, names by alphabet.

    Args:
        table: The table.
        column: Of the labels.
        name: Of the table, for messages.

    Raises:
        ValueError: There is one class only, or so many that the column is no label.
    """
    if column in table.classes:
        return table.classes[column]
    found = find_values(table, column)
    if len(found) == 1:
        ((only, rows),) = found.items()
        raise ValueError(
            f"{name}: the column {column!r} holds one class only, {only!r} ({rows} rows); a "
            "classifier has two or more: name all of them, in the model's order, under `labels`"
        )
    if not found:
        raise ValueError(f"{name}: the column {column!r} is empty in every row; a label is needed")
    rows = sum(found.values())
    if len(found) > MOST_LABELS or (len(found) > 50 and len(found) > rows / 2):
        shown = ", ".join(repr(label[:30]) for label in list(found)[:3])
        raise ValueError(
            f"{name}: the column {column!r} holds {len(found)} different values in {rows} rows "
            f"({shown}, …): that is no label; name the column of the label"
        )
    numbers = all(re.fullmatch(r"-?\d+", label) for label in found)
    return tuple(sorted(found, key=int) if numbers else sorted(found))


def index_of(label: str | int, names: Sequence[str]) -> int | None:
    """Which class a value names; None where no class is meant.

    By its name, in any case, else by its number from 0, where no name is one. A number that is no
    text is always the number of a class.

    Args:
        label: The value.
        names: Of the classes.
    """
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return int(label) if 0 <= label < len(names) else None
    plain = str(label).strip()
    folded = [name.casefold() for name in names]
    if plain in names:
        return list(names).index(plain)
    if plain.casefold() in folded:
        return folded.index(plain.casefold())
    numbered = plain.isdecimal() and not any(name.isdecimal() for name in names)
    return int(plain) if numbered and int(plain) < len(names) else None


def _plain(value: Any) -> str | None:
    """A cell as text without white space around it; None where it is empty.

    Whole numbers have no point.
    """
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = writable(str(value)).strip()
    return re.sub(r"^(-?\d+)\.0$", r"\1", text) or None


def _keep_rows(
    table: Table, columns: Columns, names: tuple[str, ...], counts: Counts, name: str
) -> Iterator[Row]:
    """A Row for each row that has all it needs; unknown labels and splits are told together."""
    parts = columns.split or (SPLIT if table.parted else None)
    wanted = (columns.text, columns.pair, columns.label, parts, columns.id, columns.rationale)
    empty = [None] * len(table.columns[columns.text])
    fields = zip(*(table.columns[name] if name else empty for name in wanted), strict=True)
    carried = table.classes.get(columns.label)
    unknown: dict[str, Counter] = {"label": Counter(), "split": Counter()}
    taken: Counter[str] = Counter()
    for number, (text, pair, label, split, own, rationale) in enumerate(fields, 1):
        segments = _segments(text, pair, columns, counts)
        label = _carried(_plain(label), carried) if columns.label else names[0]
        if label is None:
            counts.dropped[f"empty {columns.label}"] += 1
        if segments is None or label is None:
            continue
        at = index_of(label, names)
        named = "test" if split is None and columns.split is None else split
        part = SPLITS.get((_plain(named) or "").lower())
        if at is None:
            unknown["label"][label] += 1
        if part is None:
            unknown["split"][str(split)] += 1
        if at is None or part is None:
            continue
        evidence = None
        if columns.rationale is not None:
            people = read_rationale(rationale, segments)
            if people is None:
                counts.noted[MISFIT] += 1
            evidence = partial(make_evidence, people) if people else None
        identity = _plain(own) or str(number)
        taken[identity] += 1
        if taken[identity] > 1:
            counts.noted["an id that occurs again"] += 1
            identity = _free(identity, taken)
        yield Row(identity, part, segments, at, evidence)
    _refuse(unknown, names, columns, name)


def _segments(text: Any, pair: Any, columns: Columns, counts: Counts) -> tuple[str, ...] | None:
    """The text, or text and pair, as they stand; None, and counted, where one is empty."""
    given = {columns.text: text}
    if columns.pair:
        given[columns.pair] = pair
    for column, value in given.items():
        if _plain(value) is None:
            counts.dropped[f"empty {column}"] += 1
            return None
    for column, value in given.items():
        if isinstance(value, Iterable) and not isinstance(value, str):
            raise ValueError(
                f"the column {column!r} holds {value!r:.60}; a text is one string, words are "
                "joined first"
            )
    return tuple(str(value) for value in given.values())


def _carried(label: str | None, carried: tuple[str, ...] | None) -> str | None:
    """A label as its name, where the file carries names for its numbers; -1 is no label there."""
    if carried and label is not None and re.fullmatch(r"-?\d+", label) and label not in carried:
        return carried[int(label)] if 0 <= int(label) < len(carried) else None
    return label


def _free(identity: str, taken: Counter) -> str:
    """An id with a number behind it that no other row has so far."""
    again = f"{identity}~{taken[identity]}"
    taken[again] += 1
    return again if taken[again] == 1 else _free(again, taken)


def _refuse(unknown: dict[str, Counter], names: Sequence[str], columns: Columns, name: str) -> None:
    """Refuse labels that are not among the names, and values that name no split."""
    for what, allowed in (("label", names), ("split", SPLITS)):
        found = unknown[what]
        if not found:
            continue
        shown = ", ".join(
            f"{value[:40]!r} ({number} rows)" for value, number in found.most_common(5)
        )
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        there = ", ".join(list(allowed)[:50])
        how = "; name them so in the data, or the model's in its own order" * (what == "label")
        column = getattr(columns, what)
        raise ValueError(
            f"{name}: the column {column!r} holds {shown}{more}, which are not among {there}{how}"
        )
