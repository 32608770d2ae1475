"""How the files of corpora are read: JSON and comma-separated lines, and text in either of two encodings."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path


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
